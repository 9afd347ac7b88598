"""Tries of what a command is given: malformed files, options and campaigns."""

from __future__ import annotations

import json
import os
from pathlib import Path

import nasty
from attempt import KERNELS, Try, certified, solved
from materials import CAMPAIGN, PROGRAM_FILE
from nasty import Draw, pick


def files(draw: Draw) -> Try:
    """A malformed data file, or something that is no file, for `solve`, `oracle` and `run`."""
    real = draw.random() < 0.4
    kind, name = int(draw.integers(12)), "data"
    if kind == 0:
        name = _no_file(draw)
    else:
        Path(name).write_bytes(nasty.spoil_lines(draw, Path("real" if real else "good").read_text("ascii")))
        if kind == 1:
            name = _packed(draw, Path(name))
    task = "krr" if real else pick(draw, ("svm-l1", "svm-l2"))
    which = int(draw.integers(4))
    if which == 3:
        Path("d.toml").write_text(CAMPAIGN.replace('"good"', json.dumps(name)).replace("svm-l1", task))
        return Try("file", ("run", "d.toml", "--jobs", "1", "--out", "rep"), ("rep", "rep.partial"))
    if which == 2:
        words = ("oracle", name, "--task", task, "--digits", "8", "--no-cache")
        return Try("file", words, (), certified(words))
    words = ("solve", name, "--task", task, "--iterations", "48", "--out", "o.npz")
    return Try("file", words, ("o.npz", "o.npz.checkpoint"), solved(words))


def _no_file(draw: Draw) -> str:
    name = pick(
        draw,
        ("fifo", "folder", "loop", "gone", "null", "x" * 300, "y/" * 2500, "a\x00b", "", "\udcff", "-"),
    )
    if name == "fifo":
        os.mkfifo(name)
    elif name == "folder":
        os.mkdir(name)
    elif name == "loop":
        os.symlink("loop", "loop")
    elif name == "null":
        os.symlink("/dev/null", "null")
    return name


def _packed(draw: Draw, file: Path) -> str:
    import bz2
    import gzip

    suffix, pack = pick(draw, ((".gz", gzip.compress), (".bz2", bz2.compress)))
    content = pack(file.read_bytes())
    packed = file.with_suffix(suffix)
    packed.write_bytes(nasty.spoil_bytes(draw, content) if draw.random() < 0.7 else content)
    file.unlink()
    return packed.name


OPTIONS = {
    "solve": ("sigma", "degree", "offset", "--C", "--lambda", "--bias", "--block", "--s", "--iterations",
              "--tolerance", "--seed", "--exchange", "--cache", "--interval", "--timers", "--hang-limit", "--kernel",
              "--task", "--test", "--predictions", "--data"),
    "oracle": ("sigma", "degree", "offset", "--C", "--lambda", "--bias", "--digits", "--memory", "--kernel",
               "--task", "--verify", "--data"),
    "run": ("--data", "--only", "--jobs"),
}  # fmt: skip


def options(draw: Draw) -> Try:
    """One or two options with values that nobody means."""
    command = pick(draw, ("solve", "solve", "oracle", "run"))
    task = pick(draw, ("svm-l1", "svm-l2", "krr"))
    kernel = pick(draw, KERNELS)
    words = {
        "solve": [
            "solve",
            "good",
            "--out",
            "o.npz",
            "--iterations",
            "200",
            "--task",
            task,
            "--kernel",
            kernel,
        ],
        "oracle": ["oracle", "good", "--no-cache", "--digits", "8", "--task", task, "--kernel", kernel],
        "run": ["run", "c.toml", "--out", "rep", "--jobs", "1"],
    }[command]
    for name in draw.choice(OPTIONS[command], size=int(draw.integers(1, 3)), replace=False):
        value = pick(draw, nasty.NUMBERS)
        if name in ("--data", "--test", "--predictions", "--verify") and draw.random() < 0.7:
            value = pick(draw, ("good", "gone", ".", "/dev/null", "c.json", "p.txt"))
        if name in ("sigma", "degree", "offset"):
            name, value = "--kernel", f"{kernel},{name}={value}"
        if name in words:
            del words[words.index(name) : words.index(name) + 2]
        words += [str(name), value]
    words = [word.replace("\x00", "") for word in words]
    outputs = ("o.npz", "o.npz.checkpoint", "rep", "rep.partial", "p.txt")
    judges = {"solve": solved, "oracle": certified}
    if command in judges and not {"--bias", "--verify"} & set(words):
        return Try("option", tuple(words), outputs, judges[command](tuple(words)))
    return Try("option", tuple(words), outputs)


