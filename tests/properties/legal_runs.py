"""Runs of a drawn solver in a legal order, judged by every check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.checks.contract import CHECK as CONTRACT
from sstep_verify.checks.metamorphic_exact import CHECK as SAME_BITS
from sstep_verify.checks.registry import CHECKS, checks_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream
from sstep_verify.verdict import Verdict
from studies.alarms.groups import verdicts_of
from studies.legal.draws import BY_VALUE, Drawn, case_of
from studies.legal.solver import LegalSolver

OWN = ("window-replay", "step-replay", "phases")
"""Checks of a window and of its steps."""

LONGEST = 24
"""Iterations of a run at most."""


def by_all_checks(drawn: Drawn, length: int) -> tuple[Verdict, ...]:
    """What the checks say of a run of so many iterations; nothing if it could not be made."""
    solver = LegalSolver(replace(drawn, declaration=replace(drawn.declaration, probes=False)))
    block = drawn.stream.block
    samples, s = drawn.problem.samples, min(drawn.stream.length, length)
    stream = IndexStream("uniform", samples=samples, block=block, length=length, seed=drawn.stream.seed)
    case = Case("drawn", drawn.problem, stream, (s,), length, solver.declaration, initial=drawn.start)
    left_out = {CONTRACT} | ({SAME_BITS} if drawn.order in BY_VALUE else set())
    names = (CONTRACT, *(name for name in CHECKS if name not in left_out))
    with np.errstate(all="ignore"):
        return verdicts_of(case, solver, checks_of(names), Oracle(drawn.problem))[0]


def by_window_and_steps(drawn: Drawn) -> dict[str, Verdict]:
    """What is said of the window that was drawn and of its steps, by check; nothing if it broke down."""
    with np.errstate(all="ignore"):
        told, _ = verdicts_of(
            case_of(drawn), LegalSolver(drawn), checks_of((CONTRACT, *OWN)), Oracle(drawn.problem)
        )
    return {one.check: one for one in told}
