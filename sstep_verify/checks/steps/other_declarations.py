"""Whether steps that fail are correct under another declaration: orthogonal factorisation, or float32.

A solver that uses QR, an SVD or least squares, and declares Cholesky or LDL', may make correct steps that
exceed the bound of what it declares. So may one that logs in float32, or computes in it, and declares
float64, or has a part of a step in float32. Numbers in a log that float32 cannot hold show that a run that
declares float32 did not compute in it. After a FAIL the recorded run is judged under the other
declaration, and no further run is made. Where all steps are within that bound, and it would show the
planted defects, a hint says so. Small defects are within the bounds of float32 too: of a log in float64 the
hint is given only where no known defect reproduces the steps, and most of them fail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.terms import core_terms, first_unseen
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.seen import exact_steps, step_terms
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.arithmetic import rounded_problem
from sstep_verify.verdict import Hint, HintKind, Status

ORTHOGONAL: Literal["orthogonal"] = "orthogonal"
SINGLE: Literal["float32"] = "float32"


MOST = 0.5
"""Share of the steps away from the limits of the box that must fail where float32 is suspected."""


def hints_of_declarations(judged: JudgedRun, oracle: Oracle, *, unexplained: bool) -> tuple[Hint, ...]:
    """A hint on each declaration, other than that of the solver, which explains every step of a run.

    `unexplained` says that known defects were tried, and none reproduces the steps.
    """
    other = _hints_of_factorisation(judged, oracle)
    return *other, *_hints_of_precision(judged, oracle, unexplained=unexplained and not other)


def held_in_float32(values: np.ndarray) -> np.ndarray:
    """Which of some values are finite numbers of float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.isfinite(values) & (values.astype(np.float32) == values)


def _hints_of_factorisation(judged: JudgedRun, oracle: Oracle) -> tuple[Hint, ...]:
    case = judged.case
    if case.problem.is_svm or case.declaration.factorisation == ORTHOGONAL:
        return ()
    other = replace(case, declaration=replace(case.declaration, factorisation=ORTHOGONAL))
    return (Hint(HintKind.FACTORISATION, (ORTHOGONAL,)),) if _explains(judged, other, oracle) else ()


def _hints_of_precision(judged: JudgedRun, oracle: Oracle, *, unexplained: bool) -> tuple[Hint, ...]:
    case, log = judged.case, judged.trajectory.log
    if log is None:
        return ()
    if case.declaration.precision == SINGLE:
        others = int(np.count_nonzero(np.isfinite(log) & ~held_in_float32(log)))
        return (Hint(HintKind.NOT_IN_FLOAT32, (float(others), float(log.size))),) if others else ()
    rounded = bool(held_in_float32(log).all())
    if not rounded and not (unexplained and _most_fail(judged, log)):
        return ()
    other = replace(case, declaration=replace(case.declaration, precision=SINGLE))
    held = rounded_problem(case.problem, other.formulas)
    if held is None or not _explains(judged, replace(other, problem=held), oracle.of(held)):
        return ()
    if rounded:
        return (Hint(HintKind.LOG_IN_FLOAT32, ("steps",)),)
    return (Hint(HintKind.PARTS_IN_FLOAT32, (float(judged.wrong.size), float(judged.decided))),)


def _most_fail(judged: JudgedRun, log: np.ndarray) -> bool:
    """Whether most steps fail that could, and most of those that begin a window, which have no correction.

    A value at a limit of the box is exact in every precision. A correction that is off by a factor leaves
    the first step of every window correct.
    """
    could: np.ndarray = np.isfinite(log).any(axis=1)
    if judged.case.problem.is_svm:
        dual = judged.case.problem.dual
        could &= np.any((log > dual.lower) & (log < dual.upper), axis=1)
    share = MOST * judged.judged / len(log)
    for every in (1, judged.trajectory.s):
        failed, of = np.count_nonzero(judged.wrong % every == 0), np.count_nonzero(could[::every])
        if not failed or int(failed) < share * int(of):
            return False
    return True


def _explains(judged: JudgedRun, other: Case, oracle: Oracle) -> bool:
    """Whether every step of a run is correct in another case, whose bounds would show a planted defect."""
    again = StepJudge(other, oracle).run(judged.trajectory)
    if again.wrong.size or again.decided < judged.decided:
        return False
    exact, length = exact_steps(again), judged.trajectory.length
    # A bound within which every step would be says nothing of these.
    unseen = first_unseen(core_terms(step_terms(again, exact), min(judged.trajectory.s, length)))
    return not (unseen or any(one.status is Status.FAIL for one in exact))
