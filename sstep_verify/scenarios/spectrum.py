"""Matrices with prescribed singular values: shapes of a spectrum, random orthogonal factors, their product.

Only elementwise IEEE operations and `math.fsum` are used, no BLAS and no LAPACK, so a seed gives the same
bits on every machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sstep_verify.errors import InputError

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
    """Singular values from 1 down to 1/condition in one of the named shapes.

    The two ends are 1 and fl(1/condition) exactly, for ``logrand`` too (SLATE leaves its ends to chance).
    What lies between is rounded to 24 bits, so that the last bit of a C library's power does not show.

    Parameters
    ----------
    shape : str
        One of `SHAPES`.
    count : int
        Number of singular values, r >= 1; a single one is 1 whatever the condition.
    condition : float
        Ratio of the largest to the smallest, >= 1.
    generator : numpy.random.Generator
        Used by ``logrand`` only.

    Returns
    -------
    ndarray, shape (count,)

    Raises
    ------
    InputError
        If the shape is unknown.
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

    Formed as a product of Householder reflections of Gaussian vectors of falling length, which has the
    same distribution as the QR factorisation and needs no matrix to start from.

    Parameters
    ----------
    rows, columns : int
        Shape, rows >= columns >= 1.
    generator : numpy.random.Generator
        Source of the Gaussian numbers; they are rounded to multiples of 2**-24.

    Returns
    -------
    ndarray, shape (rows, columns)

    Source: Stewart, The efficient generation of random orthogonal matrices, SIAM J. Numer. Anal. 17
    (1980), 403-409.
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
