"""Runs of a drawn solver in a legal order, judged by every check."""

from __future__ import annotations

from dataclasses import replace

from sstep_verify.checks.contract import ID as CONTRACT
from sstep_verify.checks.metamorphic_exact import ID as SAME_BITS
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case
from sstep_verify.verdict import Verdict
from studies.admissible.arithmetic import BY_VALUE
from studies.admissible.solver import AdmissibleSolver
from studies.false_positives.groups import verdicts_of

OWN = ("window-replay", "step-replay")
"""Checks of a window and of its steps."""

LONGEST = 24
"""Iterations of a run at most."""


def by_all_checks(drawn: AdmissibleSolver, window: Case, length: int) -> tuple[Verdict, ...]:
    """What the checks say of a run of so many iterations; nothing if it could not be made."""
    s, stream = min(window.iterations, length), replace(window.stream, length=length)
    case = replace(window, stream=stream, s_values=(s,), iterations=length)
    left_out = {CONTRACT} | ({SAME_BITS} if drawn.order in BY_VALUE else set())
    return verdicts_of(case, drawn, [name for name in CHECKS if name not in left_out])[0]


def by_window_and_steps(solver: AdmissibleSolver, case: Case) -> dict[str, Verdict]:
    """What is said of the window that was drawn and of its steps, by check; nothing if it broke down."""
    return {one.check: one for one in verdicts_of(case, solver, OWN)[0]}
