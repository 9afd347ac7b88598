"""Microseconds per iteration of the production solver, against a NumPy loop and against the floor.

Every number is the median of interleaved repeats on one BLAS thread; ratios are taken within a repeat, so
that a busy machine touches both sides. Usage: ``python benchmarks microseconds --data DIR``.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import floor
import numpy as np
from grid import SEED, Report, calibrated, column, take_turns, timed

from sstep_verify.errors import SstepVerifyError
from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.problems.data import datasets
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.timing.measure import quartiles

DATA_SETS = {"duke": (1,), "colon-cancer": (1,), "diabetes": (1,), "abalone": (1, 4, 128)}
"""Block sizes (b) by data set; abalone is K-RR, the others K-SVM-L1."""

OPTIONS: dict[str, dict[str, Any]] = {
    "--repeats": {"default": 7}, "--seconds": {"default": 0.05}, "--only": {"choices": DATA_SETS},
}  # fmt: skip
DOCUMENT = {
    "format": "sstep-verify microseconds 1", "units": "microseconds per iteration", "blas threads": 1,
    "skipped": {}, "cells": [],
}  # fmt: skip
COLUMNS = (
    ("data", "<13", "{data}"), ("kernel", "<11", "{kernel}"), ("b", ">4", "{b}"), ("s", ">4", "{s}"),
    ("production", ">12", "{production:.2f}"), ("(IQR)", ">9", "{spread:.2f}"),
    ("NumPy loop", ">12", "{numpy_loop:.2f}"), ("floor", ">11", "{floor:.2f}"),
    ("ratio to floor", ">21", "{ratio:.2f} [{ratio_low:.2f}, {ratio_high:.2f}]"),
    ("target", ">8", "{aim}"), ("", "<9", "  {mark}"), ("x NumPy", ">8", "{speedup:.1f}"),
)  # fmt: skip

MOST_DRAWS = 1 << 16


def cells_of(report: Report) -> Iterator[tuple[Problem, IndexStream, int]]:
    """Problem, stream and s of every cell; a problem for each kernel, with the paper's parameters.

    No more distinct windows than fill the time: their columns are kept for the floor.
    """
    report.say(f"{report.document['units']}, medians; one BLAS thread")
    report.head()
    for name in report.chosen.only or DATA_SETS:
        try:
            data = datasets.load(name, directory=report.chosen.data)
        except SstepVerifyError as error:
            report.skip(name, error)
            continue
        report.digests[name] = data.sha256
        loss = Ridge(1.0) if data.task == "regression" else Hinge(1.0)
        for kernel in map(kernel_from, ("linear", "polynomial", "rbf")):
            problem = Problem(name, data.data, data.targets, kernel, loss)
            for b in DATA_SETS[name]:
                for s in (1, 8, 64):
                    length = max(MOST_DRAWS // (s * b), 1) * s
                    yield problem, IndexStream("uniform", problem.samples, b, length, SEED), s


def cell_of(problem: Problem, stream: IndexStream, s: int, repeats: int, seconds: float) -> dict[str, Any]:
    """Time one cell; the floor is that of the faster kernel function."""
    blocks, most, b = stream.blocks(0, stream.length), stream.length // s, stream.block
    solver, distinct = ProductionSolver(), floor.distinct(blocks, s)
    contestants: dict[str, Callable[[int], object]] = {
        "production": lambda count: solver.run(RunRequest(problem, stream, s, count * s)),
        "numpy loop": lambda count: floor.numpy_loop(problem, blocks[: count * s], s),
        "floor, numpy": floor.panels(problem, distinct, compiled=False),
    }
    if problem.kernel.name != "linear":
        contestants["floor, compiled"] = floor.panels(problem, distinct, compiled=True)

    def each(work: Callable[[int], object]) -> Callable[[], float]:
        count = calibrated(work, most, seconds)
        return lambda: timed(partial(work, count)) / (count * s) * 1e6

    rounds = take_turns({name: each(work) for name, work in contestants.items()}, repeats)
    taken = {name: column(rounds, name) for name in contestants}
    median = {name: float(np.median(times)) for name, times in taken.items()}
    lowest = min((name for name in median if name.startswith("floor")), key=median.__getitem__)
    # The largest ratio to the floor that is aimed at.
    target = 1.5 if s * b >= 16 else 2.0 if s == 1 else None
    low, ratio, high = quartiles(taken["production"] / taken[lowest])
    first, _, third = quartiles(taken["production"])
    return {
        "data": problem.name, "kernel": problem.kernel.name, "b": b, "s": s,
        "production": median["production"], "spread": third - first, "numpy_loop": median["numpy loop"],
        "floor": median[lowest], "ratio": ratio, "ratio_low": low, "ratio_high": high,
        "speedup": float(np.median(taken["numpy loop"] / taken["production"])), "target": target,
        "repeats": rounds, "mark": "-" if target is None else "met" if ratio <= target else "MISSED",
    }  # fmt: skip


def measure(report: Report) -> None:
    gc.disable()
    for cell in cells_of(report):
        measured = cell_of(*cell, report.chosen.repeats, report.chosen.seconds)
        report.add("cells", measured, aim=f"{measured['target']:g}" if measured["target"] else "-")
    aimed = [cell["mark"] == "met" for cell in report.document["cells"] if cell["target"]]
    report.count_met(aimed, f"; {len(report.document['skipped'])} data sets skipped")
