"""The checks by id, in the order in which they judge. A new one adds its module here, and nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sstep_verify.checks.optimum import CHECK as ANSWER
from sstep_verify.checks.shared.asked import in_ieee, on_held
from sstep_verify.checks.shared.case import Case, loggable
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.shared.final_vector import ALONE
from sstep_verify.checks.step_replay import CHECK as STEPS
from sstep_verify.checks.trajectory import CHECK as ENDS
from sstep_verify.checks.trajectory import ENDS_ALONE, ROUNDED
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.errors import InputError, closest
from sstep_verify.verdict import Verdict

MODULES = (
    "contract",
    "step_replay",
    "window_replay",
    "trajectory",
    "sstep_equals_classical",
    "metamorphic_exact",
    "metamorphic_bounded",
    "recorded.kernel_entries",
    "recorded.phases",
    "box",
    "determinism",
    "optimum",
    "recorded.claim_honesty",
    "recorded.residual_gap",
    "recorded.rank_coherence",
    "recorded.message_count",
)
"""Modules of the checks; each holds its `Check` under the name ``DECLARED``."""


def _declared(module: str) -> Check:
    return in_ieee(on_held(importlib.import_module(f"sstep_verify.checks.{module}").DECLARED))


CHECKS: dict[str, Check] = {check.id: check for check in map(_declared, MODULES)}
"""All checks by id."""

PRIMARY: tuple[str, ...] = tuple(check.id for check in CHECKS.values() if check.primary)
"""Ids of the checks of which one must have passed a run, for its s to be right."""


def gates_of(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Ids of the checks of which one must have passed a run of a case, for its s to be right.

    The primary ones, which judge steps; of a program that writes down rounded results, which none of them
    can judge, and of a solver judged up to level 0, the check of the run's ends; of a vector that was
    handed over, the check of the optimum.
    """
    known = list(verdicts)
    if any(one.check == ANSWER and one.evidence.get(ALONE) for one in known):
        return (ANSWER,)
    ends = [one for one in known if one.check == ENDS]
    stepless = not any(one.check in PRIMARY for one in known)
    alone = stepless and any(one.evidence.get(ENDS_ALONE) for one in ends)
    return (ENDS,) if alone or any(ROUNDED in one.evidence for one in ends) else PRIMARY


def deciders(case: Case) -> tuple[str, ...]:
    """Ids of the checks that decide whether an s of a case is right, the sharpest that its solver allows.

    That a program writes down rounded results, which its ends alone are judged by, is known after its runs.
    """
    if loggable(case):
        return (STEPS,)
    return (WINDOWS, ENDS) if case.declaration.level else (ENDS,)


def case_of(check: Check, case: Case) -> Case:
    """A case with those s that a check judges: of the further ones it is contract and `deciders` alone."""
    if check.all_runs or not case.further or check.id in deciders(case):
        return case
    return replace(case, s_values=tuple(s for s in case.s_values if s not in case.further))


def checks_of(ids: Sequence[str]) -> list[Check]:
    """The checks of some ids, in that order.

    Raises
    ------
    InputError
        If an id is unknown.
    """
    unknown = [name for name in ids if name not in CHECKS]
    if unknown:
        known = ", ".join(sorted(CHECKS))
        raise InputError(f"check {unknown[0]!r} is unknown{closest(unknown[0], CHECKS)}; known: {known}")
    return [CHECKS[name] for name in ids]


def judges_a_vector(verdicts: Iterable[Verdict]) -> bool:
    """Whether the verdicts on a case are on a vector that was handed over, not on runs."""
    return gates_of(verdicts) == (ANSWER,)
