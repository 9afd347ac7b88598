"""One runner for every benchmark: its arguments, works that take turns, a report of text and JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sstep_verify import provenance
from sstep_verify.outputs import write_text

SEED = 20
"""Of everything drawn."""

Columns = Sequence[tuple[str, str, str]]
"""Of a table: title, width, and how an entry's value is told."""


def parser(
    text: str | None, name: str, repeats: int = 0, seconds: float = 0.0, only: Collection[str] = ()
) -> argparse.ArgumentParser:
    """Arguments that all have: --data and --out; --repeats, --seconds, --only where they mean something."""
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
    if only:
        arguments.add_argument("--only", choices=only, action="append", help="one of them; may be repeated")
    out = Path(f"sstep-verify-out/benchmarks/{name}.json")
    arguments.add_argument("--out", type=Path, default=out, help=f"JSON file; text beside it ({out})")
    return arguments


def several(arguments: argparse.ArgumentParser) -> argparse.Namespace:
    """What is asked for, where quartiles are told."""
    chosen = arguments.parse_args()
    if chosen.repeats < 5 or not chosen.seconds > 0:
        arguments.error("needed are at least 5 repeats and a positive length of a timing")
    return chosen


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
    """What is said and measured: printed as it comes, and written with where it was made.

    Entries of tables are told by `columns`.
    """

    def __init__(self, out: Path, columns: Columns = (), **document: Any):
        self._out, self._columns, self.document = out, columns, document
        self._lines: list[str] = []
        self.digests: dict[str, str | None] = {}

    def say(self, text: str) -> None:
        """Print a line, and keep it."""
        self._lines.append(text)
        print(text, flush=True)

    def head(self) -> None:
        """Say the titles of the columns."""
        self.say("".join(f"{title:{width}}" for title, width, _ in self._columns))

    def add(self, table: str, entry: dict[str, Any], text: str | None = None, **more: object) -> None:
        """Keep an entry of a table, and say its line, which may tell more than is kept."""
        self.document.setdefault(table, []).append(entry)
        row = (f"{told.format(**entry, **more):{width}}" for _, width, told in self._columns)
        self.say("".join(row) if text is None else text)

    def write(self) -> None:
        """Write what there is so far, as JSON and as text."""
        facts = provenance.collect(["python", *sys.argv], seeds={"index stream": SEED}, data=self.digests)
        self._out.parent.mkdir(parents=True, exist_ok=True)
        write_text(self._out, json.dumps({**self.document, "provenance": facts}, indent=1) + "\n")
        write_text(self._out.with_suffix(".txt"), "\n".join(self._lines) + "\n")

    def done(self) -> None:
        """Write all, and print where."""
        self.write()
        print(f"{self._out}, {self._out.with_suffix('.txt')}")
