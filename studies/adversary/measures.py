"""What the adversary makes large: the ratio of a run's worst step, and the loss of s-step runs."""

from __future__ import annotations

import math
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from sstep_verify.checks.step_replay import CHECK as STEPS
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.measures.error import errors_at, loss_factor
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems.losses import TASKS
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import Declaration, RunRequest, Solver
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.verdict import Status
from studies.adversary.space import CHOICES, Cell, chosen, scenario_at
from studies.alarms.judged import NO_RUN, Judged, decided, judged_run
from studies.alarms.solvers import EVERY, LINEAR, LOGGING, Names, Variant
from studies.corpus.labelled_set import EQUIVALENT
from studies.legal.draws import Drawn
from studies.legal.solver import LegalSolver

RATIO, LOSS, HIDDEN = "ratio", "loss", "hidden"
"""The ratio of correct solvers; their loss; the ratio of mistakes labelled numerically equivalent."""

CARRIED, FACTORED = "carried", "factored"
"""The largest ratio, over all checks of windows, of solvers that carry a state, or form A (A'a)."""

RATIOS = (RATIO, CARRIED, FACTORED)
"""Measures of correct solvers that must stay below 1."""

OF_WINDOWS = (STEPS, WINDOWS, "residual-gap", "metamorphic-bounded", "trajectory")
"""Checks that judge these."""

MISTAKES = tuple(
    Variant(one.id, one.make, tuple(task for task in TASKS if (task == "krr") == ("krr" in one.tasks)))
    for one in EQUIVALENT
)
"""Solvers that no verdict can fail if their label is right: a search is aimed at each, on every kernel."""

NO_TRUTH = (OracleDisagreementError, ZeroDivisionError)
"""What the exact trajectory raises where its bits do not tell a block system from a singular one."""

LARGEST_ERROR = 1e6
"""Relative error of a classical run, in unit roundoffs, beyond which a loss is not looked at."""


def _legal(name: str, tasks: Names, kernels: Names, order: str, **declared: Any) -> Variant:
    """A solver of single operations in an order."""
    factored = declared.get("products", "rows") == "any"
    choices = {"factored": factored, "reciprocal": False, "divided": "product", "products first": False}
    declaration = Declaration("legal", log=True, function_ulps=4.0, **{"products": "rows", **declared})
    # Problem, stream and start are those of each request.
    nothing: Any = None
    drawn = Drawn(nothing, nothing, nothing, declaration, order, choices)
    words = " ".join(str(value) for value in declared.values())
    return Variant(f"legal {name} {words} {order}", lambda: LegalSolver(drawn), tasks, kernels)


STATES: dict[str, tuple[Names, Names]] = {
    "gradient": (("svm-l1", "svm-l2"), EVERY),
    "residual": (("krr",), EVERY),
    "weights": (TASKS, LINEAR),
}
"""What is carried, and of which tasks and kernels."""

CARRYING = tuple(
    _legal(name, *STATES[name], order, precision=precision, recompute=again, state=(name,))
    for name in STATES
    for order in ("sequential", "ascending")
    for precision in ("float64", "float32")
    for again in (0, 3)
)
"""Solvers that carry a state."""

FACTORING = tuple(
    _legal("factored", TASKS, LINEAR, order, precision=precision, update=update, products="any")
    for order in ("sequential", "ascending")
    for precision in ("float64", "float32")
    for update in ("in-place", "frozen")
)
"""Solvers that form products with a from the samples."""

SOLVERS = {HIDDEN: MISTAKES, CARRIED: CARRYING, FACTORED: FACTORING}
"""Solvers by measure; of the others those that log their steps."""


@cache
def candidates(cell: Cell) -> tuple[Variant, ...]:
    """Solvers of a cell whose steps are judged; of a loss, those beside a classical one."""
    found = [
        one
        for one in SOLVERS.get(cell.measure, LOGGING)
        if cell.task in one.tasks
        and cell.kernel in one.kernels
        and one.make().declaration.precision == cell.precision
        and (cell.measure != LOSS or _has_counterpart(one, cell))
    ]
    return tuple(found)


def _has_counterpart(variant: Variant, cell: Cell) -> bool:
    """Whether the solver makes s-step runs whose loss is that of s alone.

    Squared distances by norm expansion lose every digit of data far from the origin, by an error that
    depends on how many columns a product has: a loss, but none of the s-step recurrence.
    """
    if variant.name.startswith("reference"):
        return not variant.name.endswith("classical")
    ours = variant.name.startswith("production")
    return ours and (cell.kernel != "rbf" or variant.make().declaration.rbf == "difference")


def solver_named(name: str) -> Variant:
    """The solver of a name."""
    return next(one for one in (*LOGGING, *chain(*SOLVERS.values())) if one.name == name)


def at(cell: Cell, point: list[float]) -> tuple[Variant, Scenario]:
    """Solver and scenario at a point."""
    place = min(max(float(point[CHOICES.index("solver")]), 0.0), 1.0)
    return chosen(place, candidates(cell)), scenario_at(cell, point)


def value_of(measure: str, variant: Variant, scenario: Scenario) -> float:
    """The measure of a solver's run; 0 where there is no run, or nothing is promised of it."""
    if measure == LOSS:
        return loss_of(variant, scenario)
    # Bounds of the steps that are repeated exactly are narrower: a mistake must hide from these too.
    return ratio_of(judged(measure, variant, scenario, exact=measure == HIDDEN))


def judged(measure: str, variant: Variant, scenario: Scenario, exact: bool = False) -> Judged:
    """The run, every step judged, or every window by all checks that do."""
    if measure in (CARRIED, FACTORED):
        return judged_run(variant, scenario, OF_WINDOWS, start=False)
    return judged_run(variant, scenario, (STEPS,), exact=exact)


def ratio_of(made: Judged) -> float:
    """Largest ratio of a judged run, infinite where it is failed."""
    settled = [one for one in made.verdicts if one.status is not Status.INCONCLUSIVE]
    return max((one.ratio for one in settled if decided(one)), default=0.0)


def loss_of(variant: Variant, scenario: Scenario) -> float:
    """Largest error of the s-step run from 0 over that of classical ones, at the former's window ends.

    As in the stability study an error below one unit roundoff counts as one. Of the production solver there
    are two classical runs, one with a kept Gram matrix, and the worse counts: where all samples are alike,
    say, one of them may be exact by luck. Where it has few correct digits left, or a run breaks down,
    nothing is said of a loss: 0.
    """
    problem, stream, length, s = scenario.problem(), scenario.stream(), scenario.iterations, scenario.s
    ends = (*range(s, length, s), length)
    solver = variant.solver(scenario)
    precision = solver.declaration.precision
    classical: list[Solver] = [ReferenceSolver(precision, "classical")]
    if variant.name.startswith("production"):
        classical = [ProductionSolver(rbf=solver.declaration.rbf, keep_gram=keep) for keep in (False, True)]
    with np.errstate(all="ignore"):
        try:
            runs = [
                one.run(RunRequest(problem, stream, width, length, record=ends))
                for one, width in ((solver, s), *((one, 1) for one in classical))
            ]
            exact = Oracle(problem).trajectory(problem, stream, length, ends)
        except (*NO_RUN, *NO_TRUTH):
            return 0.0
        error, *plains = (float(errors_at(run, exact, ends).max()) for run in runs)
        plain = max(plains)
        roundoff = unit_roundoff(precision)
        if not plain < LARGEST_ERROR * roundoff:
            return 0.0
        loss = loss_factor(error, plain, roundoff)
    return loss if math.isfinite(loss) else 0.0
