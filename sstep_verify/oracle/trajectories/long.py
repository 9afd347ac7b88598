"""The classical trajectory of a stream enclosed from beginning to end: a proof for every coordinate.

Each step is the exact minimiser over its block given the other coordinates,

    K-SVM: a_i <- clip((1 - sum_{j != i} Q_ij a_j) / (Q_ii + omega), 0, nu)
    K-RR:  a_B <- (K_BB/lambda + m I)^{-1} (y_B - K_BR a_R / lambda),   R all coordinates but B,

which are the steps of Algorithms 1 and 3 with the old value of the block cancelled: so it adds nothing to
the error of the new one. K-SVM runs in balls. Their radii grow geometrically, by a rate that is a property
of the problem, not of the precision; the run is made again with as many bits more as were lost. K-RR runs
on exact points, each the middle of the ball its step gives: a step is a projection orthogonal in the
M-norm, so the errors e_k of the steps add up, and as M >= m I,

    ||a_hat_H - a_H||_2 <= sum_k ||e_k||_M / sqrt(m),    ||e_k||_M <= sqrt(trace(M_BB)) ||rad_B||_2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.errors import InputError, require
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.solver import RunRequest

FIRST_BITS = 256
MOST_BITS = 1 << 15
"""Enough for 10,000 iterations where every one costs three bits."""
LOOKED_AT = 64
"""Iterations after which it is looked at whether a run has lost all its bits."""


@dataclass(frozen=True, eq=False)
class BallTrajectory:
    """The exact trajectory at chosen iterations, enclosed.

    Parameters
    ----------
    iterations : ndarray of int64, shape (k,)
        Iterations, ascending.
    states : tuple of list of m balls
        The dual vector at those iterations; each ball holds the exact coordinate.
    alphas : ndarray, shape (k, m)
        Middles of the balls, rounded to float64.
    digits : int
        Proved decimal digits: over the iterations the least of ``-log10(max radius / max |a|)``; 0 if the
        run was given up, and then the later states may be missing.
    bits : int
        Precision of the balls.
    """

    iterations: np.ndarray
    states: tuple[list, ...]
    alphas: np.ndarray
    digits: int
    bits: int


def long_trajectory(
    problem: Problem,
    stream: IndexStream,
    iterations: int,
    at: Iterable[int] = (),
    digits: int = 30,
    most_bits: int = MOST_BITS,
) -> BallTrajectory:
    """Enclose the classical trajectory from zero, inputs taken exactly.

    Parameters
    ----------
    problem : Problem
        A K-SVM (blocks of one coordinate) or a K-RR, m up to about a thousand.
    stream : IndexStream
        Coordinates drawn.
    iterations : int
        Iterations to make (H).
    at : iterable of int
        Iterations in 0..H at which a is wanted beside 0 and H.
    digits : int
        Decimal digits asked for, >= 1.
    most_bits : int
        Precision beyond which the run is not made again.

    Returns
    -------
    BallTrajectory
        With fewer digits, as stated, where `most_bits` do not suffice.

    Raises
    ------
    InputError
        If the stream does not fit the problem, or an iteration or the digits are out of range.
    MissingExtraError
        If python-flint is not installed.
    """
    if digits < 1:
        raise InputError(f"digits = {digits}, but it must be at least 1")
    request = RunRequest(problem, stream, 1, iterations, record=tuple(at))
    needed = math.ceil(digits * math.log2(10)) + LOOKED_AT
    bits = min(max(FIRST_BITS, 2 * needed), most_bits)
    while True:
        found, kept, made = _run(request, Balls(bits))
        if found.digits >= digits or bits >= most_bits:
            return found
        # What a whole run has lost, another of more bits loses again; one that broke off had lost all its
        # bits by then, and goes on at that rate.
        lost = bits - kept if kept else bits * -(-request.iterations // max(made, 1))
        bits = min(max(lost + needed, bits + needed), most_bits)


def _run(request: RunRequest, arithmetic: Balls) -> tuple[BallTrajectory, int, int]:
    """One run, the bits left of its precision (0: it was given up), and the iterations made."""
    problem = request.problem
    blocks = request.stream.blocks(0, request.iterations).tolist()
    kernel = BallKernel(problem, arithmetic)
    drawn = sorted({i for block in blocks for i in block})
    rows = dict(zip(drawn, kernel.rows(drawn), strict=True))
    states: list[list] = []
    kept, iteration = arithmetic.bits, 0
    with arithmetic.working():
        run = (_SvmRun if problem.is_svm else _RidgeRun)(problem, arithmetic, kernel, rows)
        wanted = set(request.stops)
        for iteration in range(request.iterations + 1):
            try:
                if iteration:
                    run.step(blocks[iteration - 1])
            except ZeroDivisionError:  # so few bits do not tell its system from a singular one
                kept, iteration = 0, request.iterations
                break
            if iteration in wanted or iteration % LOOKED_AT == 0:
                state = run.state()
                kept = min(kept, _bits_left(state, arithmetic))
                if kept <= 0:
                    break
                if iteration in wanted:
                    states.append(state)
    made = np.array(request.stops[: len(states)], dtype=np.int64)
    middles = np.array([[float(value.mid()) for value in state] for state in states])
    digits = math.floor(max(kept, 0) * math.log10(2))
    return BallTrajectory(made, tuple(states), middles, digits, arithmetic.bits), max(kept, 0), iteration


def _bits_left(state: list, arithmetic: Balls) -> int:
    """``-log2(max radius / max |a|)``, rounded down; the whole precision where nothing is uncertain."""
    radius = max((value.rad() for value in state), key=lambda value: value.mid())
    if not radius.is_finite():
        return 0
    if radius.is_zero():
        return arithmetic.bits
    largest = max((value.abs_lower() for value in state), key=lambda value: value.mid())
    if largest.is_zero():
        return 0
    left = ((largest / radius).log() / arithmetic.number(2).log()).lower().floor()
    return min(int(left.unique_fmpz()), arithmetic.bits)


class _SvmRun:
    """Algorithm 1, lines 7-16, in balls; ``y_i a_i`` is carried, so that rows of K serve as they are."""

    def __init__(self, problem: Problem, arithmetic: Balls, kernel: BallKernel, rows: dict[int, Any]):
        self._arithmetic, self._rows = arithmetic, rows
        self._top: Any
        self._top, self._shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
        self._zero = arithmetic.number(0)
        self._labels = [int(label) for label in problem.targets]
        self._signed = kernel.column(np.zeros(problem.samples))

    def step(self, block: list[int]) -> None:
        """Minimise over one coordinate."""
        (i,) = block
        row, signed, label = self._rows[i], self._signed, self._labels[i]
        signed[i, 0] = self._zero
        curvature = row[0, i] + self._shift
        if curvature.is_zero():
            # A zero row of the data, L1: the gradient is -1, and a_i goes to the end of the box.
            moved = self._top
        else:
            slope = 1 - label * (row * signed)[0, 0]
            moved = self._arithmetic.clip(slope / curvature, self._zero, self._top)
        signed[i, 0] = label * moved

    def state(self) -> list:
        """Enclosures of the m coordinates."""
        values = self._signed.entries()
        return [label * value for label, value in zip(self._labels, values, strict=True)]


class _RidgeRun:
    """Algorithm 3, lines 6-9, on exact points, with the sum of what the steps add in the M-norm.

    The block system is multiplied by lambda, which changes no solution and saves the divisions.
    """

    def __init__(self, problem: Problem, arithmetic: Balls, kernel: BallKernel, rows: dict[int, Any]):
        self._arithmetic, self._rows, self._samples = arithmetic, rows, problem.samples
        self._matrix_type = require("flint", "exact").arb_mat
        self._penalty = arithmetic.number(problem.ridge.penalty)
        self._targets = [self._penalty * value for value in problem.targets.tolist()]
        self._diagonal = self._penalty * problem.samples
        self._alpha = kernel.column(np.zeros(problem.samples))
        self._error = arithmetic.number(0)

    def step(self, block: list[int]) -> None:
        """Minimise over one block."""
        alpha, b = self._alpha, len(block)
        for i in block:
            alpha[i, 0] = self._arithmetic.number(0)
        rows = [self._rows[i] for i in block]
        right = [self._targets[i] - (row * alpha)[0, 0] for i, row in zip(block, rows, strict=True)]
        system = self._matrix_type(b, b, [row[0, j] for row in rows for j in block])
        for k in range(b):
            system[k, k] = system[k, k] + self._diagonal
        solution = system.solve(self._matrix_type(b, 1, right), algorithm="lu").entries()
        trace = sum((system[k, k] for k in range(b)), self._arithmetic.number(0)) / self._penalty
        square = sum((value.rad() ** 2 for value in solution), self._arithmetic.number(0))
        self._error = (self._error + (trace * square).sqrt()).abs_upper()
        for i, value in zip(block, solution, strict=True):
            alpha[i, 0] = value.mid()

    def state(self) -> list:
        """Enclosures of the m coordinates."""
        radius = (self._error / self._arithmetic.number(self._samples).sqrt()).abs_upper()
        return [value.union(value + radius).union(value - radius) for value in self._alpha.entries()]
