"""Searches of the worst case with a budget of time: random draws, evolution, Hypothesis with a target."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter

import numpy as np
import scipy.optimize

from sstep_verify.errors import InputError
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import KERNEL_NAMES
from studies.adversary.measures import (
    CARRIED,
    FACTORED,
    HIDDEN,
    LOSS,
    RATIO,
    at,
    candidates,
    value_of,
)
from studies.adversary.space import CHOICES, Cell, random_point
from studies.reporting.sensitivity.alarms import HardCase

POPULATION = 4
"""Points of the evolution a dimension."""

EXAMPLES = 200
"""Examples of Hypothesis between two looks at the clock."""

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
    """The best point of a search so far, and how many were looked at.

    Parameters
    ----------
    cell : Cell
        What is searched.
    until : float
        When it ends, by ``time.perf_counter``.
    """

    cell: Cell
    until: float
    value: float = 0.0
    solver: str = ""
    scenario: str = ""
    looked: int = 0
    known: dict[tuple[str, str], float] = field(default_factory=dict)

    def __call__(self, point: Sequence[float]) -> float:
        """The measure at a point of the unit cube; 0 where fields of its scenario contradict each other."""
        if perf_counter() > self.until:
            raise _OutOfTimeError
        self.looked += 1
        try:
            variant, scenario = at(self.cell, list(point))
        except InputError:
            return 0.0
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
        best(random_point(generator))


def by_evolution(best: Best, seed: int) -> None:
    """Differential evolution (SciPy's), begun again with another seed where it has converged."""
    size = len(CHOICES)
    cube = scipy.optimize.Bounds(np.zeros(size), np.ones(size))

    def lost(point: np.ndarray) -> float:
        return -best(point.tolist())

    while True:
        scipy.optimize.differential_evolution(
            lost, cube, popsize=POPULATION, seed=seed, polish=False, maxiter=10_000
        )
        seed += 1


def by_targets(best: Best, seed: int) -> None:
    """Hypothesis with a target, some examples at a time."""
    # An optional part of an installation, which only a search needs.
    import hypothesis
    from hypothesis import strategies

    points = strategies.tuples(*[strategies.floats(0.0, 1.0)] * len(CHOICES))
    settings = hypothesis.settings(
        max_examples=EXAMPLES,
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

    The worst of each cell is told, beside the worst of random draws.
    """
    for cell in cells:
        found = {method: searched(cell, method, seconds, seed) for method in METHODS}
        method = max(found, key=lambda name: found[name].value)
        best = found[method]
        yield HardCase(cell.measure, best.solver, best.scenario, best.value, method, found["random"].value)
