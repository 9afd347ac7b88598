"""Tries of programs under test: what one leaves is spoilt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import nasty
import numpy as np
from attempt import Try
from materials import PROGRAM, PROGRAM_CAMPAIGN
from nasty import Draw, pick

NEAR = 1e-12
"""Change of a logged number, relative to the largest, that may stay within the bound of a step."""


def results(draw: Draw) -> Try:
    """A result with one number, byte or line changed, or something else in its place."""
    Path("p.toml").write_text(PROGRAM, "ascii")
    Path("d.toml").write_text(PROGRAM_CAMPAIGN, "ascii")
    right = {name: np.fromfile(f"left/{name}.bin") for name in ("log", "final")}
    name = pick(draw, ("log", "log", "log", "final", "counters.txt", "rank-0.bin"))
    form = pick(draw, ("bin", "txt", "hex")) if name in right else "bin"
    file = (
        Path("left", name) if "." in name else Path("left", f"{name}.{'bin' if form == 'bin' else 'txt'}")
    )
    if name in right:
        Path(f"left/{name}.bin").unlink()
        file.write_bytes(_written(right[name], form))
    else:
        file.write_text("collectives 3\nwords 12\n" if name == "counters.txt" else "12345678")
    way = int(draw.integers(10))
    if way == 0:
        file.unlink()
        pick(
            draw,
            (lambda: None, file.mkdir, lambda: os.mkfifo(file), lambda: os.symlink("/dev/zero", file),
             lambda: os.symlink(Path("good").absolute(), file), lambda: os.truncate(_touched(file), 1 << 26)),
        )()  # fmt: skip
    elif way < 5 and name in right:
        numbers = right[name].copy()
        numbers[int(draw.integers(numbers.size))] = pick(
            draw, (0.0, -0.0, 1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324, 1.0, 0.5, 1 / 3, -1e-300)
        )
        file.write_bytes(_written(numbers, form))
    elif form == "bin":
        file.write_bytes(nasty.spoil_bytes(draw, file.read_bytes()))
    else:
        file.write_bytes(nasty.spoil_lines(draw, file.read_text("ascii")))
    words = ("run", "d.toml", "--jobs", "1", "--out", "rep")
    return Try(f"result {file.name}", words, ("rep", "rep.partial"), _untrue(name, file, right))


AWAY = "import os, shutil, socket, subprocess, sys\nhere = sys.argv[1]; room = os.path.dirname(here)\n"
CONDUCTS = {
    "shutil.rmtree(here); os.mkfifo(here)": True,
    "shutil.rmtree(room); os.mkfifo(room)": True,
    "os.rename(here, here + '.moved'); os.symlink(here + '.moved', here)": True,
    "os.rename(here, here + '.moved'); shutil.copytree(here + '.moved', here)": True,
    "shutil.rmtree(here); open(here, 'w').close()": True,
    "os.remove(here + '/log.bin'); os.mkfifo(here + '/log.bin')": True,
    "shutil.copy(here + '/initial.bin', here + '/rank-1.bin')": True,
    "shutil.copy(here + '/initial.bin', here + '/rank-0.bin')": True,
    "os.chmod(here, 0)": False,
    "os.makedirs(here + '/a/b'); os.chmod(here + '/a', 0)": False,
    "[open(f'{here}/{k}', 'w').close() for k in range(200)]": False,
    "open(here + '/\x1b[31m\u202e', 'w').close()": False,
    "subprocess.Popen(['setsid', 'sleep', '300'])": False,
    "subprocess.Popen(['sleep', '300'])": False,
    "sys.stderr.write('\x1b]0;x\a\u202e'); sys.stderr.flush(); os._exit(3)": True,
}
"""What a right program does after its work, and whether its report may not be green."""


def conducts_of_programs(draw: Draw) -> Try:
    """A right program that then does something to its folder, its processes or the terminal."""
    then = pick(draw, sorted(CONDUCTS))
    Path("then.py").write_text(
        f"{AWAY}shutil.copytree('left', here, dirs_exist_ok=True)\n{then}\n", "utf-8"
    )
    Path("p.toml").write_text(
        PROGRAM.replace(
            '["cp", "-a", "-T", "left", "{dir}"]', f'["{sys.executable}", "-I", "-S", "then.py", "{{dir}}"]'
        )
    )
    checks = '"step-replay", "rank-coherence"'
    Path("d.toml").write_text(PROGRAM_CAMPAIGN.replace('"step-replay"', checks), "ascii")
    untrue = (
        (lambda _: f"a program that does {then} got a green report") if CONDUCTS[then] else (lambda _: "")
    )
    return Try(
        f"conduct {then}", ("run", "d.toml", "--jobs", "1", "--out", "rep"), ("rep", "rep.partial"), untrue
    )


def _touched(file: Path) -> Path:
    file.touch()
    return file


def _written(numbers: np.ndarray, form: str) -> bytes:
    if form == "bin":
        return numbers.tobytes()
    text = [value.hex() if form == "hex" else f"{value:.17g}" for value in numbers.tolist()]
    return "".join(f"{word}\n" for word in text).encode("ascii")


def _untrue(name: str, file: Path, right: dict[str, np.ndarray]) -> Callable[[str], str]:
    """Judge of a PASS: what was left must be the numbers that are right, as far as a bound can tell."""
    if name not in right:
        return lambda _said: ""
    wanted = right[name]
    # The log leads to the final vector, bit for bit, and each of its numbers stands in it at most once.
    near = NEAR if name == "log" else 0.0

    def untrue(_said: str) -> str:
        if name == "final" and not file.exists():
            return ""  # it need not be left
        found = _numbers(file)
        if found is None or found.shape != wanted.shape:
            return f"{file.name} is no result, but the report is green"
        off = np.abs(found - wanted).max(initial=0.0)
        return "" if off <= near * np.abs(wanted).max() else f"{file.name} is off by {off}, but passed"

    return untrue


def _numbers(file: Path) -> np.ndarray | None:
    """The numbers of a result; None if it is none."""
    try:
        content = file.read_bytes()
        if file.suffix == ".bin":
            return np.frombuffer(content, "<f8")
        words = content.decode("ascii").split()
        return np.array([float.fromhex(word) if "x" in word.lower() else float(word) for word in words])
    except (OSError, ValueError, OverflowError):
        return None
