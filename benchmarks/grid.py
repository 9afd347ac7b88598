"""What every benchmark has: works that take turns, and a report of text and JSON."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sstep_verify import provenance
from sstep_verify.errors import InputError
from sstep_verify.files import write_text

SEED = 20
"""Of everything drawn."""

ROOT = Path(__file__).parents[1]


def timed(work: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Seconds of some work."""
    begin = clock()
    work()
    return clock() - begin


class Used(NamedTuple):
    """Seconds of processors and of the clock that a process took with its children."""

    processor: float
    clock: float


def spent(words: list[str], threads: int | None = 1, **environment: str) -> Used:
    """Run a process to its end, which must be a good one; None: nobody says how many threads BLAS has."""
    given = os.environ | environment
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        given.pop(variable, None)
        given |= {} if threads is None else {variable: str(threads)}
    begin = perf_counter()
    job = subprocess.Popen(words, env=given, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(job.pid, 0)
    job.returncode = os.waitstatus_to_exitcode(status)
    if job.returncode:
        raise InputError(f"{' '.join(words[:6])} ... ended with {job.returncode}: run it by hand")
    return Used(usage.ru_utime + usage.ru_stime, perf_counter() - begin)


def take_turns(works: Mapping[str, Callable[[], float]], repeats: int) -> list[dict[str, float]]:
    """What every work says that it took, in each of some rounds: a busy machine touches all of a round."""
    return [{name: work() for name, work in works.items()} for _ in range(repeats)]


def column(rounds: Sequence[Mapping[Any, float]], name: Any) -> np.ndarray:
    """What one work took in every round."""
    return np.array([times[name] for times in rounds])


def calibrated(work: Callable[[int], object], most: int, seconds: float) -> int:
    """Number of windows that takes about the given time, after a first call that compiles and warms up."""
    work(1)
    count = 1
    while (taken := timed(partial(work, count))) < seconds / 2 and count < most:
        count = min(most, max(2 * count, int(count * seconds / max(taken, 1e-9))))
    return count


class Report:
    """What is said and measured by the options `chosen`: printed as it comes, and written with every entry.

    Columns state an entry of a table: title, width, and how its value is written.
    """

    def __init__(
        self, chosen: argparse.Namespace, columns: Sequence[tuple[str, str, str]], **document: Any
    ):
        self.chosen, self._columns, self.document = chosen, columns, deepcopy(document)
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
        self.document[table].append(entry)
        row = (f"{told.format(**entry, **more):{width}}" for _, width, told in self._columns)
        self.say("".join(row) if text is None else text)
        self.write()

    def skip(self, name: str, reason: object) -> None:
        """Keep why something is not measured, and say so."""
        self.document["skipped"][name] = str(reason)
        self.say(f"skipped: {name}: {reason}")

    def count_met(self, met: Sequence[bool], rest: str = "") -> None:
        """Say how many of the targets of a table are met."""
        self.say(f"targets met in {sum(met)} of {len(met)} cells{rest}")

    def write(self) -> None:
        """Write what there is so far, as JSON and as text, with where it was made."""
        facts = provenance.collect(["python", *sys.argv], seeds={"index stream": SEED}, data=self.digests)
        self.chosen.out.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.chosen.out, json.dumps({**self.document, "provenance": facts}, indent=1) + "\n")
        write_text(self.chosen.out.with_suffix(".txt"), "\n".join(self._lines) + "\n")
