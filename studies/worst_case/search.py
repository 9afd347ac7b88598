"""Searches of the worst case with a budget of time: random draws, evolution, Hypothesis with a target.

A point of the unit cube is a scenario and a correct solver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from time import perf_counter
from typing import NamedTuple

import numpy as np
import scipy.optimize

from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import KERNEL_NAMES, draw_scenario, one_of
from sstep_verify.scenarios.scenario import Scenario
from studies.false_positives.solvers import LOGGING, Variant
from studies.report.sensitivity.false_positives import HardCase
from studies.worst_case.cases import CARRIED, FACTORED, HIDDEN, LOSS, RATIO, SOLVERS, value_of

LONGEST = 64
"""Largest s and H."""

DIMENSIONS = 24
"""Choices of a solver and a scenario, one each."""

GRID = 4096
"""Places of a dimension: few, so that an optimiser can come back to a seed."""


class Cell(NamedTuple):
    """What a search does not choose: the measure that it makes large, and what problem and solver are."""

    measure: str
    task: str
    kernel: str
    precision: str


class Places:
    """A chooser of integers, each at a place of its range, 0 to 1, in the order of asking."""

    def __init__(self, point: Sequence[float]):
        self._left = iter(point)

    def integers(self, low: int, high: int | None = None) -> int:
        """That of ``low..high - 1``, or ``0..low - 1``, at the next place; the first if none is left."""
        low, high = (0, low) if high is None else (low, high)
        place = int(GRID * min(max(float(next(self._left, 0.0)), 0.0), 1.0)) / GRID
        return min(low + int(place * (high - low)), high - 1)


@cache
def candidates(cell: Cell) -> tuple[Variant, ...]:
    """Solvers of a cell whose steps are judged; of a loss, those next to a classical one."""
    return tuple(
        one
        for one in SOLVERS.get(cell.measure, LOGGING)
        if one.solves(cell.task, cell.kernel)
        and one.make().declaration.precision == cell.precision
        and (cell.measure != LOSS or _has_counterpart(one, cell))
    )


def _has_counterpart(variant: Variant, cell: Cell) -> bool:
    """Whether the solver makes s-step runs whose loss is that of s alone.

    Squared distances by norm expansion lose every digit of data far from the origin, by an error that
    depends on how many columns a product has: a loss, but none of the s-step recurrence.
    """
    if variant.name.startswith("reference"):
        return not variant.name.endswith("classical")
    ours = variant.name.startswith("production")
    return ours and (cell.kernel != "rbf" or variant.make().declaration.rbf == "difference")


def at(cell: Cell, point: Sequence[float]) -> tuple[Variant, Scenario]:
    """Solver and scenario at a point of the unit cube, of so many dimensions."""
    places = Places(point)
    solver = one_of(places, candidates(cell))
    return solver, draw_scenario(
        places, cell.task, cell.kernel, precision=cell.precision, s=LONGEST, iterations=LONGEST
    )


CELLS = tuple(
    cell
    for one in product(
        (RATIO, LOSS, HIDDEN, CARRIED, FACTORED), TASKS, KERNEL_NAMES, ("float64", "float32")
    )
    if candidates(cell := Cell(*one))
)
"""What is searched: each measure on each task, kernel and precision for which there are solvers."""


class _OutOfTimeError(Exception):
    """The budget is spent."""


@dataclass
class Best:
    """The best point of a search of a cell so far, and how many were looked at.

    It ends at `until`, by ``time.perf_counter``.
    """

    cell: Cell
    until: float
    value: float = 0.0
    solver: str = ""
    scenario: str = ""
    looked: int = 0
    known: dict[tuple[str, str], float] = field(default_factory=dict)

    def __call__(self, point: Sequence[float]) -> float:
        """The measure at a point of the unit cube."""
        if perf_counter() > self.until:
            raise _OutOfTimeError
        self.looked += 1
        variant, scenario = at(self.cell, point)
        key = variant.name, scenario.id
        if key not in self.known:
            self.known[key] = value_of(self.cell.measure, variant, scenario)
        value = self.known[key]
        if value > self.value:
            self.value, self.solver, self.scenario = value, *key
        return value


def by_random_draws(best: Best, seed: int) -> None:
    """Draw points until time is out."""
    generator = np.random.Generator(np.random.PCG64(seed))
    while True:
        best(generator.random(DIMENSIONS).tolist())


def by_evolution(best: Best, seed: int) -> None:
    """Differential evolution (SciPy's), begun again with another seed where it has converged."""
    cube = scipy.optimize.Bounds(np.zeros(DIMENSIONS), np.ones(DIMENSIONS))

    def lost(point: np.ndarray) -> float:
        return -best(point.tolist())

    while True:
        # Points of the evolution a dimension.
        scipy.optimize.differential_evolution(
            lost, cube, popsize=4, seed=seed, polish=False, maxiter=10_000
        )
        seed += 1


def by_targets(best: Best, seed: int) -> None:
    """Hypothesis with a target, some examples at a time."""
    # An optional part of an installation, which only a search needs.
    import hypothesis
    from hypothesis import strategies

    points = strategies.tuples(*[strategies.floats(0.0, 1.0)] * DIMENSIONS)
    settings = hypothesis.settings(
        max_examples=200,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.target],
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def look(point: tuple[float, ...]) -> None:
        hypothesis.target(best(point))

    while True:
        hypothesis.seed(seed)(settings(hypothesis.given(points)(look)))()
        seed += 1


METHODS: dict[str, Callable[[Best, int], None]] = {
    "random": by_random_draws,
    "evolution": by_evolution,
    "targeted": by_targets,
}


def searched(cell: Cell, method: str, seconds: float, seed: int) -> Best:
    """The best that a method finds in some seconds."""
    best = Best(cell, perf_counter() + seconds)
    with contextlib.suppress(_OutOfTimeError):
        METHODS[method](best, seed)
    return best


def search(seconds: float, seed: int, cells: Sequence[Cell] = CELLS) -> Iterator[HardCase]:
    """Search every cell by every method, with so many seconds each.

    The worst of each cell is printed, next to the worst of random draws.
    """
    for cell in cells:
        found = {method: searched(cell, method, seconds, seed) for method in METHODS}
        method = max(found, key=lambda name: found[name].value)
        best = found[method]
        yield HardCase(cell.measure, best.solver, best.scenario, best.value, method, found["random"].value)
