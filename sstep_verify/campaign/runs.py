"""Makes the runs that checks ask for, watches the plain ones, and keeps what figures need."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from sstep_verify.campaign.monitor import Monitor
from sstep_verify.campaign.references import Reference
from sstep_verify.checks.case import Case, merge_requests, run_key
from sstep_verify.checks.registry import Check, continued_runs
from sstep_verify.measures.drift import drift
from sstep_verify.oracle.facade import Oracle
from sstep_verify.reporting import results as report
from sstep_verify.solver import Solver
from sstep_verify.trajectory import Trajectory


@dataclass(frozen=True)
class RunsMade:
    """All runs of a case.

    Parameters
    ----------
    trajectories : dict of str to Trajectory
        By key.
    runs : list of reporting Run
        One per plain run.
    series : list of reporting Series
        Measure over iterations, per plain run.
    attainable : float
        Largest attainable relative value met; 0 if there is no floor.
    """

    trajectories: dict[str, Trajectory]
    runs: list[report.Run]
    series: list[report.Series]
    attainable: float


def make_runs(
    case: Case, checks: list[Check], solvers: dict[str, Solver], reference: Reference, tolerance: float
) -> RunsMade:
    """Make every run that some check needs, once.

    Plain runs are measured at the case's points and end early for a stated reason; others are short
    and run to their end, and some of these begin from what earlier ones recorded.
    """
    made = RunsMade({}, [], [], 0.0)
    attainable = 0.0
    plain = {run_key(s): s for s in case.s_values}
    solver = solvers[""]
    for key, request in merge_requests(check.runs(case) for check in checks).items():
        if key not in plain:
            made.trajectories[key] = solvers[request.variant].run(request)
            continue
        points = frozenset(case.points[plain[key]])
        monitor = Monitor(points, reference.measure, tolerance, reference.short, 2 * request.s)
        begin = time.perf_counter()
        trajectory = solver.run(request, monitor)
        seconds = time.perf_counter() - begin
        if trajectory.stopped == "tolerance":
            monitor.close(trajectory.length, trajectory.final)
        made.trajectories[key] = trajectory
        attainable = max(attainable, monitor.attainable)
        made.runs.append(_run(request.s, trajectory, monitor, seconds, reference, solver))
        iterations, values = tuple(monitor.iterations), tuple(monitor.values)
        made.series.append(report.Series(reference.name, request.s, iterations, values))
    continued = merge_requests(continued_runs(check, case, made.trajectories) for check in checks)
    for key, request in continued.items():
        made.trajectories[key] = solvers[request.variant].run(request)
    return RunsMade(made.trajectories, made.runs, made.series, attainable)


def _run(s: int, trajectory: Trajectory, monitor: Monitor, seconds: float, reference, solver) -> report.Run:
    last = monitor.values[-1] if monitor.values else None
    return report.Run(
        s, trajectory.length, monitor.stop, seconds, last, reference.name, solver.declaration.name
    )


def drift_series(
    case: Case, trajectories: dict[str, Trajectory], oracle: Oracle, length: int
) -> list[report.Series]:
    """Relative distance of each plain run from the exact trajectory, up to some iteration.

    Parameters
    ----------
    case : Case
        The case.
    trajectories : dict of str to Trajectory
        Runs by key.
    oracle : Oracle
        Gives the exact trajectory.
    length : int
        Last iteration of interest; 0 for none.
    """
    plain = {s: trajectories[run_key(s)] for s in case.s_values if run_key(s) in trajectories}
    recorded = {
        s: trajectory.iterations[(trajectory.iterations > 0) & (trajectory.iterations <= length)]
        for s, trajectory in plain.items()
    }
    wanted = np.unique(np.concatenate(list(recorded.values()))) if recorded else np.empty(0, dtype=np.int64)
    if wanted.size == 0:
        return []
    exact = oracle.trajectory(case.problem, case.stream, int(wanted[-1]), wanted.tolist())
    series = []
    for s, trajectory in plain.items():
        if recorded[s].size:
            found = drift(trajectory, exact)
            x, y = tuple(found.iterations.tolist()), tuple(found.relative.tolist())
            series.append(report.Series(report.DRIFT, s, x, y))
    return series
