"""What the adversary may choose: a point of the unit cube becomes a scenario and a correct solver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.scenarios.scenario import ORDERS, STARTS, Scenario
from sstep_verify.scenarios.spectrum import SHAPES

SAMPLES, FEATURES, BLOCK, STEPS, ITERATIONS = 24, 8, 8, 64, 64
"""Largest m, n, b, s and H."""

PARAMETER, CONDITION, FAR = (-4.0, 4.0), (0.0, 16.0), (-2.0, 6.0)
"""Decimal exponents of C or lambda, of the condition number, and of an offset."""

SIGMA = (-3.0, 2.0)
"""Decimal exponents of sigma."""

CHOICES = (
    *(
        "solver",
        "samples",
        "features",
        "block",
        "s",
        "iterations",
        "seed",
        "parameter",
        "spectrum",
        "condition",
    ),
    *("offset", "unit_rows", "duplicates", "constant_features", "start", "order", "kernel", "positive"),
)
"""What is chosen, one dimension each."""

SEEDS = 4096
"""Seeds of the data: few, so that an optimiser can come back to one."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Cell:
    """What a search does not choose.

    Parameters
    ----------
    measure : {"ratio", "loss", "hidden", "carried", "factored"}
        What it makes large.
    task, kernel, precision : str
        Of the problem and the solver.
    """

    measure: str
    task: str
    kernel: str
    precision: str


def scenario_at(cell: Cell, point: Sequence[float]) -> Scenario:
    """The scenario at a point of the unit cube, of `CHOICES` dimensions."""
    at = dict(zip(CHOICES, (min(max(float(one), 0.0), 1.0) for one in point), strict=True))
    samples = whole(at["samples"], 2, SAMPLES)
    features = whole(at["features"], 1, FEATURES)
    parameter, condition = (
        10.0 ** within(at["parameter"], *PARAMETER),
        10.0 ** within(at["condition"], *CONDITION),
    )
    fields: dict[str, Any] = {
        "samples": samples,
        "features": features,
        "block": whole(at["block"], 1, min(samples, BLOCK)) if cell.task == "krr" else 1,
        "s": whole(at["s"], 1, STEPS),
        "iterations": whole(at["iterations"], 1, ITERATIONS),
        "seed": whole(at["seed"], 0, SEEDS - 1),
        "parameter": parameter,
        "spectrum": chosen(at["spectrum"], SHAPES),
        "condition": condition,
        # The lower third of its range is no offset.
        "offset": 10.0 ** within(1.5 * at["offset"] - 0.5, *FAR) if at["offset"] > 1 / 3 else 0.0,
        "unit_rows": at["unit_rows"] > 0.5,
        "duplicates": 0.75 * at["duplicates"],
        "constant_features": whole(at["constant_features"], 0, features),
        "start": chosen(at["start"], STARTS),
        "order": chosen(at["order"], ORDERS),
        "positive": within(at["positive"], 0.05, 0.95),
    }
    return Scenario(
        task=cell.task, kernel=kernel_at(cell.kernel, at["kernel"]), precision=cell.precision, **fields
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
