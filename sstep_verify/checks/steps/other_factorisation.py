"""Whether steps of a K-RR that fail are within the bound of an orthogonal factorisation.

A solver that uses QR, an SVD or least squares, and declares Cholesky or LDL', may make correct steps that
exceed the bound of what it declares. After a FAIL the recorded run is judged under the other declaration,
and no further run is made. Where all steps are within that bound, and it would show the planted defects,
the verdict names the declaration.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from sstep_verify.checks.shared.terms import core_terms, first_unseen
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.seen import exact_steps, step_terms
from sstep_verify.oracle.facade import Oracle
from sstep_verify.verdict import Hint, HintKind, Status

ORTHOGONAL: Literal["orthogonal"] = "orthogonal"


def hints_of_factorisation(judged: JudgedRun, oracle: Oracle) -> tuple[Hint, ...]:
    """A hint where an orthogonal factorisation, which is not declared, explains every step of a run."""
    case = judged.case
    if case.problem.is_svm or case.declaration.factorisation == ORTHOGONAL:
        return ()
    other = replace(case, declaration=replace(case.declaration, factorisation=ORTHOGONAL))
    again = StepJudge(other, oracle).run(judged.trajectory)
    if again.wrong.size or again.decided < judged.decided:
        return ()
    exact, length = exact_steps(again), judged.trajectory.length
    # A bound within which every step would be says nothing of these.
    unseen = first_unseen(core_terms(step_terms(again, exact), min(judged.trajectory.s, length)))
    if any(one.status is Status.FAIL for one in exact) or unseen:
        return ()
    return (Hint(HintKind.FACTORISATION, (ORTHOGONAL,)),)
