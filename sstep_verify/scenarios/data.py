"""The numbers of a scenario: its data matrix and its targets, one seeded generator per purpose.

A matrix may have prescribed singular values: a shape of spectrum between random orthogonal factors.
Only elementwise IEEE operations and `math.fsum` are used, no BLAS and no LAPACK, so a seed gives the
same bits on every machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError
from sstep_verify.scenarios.numbers import Numbers

SHAPES = (
    "arith",
    "geo",
    "cluster1",
    "cluster0",
    "logrand",
    "rarith",
    "rgeo",
    "rcluster1",
    "rcluster0",
)
"""Names of spectrum shapes, the r of reversed order in front.

Source: the matrix generator of SLATE's tester (``_logrand`` has no reversed form: its order is random).
"""

BITS = 24
"""Bits of what must not show the last bit of a library's function."""


def condition_levels(epsilon: float = 2.0**-52) -> tuple[float, float, float]:
    """The three condition numbers LAPACK's testers use: ``2, sqrt(0.1/eps), 0.1/eps``; eps = 2u.

    Source: LAPACK, TESTING/LIN, subroutine DLATB4 (CNDNUM, BADC1, BADC2).
    """
    return 2.0, math.sqrt(0.1 / epsilon), 0.1 / epsilon


def singular_values(shape: str, count: int, condition: float, generator: np.random.Generator) -> np.ndarray:
    """So many singular values, from 1 down to 1/condition <= 1 in one of `SHAPES`; a single one is 1.

    The two ends are 1 and fl(1/condition) exactly, for ``logrand`` too (SLATE leaves its ends to chance; it
    alone uses the generator). What lies between is rounded to 24 bits, so that the last bit of a C
    library's power does not show. An InputError says that the shape is unknown.
    """
    if shape not in SHAPES:
        raise InputError(f"spectrum shape {shape!r} is unknown; known: {', '.join(SHAPES)}")
    if count == 1:
        return np.ones(1)
    kind = shape[1:] if shape.startswith("r") else shape
    smallest, places = 1.0 / condition, range(1, count - 1)
    if kind == "arith":
        inner = [1.0 - place / (count - 1) * (1.0 - smallest) for place in places]
    elif kind == "geo":
        inner = [math.pow(condition, -place / (count - 1)) for place in places]
    elif kind == "logrand":
        inner = [math.pow(condition, -exponent) for exponent in generator.random(count - 2).tolist()]
    else:
        inner = [smallest if kind == "cluster0" else 1.0 for _ in places]
    # A cluster keeps the value of its end; a value rounded below the smallest would widen the spectrum.
    kept = [value if value == smallest else max(float(in_bits(value, BITS)), smallest) for value in inner]
    values = np.array([1.0, *kept, smallest])
    return values if kind == shape else values[::-1].copy()


def in_bits(values: Any, bits: int) -> Any:
    """Numbers rounded to so many bits each, ties to even."""
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissas, bits)), exponents - bits)


def orthonormal_columns(rows: int, columns: int, generator: np.random.Generator) -> np.ndarray:
    """The factor Q of a Gaussian matrix, R with a positive diagonal: uniform over orthonormal columns.

    Formed, rows >= columns >= 1, as a product of Householder reflections of Gaussian vectors of falling
    length, which has the same distribution as the QR factorisation and needs no matrix to start from. The
    Gaussian numbers are rounded to multiples of 2**-24.

    Source: Stewart, The efficient generation of random orthogonal matrices, SIAM J. Numer. Anal. 17 (1980),
    403-409.
    """
    vectors = [
        np.rint(generator.standard_normal(rows - column) * 2.0**BITS) / 2.0**BITS
        for column in range(columns)
    ]
    factor = np.zeros((rows, columns))
    for column in reversed(range(columns)):
        vector = vectors[column].copy()
        sign = 1.0 if vector[0] >= 0 else -1.0
        vector[0] += sign * math.sqrt(math.fsum((vector * vector).tolist()))
        factor[column, column] = 1.0
        squared = math.fsum((vector * vector).tolist())
        if squared > 0:
            part = factor[column:, column:]
            projected = np.add.reduce(vector[:, None] * part, axis=0)
            part -= vector[:, None] * (projected * (2.0 / squared))
        factor[:, column] *= -sign
    return factor


