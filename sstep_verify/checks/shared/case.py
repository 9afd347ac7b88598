"""Case, what a check is asked about: a problem, its stream, the runs to make; Check, one claim.

A check says itself what it is; every list of checks is made from these records.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sstep_verify.docstrings import docstring_of
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.rounding.formulas import formulas_of
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

if TYPE_CHECKING:
    from sstep_verify.oracle.facade import Oracle


@dataclass(frozen=True, eq=False)
class Case:
    """One problem of a campaign with one block size.

    Parameters
    ----------
    id : str
        Unique name within the campaign.
    problem, stream : Problem, IndexStream
        The problem, and the coordinates drawn, the same for every s.
    s_values : tuple of int
        Iterations per window of the runs; 1 is the classical method.
    further : tuple of int
        Those of `s_values` that are judged only by the checks that decide whether an s is right.
    iterations : int
        Most iterations of a run (H).
    declaration : Declaration
        What the solver under test says it is.
    diagnose : bool
        Whether mistakes that reproduce a failure are looked for.
    start : int
        Position of the stream at which the plain runs begin; the short runs of other checks begin at 0.
    initial : ndarray, shape (m,), optional
        Vector from which the plain runs begin; zeros if absent.
    points : mapping of int to tuple of int
        Per s, window ends at which the plain run is recorded.
    short : int
        Most iterations of a run that a check makes besides the plain ones.
    unit : int
        Of how many iterations every run is a whole number, for a solver that makes no others; 1 for any.
    variants : mapping of str to Declaration
        What other options of the same solver declare, by the name that a request for them carries.
    claims : mapping of str to float
        What the runs claim of their end, such as a tolerance reached; box: how far a may leave its box.
    told : bool
        Whether the solver was told to reach these claims. If not they are what the observer ends a run at,
        and one that ends by a rule of its own claims what it says itself.
    ends : tuple of str
        Reasons for which the plain runs may end (`Trajectory.stopped`), where that is known; any if empty.
    windows : int
        Windows sampled per run, besides those chosen because a term acts in them.
    replay_limit : int
        Largest number of kernel entries (distinct coordinates times m) of a window that is replayed.
    seed : int
        Seed of the window sample.
    replay_command : str
        Command that makes the verdicts of this case again.
    restarts : bool
        Whether the solver makes runs that begin from any vector and at any place of the stream.
    classical_right : bool
        Whether a run of s = 1 that is not judged here is known to be right; then causes of a failure that
        would be seen in it as well are none.
    scaled, as_given : bool
        What a program file says of its numbers besides what is declared (`rounding.formulas.Formulas`).
    oracle : {"arb", "mpmath"}
        Name of the oracle that judges it.
    """

    id: str
    problem: Problem
    stream: IndexStream
    s_values: tuple[int, ...]
    iterations: int
    declaration: Declaration
    points: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    short: int = 600
    variants: Mapping[str, Declaration] = field(default_factory=dict)
    claims: Mapping[str, float] = field(default_factory=dict)
    windows: int = 4
    replay_limit: int = 1 << 24
    seed: int = 0
    replay_command: str = ""
    start: int = 0
    initial: np.ndarray | None = None
    unit: int = 1
    diagnose: bool = True
    further: tuple[int, ...] = ()
    restarts: bool = True
    told: bool = False
    ends: tuple[str, ...] = ()
    scaled: bool = False
    as_given: bool = False
    classical_right: bool = False
    oracle: str = "arb"

    @cached_property
    def formulas(self) -> Declaration:
        """What is declared, with what is known besides: what every bound is derived for."""
        return formulas_of(self.declaration, scaled=self.scaled, as_given=self.as_given)

    def panel_words(self, steps: int) -> int:
        """Most kernel entries of a window of some steps: distinct coordinates times m."""
        return min(steps * self.stream.block, self.problem.samples) * self.problem.samples


def told_by(solver: Any) -> dict[str, Any]:
    """What a program says of its runs and numbers besides what it declares, by field of `Case`."""
    usual = {"restarts": True, "scaled": False, "as_given": False}
    return {name: getattr(solver, name, value) for name, value in usual.items()}


LOG_WORDS = 1 << 25
"""Coordinates drawn in a run up to which it is logged: 256 MiB."""


def loggable(case: Case) -> bool:
    """Whether the solver logs its steps, and the log is of a size to be kept."""
    declared = case.formulas
    return declared.log and case.iterations * case.stream.block <= LOG_WORDS


def unseen_weights(case: Case) -> bool:
    """Whether the steps begin from maintained weights that no run records: below level 2."""
    return case.formulas.weights is not None and case.formulas.level < 2


def run_key(s: int) -> str:
    """Key of the plain run of an s, over all iterations."""
    return f"s={s}"


def plain_request(case: Case, s: int) -> RunRequest:
    """The plain run of an s, with the iterations after which alpha is to be recorded.

    These are the case's points, the run's end, and where the windows begin that end there. With s = 7,
    60 iterations and points 14 and 60 they are 7, 14, 56 and 60, so that the windows of iterations 8..14
    and 57..60 can be replayed.

    * A solver of level 0 shows no window. It is asked for 14 and 60 only.
    * A program that ends at whole units only, such as epochs of 20 iterations, is asked for points that are
      multiples of these, below level 2. It is asked for beginnings of windows from level 2 on, where one
      run of it shows more than its end.
    """
    record = {end for end in (*case.points.get(s, ()), case.iterations) if end}
    if case.formulas.level < 2:
        record = {end for end in record if end % case.unit == 0}
    if case.formulas.level > (0 if case.unit == 1 else 1):
        record |= {(end - 1) // s * s for end in record}
    return RunRequest(
        case.problem, case.stream, s, case.iterations, case.start, case.initial, tuple(sorted(record))
    )


def plain_run(case: Case, s: int) -> dict[str, RunRequest]:
    """The plain run of an s, by key."""
    return {run_key(s): plain_request(case, s)}


def after_run(trajectory: Trajectory) -> np.random.Generator:
    """A generator seeded by what a run returned, so that no run can know what it will draw."""
    digest = hashlib.sha256(np.ascontiguousarray(trajectory.final).tobytes()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "little")))


def merge_requests(requests: Iterable[Mapping[str, RunRequest]]) -> dict[str, RunRequest]:
    """Unite the runs that several checks need: one run a key, recorded wherever any check wants it.

    Equal keys of what each check's ``runs`` returned stand for the same run.
    """
    merged: dict[str, RunRequest] = {}
    for wanted in requests:
        for key, request in wanted.items():
            other = merged.get(key, request)
            merged[key] = replace(
                request,
                record=tuple(sorted({*other.record, *request.record})),
                expose_panels=other.expose_panels or request.expose_panels,
                log=other.log or request.log,
            )
    return merged


def every_run(case: Case, s: int) -> bool:
    """Every run."""
    return True


def no_continued_runs(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """No runs: nothing is continued."""
    return {}


@dataclass(frozen=True)
class Check:
    """One claim: what it says, which runs it needs, and what it makes of them.

    Parameters
    ----------
    id : str
        Name, such as ``window-replay``.
    text : str
        The docstring of its module: ``Check ID: claim.``, then the method.
    needs, planted : str
        The runs it needs, in words, and the defect that must show, or the verdict is VACUOUS.
    runs : callable
        ``runs(case)`` gives the runs needed, by key; equal keys of different checks are the same run.
    judge : callable
        ``judge(case, trajectories, oracle)`` gives the list of verdicts on these runs: `trajectories` maps
        the keys that `runs` and `continued` gave to the runs made, `oracle` knows the truth. Call it
        through `verdicts_of` (checks/registry.py), which passes the problem as the precision rounds it.
    continued : callable
        ``continued(case, trajectories)`` gives the runs that begin from what those recorded, by key.
    rests_on : mapping of str to tuple of str
        Ids of checks that judge what this one takes as recorded, where they apply, each with the quantities
        of a step that this hides: they are not tested until that check has passed the same run.
    bounds : tuple of str
        Modules that derive its bound, by their paths; none where what is compared must agree exactly.
    vacuous : str
        What VACUOUS says of a run.
    level : int or None
        Lowest `Declaration.level` of a solver from which on it must have compared something on every run
        that it applies to: 0, a final a; 1, index stream and a0 are taken; 2, a trace by windows; 3,
        counts. None where its verdicts depend on how a run ended, what it reports, or the ranks.
    applies, affordable : callable
        Of (case, s): whether it judges the run of this s, by task and declaration; whether this run is
        within the case's replay limit.
    bounded : callable
        Of (case, s): whether runs of the declared form have a bound at all; where they have none nothing
        need have been compared.
    relates : callable, optional
        Of s: the s of the runs that it compares with each other, which must be correct by themselves.
    primary : bool
        Whether it judges the steps of a run: an s is right only if a primary check passed it.
    by_windows : bool
        Whether its comparisons are windows, of which a campaign states the fewest for a run.
    all_runs : bool
        Whether it judges all runs that were made, whoever asked for them.
    given : bool
        Whether it judges against the problem as it was given, not as the declared precision holds it.
    exact : bool
        Whether it asks the oracle for exact values.
    """

    id: str
    text: str
    needs: str
    planted: str
    runs: Callable[[Case], dict[str, RunRequest]]
    judge: Callable[[Case, Mapping[str, Trajectory], Oracle], list[Verdict]]
    continued: Callable[[Case, Mapping[str, Trajectory]], dict[str, RunRequest]] = no_continued_runs
    rests_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    bounds: tuple[str, ...] = ()
    vacuous: str = (
        "nothing was compared, or no bound is finite, or a run to be compared is faulty by itself, or "
        "every comparison passes and would pass with the injected defect too. Each quantity of a step says "
        "by itself whether it was tested"
    )
    level: int | None = None
    applies: Callable[[Case, int], bool] = every_run
    affordable: Callable[[Case, int], bool] = every_run
    bounded: Callable[[Case, int], bool] = every_run
    relates: Callable[[int], tuple[int, ...]] | None = None
    primary: bool = False
    by_windows: bool = False
    all_runs: bool = False
    given: bool = False
    exact: bool = False

    @property
    def claim(self) -> str:
        """What it claims, in one sentence."""
        head = " ".join(self._told.partition("\n\n")[0].split()).removeprefix(f"Check {self.id}: ")
        return head if head.startswith(("s ", "s-")) else head[:1].upper() + head[1:]  # The symbol s stays.

    @property
    def method(self) -> str:
        """How it goes about it; may be empty."""
        return self._told.partition("\n\n")[2].strip()

    @property
    def _told(self) -> str:
        return self.text or docstring_of(sys.modules[self.judge.__module__])

    @property
    def derivations(self) -> dict[str, str]:
        """Derivations by the path of each module that bounds it; none if the bound is 0."""
        modules = {
            one: importlib.import_module("sstep_verify." + one.replace("/", ".")) for one in self.bounds
        }
        return {f"sstep_verify/{one}.py": docstring_of(module) for one, module in modules.items()}

    def wanted(self, case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, Trajectory]:
        """The runs made that its verdicts rest on; step logs only where it asks."""
        if self.all_runs:
            return {key: run for key, run in trajectories.items() if (run.asked or run).s in case.s_values}
        asked = {**self.runs(case), **self.continued(case, trajectories)}
        return {
            key: replace(trajectories[key], log=trajectories[key].log if request.log else None)
            for key, request in asked.items()
            if key in trajectories
        }
