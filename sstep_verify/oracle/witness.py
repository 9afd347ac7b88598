"""A second witness of the oracle: mpmath, which shares no arithmetic with Arb.

At the point that a certificate states, objectives and gap are evaluated anew over the reference's kernel,
and must lie in the intervals that were proved. The trajectory of a stream is run anew by the reference's
algorithms, and must be the one whose every step was enclosed. It is for small problems: m of some hundred.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from sstep_reference.arithmetic import Mpmath, exact_fraction

from sstep_verify.oracle.balls.decimals import decimal_digits
from sstep_verify.oracle.balls.exact_kernel import classical_run, exact_kernel
from sstep_verify.oracle.balls.objectives import objectives, signed
from sstep_verify.oracle.facade import Oracle
from sstep_verify.oracle.verify.record import Certificate, Interval
from sstep_verify.problems import IndexStream, Problem, kernel_from, loss_from

GUARD_BITS = 256
"""Bits of mpmath beyond twice those of a certificate, whose gap is a difference of nearly equal values."""

TRAJECTORY_BITS, TRAJECTORY_DIGITS = 512, 30
"""Precision of the trajectory, and digits to which it must agree: twice what float64 shows."""

MOST_DIGITS = 1000


class Agreement(NamedTuple):
    """A part that was computed twice, its common digits, and whether that is what must be.

    The digits of "optimal value" and "gap" count from the optimal value's first one, those of "trajectory"
    from that of the last dual vector's largest entry.
    """

    part: str
    digits: int
    holds: bool


def agreements(problem: Problem, certificate: Certificate, stream: IndexStream) -> list[Agreement]:
    """Hold a certificate of a problem, and the trajectory of a whole stream from zero, against mpmath."""
    dual, gap = objective_and_gap(problem, certificate)

    def within(part: str, proved: Interval, *values: Fraction) -> Agreement:
        apart = max(abs(value - Fraction(proved.middle)) for value in values)
        holds = proved.lower <= min(values) and max(values) <= proved.upper
        return Agreement(part, decimal_digits(apart, abs(dual), MOST_DIGITS), holds)

    draws, start, end = stream.blocks(0, stream.length), np.zeros(problem.samples), stream.length
    enclosed = map(exact_fraction, Oracle(problem).enclosed(problem, start, draws, [end]).states[end])
    last = list(map(exact_fraction, trajectory(problem, stream, TRAJECTORY_BITS)[-1]))
    apart = max(abs(x - y) for x, y in zip(enclosed, last, strict=True))
    digits = decimal_digits(apart, max(map(abs, last)), MOST_DIGITS)
    return [
        within("optimal value", certificate.objective, dual, dual + gap),
        within("gap", certificate.gap, gap),
        Agreement("trajectory", digits, digits >= TRAJECTORY_DIGITS),
    ]


def objective_and_gap(problem: Problem, certificate: Certificate) -> tuple[Fraction, Fraction]:
    """Dual value and gap at the point of a certificate, by mpmath."""
    arithmetic: Any = Mpmath(2 * certificate.bits + GUARD_BITS)
    kernel, point = exact_kernel(problem, arithmetic), arithmetic.vector(map(Fraction, certificate.alpha))
    weighted = signed(problem, point)
    products = [arithmetic.dot(kernel.column(i), weighted) for i in range(problem.samples)]
    values = objectives(problem, arithmetic, point, signed(problem, products))
    return exact_fraction(values.dual), exact_fraction(values.gap)


def trajectory(problem: Problem, stream: IndexStream, bits: int) -> list[Any]:
    """Dual vectors after every step of a stream from zero."""
    trace: list[Any] = []
    blocks = stream.blocks(0, stream.length).tolist()
    classical_run(problem, exact_kernel(problem, Mpmath(bits)), [0.0] * problem.samples, blocks, trace)
    return trace


def drawn_cases(count: int, seed: int = 0) -> Iterator[tuple[Problem, IndexStream]]:
    """Small problems of every task and kernel in turn, each with a stream of 40 blocks."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for place in range(count):
        task, name = ("svm-l1", "svm-l2", "krr")[place % 3], ("linear", "polynomial", "rbf")[place // 3 % 3]
        m, n, degree, block = (int(generator.integers(*ends)) for ends in ((4, 13), (1, 5), (2, 5), (1, 4)))
        parameter, sigma = 10.0 ** generator.uniform(-2, 2), generator.uniform(0.1, 2.0)
        data, targets = generator.standard_normal((m, n)), generator.standard_normal(m)
        problem = Problem(
            f"drawn {place}",
            data,
            targets if task == "krr" else np.sign(targets),
            kernel_from(name, degree=degree, offset=0.5, sigma=sigma),
            loss_from(task, parameter),
        )
        yield problem, IndexStream("uniform", m, block if task == "krr" else 1, 40, seed=place)
