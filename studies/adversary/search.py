"""Searches of the worst case with a budget of time: random draws, evolution, Hypothesis with a target.

A point of the unit cube is a scenario and a correct solver.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from time import perf_counter
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.optimize

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import KERNEL_NAMES
from sstep_verify.scenarios.scenario import ORDERS, STARTS, Scenario
from sstep_verify.scenarios.spectrum import SHAPES
from studies.adversary.cases import CARRIED, FACTORED, HIDDEN, LOSS, RATIO, SOLVERS, value_of
from studies.alarms.solvers import LOGGING, Variant
from studies.report.sensitivity.alarms import HardCase

POPULATION = 4
"""Points of the evolution a dimension."""

EXAMPLES = 200
"""Examples of Hypothesis between two looks at the clock."""

SAMPLES, FEATURES, BLOCK, STEPS, ITERATIONS = 24, 8, 8, 64, 64
"""Largest m, n, b, s and H."""

PARAMETER, CONDITION, FAR = (-4.0, 4.0), (0.0, 16.0), (-2.0, 6.0)
"""Decimal exponents of C or lambda, of the condition number, and of an offset."""

SIGMA = (-3.0, 2.0)
"""Decimal exponents of sigma."""

CHOICES = (
    "solver", "samples", "features", "block", "s", "iterations", "seed", "parameter", "spectrum",
    "condition", "offset", "unit_rows", "duplicates", "constant_features", "start", "order", "kernel",
    "positive",
)  # fmt: skip
"""What is chosen, one dimension each."""

SEEDS = 4096
"""Seeds of the data: few, so that an optimiser can come back to one."""

Value = TypeVar("Value")


class Cell(NamedTuple):
    """What a search does not choose: the measure that it makes large, and what problem and solver are."""

    measure: str
    task: str
    kernel: str
    precision: str


def scenario_at(cell: Cell, point: Sequence[float]) -> Scenario:
    """The scenario at a point of the unit cube, of `CHOICES` dimensions."""
    at = dict(zip(CHOICES, (min(max(float(one), 0.0), 1.0) for one in point), strict=True))
    samples = whole(at["samples"], 2, SAMPLES)
    features = whole(at["features"], 1, FEATURES)
    return Scenario(
        task=cell.task,
        kernel=kernel_at(cell.kernel, at["kernel"]),
        precision=cell.precision,
        samples=samples,
        features=features,
        block=whole(at["block"], 1, min(samples, BLOCK)) if cell.task == "krr" else 1,
        s=whole(at["s"], 1, STEPS),
        iterations=whole(at["iterations"], 1, ITERATIONS),
        seed=whole(at["seed"], 0, SEEDS - 1),
        parameter=10.0 ** within(at["parameter"], *PARAMETER),
        spectrum=chosen(at["spectrum"], SHAPES),
        condition=10.0 ** within(at["condition"], *CONDITION),
        # The lower third of its range is no offset.
        offset=10.0 ** within(1.5 * at["offset"] - 0.5, *FAR) if at["offset"] > 1 / 3 else 0.0,
        unit_rows=at["unit_rows"] > 0.5,
        duplicates=0.75 * at["duplicates"],
        constant_features=whole(at["constant_features"], 0, features),
        start=chosen(at["start"], STARTS),
        order=chosen(at["order"], ORDERS),
        positive=within(at["positive"], 0.05, 0.95),
    )


def kernel_at(name: str, place: float) -> Kernel:
    """A kernel of a kind; its parameter by a place in [0, 1]."""
    if name == "rbf":
        return RBFKernel(10.0 ** within(place, *SIGMA))
    if name == "polynomial":
        return PolynomialKernel(whole(place, 2, 4), 10.0 * math.modf(3 * place)[0] ** 2)
    return LinearKernel()


def random_point(generator: np.random.Generator) -> list[float]:
    """A point of the unit cube."""
    return generator.random(len(CHOICES)).tolist()


def within(place: float, low: float, high: float) -> float:
    """The number at a place of a range."""
    return low + place * (high - low)


def whole(place: float, low: int, high: int) -> int:
    """The whole number at a place of a range, both ends included."""
    return min(low + int(place * (high - low + 1)), high)


def chosen(place: float, values: Sequence[Value]) -> Value:
    """The value at a place of a list."""
    return values[whole(place, 0, len(values) - 1)]


@cache
def candidates(cell: Cell) -> tuple[Variant, ...]:
    """Solvers of a cell whose steps are judged; of a loss, those beside a classical one."""
    return tuple(
        one
        for one in SOLVERS.get(cell.measure, LOGGING)
        if cell.task in one.tasks
        and cell.kernel in one.kernels
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


def at(cell: Cell, point: list[float]) -> tuple[Variant, Scenario]:
    """Solver and scenario at a point."""
    place = min(max(float(point[CHOICES.index("solver")]), 0.0), 1.0)
    return chosen(place, candidates(cell)), scenario_at(cell, point)


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
    cube = scipy.optimize.Bounds(np.zeros(len(CHOICES)), np.ones(len(CHOICES)))

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
