"""One runner for every benchmark: its arguments, works that take turns, a report of text and JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sstep_verify import provenance
from sstep_verify.outputs import write_text

SEED = 20
"""Of everything drawn."""


def parser(text: str | None, name: str, repeats: int = 0, seconds: float = 0.0) -> argparse.ArgumentParser:
    """Arguments that all have: --data and --out, --repeats and --seconds where timings have them."""
    arguments = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = os.environ.get("SSTEP_VERIFY_DATA")
    arguments.add_argument("--data", default=folder, help="folder of LIBSVM files ($SSTEP_VERIFY_DATA)")
    if repeats:
        arguments.add_argument("--repeats", type=int, default=repeats, help=f"turns (default: {repeats})")
    if seconds:
        arguments.add_argument(
            "--seconds", type=float, default=seconds, help=f"length of a timing (default: {seconds})"
        )
    out = Path(f"sstep-verify-out/benchmarks/{name}.json")
    arguments.add_argument("--out", type=Path, default=out, help=f"JSON file; text beside it ({out})")
    return arguments


def timed(work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Seconds of some work."""
    begin = clock()
    work()
    return clock() - begin


def take_turns(works: Mapping[str, Callable[[], float]], repeats: int) -> list[dict[str, float]]:
    """What every work says that it took, in each of some rounds: a busy machine touches all of a round."""
    return [{name: work() for name, work in works.items()} for _ in range(repeats)]


def column(rounds: Sequence[Mapping[Any, float]], name: Any) -> np.ndarray:
    """What one work took in every round."""
    return np.array([times[name] for times in rounds])


def quartiles(values: Any) -> list[float]:
    """Lower quartile, median, upper quartile."""
    return np.quantile(values, (0.25, 0.5, 0.75)).tolist()


def spread(values: Sequence[float]) -> str:
    """Median and quartiles, as a table has them."""
    low, middle, high = values
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def calibrated(work: Callable[[int], None], most: int, seconds: float) -> int:
    """Number of windows that takes about the given time, after a first call that compiles and warms up."""
    work(1)
    count = 1
    while True:
        taken = timed(partial(work, count))
        if taken >= seconds / 2 or count == most:
            return count
        count = min(most, max(2 * count, int(count * seconds / max(taken, 1e-9))))


class Report:
    """What is said and measured: printed as it comes, and written with where it was made."""

    def __init__(self, out: Path, **document: Any):
        self._out, self.document, self._lines = out, document, []

    def say(self, text: str) -> None:
        """Print a line, and keep it."""
        self._lines.append(text)
        print(text, flush=True)

    def add(self, table: str, entry: dict[str, Any], text: str) -> None:
        """Keep an entry of a table, and say its line."""
        self.document.setdefault(table, []).append(entry)
        self.say(text)

    def write(self, digests: Mapping[str, str | None] | None = None) -> None:
        """Write what there is so far, as JSON and as text."""
        facts = provenance.collect(["python", *sys.argv], seeds={"index stream": SEED}, data=digests or {})
        self._out.parent.mkdir(parents=True, exist_ok=True)
        write_text(self._out, json.dumps({**self.document, "provenance": facts}, indent=1) + "\n")
        write_text(self._out.with_suffix(".txt"), "\n".join(self._lines) + "\n")

    def done(self, digests: Mapping[str, str | None] | None = None) -> None:
        """Write all, and print where."""
        self.write(digests)
        print(f"{self._out}, {self._out.with_suffix('.txt')}")
