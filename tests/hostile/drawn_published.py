"""Tries of what comes back from elsewhere: batches of runs and vectors alone, spoilt."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import nasty
import numpy as np
from attempt import Try, asked
from nasty import Draw, pick
from statements import wrong_answer


def _spoil(draw: Draw, file: Path) -> None:
    """Change a file, or put something else in its place."""
    content, way = file.read_bytes(), int(draw.integers(10))
    if way == 0:
        file.unlink()
        pick(
            draw,
            (lambda: None, file.mkdir, lambda: os.mkfifo(file), lambda: os.symlink("/dev/zero", file),
             lambda: os.symlink(Path("good").absolute(), file)),
        )()  # fmt: skip
    elif file.suffix == ".npz":
        nasty.spoil_arrays(draw, file)
    elif file.suffix == ".json" and way < 8:
        document = json.loads(content)
        nasty.spoil_document(draw, document)
        try:
            file.write_text(json.dumps(document), "utf-8", "replace")
        except RecursionError:
            file.write_text("[" * 5000 + "]" * 5000)
    elif file.suffix == ".txt" and way < 8:
        file.write_bytes(nasty.spoil_lines(draw, content.decode("utf-8", "replace")))
    else:
        file.write_bytes(nasty.spoil_bytes(draw, content))


def _unpacked(name: str) -> list[Path]:
    """Files of what lies packed in ``NAME.tar``."""
    with tarfile.open(f"{name}.tar") as archive:
        archive.extractall(filter="data")
        return sorted(Path(member.name) for member in archive if member.isfile())


def _content(file: Path) -> object:
    """What a file says: of JSON its values, of others their bytes; None if it is no regular file."""
    if file.is_symlink() or not file.is_file():
        return None
    content = file.read_bytes()
    try:
        return json.loads(content) if file.suffix == ".json" else content
    except (ValueError, RecursionError):
        return content


def batches(draw: Draw) -> Try:
    """A batch of runs with one file changed."""
    files = _unpacked("bt")
    runs = [file for file in files if file.name in ("log.bin", "exit", "stdout", "final.bin")]
    file = pick(draw, runs if draw.random() < 0.7 else files)
    before = file.read_bytes()
    _spoil(draw, file)
    gone = file.is_symlink() or not file.is_file()
    what = None if gone else file.read_bytes()
    # Of the runs beside the plain one only some ends are compared, so a value that is drawn again may be any.
    again = [one.parent for one in runs if one.name == "exit" and one.parent.name.endswith("-2")]
    plain = max(again, key=lambda one: (one / "points.bin").stat().st_size).name.replace("-2", "-1")
    judged = file.name == "exit" or (file.name == "log.bin" and file.parent.name == plain)
    said = judged and not _same_numbers(before, what, file.name)
    untrue = (lambda _: f"{file} was changed, but the report is green") if said else (lambda _: "")
    return Try(
        f"batch {file}", ("check", "--runs", "bt", "--out", "rep"), ("rep", "rep.partial", "bt"), untrue
    )


def _same_numbers(before: bytes, after: bytes | None, name: str) -> bool:
    """Whether a result says the same as before, as far as the bound of a step can tell."""
    if after is None or len(after) != len(before):
        return after is not None and after.strip() == before.strip() and name == "exit"
    if name == "exit":
        return after.strip() == before.strip()
    one, other = np.frombuffer(before, "<f8"), np.frombuffer(after, "<f8")
    return bool(np.abs(one - other).max(initial=0.0) <= 1e-12 * np.abs(one).max())


def finals(draw: Draw) -> Try:
    """A vector alone, of a problem that it is or is not the optimum of."""
    with np.load("c.npz") as arrays:
        alpha = arrays["alpha"].copy()
    words = ["oracle", "--final", "f.txt", "good", "--task", "svm-l1", "--out", "rep"]
    way = int(draw.integers(6))
    if way == 0:
        alpha = alpha * pick(draw, (2.0, -1.0, 24.0, 1 / 24, 1e300, 1e-300))
    elif way == 1:
        alpha[int(draw.integers(alpha.size))] = pick(draw, (0.0, 1e308, np.inf, np.nan, -1e-9, 0.5))
    elif way == 2:
        alpha = alpha[: int(draw.integers(alpha.size + 1))]
    text = "".join(f"{value:.17g}\n" for value in alpha.tolist())
    Path("f.txt").write_bytes(nasty.spoil_lines(draw, text) if way == 3 and text else text.encode())
    if way == 4:
        name = pick(draw, ("--C", "--scale", "--tolerance", "--bias", "--kernel", "--lambda"))
        words += [name, pick(draw, nasty.NUMBERS).replace("\0", "") or "0"]
    if way == 5:
        words[2] = pick(draw, ("good", "c.npz", "gone", ".", "/dev/zero", "c.json", "v", ""))
    plain = not {"--scale", "--tolerance", "--bias"} & set(words)
    judge = (
        (lambda _: wrong_answer(Path(words[2]), *asked(("oracle", "good", *words[4:])))) if plain else None
    )
    return Try("vector alone", tuple(words), ("rep", "rep.partial"), judge or (lambda _: ""))


def make_packed(command) -> None:
    """Leave ``bt.tar``: a batch whose runs are made."""
    program = Path(__file__).parents[1] / "conformance" / "numpy_program.py"
    line = shlex.join([sys.executable, str(program), "{dir}"])
    small = ("--profile", "smoke", "--task", "krr", "--s", "7")
    words = ("check", "--runs", "bt", "--exec", line, *small)
    code, said = command(*words)
    if code:
        raise RuntimeError(f"{words} ended with {code}:\n{said}")
    while True:
        subprocess.run(["sh", "bt/solve.sh"], check=True, capture_output=True)
        code, said = command("check", "--runs", "bt", "--out", "seen")
        if code != 3 or "solve.sh" not in said:
            break
    if code:
        raise RuntimeError(f"judge ended with {code}:\n{said}")
    with tarfile.open("bt.tar", "w") as archive:
        archive.add("bt")
    for folder in ("bt", "seen"):
        shutil.rmtree(folder, ignore_errors=True)
