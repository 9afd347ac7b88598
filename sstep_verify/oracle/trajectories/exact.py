"""The classical trajectory of an index stream to many digits: for drift figures, not for verdicts.

Balls carried over thousands of steps would grow beyond use, so every update keeps its midpoint only.
What stands in for the radius is agreement: the run is made at two precisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb_mat
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.errors import InputError, OracleDisagreementError
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.problems import IndexStream, Problem

AGREEMENT = 2.0**-60
"""Largest relative difference of the two precisions: far below what float64 can show."""

MOST_BITS = 1 << 15


@dataclass(frozen=True, eq=False)
class ExactTrajectory:
    """The classical trajectory at chosen iterations, rounded to float64 at the very end.

    Parameters
    ----------
    iterations : ndarray of int64, shape (k,)
        Iterations, ascending.
    alphas : ndarray, shape (k, m)
        The dual vector at those iterations.
    agreement : float
        Largest difference between the two precisions, ``max |a - a'| / max |a'|`` over the recorded
        iterations (max-norms); 0 where a single precision was run.
    bits : int
        Precision of the run that `alphas` come from.
    """

    iterations: np.ndarray
    alphas: np.ndarray
    agreement: float
    bits: int


def exact_trajectory(
    problem: Problem, stream: IndexStream, iterations: int, at: Iterable[int] = (), bits: int = 256
) -> ExactTrajectory:
    """Run the classical method from zero in high precision, twice.

    Parameters
    ----------
    problem : Problem
        A K-SVM (blocks of one coordinate) or a K-RR, m up to about a thousand.
    stream : IndexStream
        Coordinates drawn.
    iterations : int
        Iterations to make (H).
    at : iterable of int
        Iterations at which a is wanted, in 0..H; empty: 0 and H.
    bits : int
        Precision of the first run, doubled where it leaves a block system singular; the second has twice as
        many.

    Returns
    -------
    ExactTrajectory
        From the second run.

    Raises
    ------
    InputError
        If the stream does not fit the problem or an iteration is out of range.
    OracleDisagreementError
        If the two runs differ by more than `AGREEMENT`.
    SingularSystemError
        If `MOST_BITS` leave a block system singular, which is ``>= m I``.
    """
    wanted = _checked(problem, stream, iterations, at)
    bits, (coarse, _) = _provable(problem, stream, iterations, wanted, bits)
    fine, rounded = _run(problem, stream, iterations, wanted, Balls(2 * bits))
    agreement = 0.0
    with Balls(2 * bits).working():
        for iteration, one, other in zip(wanted, coarse, fine, strict=True):
            size = max((abs(value) for value in other), key=lambda value: value.mid())
            apart = (abs(x - y) for x, y in zip(one, other, strict=True))
            difference = max(apart, key=lambda value: value.mid())
            relative = float(difference if size.is_zero() else difference / size)
            agreement = max(agreement, relative)
            if not relative <= AGREEMENT:
                raise OracleDisagreementError(
                    f"{problem.label}: the exact trajectory at {bits} and at {2 * bits} bits differs by "
                    f"{relative:.1e} relative after {iteration} iterations, allowed is {AGREEMENT:.1e}; "
                    f"ask for bits={2 * bits} or for fewer iterations"
                )
    return ExactTrajectory(np.array(wanted, dtype=np.int64), np.array(rounded), agreement, 2 * bits)


def _provable(problem: Problem, stream: IndexStream, iterations: int, wanted: list[int], bits: int):
    """The run at the fewest bits, from some on, that tell its block systems from singular ones."""
    while True:
        try:
            return bits, _run(problem, stream, iterations, wanted, Balls(bits))
        except ZeroDivisionError as error:
            if 2 * bits > MOST_BITS:
                raise SingularSystemError(
                    f"{problem.label}: a block system cannot be told from a singular one at {bits} bits; "
                    "take a larger lambda"
                ) from error
            bits *= 2


def _checked(problem: Problem, stream: IndexStream, iterations: int, at: Iterable[int]) -> list[int]:
    if stream.samples != problem.samples:
        raise InputError(
            f"the index stream draws from {stream.samples} coordinates, "
            f"but {problem.name} has {problem.samples} samples"
        )
    if problem.is_svm and stream.block != 1:
        raise InputError(f"{problem.label}: K-SVM draws one coordinate at a time, not {stream.block}")
    if not 0 <= iterations <= stream.length:
        raise InputError(f"{iterations} iterations asked of an index stream of {stream.length} blocks")
    wanted = sorted({int(iteration) for iteration in at} or {0, iterations})
    if wanted[0] < 0 or wanted[-1] > iterations:
        raise InputError(f"iterations {wanted[0]}..{wanted[-1]} asked of a run of {iterations}")
    return wanted


def _run(problem: Problem, stream: IndexStream, iterations: int, wanted: list[int], arithmetic: Balls):
    """States at the wanted iterations: exact points, and their float64 roundings."""
    blocks = stream.blocks(0, iterations).tolist()
    kernel = BallKernel(problem, arithmetic)
    drawn = sorted({i for block in blocks for i in block})
    rows = dict(zip(drawn, kernel.rows(drawn), strict=True))
    alpha = kernel.column(np.zeros(problem.samples))
    states, rounded = [], []
    position = 0
    with arithmetic.working():  # around the making of the step, too: it multiplies
        step = (_svm_step if problem.is_svm else _ridge_step)(problem, arithmetic, rows, alpha)
        for iteration in wanted:
            for block in blocks[position:iteration]:
                step(block)
            position = iteration
            states.append(alpha.entries())
            rounded.append([float(value) for value in states[-1]])
    return states, rounded


def _svm_step(problem: Problem, arithmetic: Balls, rows: dict[int, Any], alpha: Any) -> Callable:
    """Algorithm 1, lines 7-16, on midpoints; `alpha` (m x 1 arb_mat) is updated in place.

    ``y_i a_i`` is carried beside it, so that rows of K serve as they are.
    """
    upper, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
    zero = arithmetic.number(0)
    labels = [int(label) for label in problem.targets]
    signed = type(alpha)(alpha)
    curvatures = {i: (row[0, i] + shift).mid() for i, row in rows.items()}
    shift = shift.mid()

    def step(block: list[int]) -> None:
        (i,) = block
        value = alpha[i, 0]
        gradient = labels[i] * (rows[i] * signed)[0, 0] - 1 + shift * value
        if upper is not None and curvatures[i] == 0:
            moved = upper
        else:
            moved = (value - gradient / curvatures[i]).mid()
            if moved < zero:
                moved = zero
            elif upper is not None and moved > upper:
                moved = upper
        alpha[i, 0] = moved
        signed[i, 0] = labels[i] * moved

    return step


def _ridge_step(problem: Problem, arithmetic: Balls, rows: dict[int, Any], alpha: Any) -> Callable:
    """Algorithm 3, lines 6-9, on midpoints; `alpha` (m x 1 arb_mat) is updated in place.

    The block system is multiplied by lambda, which changes no solution and saves the divisions.
    """
    m = problem.samples
    penalty = arithmetic.number(problem.ridge.penalty)
    targets = [penalty * value for value in problem.targets.tolist()]
    diagonal = penalty * m

    def step(block: list[int]) -> None:
        residual = [targets[i] - diagonal * alpha[i, 0] - (rows[i] * alpha)[0, 0] for i in block]
        b = len(block)
        system = arb_mat(b, b, [rows[i][0, j] for i in block for j in block])
        for k in range(b):
            system[k, k] = system[k, k] + diagonal
        change = system.solve(arb_mat(b, 1, residual), algorithm="lu")
        for k, i in enumerate(block):
            alpha[i, 0] = (alpha[i, 0] + change[k, 0]).mid()

    return step
