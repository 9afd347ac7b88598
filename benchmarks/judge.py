"""Cost of judging every step: time of the judge over that of the bare run, and what the log adds.

Cells are those of microseconds.py, each with panels formed in every window and with a kept Gram matrix.
Times are processor times of one thread, so that others on the machine count less; ratios are taken within a
repeat. The kernel entries that the judge forms once for a data set and kernel stand apart. Usage:
``python benchmarks/judge.py --data DIR``.
"""

from __future__ import annotations

import gc
import sys
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from grid import SEED, Report, calibrated, column, parser, several, take_turns, timed
from microseconds import DATA_SETS, cells_of, most_windows
from threadpoolctl import threadpool_limits

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.timing.measure import quartiles

TARGET, LOG_TARGET = 3.0, 1.05


def measure(problem: Problem, b: int, s: int, keep: bool, repeats: int, seconds: float) -> dict[str, Any]:
    """Time one cell; steps are judged from kernel entries that are there."""
    most = most_windows(s, b)
    stream = IndexStream("uniform", problem.samples, b, most * s, SEED)
    solver = ProductionSolver(keep_gram=keep, gram_limit=1 << 28)

    def run(count: int, log: bool = False):
        return solver.run(RunRequest(problem, stream, s, count * s, log=log))

    count = calibrated(run, most, seconds)
    case = Case("timed", problem, stream, (s,), count * s, solver.declaration)
    begin = process_time()
    judge = StepJudge(case, Oracle(problem))
    judged = judge.run(run(count, log=True))
    entries = process_time() - begin
    assert not judged.wrong.size

    def each(work) -> float:
        return timed(work, process_time) / (count * s) * 1e6

    def judging() -> float:
        trajectory = run(count, log=True)
        return each(partial(judge.run, trajectory))

    def bare() -> float:
        return each(partial(run, count))

    logged = partial(each, partial(run, count, True))
    rounds = take_turns({"bare": bare, "logged": logged, "bare again": bare, "judge": judging}, repeats)
    alone = (column(rounds, "bare") + column(rounds, "bare again")) / 2
    low, ratio, high = quartiles(column(rounds, "judge") / alone)
    log = float(np.median(column(rounds, "logged") / alone))
    return {
        "data": problem.name, "kernel": problem.kernel.name, "b": b, "s": s,
        "gram": "kept" if keep else "fresh", "bare": float(np.median(alone)),
        "judge": float(np.median(column(rounds, "judge"))), "ratio": ratio, "ratio_low": low,
        "ratio_high": high, "log": log, "entries": entries, "repeats": rounds,
        "mark": "met" if ratio <= TARGET and log <= LOG_TARGET else "MISSED",
    }  # fmt: skip


COLUMNS = (
    ("data", "<13", "{data}"), ("kernel", "<11", "{kernel}"), ("b", ">4", "{b}"), ("s", ">4", "{s}"),
    ("  Gram", "<9", "  {gram}"), ("bare run", ">9", "{bare:.2f}"), ("judge", ">9", "{judge:.2f}"),
    ("judge / bare", ">22", "{ratio:.2f} [{ratio_low:.2f}, {ratio_high:.2f}]"),
    ("logged / bare", ">15", "{log:.3f}"), ("entries, s", ">12", "{entries:.2f}"),
    (f"  target {TARGET:g}, {LOG_TARGET:g}", "", "  {mark}"),
)  # fmt: skip


def main() -> int:
    chosen = several(parser(__doc__, "judge", 7, 0.05, only=DATA_SETS))
    units = "microseconds of processor time per iteration"
    document: dict[str, Any] = {"units": units, "blas threads": 1, "cells": []}
    report = Report(chosen.out, COLUMNS, format="sstep-verify judge 1", **document)
    report.say(f"{units}, medians; one BLAS thread")
    report.head()
    with threadpool_limits(1):
        for cell in cells_of(chosen.only, chosen.data, report):
            for keep in (False, True):
                report.add("cells", measure(*cell, keep, chosen.repeats, chosen.seconds))
                gc.collect()
    met = sum(cell["mark"] == "met" for cell in report.document["cells"])
    report.say(f"targets met in {met} of {len(report.document['cells'])} cells")
    report.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
