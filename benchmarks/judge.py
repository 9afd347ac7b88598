"""Cost of judging every step: time of the judge over that of the bare run, and what the log adds.

Cells are those of microseconds, each with panels formed in every window and with a kept Gram matrix.
Times are processor times of one thread, so that others on the machine count less; ratios are taken within a
repeat. The kernel entries that the judge forms once for a data set and kernel stand apart. Usage:
``python benchmarks judge --data DIR``.
"""

from __future__ import annotations

import gc
from functools import partial
from time import process_time
from typing import Any

import microseconds
import numpy as np
from grid import Report, calibrated, column, take_turns, timed

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.timing.measure import quartiles

TARGET, LOG_TARGET = 3.0, 1.05

OPTIONS = microseconds.OPTIONS
DOCUMENT = microseconds.DOCUMENT | {
    "format": "sstep-verify judge 1", "units": "microseconds of processor time per iteration",
}  # fmt: skip
COLUMNS = (
    *microseconds.COLUMNS[:4],
    ("  Gram", "<9", "  {gram}"), ("bare run", ">9", "{bare:.2f}"), ("judge", ">9", "{judge:.2f}"),
    ("judge / bare", ">22", "{ratio:.2f} [{ratio_low:.2f}, {ratio_high:.2f}]"),
    ("logged / bare", ">15", "{log:.3f}"), ("entries, s", ">12", "{entries:.2f}"),
    (f"  target {TARGET:g}, {LOG_TARGET:g}", "", "  {mark}"),
)  # fmt: skip


def cell_of(
    problem: Problem, stream: IndexStream, s: int, keep: bool, repeats: int, seconds: float
) -> dict[str, Any]:
    """Time one cell; steps are judged from kernel entries that are there."""
    solver = ProductionSolver(keep_gram=keep, gram_limit=1 << 28)

    def run(count: int, log: bool = False):
        return solver.run(RunRequest(problem, stream, s, count * s, log=log))

    count = calibrated(run, stream.length // s, seconds)
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

    bare, logged = (partial(each, partial(run, count, log)) for log in (False, True))
    rounds = take_turns({"bare": bare, "logged": logged, "bare again": bare, "judge": judging}, repeats)
    alone = (column(rounds, "bare") + column(rounds, "bare again")) / 2
    low, ratio, high = quartiles(column(rounds, "judge") / alone)
    log = float(np.median(column(rounds, "logged") / alone))
    return {
        "data": problem.name, "kernel": problem.kernel.name, "b": stream.block, "s": s,
        "gram": "kept" if keep else "fresh", "bare": float(np.median(alone)),
        "judge": float(np.median(column(rounds, "judge"))), "ratio": ratio, "ratio_low": low,
        "ratio_high": high, "log": log, "entries": entries, "repeats": rounds,
        "mark": "met" if ratio <= TARGET and log <= LOG_TARGET else "MISSED",
    }  # fmt: skip


def measure(report: Report) -> None:
    for cell in microseconds.cells_of(report):
        for keep in (False, True):
            report.add("cells", cell_of(*cell, keep, report.chosen.repeats, report.chosen.seconds))
            gc.collect()
    report.count_met([cell["mark"] == "met" for cell in report.document["cells"]])
