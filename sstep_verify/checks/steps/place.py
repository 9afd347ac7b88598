"""Where a judged step is: its coordinate, the value that the solver logged, and the judge's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sstep_reference import InvalidInputError, SingularSystemError
from sstep_reference.arithmetic import Float

from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.steps.judged import JudgedRun
from sstep_verify.numerics import kernel_rows
from sstep_verify.oracle.balls.exact_kernel import PanelColumns, classical_run
from sstep_verify.problems import Problem
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Hint, HintKind, Place


def placed(judged: JudgedRun, finding: Finding) -> Finding:
    """The finding on a step with its place, and a hint where its log was not written."""
    iteration, log = finding.window.begin, judged.trajectory.log
    hints = finding.hints
    if log is not None and np.isnan(judged.step(iteration)[1]).any():
        hints = *hints, unwritten(log)
    return replace(finding, place=_place_of(judged, iteration), hints=hints)


def unwritten(log: np.ndarray) -> Hint:
    """How many entries of a log are NaN, of how many, and the first step of them."""
    missing = np.isnan(log)
    first = int(np.flatnonzero(missing.any(axis=1))[0])
    return Hint(HintKind.LOG_NOT_WRITTEN, (int(missing.sum()), missing.size, first + 1))


def _place_of(judged: JudgedRun, iteration: int) -> Place:
    """The coordinate of a step where the solver's value is farthest from the judge's own, with both."""
    alpha = judged.judge.alpha_before(judged.trajectory, iteration)
    draws, logged = judged.step(iteration)
    values = _own_step(judged.case.problem, alpha, draws)
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(np.abs(logged - values), nan=np.inf)
    entry = int(np.argmax(apart))
    expected = float(values[entry]) if np.isfinite(values[entry]) else None
    return Place(iteration, iteration + 1, int(draws[entry]), found=float(logged[entry]), expected=expected)


def _own_step(problem: Problem, alpha: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The values that one classical step in float64 gives the coordinates drawn; NaN where it has none."""
    try:
        with np.errstate(all="ignore"):
            kernel = PanelColumns(Float("float64"), Panel(draws, kernel_rows(problem, draws)))
            return classical_run(problem, kernel, alpha, [draws.tolist()])[draws]
    except (InvalidInputError, SingularSystemError):
        return np.full(draws.size, np.nan)
