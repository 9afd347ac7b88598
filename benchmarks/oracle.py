"""Seconds to certify a K-RR to 30 digits, against mpmath and against a plain solve in Arb balls.

The certificate encloses the kernel, a*, value and gap. The two others are asked for less: mpmath for the
solution by ``L D L'`` at 50 digits, without a proof; Arb for an enclosure by ``arb_mat.solve`` on the whole
matrix, with as many bits as its radius needs. Both cost about m^3: beyond the largest size measured, their
times are extrapolated from it by (m / size)^3, and marked with ``~``.
Usage: ``python benchmarks oracle --data DIR``.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

from grid import Report, timed
from sstep_reference.arithmetic import Balls, Mpmath

from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.evaluated import closed_form
from sstep_verify.problems import Problem, Ridge, kernel_from
from sstep_verify.problems.data import datasets

KERNELS = ("linear", "polynomial", "rbf")
SIZES = {"bodyfat": (63, 126, 252), "abalone": (504, 4177)}
"""Numbers of samples, the first of each data set."""

MOST = {"mpmath": 252, "arb": 504}
"""Largest m that is measured."""

DIGITS, PENALTY = 30, 1e-3

OPTIONS: dict[str, dict[str, Any]] = {
    "--kernel": {"choices": KERNELS, "action": "append", "help": "one; may be repeated"}
}
DOCUMENT = {"schema": 1, "lines": []}
COLUMNS = (
    ("data", "<9", "{data}"), ("kernel", "<12", "{kernel}"), ("m", ">5", "{m}"),
    ("certificate", ">13", "{certificate:.3g} s"), ("digits", ">8", "{digits}"),
    ("mpmath", ">13", "{seconds[0]}"), ("ratio", ">13", "{times[0]}"),
    ("Arb solve", ">13", "{seconds[1]}"), ("ratio", ">13", "{times[1]}"), ("bits", ">6", "{arb_bits}"),
)  # fmt: skip


def arb_solve(problem: Problem) -> tuple[float, int]:
    """Seconds and bits of a solve of the whole system in balls that proves `DIGITS`.

    The precision is doubled until it does; only the last attempt counts.
    """
    bits, proved = 64, False
    while not proved:
        bits *= 2
        begin = perf_counter()
        proved = arb_proves(problem, Balls(bits))
        seconds = perf_counter() - begin
    return seconds, bits


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


def measure(report: Report) -> None:
    """All lines; the rivals' largest measured times of a kernel serve for what lies beyond."""
    report.head()
    for name in report.chosen.kernel or KERNELS:
        kernel = kernel_from(name, degree=3, offset=0.0, sigma=1.0)
        taken: dict[str, tuple[int, float]] = {}
        for data, sizes in SIZES.items():
            loaded = datasets.load(data, directory=report.chosen.data, task="regression")
            for m in sizes:
                problem = Problem(data, loaded.data[:m], loaded.targets[:m], kernel, Ridge(PENALTY))
                begin = perf_counter()
                certificate = certify(problem, DIGITS)
                seconds = perf_counter() - begin
                if m <= MOST["mpmath"]:
                    taken["mpmath"] = m, timed(partial(closed_form, problem, Mpmath(182)))
                if m <= MOST["arb"]:
                    arb, bits = arb_solve(problem)
                    taken["arb"] = m, arb
                line = {
                    "data": data, "kernel": name, "m": m, "certificate": seconds,
                    "digits": certificate.digits, "arb_bits": bits,
                }  # fmt: skip
                for rival, (size, own) in taken.items():
                    line |= {rival: own * (m / size) ** 3, f"{rival}_measured": m <= MOST[rival]}
                told = [("" if line[f"{rival}_measured"] else "~", line[rival]) for rival in MOST]
                report.add(
                    "lines", line, seconds=[f"{mark}{own:.3g} s" for mark, own in told],
                    times=[f"{mark}{own / seconds:.3g} x" for mark, own in told],
                )  # fmt: skip
    most = f"{MOST['mpmath']} mpmath, {MOST['arb']} Arb"
    report.say(f"~ extrapolated by m^3 from the largest m measured ({most})")
