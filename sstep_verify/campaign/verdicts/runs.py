"""Makes the runs that checks ask for, watches the plain ones, and says which were compared too little."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import cast

import numpy as np

from sstep_verify.adapters.program import ProgramSolver
from sstep_verify.adapters.program.run import seconds_of_a_start
from sstep_verify.campaign.artefact.runs import Again, Made
from sstep_verify.campaign.model import Plan, tell
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.campaign.verdicts.measured import Monitor, Reference
from sstep_verify.checks import contract
from sstep_verify.checks.registry import CHECKS, case_of, checks_of
from sstep_verify.checks.shared.case import Case, Check, merge_requests, run_key
from sstep_verify.checks.shared.continued import continued_key
from sstep_verify.checks.shared.outcome import nothing_compared
from sstep_verify.declaration import Declaration
from sstep_verify.measures import drift
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import Observer, RunRequest, Solver
from sstep_verify.report import case as report
from sstep_verify.report.case import NOTHING_BACK, NOTHING_RUN
from sstep_verify.report.results import TooFew
from sstep_verify.runs import asked_of, make_run, unmade
from sstep_verify.trajectory import GIVEN, OWN_RULE, Raised, Trajectory
from sstep_verify.verdict import Status, Verdict, Why

SHORTEST = 1e-3
"""Seconds that a run has left at least, when it goes on after it was measured."""

LONG = 60.0
"""Seconds of all starts, if each takes as long as a short one, from which on results say them."""


@dataclass(frozen=True)
class RunsMade:
    """All runs of a case by key, and for the report the plain ones, with their measure over iterations.

    `attainable` is the largest attainable relative value met, 0 if there is no floor; `broken` holds
    the keys of the runs that are not what was asked for.
    """

    trajectories: dict[str, Trajectory]
    runs: list[report.Run]
    series: list[report.Series]
    attainable: float
    broken: set[str]


def make_runs(
    case: Case,
    checks: list[Check],
    solvers: dict[str, Solver],
    reference: Reference,
    tolerance: float,
    time_limit: float = 0.0,
    crashed: Mapping[str, str] = MappingProxyType({}),
    tape: Made | Again | None = None,
) -> RunsMade:
    """Make every run that some check needs, once.

    Plain runs are measured at the case's points and end early for a stated reason; others are short
    and run to their end, and some of these begin from what earlier ones recorded, if that is what was
    asked for. A process of its own is ended where a run takes longer than `time_limit` seconds (0: never).
    Runs that have `crashed`, by key and by what they ended the process, are not made again: they fail. A
    `tape` keeps the runs, or gives those that were kept.
    """
    trajectories: dict[str, Trajectory] = {}
    broken: set[str] = set()
    runs, series, attainable = [], [], 0.0
    plain = {run_key(s): s for s in case.s_values}
    held = any(check.all_runs for check in checks)  # A vector that was handed over is no run.

    def keep(key: str, trajectory: Trajectory) -> None:
        trajectories[key] = trajectory
        if held and contract.violations_of(case, key, trajectory):
            broken.add(key)

    def run(key: str, request: RunRequest, part: float, observe: Observer | None = None) -> Trajectory:
        what, begun, measured = f"run {key}", time.monotonic(), 0.0
        tell(case.id, part, what, time_limit, key)

        def make(observe: Observer | None) -> Trajectory:
            if key in crashed:
                told = Raised("", f"nothing: it ended the process that made it ({crashed[key]})")
                return unmade(asked_of(request), told)

            def looked(iteration: int, alpha: np.ndarray) -> bool:
                # While this measures, neither time nor the end of the process is the solver's.
                nonlocal measured
                clock = time.monotonic()
                tell(case.id, part, what)
                stop = observe is not None and bool(observe(iteration, alpha))
                measured += time.monotonic() - clock
                left = time_limit and max(time_limit - (time.monotonic() - begun - measured), SHORTEST)
                tell(case.id, part, what, left, key)
                return stop

            return make_run(solvers[request.variant], request, observe and looked)

        made = make(observe) if tape is None else tape.run(key, request, observe, make)
        tell(case.id, part, what)
        return made

    requests = merge_requests(check.runs(case_of(check, case)) for check in checks)
    for place, (key, request) in enumerate(requests.items()):
        part = place / len(requests) / 2
        if key not in plain:
            keep(key, run(key, request, part))
            continue
        points = frozenset(point for point in case.points[plain[key]] if point % case.unit == 0)
        problem = case.problem
        box = (problem.boxed.lower, problem.boxed.upper) if problem.is_svm else None
        monitor = Monitor(
            points, reference.measure, tolerance, reference.short, 2 * request.s, problem.samples, box
        )
        begin = time.perf_counter()
        trajectory = run(key, request, part, monitor)
        seconds = time.perf_counter() - begin
        if trajectory.stopped in (*OWN_RULE, GIVEN):
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # A vector that was handed over may be anything.
                monitor.close(trajectory.length, trajectory.final)
        keep(key, trajectory)
        attainable = max(attainable, monitor.attainable)
        stop = monitor.stop(trajectory.length, request.iterations)
        stop = NOTHING_RUN if trajectory.stopped == GIVEN else stop
        made: int | None = trajectory.length
        if trajectory.raised and not made:
            stop, made = NOTHING_BACK, None
        name = solvers[""].declaration.name
        runs.append(report.Run(request.s, made, stop, seconds, monitor.last, reference.name, name))
        if trajectory.stopped != GIVEN:
            series.append(
                report.Series(reference.name, request.s, tuple(monitor.iterations), tuple(monitor.values))
            )
    sound = [(check, sound_case(check, case_of(check, case), trajectories, broken)) for check in checks]
    continued = merge_requests(check.continued(part, trajectories) for check, part in sound if part)
    for key, request in continued.items():
        keep(key, run(key, request, 0.5))
    return RunsMade(trajectories, runs, series, attainable, broken)


def sound_case(
    check: Check, case: Case, trajectories: Mapping[str, Trajectory], broken: Set[str]
) -> Case | None:
    """The case with those s alone whose runs, as far as a check asks for them, are what was asked for.

    It is the case itself if nothing is `broken` that the check needs, or it judges all runs, and None if
    nothing is left. A broken run that continues a plain one leaves that to be judged.
    """

    def is_sound(s: int) -> bool:
        alone = replace(case, s_values=(s,))
        if not broken.isdisjoint(check.runs(alone)):
            return False
        return broken.isdisjoint(check.continued(alone, trajectories).keys() - {continued_key(s)})

    if not broken or check.all_runs:
        return case
    sound = tuple(s for s in case.s_values if is_sound(s))
    if sound == case.s_values:
        return case
    return replace(case, s_values=sound) if sound else None


def drift_series(
    case: Case, trajectories: dict[str, Trajectory], oracle: Oracle, length: int
) -> list[report.Series]:
    """Relative distance of each plain run from the exact trajectory, up to an iteration; 0 for none."""
    plain = {s: trajectories[run_key(s)] for s in case.s_values if run_key(s) in trajectories}
    plain = {s: made for s, made in plain.items() if made.known is None}
    recorded = {
        s: trajectory.iterations[(trajectory.iterations > 0) & (trajectory.iterations <= length)]
        for s, trajectory in plain.items()
    }
    wanted = np.unique(np.concatenate(list(recorded.values()))) if recorded else np.empty(0, dtype=np.int64)
    if wanted.size == 0 or length == 0:
        return []
    exact = oracle.trajectory(case.problem, case.stream, int(wanted[-1]), wanted.tolist())
    series = []
    for s, trajectory in plain.items():
        if recorded[s].size:
            found = drift(trajectory, exact)
            series.append(report.Series(report.DRIFT, s, tuple(found), tuple(found.values())))
    return series


def checks_of_family(family: Family) -> list[Check]:
    """The checks that judge a family: those that it names, and those that judge all runs."""
    return [
        check
        for check in CHECKS.values()
        if check.id in family.checks or (check.all_runs and not family.is_vector)
    ]


def requests_of(family: Family, case: Case) -> dict[str, RunRequest]:
    """The runs that the checks of a family ask for first, by key: some ask for more later."""
    return merge_requests(check.runs(case_of(check, case)) for check in checks_of_family(family))


def starts_of(family: Family, case: Case) -> int:
    """How often a program is started for the runs of a case, at least: some checks ask for more later."""
    return sum(
        len(set(one.stops) - {0}) if case.declaration.level < 2 and not case.declaration.log else 1
        for one in requests_of(family, case).values()
    )


def announce_starts(plan: Plan, starts: int, programs: Iterable[tuple[Family, Case]]) -> None:
    """Say how often programs are started, and how long a short run took where only its result is left."""
    seconds = 0.0
    for family, case in programs:
        solver = cast(ProgramSolver, family.solvers()[""])
        if solver.described.program.writes == "final" and solver.described.stream is None:
            length = math.lcm(case.s_values[0], case.unit)
            if length <= case.iterations:
                request = RunRequest(case.problem, case.stream, case.s_values[0], length)
                seconds = max(seconds, seconds_of_a_start(solver, request))
    told = f"starts of the program: at least {starts}, more where a check continues from what these leave"
    if seconds:
        told += f"; a short one took {seconds:.2g} s"
    (plan.announce if starts * seconds / max(plan.jobs, 1) >= LONG else plan.say)(told)


def minimum_table(minimum_windows: int) -> dict[str, int]:
    """Comparisons that every planned run needs, by check, for the report.

    `minimum_windows` are the fewest windows replayed per run, as the campaign file says.
    """
    return {
        check.id: minimum_windows if check.by_windows else 1
        for check in CHECKS.values()
        if check.level is not None
    }


def too_few(
    case: Case,
    checks: Sequence[str],
    verdicts: Sequence[Verdict],
    trajectories: Mapping[str, Trajectory],
    minimum_windows: int,
) -> tuple[TooFew, ...]:
    """The checks and runs with fewer executed comparisons than their minimum.

    `checks` are the ids of those that judged the case, and gave the `verdicts`; a plain run that ended
    early has fewer windows to replay than the minimum. There is none of what failed, nor of an s at which
    the contract failed, nor of a check that was not made since it failed: a FAIL says more.
    """
    short = []
    failed = {(one.check, one.s) for one in verdicts if one.status is Status.FAIL}
    judged = {one.check for one in verdicts}
    broken = {s for check, s in failed if check == contract.ID}
    for check in checks_of(checks):
        if check.level is None or check.level > case.declaration.level:
            continue
        for s in case_of(check, case).s_values:
            if not (check.applies(case, s) and check.affordable(case, s) and check.bounded(case, s)):
                continue
            if (check.id, s) in failed or s in broken or (broken and check.id not in judged):
                continue
            needed = 1
            if check.by_windows:
                needed = min(minimum_windows, -(-trajectories[run_key(s)].length // s))
            found = [verdict for verdict in verdicts if verdict.check == check.id and verdict.s == s]
            # Several verdicts on one run judge different things (residual-gap: every state).
            executed = min((verdict.executed for verdict in found), default=0)
            planned = max((verdict.planned for verdict in found), default=needed)
            if executed < needed and not _ended_before(check, replace(case, s_values=(s,)), trajectories):
                short.append(TooFew(check.id, case.id, s, executed, planned, needed))
    return tuple(short)


def _ended_before(check: Check, case: Case, trajectories: Mapping[str, Trajectory]) -> bool:
    """Whether a run that a check asked for ended by its solver's own rule before the iterations wanted.

    Nothing need be left of it to compare, which its verdict says; what a run that ended at once shows is
    none of its steps, so no s is right by it.
    """
    wanted = check.wanted(case, trajectories).values()
    return any(
        run.stopped in OWN_RULE and run.asked is not None and run.length < run.asked.iterations
        for run in wanted
    )


def left_out(case: Case, checks: Sequence[str], minimum_windows: int) -> list[Verdict]:
    """A VACUOUS verdict, nothing executed, on every run that a check leaves out for its cost.

    The replay limit of the campaign file is the only such reason: a window of more kernel entries is
    neither replayed nor compared entry by entry.

    `minimum_windows` comparisons are planned per run.
    """
    return [
        nothing_compared(
            check.id,
            case,
            s,
            minimum_windows,
            Why.TOO_LARGE,
        )
        for check in checks_of(checks)
        for s in case_of(check, case).s_values
        if check.applies(case, s) and not check.affordable(case, s)
    ]


def not_kept(case: Case, checks: Sequence[str], declared: Declaration) -> list[Verdict]:
    """A VACUOUS verdict on every run whose kernel rows a check would judge, were they kept.

    `declared` is what the solver declares: rows are exposed where runs are not kept.
    """
    exposing = replace(case, declaration=declared)
    return [
        nothing_compared(check.id, case, s, 0, Why.NOT_KEPT)
        for check in checks_of(checks)
        for s in case_of(check, case).s_values
        if check.applies(exposing, s) and check.affordable(exposing, s) and not check.applies(case, s)
    ]
