"""Runs the cases of one group: optimum, runs for every s, verdicts, curves. Works inside one process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sstep_verify.campaign.expand import CaseSpec, Group, make_case
from sstep_verify.campaign.monitor import Monitor, measuring_points
from sstep_verify.campaign.references import Reference, SharedReferences
from sstep_verify.campaign.summary import roll_up
from sstep_verify.checks import window_replay
from sstep_verify.checks.case import Case
from sstep_verify.measures.drift import drift
from sstep_verify.oracle.exact_trajectory import exact_trajectory
from sstep_verify.oracle.windows import WindowOracle
from sstep_verify.problems import kernels, losses
from sstep_verify.problems.datasets import load
from sstep_verify.reporting import results as report
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict


@dataclass(frozen=True)
class CaseOutcome:
    """What one case yields.

    Parameters
    ----------
    case : reporting Case
        For the report.
    verdicts : tuple of Verdict
        Its verdicts.
    too_few : tuple of str
        Runs with fewer windows replayed than the family's minimum.
    """

    case: report.Case
    verdicts: tuple[Verdict, ...]
    too_few: tuple[str, ...]


def execute_group(
    group: Group, campaign: str, directory: str | None, options: str
) -> Iterator[CaseOutcome]:
    """Run the cases of a group, one after the other.

    Parameters
    ----------
    group : Group
        Cases on the same data and kernel.
    campaign : str
        Name or path of the campaign, for replay commands.
    directory : str or None
        Folder of the data sets.
    options : str
        Further options of replay commands.

    Yields
    ------
    CaseOutcome
    """
    data = load(group.data, directory=directory)
    solvers = {}
    shared: SharedReferences | None = None
    oracle: WindowOracle | None = None
    for spec in group.specs:
        options_of_solver = (spec.family.keep_gram, spec.family.update)
        if options_of_solver not in solvers:
            solvers[options_of_solver] = ProductionSolver(
                keep_gram=spec.family.keep_gram, update=spec.family.update
            )
        solver = solvers[options_of_solver]
        case = make_case(spec, data, solver.declaration, campaign, options)
        if shared is None or oracle is None:
            shared = SharedReferences(
                case.problem, tuple(dict.fromkeys(item.parameter for item in group.specs))
            )
            oracle = WindowOracle(case.problem)
        yield _execute_case(spec, case, solver, shared.reference(case.problem), oracle)


def _execute_case(
    spec: CaseSpec, case: Case, solver: ProductionSolver, reference: Reference, oracle: WindowOracle
) -> CaseOutcome:
    points = {s: measuring_points(case.iterations, s) for s in case.s_values}
    trajectories: dict[int, Trajectory] = {}
    runs, series = [], []
    attainable = 0.0
    for request in window_replay.runs(case, points):
        monitor = Monitor(
            frozenset(points[request.s]), reference.measure, spec.family.tolerance, reference.short
        )
        begin = time.perf_counter()
        trajectory = solver.run(request, monitor)
        seconds = time.perf_counter() - begin
        trajectories[request.s] = trajectory
        attainable = max(attainable, monitor.attainable)
        last = monitor.values[-1] if monitor.values else None
        runs.append(
            report.Run(
                request.s,
                trajectory.length,
                monitor.stop,
                seconds,
                last,
                reference.name,
                solver.declaration.name,
            )
        )
        series.append(
            report.Series(reference.name, request.s, tuple(monitor.iterations), tuple(monitor.values))
        )
    verdicts = window_replay.judge(case, trajectories, oracle)
    series += _drift_series(case, trajectories, spec.family.drift)
    status, reason = roll_up(verdicts)
    if status is Status.VACUOUS:
        reason += f"; the largest off-diagonal kernel entry is {reference.largest_off_diagonal:.3g}"
    lines = [report.Line("target", spec.family.tolerance)]
    if attainable:
        lines.append(report.Line("attainable gap of float64", attainable))
    not_replayed = [s for s in case.s_values if not window_replay.replayable(case, s)]
    outcome = report.Case(
        id=case.id,
        problem=case.problem.label,
        dataset=spec.data,
        kernel=kernels.describe(spec.kernel),
        loss=losses.describe(case.problem.loss),
        task=spec.task,
        samples=case.problem.samples,
        features=case.problem.features,
        block=spec.block,
        status=status,
        s=case.s_values,
        reason=reason,
        parameters={"lambda" if spec.task == "krr" else "C": spec.parameter},
        facts={
            "largest off-diagonal kernel entry": reference.largest_off_diagonal,
            **reference.facts,
            "solver": f"{solver.declaration.name}, update {solver.declaration.update}",
            "solver options": dict(solver.declaration.options),
            "index stream": f"{case.stream.kind}, PCG64 seed {case.stream.seed}",
            "s not replayed (window above the replay limit)": not_replayed,
        },
        runs=tuple(runs),
        series=tuple(series),
        lines=tuple(lines),
    )
    return CaseOutcome(outcome, tuple(verdicts), _too_few(spec, trajectories, verdicts))


def _drift_series(case: Case, trajectories: dict[int, Trajectory], length: int) -> list[report.Series]:
    """Relative distance from the exact trajectory, per s, wherever a run was recorded early enough."""
    if not length:
        return []
    recorded = {
        s: trajectory.iterations[(trajectory.iterations > 0) & (trajectory.iterations <= length)]
        for s, trajectory in trajectories.items()
    }
    wanted = np.unique(np.concatenate(list(recorded.values())))
    if wanted.size == 0:
        return []
    exact = exact_trajectory(case.problem, case.stream, int(wanted[-1]), at=wanted.tolist())
    series = []
    for s, trajectory in trajectories.items():
        if recorded[s].size == 0:
            continue
        found = drift(trajectory, exact)
        series.append(
            report.Series(report.DRIFT, s, tuple(found.iterations.tolist()), tuple(found.relative.tolist()))
        )
    return series


def _too_few(spec: CaseSpec, trajectories: dict[int, Trajectory], verdicts) -> tuple[str, ...]:
    short = []
    for verdict in verdicts:
        available = -(-trajectories[verdict.s].length // verdict.s)
        needed = min(spec.family.minimum_windows, available)
        if verdict.executed < needed:
            short.append(
                f"{spec.id}, s = {verdict.s}: {verdict.executed} windows replayed, {needed} needed"
            )
    return tuple(short)
