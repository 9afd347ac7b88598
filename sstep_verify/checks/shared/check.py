"""Check: one claim, which says itself what it is; every list of checks is made from these records."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

UNSEEN = (
    "every comparison holds, but on this very input it would have held with the planted defect too, so "
    "it shows nothing; each term says for itself whether it could have been seen"
)
"""Meaning of VACUOUS for a check that says no more."""


def every_run(case: Case, s: int) -> bool:
    """Every run."""
    return True


def plain_run(case: Case, s: int) -> dict[str, RunRequest]:
    """The plain run of an s, by key."""
    return {run_key(s): plain_request(case, s)}


@dataclass(frozen=True)
class Check:
    """One claim: what it says, which runs it needs, and what it makes of them.

    Parameters
    ----------
    id : str
        Name, such as ``window-replay``.
    text : str
        The docstring of its module: ``Check ID: claim.``, then the method.
    needs : str
        The runs it needs, in words.
    planted : str
        The defect that must show, or the verdict is VACUOUS.
    runs : callable
        ``runs(case)`` gives the runs needed, by key; equal keys of different checks are the same run.
    judge : callable
        ``judge(case, trajectories, oracle)`` gives the list of verdicts on these runs: `trajectories` maps
        the keys that `runs` and `continued` gave to the runs made, `oracle` knows the truth. The registry's
        one judges on the problem as it is held, in IEEE arithmetic (`held`, `registry`).
    continued : callable
        ``continued(case, trajectories)`` gives the runs that begin from what those recorded, by key.
    bounds : tuple of str
        Modules that derive its bound, by their paths; none where what is compared must agree exactly.
    vacuous : str
        What VACUOUS says of a run.
    level : int or None
        Lowest `Declaration.level` of a solver from which on it must have compared something on every run
        that it applies to: 0, a final a; 1, index stream and a0 are taken; 2, a trace by windows; 3,
        counts. None where its verdicts depend on how a run ended, what it reports, or the ranks.
    applies : callable
        ``applies(case, s)``: whether it judges the run of this s, by task and declaration.
    affordable : callable
        ``affordable(case, s)``: whether this run is within the case's replay limit.
    primary : bool
        Whether it judges the steps of a run: an s is right only if a primary check passed it.
    by_windows : bool
        Whether its comparisons are windows, of which a campaign states the fewest for a run.
    all_runs : bool
        Whether it judges all runs that were made, whoever asked for them.
    given : bool
        Whether it judges against the problem as it was given, not as the declared precision holds it.
    """

    id: str
    text: str
    needs: str
    planted: str
    runs: Callable[[Case], dict[str, RunRequest]]
    judge: Callable[[Case, Mapping[str, Trajectory], Oracle], list[Verdict]]
    continued: Callable[[Case, Mapping[str, Trajectory]], dict[str, RunRequest]] = (
        lambda case, trajectories: {}
    )
    bounds: tuple[str, ...] = ()
    vacuous: str = UNSEEN
    level: int | None = None
    applies: Callable[[Case, int], bool] = every_run
    affordable: Callable[[Case, int], bool] = every_run
    primary: bool = False
    by_windows: bool = False
    all_runs: bool = False
    given: bool = False

    @property
    def claim(self) -> str:
        """What it claims, in one sentence."""
        head = " ".join(self.text.partition("\n\n")[0].split()).removeprefix(f"Check {self.id}: ")
        return head if head.startswith(("s ", "s-")) else head[:1].upper() + head[1:]  # The symbol s stays.

    @property
    def method(self) -> str:
        """How it goes about it; may be empty."""
        return self.text.partition("\n\n")[2].strip()

    @property
    def derivations(self) -> dict[str, str]:
        """Derivations by the path in the package of each module that bounds it; none if the bound is 0."""
        modules = {name: f"sstep_verify.{name.replace('/', '.')}" for name in self.bounds}
        return {
            f"{name}.py": inspect.getdoc(importlib.import_module(module)) or ""
            for name, module in modules.items()
        }

    def wanted(self, case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, Trajectory]:
        """The runs made that its verdicts rest on; step logs and probes only where it asks."""
        if self.all_runs:
            return {key: run for key, run in trajectories.items() if (run.asked or run).s in case.s_values}
        asked = {**self.runs(case), **self.continued(case, trajectories)}
        return {
            key: replace(
                trajectories[key],
                log=trajectories[key].log if request.log else None,
                probes=trajectories[key].probes if request.probes else None,
            )
            for key, request in asked.items()
            if key in trajectories
        }


def check_of_each_s(
    judge_runs: Callable[..., Iterable[Verdict]],
    requests: Callable[[Case, int], dict[str, RunRequest]] = plain_run,
    *,
    applies: Callable[[Case, int], bool] = every_run,
    affordable: Callable[[Case, int], bool] = every_run,
    **declared: Any,
) -> Check:
    """A check that judges the runs of each s by themselves, with further fields of the `Check`.

    ``judge_runs(case, s, oracle, *runs)`` gives the verdicts on the runs of one s, ``requests(case, s)``
    these runs, by key; the plain run if absent. Where `applies` or `affordable`, as in `Check`, is false
    nothing is asked for, and nothing judged.
    """

    def judged(case: Case) -> list[int]:
        return [s for s in case.s_values if applies(case, s) and affordable(case, s)]

    def runs(case: Case) -> dict[str, RunRequest]:
        return {key: request for s in judged(case) for key, request in requests(case, s).items()}

    def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for s in judged(case):
            verdicts += judge_runs(case, s, oracle, *(trajectories[key] for key in requests(case, s)))
        return verdicts

    return Check(runs=runs, judge=judge, applies=applies, affordable=affordable, **declared)