def campaigns(draw: Draw) -> Try:
    """A campaign file with one value, line or byte changed."""
    lines = CAMPAIGN.splitlines()
    way = int(draw.integers(5))
    keys = [row for row, line in enumerate(lines) if " = " in line]
    more = ("windows", "block", "lambda", "cache", "ranks", "drift", "memory", "minimum_windows", "bias", "interval",
            "solver", "precision", "update", "exchange", "recompute", "replay_limit", "start", "tolerated_vacuous")  # fmt: skip
    if way <= 1:
        row = pick(draw, keys)
        lines[row] = lines[row].partition(" = ")[0] + " = " + pick(draw, nasty.TOML)
    elif way == 2:
        lines.insert(pick(draw, (4, len(lines))), f"{pick(draw, more)} = {pick(draw, nasty.TOML)}")
    elif way == 3:
        row = pick(draw, keys)
        lines[row : row + 1] = pick(
            draw, ([], [lines[row], lines[row]], [lines[row].replace(" = ", "x = ")])
        )
    text = "\n".join(lines) + "\n"
    Path("d.toml").write_bytes(nasty.spoil_bytes(draw, text.encode()) if way == 4 else text.encode())
    if draw.random() < 0.1:
        word = pick(draw, ("a\0b", "\x1b[31m\a", "\u202e", "d\0.toml", "\ud800"))
        return Try("argument", ("run", pick(draw, (word, "d.toml")), "--out", word), ("rep", "rep.partial"))
    return Try("campaign", ("run", "d.toml", "--jobs", "1", "--out", "rep"), ("rep", "rep.partial"))


NASTY_WORDS = (
    '"../../etc/passwd"', '"/etc/passwd"', '"{dir}/../x"', '"{dir}{dir}"', '"a\\u0000b"', '"{seed!r}"', '"{nothing}"', '"{"',
    "{ LD_PRELOAD = 1 }", '{ "A=B" = "x" }', '{ "" = "x" }', '{ A = "\\u0000" }', '"logged"', '"labels"', '"by-class"', '"trace"',
    '"1/m"', '"1/x"', "-0.0", "1e-300", "2", "0x" + "f" * 9000, "18446744073709551616", "-9223372036854775809", '["weights"]',
)  # fmt: skip
"""Values that some key of a program file takes, and others must refuse."""


def programs(draw: Draw) -> Try:
    """A program file with one value, line or byte changed."""
    lines = PROGRAM_FILE.splitlines()
    way, keys = int(draw.integers(6)), [row for row, line in enumerate(lines) if " = " in line]
    row = pick(draw, keys)
    if way <= 2:
        value = pick(draw, NASTY_WORDS if way else nasty.TOML)
        lines[row] = lines[row].partition(" = ")[0] + " = " + value
    elif way == 3:
        lines[row : row + 1] = pick(
            draw, ([], [lines[row], lines[row]], [lines[row].replace(" = ", "x = ")])
        )
    elif way == 4:
        more = (
            "weights",
            "scale",
            "level",
            "precision",
            "exchange",
            "first",
            "witness",
            "memory",
            "setup",
        )
        lines.insert(row, f"{pick(draw, more)} = {pick(draw, (*nasty.TOML, *NASTY_WORDS))}")
    text = ("\n".join(lines) + "\n").encode()
    Path("theirs.toml").write_bytes(nasty.spoil_bytes(draw, text) if way == 5 else text)
    return Try("program", ("check", "theirs.toml", "--profile", "smoke", "--list"))
