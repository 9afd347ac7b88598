"""The numbers of a scenario: its data matrix and its targets, one seeded generator per purpose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from sstep_verify.scenarios.spectrum import (
    orthonormal_columns,
    singular_values,
    with_singular_values,
)

if TYPE_CHECKING:
    from sstep_verify.scenarios.scenario import Scenario

_PURPOSES = ("left", "right", "spectrum", "pattern", "rows", "targets", "start")
_TAIL = 0x5CE9A810  # Keeps these generators apart from the index stream's, seeded by (seed, chunk).


def generator_for(seed: int, purpose: str) -> np.random.Generator:
    """PCG64 of its own for each purpose: changing one field of a scenario leaves the other draws alone."""
    sequence = np.random.SeedSequence((_PURPOSES.index(purpose) + 1, _TAIL, seed))
    return np.random.Generator(np.random.PCG64(sequence))


def spectrum_of(scenario: Scenario) -> np.ndarray:
    """Prescribed singular values of the data before `scale`, shape (min(m, n),).

    They are those of the named shape times one power of two, which puts the root mean square of the row
    norms, ``sqrt(sum sigma^2 / m)``, into [2**-0.5, 2**0.5).
    """
    count = min(scenario.samples, scenario.features)
    generator = generator_for(scenario.seed, "spectrum")
    values = singular_values(scenario.spectrum, count, scenario.condition, generator)
    mean_square = math.fsum((values * values).tolist()) / scenario.samples
    return np.ldexp(values, -(math.frexp(mean_square)[1] // 2))


def factors_of(scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal columns U, shape (m, min(m, n)), and V, shape (n, min(m, n)), of the data."""
    count = min(scenario.samples, scenario.features)
    left = orthonormal_columns(scenario.samples, count, generator_for(scenario.seed, "left"))
    right = orthonormal_columns(scenario.features, count, generator_for(scenario.seed, "right"))
    return left, right


def data_of(scenario: Scenario) -> np.ndarray | sp.csr_array:
    """Data of the scenario, shape (m, n), dense if its density is 1 and CSR otherwise."""
    left, right = factors_of(scenario)
    data = with_singular_values(left, spectrum_of(scenario), right)
    if scenario.density < 1:
        data = np.where(_pattern(scenario), data, 0.0)
    if scenario.unit_rows:
        norms = [math.sqrt(math.fsum(squares)) for squares in (data * data).tolist()]
        data /= np.array([norm or 1.0 for norm in norms])[:, None]
    if scenario.constant_features:
        data[:, scenario.features - scenario.constant_features :] = 1.0
    data = np.ldexp(data + scenario.offset, scenario.data_exponent)
    data = in_precision(data, scenario.precision)
    _repeat_and_clear_rows(scenario, data)
    return sp.csr_array(data) if scenario.density < 1 else data


def _pattern(scenario: Scenario) -> np.ndarray:
    """Which entries are stored, shape (m, n): column j holds `column_counts(scenario)[j]` of them."""
    generator = generator_for(scenario.seed, "pattern")
    pattern = np.zeros((scenario.samples, scenario.features), dtype=bool)
    for column, count in enumerate(column_counts(scenario)):
        pattern[generator.choice(scenario.samples, size=count, replace=False), column] = True
    return pattern


def column_counts(scenario: Scenario) -> list[int]:
    """Stored entries of each column: ``density m n`` shared out as ``(j + 1)**-skew``, each in 1..m.

    Counts fall from the first column to the last, the worst order for a partition by width.
    """
    weights = [math.pow(column + 1, -scenario.skew) for column in range(scenario.features)]
    total = scenario.density * scenario.samples * scenario.features / math.fsum(weights)
    return [min(max(round(total * weight), 1), scenario.samples) for weight in weights]


def _repeat_and_clear_rows(scenario: Scenario, data: np.ndarray) -> None:
    """Overwrite rows by copies of other rows, and others by zeros, in place."""
    order = generator_for(scenario.seed, "rows").permutation(scenario.samples)
    data[order[: scenario.zero_rows]] = 0.0
    others = order[scenario.zero_rows :]
    copies = scenario.repeated_rows
    kept = others[copies:]
    data[others[:copies]] = data[kept[np.arange(copies) % max(kept.size, 1)]]


def targets_of(scenario: Scenario) -> np.ndarray:
    """Targets, shape (m,): labels of both classes, or multiples of 2**-20 in [-1, 1) for K-RR."""
    generator = generator_for(scenario.seed, "targets")
    if scenario.task == "krr":
        return generator.integers(-(2**20), 2**20, size=scenario.samples) / 2.0**20
    labels = np.full(scenario.samples, -1.0)
    labels[generator.permutation(scenario.samples)[: scenario.positive_labels]] = 1.0
    return labels


def mixed_start(scenario: Scenario) -> np.ndarray:
    """Start vector, shape (m,): each coordinate 0, 1/2 or 1 times C, for K-RR times ``y_i / m``."""
    unit: float | np.ndarray = scenario.parameter
    if scenario.task == "krr":
        unit = targets_of(scenario) / scenario.samples
    parts = generator_for(scenario.seed, "start").integers(3, size=scenario.samples) / 2.0
    return in_precision(parts * unit, scenario.precision)


def in_precision(values: np.ndarray, precision: str) -> np.ndarray:
    """Values rounded to float32 if that is the precision, held as float64."""
    return values.astype(np.float32).astype(np.float64) if precision == "float32" else values
