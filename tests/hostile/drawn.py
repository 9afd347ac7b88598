"""Draw tries: each prepares a folder, names a command line, and says how its outcome is judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import solvers
from attempt import Try
from drawn_inputs import campaigns, files, options, programs
from drawn_programs import conducts_of_programs, results
from drawn_published import finals
from drawn_records import artefacts, certificates, checkpoints, reports, vectors
from materials import CAMPAIGN
from nasty import Draw, pick


def destinations(draw: Draw) -> Try:
    """Outputs that name inputs, each other, devices, folders, or nothing."""
    os.symlink("good", "link")
    os.link("good", "hard")
    os.mkdir("folder")
    os.mkfifo("fifo")
    os.symlink("/dev/null", "device")
    names = (
        "good", "./good", "link", "hard", "folder", "folder/../good", "fifo", "device", "c.npz", "c.npz.checkpoint",
        "new.npz", "new.npz.checkpoint", "", "gone/new.npz", "x" * 300, "é\u2028.npz", ".", "/", "c.json", "c.toml", "real",
        "report", "y/" * 2500, "new", "c.npz/", "/dev/null", "/proc/self/mem", "report/results.json",
    )  # fmt: skip
    command = pick(draw, ("solve", "solve", "solve", "oracle", "run"))
    out = pick(draw, names)
    if command == "oracle":
        words = ["oracle", "good", "--task", "svm-l1", "--digits", "8", "--no-cache", "--out", out]
    elif command == "run":
        words = ["run", "c.toml", "--jobs", "1", "--out", out]
    else:
        words = ["solve", "good", "--task", "svm-l1", "--iterations", "48", "--out", out]
        if draw.random() < 0.7:
            words += ["--test", pick(draw, ("good", "real")), "--predictions", pick(draw, names)]
        words += pick(draw, ([], ["--resume"]))
    forced = command != "run" and draw.random() < 0.6
    words += ["--force"] if forced else []
    kept = {"good", "link", "hard", "./good", "folder/../good"} | (
        {"c.toml"} if command == "run" else set()
    )
    kept |= {"real"} if "--test" in words and words[words.index("--test") + 1] == "real" else set()
    kept |= set() if forced else {"c.npz", "c.json", "c.toml", "real", "c.npz.checkpoint"}
    named = {os.path.normpath(word) for word in words if word in names and word}
    outputs = tuple(name for name in named if name not in kept)
    outputs += tuple(f"{name}.checkpoint" for name in outputs) + tuple(
        f"{name}.partial" for name in outputs
    )
    return Try("destination", tuple(words), outputs)


def conducts(draw: Draw) -> Try:
    """A campaign on a Python solver that misbehaves."""
    harmful = draw.random() < 0.65
    name = pick(draw, sorted(solvers.HARMFUL if harmful else solvers.HARMLESS))
    Path("mine.py").write_text(
        solvers.module((solvers.HARMFUL if harmful else solvers.HARMLESS)[name]), "ascii"
    )
    checks = pick(
        draw,
        (
            '["contract", "step-replay"]',
            '["step-replay", "metamorphic-exact"]',
            '["contract", "step-replay", "determinism", "box", "optimum"]',
        ),
    )
    text = CAMPAIGN.replace('["contract", "step-replay", "window-replay"]', checks)
    Path("d.toml").write_text(text + 'solver = "mine:solver"\n', "ascii")
    words = ("run", "d.toml", "--jobs", pick(draw, ("1", "2")), "--out", "rep")
    untrue = (lambda _: f"a solver that {name} got a green report") if harmful else (lambda _: "")
    return Try(f"solver: {name}", words, ("rep", "rep.partial", "__pycache__"), untrue)


KINDS: dict[str, tuple[Callable[[Draw], Try], int]] = {
    "files": (files, 16),
    "options": (options, 13),
    "campaigns": (campaigns, 9),
    "artefacts": (artefacts, 8),
    "reports": (reports, 6),
    "certificates": (certificates, 7),
    "checkpoints": (checkpoints, 6),
    "vectors": (vectors, 6),
    "results": (results, 7),
    "programs": (programs, 10),
    "finals": (finals, 4),
    "destinations": (destinations, 4),
    "conducts": (conducts_of_programs, 3),
    "solvers": (conducts, 1),
}
"""Kinds of tries, with their shares in a hundred."""
