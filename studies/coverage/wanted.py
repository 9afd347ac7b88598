"""Which runs the cells of the table still want: a number names a cell, and how often it was tried."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from sstep_verify.checks.registry import CHECKS
from studies.coverage.cells import FREEDOMS
from studies.coverage.freedoms import CORE, CORES, VALUES
from studies.coverage.requirements import left_for
from studies.coverage.rules import Values
from studies.reporting.sensitivity.coverage import CROSSED, ENOUGH, Cells

TRIES = 1024
"""Runs that are drawn for one cell on one processor, at most."""

AIMS = tuple((check, name, value) for check, name in product(CHECKS, FREEDOMS) for value in VALUES[name])
"""Cells of one task and kernel."""

STRIDE = len(AIMS) * TRIES
"""Numbers of the runs of one task and kernel."""


class Wanted(NamedTuple):
    """What a number asks for.

    Parameters
    ----------
    check, place : str
        The check that is to decide the run, and its task and kernel.
    left : dict of str to tuple of str
        What is left of each freedom of such a run.
    why : str
        Why there is no such run; empty if there is.
    """

    check: str
    place: str
    left: Values
    why: str


def wanted(number: int) -> Wanted:
    """What the run of a number is for, on this processor."""
    place, (check, name, value) = CROSSED[number // STRIDE], AIMS[number % STRIDE // TRIES]
    task, kernel = place.split()
    given = {"task": task, "kernel": kernel, "processor": os.environ.get(CORE, "")}
    left, why = left_for(check, given | {name: value})
    return Wanted(check, place, left, why if given.get(name, value) == value else "another processor")


def numbers(first: int, runs: int, cells: Cells) -> Iterator[int]:
    """Numbers of runs for cells of one task and kernel, as long as these lack decided ones.

    At most so many, from the number of the first cell's first run; to `cells`, the decided runs, each
    run is added before the next number is asked for.
    """
    # On each processor a fifth more than its part, for cells that one of them decides too seldom.
    share, tried, place = -(-6 * ENOUGH // (5 * len(CORES))), Counter[int](), CROSSED[first // STRIDE]
    left = np.random.Generator(np.random.PCG64(first)).permutation(len(AIMS)).tolist()
    while left and runs:
        cell = min(left, key=tried.__getitem__)
        check, name, value = AIMS[cell]
        enough = ENOUGH if name == "processor" else share
        decided, _ = cells.get(f"{check} {place}", {}).get(f"{name}={value}", (0, 0.0))
        if tried[cell] == TRIES or decided >= enough or wanted(first + cell * TRIES).why:
            left.remove(cell)
            continue
        yield first + cell * TRIES + tried[cell]
        tried[cell], runs = tried[cell] + 1, runs - 1
