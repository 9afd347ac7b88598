"""Kernel in balls for a verifier, from the reference alone, never held whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from decimal import Context
from fractions import Fraction
from typing import Any

from sstep_reference import Kernel
from sstep_reference.arithmetic import Balls, exact_fraction

from sstep_verify.oracle.verify.record import CertificateError, Interval
from sstep_verify.problems import Problem

EXTRA_BITS = 64
"""Bits beyond those that a certificate was made with."""

LEAST_BITS, MOST_BITS = 192, 8192

ROWS_AT_ONCE = 256
"""Rows of the kernel that are made from one table of samples."""


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


def lower_rows(problem: Problem, arithmetic: Balls) -> Iterator[tuple[int, list]]:
    """Row by row the kernel's entries up to the diagonal, each row as a list of balls, by the reference."""
    kernel = problem.kernel
    data: Any = problem.dense
    for begin in range(0, problem.samples, ROWS_AT_ONCE):
        # The reference makes inner products with all samples it knows: so it is given no later ones.
        end = min(begin + ROWS_AT_ONCE, problem.samples)
        columns = Kernel(arithmetic, data[:end], kernel.name, **asdict(kernel))
        for i in range(begin, end):
            yield i, list(columns.values(i, i + 1))


def point_of(problem: Problem, arithmetic: Balls, decimals: tuple[str, ...]) -> list[Any]:
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
    """Exact ends of a ball.

    Raises
    ------
    CertificateError
        If the ball is not finite.
    """
    if not ball.is_finite():
        raise CertificateError("bits", "is too small: a ball of the proof is not finite")
    middle, radius = exact_fraction(ball.mid()), exact_fraction(ball.rad())
    return middle - radius, middle + radius


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
    """Refuse more digits than ``radius <= 10**-digits size`` allows.

    Raises
    ------
    CertificateError
        Naming the field.
    """
    if stated > 10_000 or radius * 10**stated > size:
        raise CertificateError(
            "digits", f"states {stated}, but the radius is {shown(radius)} for a size of {shown(size)}"
        )


def shown(value: Fraction) -> str:
    """A rational in 30 digits, for messages."""
    context = Context(prec=30, Emin=-999_999, Emax=999_999)
    return str(context.divide(context.create_decimal(value.numerator), value.denominator))
