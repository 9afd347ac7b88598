"""Kernel in balls for a verifier, from the reference alone; one triangle is held at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Context
from fractions import Fraction
from itertools import islice
from typing import Any, Protocol

import numpy as np
from flint import arb_mat
from sstep_reference import Kernel
from sstep_reference.arithmetic import Balls, exact_fraction

from sstep_verify.oracle.verify.record import CertificateError, Interval
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel

EXTRA_BITS = 64
"""Bits beyond those that a certificate was made with."""

LEAST_BITS, MOST_BITS = 192, 8192

SMALLEST = -30_000
"""Power of two, about 10**-9031: of a smaller number rationals that are made of balls keep no more."""

ROWS_AT_ONCE = 256
"""Rows of the kernel that are made from one table of samples."""

ROWS_TOGETHER = 32
"""Rows of the kernel that are held and multiplied at once (about 150 bytes an entry)."""


def verifying_arithmetic(bits: int) -> Balls:
    """Balls of more bits than a certificate was made with.

    Raises
    ------
    CertificateError
        If the certificate asks for more bits than any that is made here.
    """
    if bits > MOST_BITS:
        raise CertificateError("bits", f"is {bits}, but the most that is used is {MOST_BITS}")
    return Balls(max(bits + EXTRA_BITS, LEAST_BITS))


def present(problem: Problem) -> np.ndarray:
    """The samples, dense, by the features that are not 0 in all of them; one feature if all are.

    The shipped kernels depend on inner products, to which a feature of zeros adds nothing; samples of
    another kernel have all features.
    """
    data: Any = problem.data
    if type(problem.kernel) not in (LinearKernel, PolynomialKernel, RBFKernel):
        return problem.dense
    places = np.unique(data.nonzero()[1])
    kept = data[:, places if len(places) else [0]]
    return kept.toarray() if problem.is_sparse else kept


def lower_rows(problem: Problem, arithmetic: Balls, places: Sequence[int] = ()) -> Iterator[list]:
    """Row by row the kernel's entries up to the diagonal, as lists of balls, by the reference.

    Parameters
    ----------
    problem : Problem
        The problem.
    arithmetic : Balls
        Arithmetic of the entries.
    places : sequence of int
        Samples that rows and columns are of; empty: all.
    """
    kernel = problem.kernel
    data: Any = present(problem)
    data = data[list(places)] if len(places) else data
    for begin in range(0, len(data), ROWS_AT_ONCE):
        # The reference makes inner products with all samples it knows: so it is given no later ones.
        end = min(begin + ROWS_AT_ONCE, len(data))
        columns = Kernel(arithmetic, data[:end], kernel.name, **asdict(kernel))
        for i in range(begin, end):
            yield list(columns.values(i, i + 1))


class ProofKernel(Protocol):
    """The kernel of a proof: a maker tries the theorems over its own, a verifier has `ReferenceKernel`."""

    def image(self, vector: list[Any]) -> tuple[list[Any], list[Any]]:
        """``K x`` and the diagonal of K, m balls each."""

    def lower(self, places: Sequence[int]) -> list[list[Any]]:
        """Entries of K on some samples, row by row up to the diagonal."""


class ReferenceKernel:
    """The kernel of a problem by the reference, made once; a triangle is kept only if `keep` says so."""

    def __init__(self, problem: Problem, arithmetic: Balls, *, keep: bool = False):
        self._problem, self._arithmetic, self._keep = problem, arithmetic, keep
        self._rows: list[list[Any]] = []

    def image(self, vector: list[Any]) -> tuple[list[Any], list[Any]]:
        """``K x`` and the diagonal of K, m balls each, from one triangle, some rows at a time.

        The linear kernel needs no entries: ``K x = A (A' x)``.
        """
        problem, arithmetic = self._problem, self._arithmetic
        m, given = problem.samples, [[x] for x in vector]
        with arithmetic.working():
            if problem.kernel.linear:
                data = arb_mat([[arithmetic.number(x) for x in row] for row in present(problem).tolist()])
                squares = (sum((x * x for x in row), arithmetic.number(0)) for row in data.tolist())
                return (data * (data.transpose() * arb_mat(given))).entries(), list(squares)
            diagonal: list[Any] = []
            total, rows = arb_mat(m, 1), lower_rows(problem, arithmetic)
            for block in iter(lambda: list(islice(rows, ROWS_TOGETHER)), []):
                begin, count = len(diagonal), len(block)
                end = begin + count
                diagonal += [row[-1] for row in block]
                within = [[block[max(i, j)][begin + min(i, j)] for j in range(count)] for i in range(count)]
                rows_products = arb_mat(within) * arb_mat(given[begin:end])
                above = arb_mat(0, 1)
                if begin:
                    before = arb_mat([row[:begin] for row in block])
                    rows_products = rows_products + before * arb_mat(given[:begin])
                    above = before.transpose() * arb_mat(given[begin:end])
                total = total + arb_mat(m, 1, above.entries() + rows_products.entries() + [0] * (m - end))
                if self._keep:
                    self._rows += block
            return total.entries(), diagonal

    def lower(self, places: Sequence[int]) -> list[list[Any]]:
        """Entries of K on some samples in rising order, row by row up to the diagonal."""
        if not self._rows:
            return list(lower_rows(self._problem, self._arithmetic, places))
        return [[self._rows[i][j] for j in places[: k + 1]] for k, i in enumerate(places)]


def point_of(problem: Problem, arithmetic: Balls, decimals: Sequence[str]) -> list[Any]:
    """The stated point in balls.

    Raises
    ------
    CertificateError
        If it has another number of coordinates than the data have samples.
    """
    if len(decimals) != problem.samples:
        raise CertificateError(
            "alpha", f"has {len(decimals)} coordinates, but the data have {problem.samples} samples"
        )
    return [arithmetic.from_fraction(Fraction(text)) for text in decimals]


def ball_ends(ball: Any) -> tuple[Fraction, Fraction]:
    """Rationals that a ball lies between: its ends, unless they are within ``2**SMALLEST`` of each other.

    An exponential may have an exponent of hundreds of digits, of which no rational can be made.

    Raises
    ------
    CertificateError
        If the ball is not finite, or may be beyond ``2**-SMALLEST``.
    """
    threshold = type(ball)((1, SMALLEST))
    if not (ball.is_finite() and ball.abs_upper() * threshold < 1):
        raise CertificateError("bits", "is too small: a ball of the proof is not finite, or too large")
    parts = [
        (Fraction(0), exact_fraction(threshold)) if not part.is_zero() and abs(part) < threshold
        else (exact_fraction(part), Fraction(0))
        for part in (ball.mid(), ball.rad())
    ]  # fmt: skip
    (middle, middle_error), (radius, radius_error) = parts
    return middle - radius - middle_error - radius_error, middle + radius + middle_error + radius_error


def must_hold(name: str, stated: Interval, ball: Any) -> None:
    """Refuse an interval that does not contain a ball.

    Raises
    ------
    CertificateError
        Naming the field.
    """
    low, high = ball_ends(ball)
    if not stated.lower <= low <= high <= stated.upper:
        raise CertificateError(
            name,
            f"states {stated.middle} within {stated.radius}, but it is in {shown(low)} .. {shown(high)}",
        )


def must_bound(name: str, stated: str, ball: Any) -> None:
    """Refuse an upper bound that a ball is not certainly below.

    Raises
    ------
    CertificateError
        Naming the field.
    """
    if not ball_ends(ball)[1] <= Fraction(stated or 0):
        raise CertificateError(
            name, f"states a bound of {stated}, but what is proved is {shown(ball_ends(ball)[1])}"
        )


def must_have_digits(stated: int, radius: Fraction, size: Fraction) -> None:
    """Refuse more digits than ``radius <= 10**-digits size`` allows; no digits state nothing.

    Raises
    ------
    CertificateError
        Naming the field.
    """
    if stated and (stated > 10_000 or radius * 10**stated > size):
        raise CertificateError(
            "digits", f"states {stated}, but the radius is {shown(radius)} for a size of {shown(size)}"
        )


def shown(value: Fraction) -> str:
    """A rational in 30 digits, for messages."""
    context = Context(prec=30, Emin=-999_999, Emax=999_999)
    return str(context.divide(context.create_decimal(value.numerator), value.denominator))
