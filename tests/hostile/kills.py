"""Kill `solve`, `run` and `oracle` at drawn moments, go on until they finish, and compare with a run left alone.

A chain is one command that is killed (SIGKILL, now and then SIGINT or SIGTERM) once or more and then let finish; what it
leaves must equal, to the last bit, what the command leaves undisturbed, and no other file may stand next to it.
Usage: ``python tests/hostile/kills.py [--kills 100] [--seed 0]``; exit code 1 if a chain differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent)]

from materials import CAMPAIGN, data_lines  # noqa: E402

SOLVE = "solve big --task svm-l1 --kernel rbf,sigma=0.5 --iterations 12800 --interval 640 --tolerance 0 --s 16 --out o.npz"
RUN = "run c.toml --jobs 1 --out rep"
ORACLE = "oracle big --task svm-l1 --kernel rbf,sigma=0.5 --digits 30 --no-cache --out o.json"

CHAINS = {
    "solve": (SOLVE, "--resume", {"o.npz", "o.npz.checkpoint"}),
    "run": (RUN, "--resume", {"rep"}),
    "oracle": (ORACLE, "--force", {"o.json"}),
}
"""Command, what is added to go on, and the names it leaves."""

ENDS = {"solve": {0}, "run": {0, 3}, "oracle": {0}}
"""Exit codes of a finished command; a campaign this small may show too little to be green (3)."""

WORDS = [sys.executable, "-m", "sstep_verify"]
SIGNALS = (signal.SIGKILL,) * 8 + (signal.SIGINT, signal.SIGTERM)


def prepare(folder: Path) -> None:
    """Write data and campaign."""
    folder.mkdir()
    (folder / "big").write_text(data_lines(120, 6), "ascii")
    (folder / "good").write_text(data_lines(), "ascii")
    text = CAMPAIGN.replace("parameter = [1.0]", "parameter = [0.25, 0.5, 1.0, 2.0]")
    (folder / "c.toml").write_text(text, "ascii")


def said(folder: Path, kind: str) -> object:
    """What a finished command left, without times."""
    if kind == "solve":
        with np.load(folder / "o.npz") as arrays:
            return {name: arrays[name].tobytes() for name in arrays}
    if kind == "oracle":
        document = json.loads((folder / "o.json").read_text("utf-8"))
        return {name: document[name] for name in document if name not in ("provenance", "digest")}
    document = json.loads((folder / "rep" / "results.json").read_text("utf-8"))
    fields = ("check", "case", "s", "status", "measured", "bound", "reason")
    return [[verdict.get(name) for name in fields] for verdict in document["verdicts"]]


def begin(folder: Path, words: list[str]) -> subprocess.Popen:
    """Start the command in a process group of its own, with its signals as a terminal gives them."""
    return subprocess.Popen(
        [*WORDS, *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def chain(kind: str, folder: Path, draw: np.random.Generator, seconds: float) -> tuple[int, str]:
    """Number of kills of one chain, and what is wrong with its end."""
    line, onward, left = CHAINS[kind]
    prepare(folder)
    given = {file.name for file in folder.iterdir()}
    words, kills = line.split(), 0
    for _ in range(int(draw.integers(1, 5))):
        process = begin(folder, words)
        try:
            process.wait(timeout=float(draw.uniform(0.1, 1.1)) * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, SIGNALS[int(draw.integers(len(SIGNALS)))])
            kills += 1
            process.communicate()
        if onward not in words:
            words.append(onward)
    process = begin(folder, words)
    _, errors = process.communicate(timeout=300)
    if process.returncode not in ENDS[kind]:
        return kills, f"ended with {process.returncode}: {errors.decode()[-400:]}"
    stray = {file.name for file in folder.iterdir()} - given - left
    return kills, f"left {sorted(stray)}" if stray else ""


def main() -> int:
    """Make chains until there are enough kills."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    draw = np.random.Generator(np.random.PCG64(asked.seed))
    counts, chains, wrong = dict.fromkeys(CHAINS, 0), 0, 0
    with tempfile.TemporaryDirectory() as held:
        room = Path(held)
        alone, seconds = {}, {}
        for kind, (line, _, _) in CHAINS.items():
            prepare(room / kind)
            begun = time.monotonic()
            process = begin(room / kind, line.split())
            _, errors = process.communicate(timeout=300)
            if process.returncode not in ENDS[kind]:
                raise SystemExit(f"{kind} ended with {process.returncode}:\n{errors.decode()}")
            seconds[kind], alone[kind] = time.monotonic() - begun, said(room / kind, kind)
        while sum(counts.values()) < asked.kills:
            kind = list(CHAINS)[chains % len(CHAINS)]
            folder = room / f"chain-{chains}"
            kills, found = chain(kind, folder, draw, seconds[kind])
            if not found and said(folder, kind) != alone[kind]:
                found = "differs from the run left alone"
            if found:
                wrong += 1
                print(f"{kind}, chain {chains}, {kills} kills: {found}", flush=True)
            counts[kind] += kills
            chains += 1
            shutil.rmtree(folder)
    print(
        f"{sum(counts.values())} kills ({counts}) in {chains} chains; {wrong} chains end otherwise than undisturbed"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
