"""What worked examples of bounds share: fractions, roundings as large as nothing real has, kernel rows of a window."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from sstep_verify.bounds.carried import CarriedTerms
from sstep_verify.bounds.kernel.entries import KernelEntries

ROUNDOFF = {"float32": Fraction(1, 256), "float64": Fraction(1, 1024)}
"""Unit roundoffs large enough for products of two of them to count."""

CHANGE = Fraction(1, 512)
"""What storing a number in float32 changes it by, relative to it."""


def unit_roundoff(precision: str) -> float:
    return float(ROUNDOFF[precision])


def stored(values, precision: str):
    return np.asarray(values, dtype=np.float64) * (1.0 + float(CHANGE) * (precision == "float32"))


def g(k, u) -> Fraction:
    """gamma_k."""
    u = Fraction(u)
    return k * u / (1 - k * u)


def exact(array) -> list[Fraction]:
    return [Fraction(float(one)) for one in np.asarray(array).ravel()]


def dot(one, other) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def root(value) -> Fraction:
    """Square root of a fraction, to more digits than float64 has."""
    return Fraction(isqrt(int(Fraction(value) * 10**60)), 10**30)


def size(vector) -> Fraction:
    """2-norm."""
    return root(sum(Fraction(one) ** 2 for one in vector))


def is_bound(found, derived) -> None:
    """The derived number, but for float64 roundings and rounding outwards."""
    found = Fraction(float(found))
    assert derived * (1 - Fraction(1, 10**14)) <= found <= derived * (1 + Fraction(1, 10**6)), (
        float(found),
        float(derived),
    )


# Kernel rows of three of five coordinates, an a, and states that a window may begin with.
TINY = Fraction(1, 2**14)
M, PLACES = 5, np.array([0, 2, 3])
VALUES = np.array(
    [[2.0, 0.25, 0.5, -0.25, 1.0], [0.5, -1.0, 1.5, 0.375, 0.75], [-0.25, 0.5, 0.375, 1.75, -0.5]]
)
OWN = np.abs(VALUES) / 4096 + 1 / 8192
SOLVER = np.abs(VALUES) / 1024 + 1 / 2048
ENTRIES = KernelEntries(VALUES, OWN, SOLVER)
START = np.array([0.25, 0.5, 0.0, -0.125, 0.0])
CARRIED = {
    "nothing": None,
    "gradient": CarriedTerms(True, np.array([0.5, 0.75, 1.0]), np.array([0.01, 0.02, 0.03]), 0),
    "weights": CarriedTerms(
        False, np.array([0.5, 0.75, 1.0]), np.array([0.01, 0.02, 0.03]), 4,
        np.array([[2.5, 0.25, 1.0], [0.25, 1.0, 0.5], [1.0, 0.5, 2.0]]),
    ),
}  # fmt: skip