def with_singular_values(left: np.ndarray, values: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``U diag(sigma) V'``, summed in order of the columns: r + 1 roundings per term at most.

    U, shape (m, r), and V, shape (n, r), have orthonormal columns.
    """
    product = np.zeros((left.shape[0], right.shape[0]))
    for column, value in enumerate(values.tolist()):
        product += (left[:, column] * value)[:, None] * right[:, column]
    return product


_PURPOSES = ("left", "right", "spectrum", "pattern", "rows", "targets", "start")
_TAIL = 0x5CE9A810  # Keeps these generators apart from the index stream's, seeded by (seed, chunk).


def generator_for(seed: int, purpose: str) -> np.random.Generator:
    """PCG64 of its own for each purpose: changing one field of a scenario leaves the other draws alone."""
    sequence = np.random.SeedSequence((_PURPOSES.index(purpose) + 1, _TAIL, seed))
    return np.random.Generator(np.random.PCG64(sequence))


def spectrum_of(scenario: Numbers) -> np.ndarray:
    """Prescribed singular values of the data before `scale`, shape (min(m, n),).

    They are those of the named shape times one power of two, which puts the root mean square of the row
    norms, ``sqrt(sum sigma^2 / m)``, into [2**-0.5, 2**0.5).
    """
    count = min(scenario.samples, scenario.features)
    generator = generator_for(scenario.seed, "spectrum")
    values = singular_values(scenario.spectrum, count, scenario.condition, generator)
    mean_square = math.fsum((values * values).tolist()) / scenario.samples
    return np.ldexp(values, -(math.frexp(mean_square)[1] // 2))


def factors_of(scenario: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal columns U, shape (m, min(m, n)), and V, shape (n, min(m, n)), of the data."""
    count = min(scenario.samples, scenario.features)
    left = orthonormal_columns(scenario.samples, count, generator_for(scenario.seed, "left"))
    right = orthonormal_columns(scenario.features, count, generator_for(scenario.seed, "right"))
    return left, right


def data_of(scenario: Numbers) -> np.ndarray | sp.csr_array:
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


def _pattern(scenario: Numbers) -> np.ndarray:
    """Which entries are stored, shape (m, n): column j holds `column_counts(scenario)[j]` of them."""
    generator = generator_for(scenario.seed, "pattern")
    pattern = np.zeros((scenario.samples, scenario.features), dtype=bool)
    for column, count in enumerate(column_counts(scenario)):
        pattern[generator.choice(scenario.samples, size=count, replace=False), column] = True
    return pattern


def column_counts(scenario: Numbers) -> list[int]:
    """Stored entries of each column: ``density m n`` distributed as ``(j + 1)**-skew``, each in 1..m.

    Counts fall from the first column to the last, the worst order for a partition by width.
    """
    weights = [math.pow(column + 1, -scenario.skew) for column in range(scenario.features)]
    total = scenario.density * scenario.samples * scenario.features / math.fsum(weights)
    return [min(max(round(total * weight), 1), scenario.samples) for weight in weights]


def _repeat_and_clear_rows(scenario: Numbers, data: np.ndarray) -> None:
    """Overwrite rows by copies of other rows, and others by zeros, in place."""
    order = generator_for(scenario.seed, "rows").permutation(scenario.samples)
    data[order[: scenario.zero_rows]] = 0.0
    others = order[scenario.zero_rows :]
    copies = scenario.repeated_rows
    kept = others[copies:]
    data[others[:copies]] = data[kept[np.arange(copies) % max(kept.size, 1)]]


def targets_of(scenario: Numbers) -> np.ndarray:
    """Targets, shape (m,): labels of both classes, or multiples of 2**-20 in [-1, 1) for K-RR."""
    generator = generator_for(scenario.seed, "targets")
    if scenario.task == "krr":
        return generator.integers(-(2**20), 2**20, size=scenario.samples) / 2.0**20
    labels = np.full(scenario.samples, -1.0)
    labels[generator.permutation(scenario.samples)[: scenario.positive_labels]] = 1.0
    return labels


def mixed_start(scenario: Numbers) -> np.ndarray:
    """Start vector, shape (m,): each coordinate 0, 1/2 or 1 times C, for K-RR times ``y_i / m``."""
    unit: float | np.ndarray = scenario.parameter
    if scenario.task == "krr":
        unit = targets_of(scenario) / scenario.samples
    parts = generator_for(scenario.seed, "start").integers(3, size=scenario.samples) / 2.0
    return in_precision(parts * unit, scenario.precision)


def in_precision(values: np.ndarray, precision: str) -> np.ndarray:
    """Values rounded to float32 if that is the precision, held as float64."""
    return values.astype(np.float32).astype(np.float64) if precision == "float32" else values
