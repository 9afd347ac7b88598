"""Whether steps that fail are correct under another declaration: orthogonal factorisation, or float32.

A solver that uses QR, an SVD or least squares, and declares Cholesky or LDL', may make correct steps that
exceed the bound of what it declares. So may one that logs in float32, or computes in it, and declares
float64. After a FAIL the recorded run is judged under the other declaration, and no further run is made.
Where all steps are within that bound, and it would show the planted defects, a hint says so.
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


def hints_of_declarations(judged: JudgedRun, oracle: Oracle) -> tuple[Hint, ...]:
    """A hint on each declaration, other than that of the solver, which explains every step of a run."""
    return *_hints_of_factorisation(judged, oracle), *_hints_of_precision(judged, oracle)


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


def _hints_of_precision(judged: JudgedRun, oracle: Oracle) -> tuple[Hint, ...]:
    case, log = judged.case, judged.trajectory.log
    if case.declaration.precision == SINGLE or log is None or not held_in_float32(log).all():
        return ()
    other = replace(case, declaration=replace(case.declaration, precision=SINGLE))
    held = rounded_problem(case.problem, other.formulas)
    if held is None:
        return ()
    explains = _explains(judged, replace(other, problem=held), oracle.of(held))
    return (Hint(HintKind.LOG_IN_FLOAT32, ("steps",)),) if explains else ()


def _explains(judged: JudgedRun, other: Case, oracle: Oracle) -> bool:
    """Whether every step of a run is correct in another case, whose bounds would show a planted defect."""
    again = StepJudge(other, oracle).run(judged.trajectory)
    if again.wrong.size or again.decided < judged.decided:
        return False
    exact, length = exact_steps(again), judged.trajectory.length
    # A bound within which every step would be says nothing of these.
    unseen = first_unseen(core_terms(step_terms(again, exact), min(judged.trajectory.s, length)))
    return not (unseen or any(one.status is Status.FAIL for one in exact))
