"""The checks by id; each is a module with ``CHECK``, ``runs`` and ``judge``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from sstep_verify.errors import InputError

if TYPE_CHECKING:
    from sstep_verify.checks.case import Case
    from sstep_verify.oracle.facade import Oracle
    from sstep_verify.solver import RunRequest
    from sstep_verify.trajectory import Trajectory
    from sstep_verify.verdict import Verdict

MODULES = {
    "step-replay": "step_replay",
    "window-replay": "window_replay",
    "trajectory": "trajectory",
    "sstep-equals-classical": "sstep_equals_classical",
    "metamorphic-exact": "metamorphic_exact",
    "metamorphic-bounded": "metamorphic_bounded",
    "kernel-entries": "kernel_entries",
    "box": "box",
    "determinism": "determinism",
    "optimum": "optimum",
    "claim-honesty": "claim_honesty",
    "residual-gap": "residual_gap",
    "rank-coherence": "rank_coherence",
    "message-count": "message_count",
}


class Check(Protocol):
    """One claim: which runs it needs, and what it makes of them."""

    CHECK: str

    def runs(self, case: Case) -> dict[str, RunRequest]:
        """Runs needed, by key; equal keys of different checks are the same run."""
        ...

    def judge(self, case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
        """Verdicts on the runs."""
        ...


def checks_of(ids: Sequence[str]) -> list[Check]:
    """The checks of some ids, in that order.

    Raises
    ------
    InputError
        If an id is unknown.
    """
    unknown = [name for name in ids if name not in MODULES]
    if unknown:
        raise InputError(f"check {unknown[0]!r} is unknown; known: {', '.join(sorted(MODULES))}")
    return [cast("Check", importlib.import_module(f"sstep_verify.checks.{MODULES[name]}")) for name in ids]


def continued_runs(
    check: Check, case: Case, trajectories: Mapping[str, Trajectory]
) -> dict[str, RunRequest]:
    """Runs of a check that begin from what others recorded, by key; none unless it has ``continued``.

    Parameters
    ----------
    check : Check
        The check.
    case : Case
        The case.
    trajectories : mapping of str to Trajectory
        All runs asked for by ``check.runs``, by key.
    """
    continued = getattr(check, "continued", None)
    return {} if continued is None else continued(case, trajectories)
