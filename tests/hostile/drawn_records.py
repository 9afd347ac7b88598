"""Tries of what an earlier command left: artefacts, certificates, checkpoints and vectors that were changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path

import nasty
import numpy as np
from attempt import Try, solved
from materials import SOLVE
from nasty import Draw, pick
from statements import wrong_certificate


def artefacts(draw: Draw) -> Try:
    """An artefact with one file changed, its sums remade or not."""
    source = pick(draw, sorted(Path("report/artefacts").iterdir()))
    folder = Path("artefact")
    shutil.copytree(source, folder)
    names = sorted(file.name for file in folder.iterdir())
    file = folder / pick(draw, names)
    way = _spoiled(draw, file)
    remade = way != 0 and file.name != "SHA256SUMS" and draw.random() < 0.8
    if remade:
        _sum_again(folder)
    said = (folder / "SHA256SUMS").is_file() and _digests(source) != _digests(folder) and not remade
    untrue = (lambda _: "a changed artefact was judged as if it were whole") if said else (lambda _: "")
    words = (
        ("explain", "--again", "artefact")
        if draw.random() < 0.8
        else ("explain", "window-replay", "artefact")
    )
    return Try(f"artefact {file.name}", words, (), untrue if "--again" in words else (lambda _: ""))


def reports(draw: Draw) -> Try:
    """A report with one file of its kept runs, or its page, changed; the sums of the runs remade or not."""
    folder = Path("kept")
    shutil.copytree("report", folder)
    runs = [path for path in (folder / "runs").rglob("*") if path.is_file()]
    file = pick(draw, [*sorted(runs), folder / "results.json", folder / "index.html"])
    before = file.read_bytes()
    way = _spoiled(draw, file)
    remade = way != 0 and file.name != "SHA256SUMS" and draw.random() < 0.8
    if remade:
        for sums in (*(folder / "runs").glob("*/SHA256SUMS"), folder / "runs" / "SHA256SUMS"):
            _sum_again(sums.parent)
    same = file.is_file() and not file.is_symlink() and file.read_bytes() == before
    # What no run shows, such as a time, is for whoever made the report to say, runs too.
    said = not same and file.is_file() and (file.name == "index.html" or (file in runs and not remade))
    untrue = (lambda _: f"{file} was changed, and the report is equal") if said else (lambda _: "")
    return Try(f"report {file.name}", ("explain", "--again", "kept", "--jobs", "1"), (), untrue)


def _spoiled(draw: Draw, file: Path) -> int:
    """Change a file, or put something else in its place; 0 for the latter."""
    way = int(draw.integers(10))
    if way == 0:
        file.unlink()
        pick(
            draw, (lambda: None, file.mkdir, lambda: os.mkfifo(file), lambda: os.symlink("/dev/zero", file))
        )()
    elif file.suffix == ".npz":
        nasty.spoil_arrays(draw, file)
    elif file.suffix == ".json" and way < 8:
        document = json.loads(file.read_text("utf-8"))
        nasty.spoil_document(draw, document)
        file.write_text(_text(document), "utf-8", "replace")
    else:
        file.write_bytes(nasty.spoil_bytes(draw, file.read_bytes()))
    return way


def _sum_again(folder: Path) -> None:
    """Remake a list of digests."""
    sums = folder / "SHA256SUMS"
    listed = [line.split()[1] for line in sums.read_text("ascii").splitlines()]
    sums.write_text(
        "".join(f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in listed)
    )


def _digests(folder: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        if file.is_file() and not file.is_symlink()
        else ""
        for file in folder.iterdir()
    }


def _text(document: object) -> str:
    try:
        return json.dumps(document)
    except RecursionError:
        return "[" * 5000 + "]" * 5000


def certificates(draw: Draw) -> Try:
    """A certificate with one field changed, its digest remade or not."""
    from sstep_verify.oracle.certificate.file import document_digest

    document = json.loads(Path("c.json").read_text("utf-8"))
    path = nasty.spoil_document(draw, document)
    if draw.random() < 0.8:
        try:
            document["digest"] = document_digest(document)
        except Exception:  # what cannot be digested the command reports
            path += " (old digest)"
    text = _text(document).encode("utf-8", "replace")
    Path("t.json").write_bytes(nasty.spoil_bytes(draw, text) if draw.random() < 0.1 else text)

    def untrue(_said: str) -> str:
        return wrong_certificate(Path("c.json"), Path("t.json"))

    return Try(f"certificate {path}", ("oracle", "good", "--verify", "t.json"), (), untrue)


def vectors(draw: Draw) -> Try:
    """Vectors with one file changed; those of a problem made again from its arrays, as one who means harm would."""
    from sstep_verify.vectors import layout

    folder = Path("v")
    before = {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    file = pick(draw, sorted(before))
    way = int(draw.integers(12))
    if way == 0:
        file.unlink()
        pick(draw, (lambda: None, file.mkdir, lambda: os.mkfifo(file), lambda: os.symlink("good", file)))()
    elif way == 1:
        (file.parent / pick(draw, ("x", ".x", "999-x", "data.bin~"))).write_text("")
    elif way < 5 and file.suffix == ".bin":
        content = bytearray(before[file])
        place = 8 * int(draw.integers(max(len(content) // 8, 1)))
        number = pick(draw, (0.0, -1.0, 3.0, 1e308, 5e-324, np.inf, np.nan, 1e-160))
        content[place : place + 8] = np.array(number).tobytes()
        file.write_bytes(bytes(content))
        if file.name in layout.PROBLEM_FILES:
            _made_again(file.parent)
    elif file.suffix == ".json" and way < 10:
        document = json.loads(before[file])
        nasty.spoil_document(draw, document)
        file.write_text(_text(document), "utf-8", "replace")
    else:
        file.write_bytes(nasty.spoil_bytes(draw, before[file]))
    after = {one: one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}
    untrue = (lambda _: "changed vectors were proved") if after != before else (lambda _: "")
    return Try(f"vectors {file}", ("vectors", "v", "--verify"), (), untrue)


def _made_again(folder: Path) -> None:
    """Make the other files of a vector's problem agree with its raw arrays, where these describe one."""
    import tempfile

    from sstep_verify.vectors import layout, record, verify

    files = {name: (folder / name).read_bytes() for name in layout.FILES}
    with tempfile.TemporaryDirectory() as scratch, contextlib.suppress(record.VectorError):
        request = verify.request_from(files, folder.name, Path(scratch))
        for name, content in layout.problem_files(request).items():
            (folder / name).write_bytes(content)


def checkpoints(draw: Draw) -> Try:
    """A checkpoint with one array changed, resumed at its last iteration or further on."""
    file = Path("c.npz.checkpoint")
    way = nasty.spoil_arrays(draw, file)
    if draw.random() < 0.7:
        way += _digest_remade(file)
    words = ["solve", "good", *SOLVE, "--out", "c.npz", "--resume"]
    words[words.index("320")] = pick(draw, ("320", "640", "160", "321"))
    if draw.random() < 0.3:
        words[words.index("--tolerance") + 1] = "1e-3"
    outputs = ("c.npz", "c.npz.checkpoint")
    return Try(f"checkpoint {way}", tuple(words), outputs, solved(tuple(words), "c.npz"))


def _digest_remade(file: Path) -> str:
    """Put the digest of what a checkpoint now holds into it, as one who means harm would."""
    from sstep_verify.solver.training import checkpoint

    try:
        with np.load(file, allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays}
        held["sha256"] = np.array(checkpoint._digest(held))
    except Exception:  # beyond reading: told by the command
        return " (old digest)"
    np.savez(file.with_suffix(".npz"), **held)
    file.with_suffix(".npz").replace(file)
    return ""
