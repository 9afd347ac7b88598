"""Seconds to certify a K-RR to 30 digits, against mpmath and against a plain solve in Arb balls.

The certificate encloses the kernel, a*, value and gap. The two others are asked for less: mpmath for the
solution by ``L D L'`` at 50 digits, without a proof; Arb for an enclosure by ``arb_mat.solve`` on the whole
matrix, with as many bits as its radius needs. Both cost about m^3: beyond the largest size measured, their
times are extrapolated from it by (m / size)^3, and marked with ``~``.
Usage: ``python benchmarks/oracle.py --data DIR``.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from grid import Report, parser, timed
from sstep_reference.arithmetic import Balls
from threadpoolctl import threadpool_limits

from sstep_verify.errors import SstepVerifyError
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.witness import trajectory
from sstep_verify.problems import IndexStream, Problem, Ridge, kernel_from
from sstep_verify.problems.data import datasets

KERNELS = ("linear", "polynomial", "rbf")
SIZES = {"bodyfat": (63, 126, 252), "abalone": (504, 4177)}
"""Numbers of samples, the first of each data set."""

MOST_MPMATH, MOST_ARB = 252, 504
"""Largest m that is measured."""

DIGITS, PENALTY = 30, 1e-3


def arb_solve(problem: Problem) -> tuple[float, int]:
    """Seconds and bits of a solve of the whole system in balls that proves `DIGITS`.

    The precision is doubled until it does; only the last attempt counts.
    """
    bits, proved = 128, []
    while True:
        seconds = timed(lambda bits=bits: proved.append(arb_proves(problem, Balls(bits))))
        if proved[-1]:
            return seconds, bits
        bits *= 2


def arb_proves(problem: Problem, arithmetic: Balls) -> bool:
    """Solve, and say whether the largest radius is small enough against the largest entry."""
    kernel = BallKernel(problem, arithmetic)
    with arithmetic.working():
        matrix = kernel.matrix() / arithmetic.number(problem.ridge.penalty)
        for i in range(problem.samples):
            matrix[i, i] = matrix[i, i] + problem.samples
        try:
            targets = type(matrix)(problem.samples, 1, problem.targets.tolist())
            solution = matrix.solve(targets).entries()
        except ZeroDivisionError:
            return False
        radius = max((value.rad() for value in solution), key=lambda x: x.mid())
        largest = max((abs(value).mid() for value in solution), key=lambda x: x.mid())
        return bool(radius < largest * arithmetic.number(10) ** -DIGITS)


def measure(name: str, directory: str | None, report: Report) -> None:
    """All lines of a kernel; the rivals' largest measured times serve for what lies beyond."""
    mpmath = arb = (0, 0.0)
    bits = 0
    for data, sizes in SIZES.items():
        loaded = datasets.load(data, directory=directory, task="regression")
        for m in sizes:
            kernel = kernel_from(name, degree=3, offset=0.0, sigma=1.0)
            problem = Problem(data, loaded.data[:m], loaded.targets[:m], kernel, Ridge(PENALTY))
            proved: list[Any] = []
            seconds = timed(lambda problem=problem, proved=proved: proved.append(certify(problem, DIGITS)))
            if m <= MOST_MPMATH:
                mpmath = m, timed(partial(trajectory, problem, IndexStream("cyclic", m, m, 1), 182))
            if m <= MOST_ARB:
                taken, bits = arb_solve(problem)
                arb = m, taken
            line = {
                "data": data, "kernel": name, "m": m, "certificate": seconds, "digits": proved[0].digits,
                "mpmath": mpmath[1] * (m / mpmath[0]) ** 3, "mpmath_measured": m <= MOST_MPMATH,
                "arb": arb[1] * (m / arb[0]) ** 3, "arb_measured": m <= MOST_ARB, "arb_bits": bits,
            }  # fmt: skip
            marks = [(line[name], "" if line[f"{name}_measured"] else "~") for name in ("mpmath", "arb")]
            report.add(
                "lines", line, seconds=[f"{mark}{taken:.3g} s" for taken, mark in marks],
                times=[f"{mark}{taken / seconds:.3g} x" for taken, mark in marks],
            )  # fmt: skip


COLUMNS = (
    ("data", "<9", "{data}"), ("kernel", "<12", "{kernel}"), ("m", ">5", "{m}"),
    ("certificate", ">13", "{certificate:.3g} s"), ("digits", ">8", "{digits}"),
    ("mpmath", ">13", "{seconds[0]}"), ("ratio", ">13", "{times[0]}"),
    ("Arb solve", ">13", "{seconds[1]}"), ("ratio", ">13", "{times[1]}"), ("bits", ">6", "{arb_bits}"),
)  # fmt: skip


def main() -> None:
    arguments = parser(__doc__, "oracle")
    arguments.add_argument("--kernel", choices=KERNELS, action="append", help="one; may be repeated")
    given = arguments.parse_args()
    report = Report(given.out, COLUMNS, schema=1)
    report.head()
    try:
        with threadpool_limits(1):
            for name in given.kernel or KERNELS:
                measure(name, given.data, report)
    except SstepVerifyError as error:
        sys.exit(f"error: {error}")
    report.say(f"~ extrapolated by m^3 from the largest m measured ({MOST_MPMATH} mpmath, {MOST_ARB} Arb)")
    report.done()


if __name__ == "__main__":
    main()
