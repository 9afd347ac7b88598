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

MODULES = {"window-replay": "window_replay"}


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
