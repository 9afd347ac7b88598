"""Runs one scenario: the exact trajectory once, then every s in every form against it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np

from sstep_verify import (
    IndexStream,
    Problem,
    ProductionSolver,
    ReferenceSolver,
    RunRequest,
    Solver,
    Trajectory,
    Verdict,
)
from sstep_verify.campaign.artefact.verdicts import keep_artefacts
from sstep_verify.campaign.cases import command_for
from sstep_verify.campaign.model import tell
from sstep_verify.checks import contract, step_replay, window_replay
from sstep_verify.checks.registry import checks_of, verdicts_of
from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.measures import against_classical, drift, loss_factor, relative_error
from sstep_verify.oracle.facade import Oracle
from sstep_verify.oracle.trajectories import EnclosedTrajectory
from sstep_verify.problems.streams import relabelling
from sstep_verify.problems.transforms import relabel
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.runs import make_run
from studies.report.stability.document import TENFOLD, StabilityRun
from studies.stability.definition import ORDERS, ScenarioUnit

SECOND_LOOK = 20
"""Orders of samples and features in which both runs are made where one was more than ten times worse."""


@dataclass(frozen=True)
class UnitOutcome:
    """Outcome of the unit of a key: runs by form and s; verdicts, each with case id and condition."""

    key: str
    runs: tuple[StabilityRun, ...]
    verdicts: tuple[tuple[str, float, Verdict], ...] = field(default=())


def execute_unit(unit: ScenarioUnit, again: str, artefacts: Path | None) -> UnitOutcome:
    """Run one scenario in its forms.

    `again` is the command that runs the campaign; in `artefacts` those of FAIL and INCONCLUSIVE are
    collected.
    """
    family, scenario = unit.family, unit.scenario
    problem, stream = scenario.problem(), scenario.stream()
    oracle = Oracle(problem)
    exact = oracle.trajectory(problem, stream, family.iterations, family.points(1))
    attained, noise = float(np.linalg.cond(problem.dense)), None
    runs, verdicts = list[StabilityRun](), []
    for place, form in enumerate(unit.forms):
        form_runs = _FormRuns(unit, form, problem, stream, exact)
        ratios: dict[int, float] = {}
        for s in family.steps:
            part = (place + family.steps.index(s) / len(family.steps)) / len(unit.forms)
            tell(unit.key, part, f"{form}, s = {s}")
            case = form_runs.case(s, again)
            made = {run_key(s): form_runs.make(case, s)}
            replayed = scenario.seed == family.seed[0] and s in unit.replayed
            checks = (contract.ID, step_replay.ID, *[window_replay.ID] * replayed)
            found = [
                verdict
                for check in checks_of(checks)
                for verdict in keep_artefacts(
                    check, case, made, verdicts_of(check, case, made, oracle), artefacts
                )
            ]
            verdicts += [(unit.case(form), scenario.condition, verdict) for verdict in found]
            ratios[s] = max((verdict.ratio for verdict in found), default=math.nan)
        if noise is None:  # The classical solver is the same in every form.
            given = form_runs.errors[1][family.iterations]
            noise = noise_factor(
                [given, *form_runs.in_other_orders(1, ORDERS - 1)], unit_roundoff(family.precision)
            )
        runs += form_runs.summary(attained, ratios, noise)
    return UnitOutcome(unit.key, tuple(runs), tuple(verdicts))


@dataclass(frozen=True)
class _FormRuns:
    """The runs of one form on one scenario, and their errors: by s, by iteration."""

    unit: ScenarioUnit
    form: str
    problem: Problem
    stream: IndexStream
    exact: EnclosedTrajectory
    errors: dict[int, dict[int, float]] = field(default_factory=dict)

    def solver(self, s: int) -> Solver:
        """The solver that makes the run of an s."""
        if self.unit.family.precision == "float64":
            return ProductionSolver() if s == 1 else ProductionSolver(update=self.form)
        return ReferenceSolver("float32", "classical") if s == 1 else ReferenceSolver("float32")

    def case(self, s: int, again: str) -> Case:
        """What the run of an s is judged as."""
        unit, family = self.unit, self.unit.family
        # Places, evenly over the run, where windows shorter than the recording interval are kept for
        # replay.
        spaced = family.iterations // 8
        ends = {-(-place // s) * s for place in range(spaced, family.iterations + 1, max(spaced, 1))}
        return Case(
            id=f"{unit.case(self.form)}/condition={unit.scenario.condition:g}/seed={unit.scenario.seed}",
            problem=self.problem,
            stream=self.stream,
            s_values=(s,),
            iterations=family.iterations,
            declaration=self.solver(s).declaration,
            points={s: tuple(sorted({s, *(end for end in ends if end <= family.iterations)}))},
            windows=family.windows,
            seed=unit.scenario.seed,
            replay_command=command_for(again, unit.case(self.form)),
        )

    def make(self, case: Case, s: int) -> Trajectory:
        """Make a run and keep its errors."""
        request = plain_request(case, s)
        points = self.unit.family.points(s)
        record = tuple(sorted({*request.record, *points}))
        trajectory = make_run(self.solver(s), replace(request, record=record, log=True))
        compared = drift(trajectory, self.exact, points)
        self.errors[s] = {point: compared[point] for point in points}
        return trajectory

    def in_other_orders(self, s: int, orders: int) -> Iterator[float]:
        """Errors at the last iteration of runs with samples and features in other orders."""
        last = self.unit.family.iterations
        for seed in range(orders):
            order, _ = relabelling(self.problem.features, seed)
            mixed = replace(self.problem, data=self.problem.data[:, order])
            moved = relabel(mixed, self.stream, seed)
            request = RunRequest(moved.problem, moved.stream, s, last, record=(last,))
            yield relative_error(moved.back(self.solver(s).run(request).final), self.exact.alphas[-1])

    def summary(self, attained: float, ratios: dict[int, float], noise: float) -> Iterator[StabilityRun]:
        """Errors and loss factors of all runs made, much worse ones made again in other orders too."""
        unit, roundoff = self.unit, unit_roundoff(self.unit.family.precision)

        @cache
        def middle(s: int) -> float:
            errors = self.in_other_orders(s, SECOND_LOOK)
            return median(error if math.isfinite(error) else math.inf for error in errors)

        for s, errors in self.errors.items():
            found = against_classical(errors, self.errors[1], roundoff)
            assert found is not None  # Every run is recorded at its end.
            worse = s > 1 and found.loss > TENFOLD
            yield StabilityRun(
                unit.case(self.form), unit.scenario.condition, attained, unit.scenario.seed, s, found.error,
                found.classical, found.largest, found.loss, found.largest_loss, ratios.get(s), noise,
                SECOND_LOOK * worse, loss_factor(middle(s), middle(1), roundoff) if worse else None,
            )  # fmt: skip


def noise_factor(errors: Sequence[float], roundoff: float) -> float:
    """Largest over smallest error of runs that differ only in the order of their sums.

    What a loss factor may be without any loss: at least 1, and infinite if a run broke down. As in
    `measures.loss_factor`, an error below one unit roundoff counts as one.
    """
    if not all(math.isfinite(error) for error in errors):
        return math.inf
    return max(max(errors), roundoff) / max(min(errors), roundoff)
