"""Effect of a defect on a whole run: the mutable s-step recurrence to many digits, not a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sstep_reference.inputs import svm_constants
from sstep_reference.kernels import Columns

from sstep_verify.oracle.balls.block_solve import RefinedBlocks
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import Mutation
from sstep_verify.recurrence.recurrence_ridge import mutable_ridge_window, system_part
from sstep_verify.recurrence.recurrence_svm import mutable_svm_window
from sstep_verify.recurrence.window import LocalWindow, local_window


def mutated_states(
    problem: Problem,
    kernel: Columns,
    initial: np.ndarray,
    draws: np.ndarray,
    s: int,
    at: Iterable[int],
    mutations: Sequence[Mutation],
) -> list[dict[int, Any]]:
    """Run several mutants of the s-step recurrence, every window from points and to points.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : Columns
        Its exact kernel over `Balls`, or rows in its place.
    initial : ndarray, shape (m,)
        Start vector.
    draws : ndarray of int, shape (H, b)
        Blocks drawn.
    s : int
        Iterations per window.
    at : iterable of int
        Window ends at which the dual vector is wanted.
    mutations : sequence of Mutation
        The mutants; they share the kernel entries and factorisations of each window.

    Returns
    -------
    list of dict of int to vector of m points
        Per mutant, by window end.
    """
    if not mutations:
        return []
    arithmetic: Any = kernel.arithmetic
    wanted, targets = set(at), arithmetic.vector(problem.targets)
    alphas = [arithmetic.vector(initial) for _ in mutations]
    states: list[dict[int, Any]] = [{0: alpha.copy()} if 0 in wanted else {} for alpha in alphas]
    for begin in range(0, max(wanted, default=0), s):
        end = min(begin + s, draws.shape[0])
        blocks = draws[begin:end].tolist()
        window = local_window(arithmetic, kernel, targets, alphas[0], blocks, signed=problem.is_svm)
        advance = _advance_of(problem, arithmetic, window)
        for mutation, alpha, kept in zip(mutations, alphas, states, strict=True):
            own = _restarted(problem, kernel, window, targets, alpha)
            for coordinate, value in zip(window.coordinates, advance(own, mutation), strict=True):
                alpha[coordinate] = value
            if end in wanted:
                kept[end] = alpha.copy()
    return states


def _restarted(
    problem: Problem, kernel: Columns, window: LocalWindow, targets: Any, alpha: Any
) -> LocalWindow:
    """The same window, begun at another dual vector."""
    arithmetic: Any = kernel.arithmetic
    with arithmetic.working():
        weighted = alpha
        if problem.is_svm:
            weighted = arithmetic.vector([y * a for y, a in zip(targets, alpha, strict=True)])
        stale = [arithmetic.dot(kernel.column(i), weighted) for i in window.coordinates]
        return replace(window, stale=stale, start=arithmetic.vector([alpha[i] for i in window.coordinates]))


def _advance_of(
    problem: Problem, arithmetic: Any, window: LocalWindow
) -> Callable[[LocalWindow, Mutation], list]:
    """A function that makes the steps of a window and returns its end as points."""
    if not problem.is_svm:
        penalty = arithmetic.number(problem.ridge.penalty)
        solvers: dict[Mutation, RefinedBlocks] = {}

        def advance_ridge(own: LocalWindow, mutation: Mutation) -> list:
            system = system_part(mutation)
            if system not in solvers:
                solvers[system] = RefinedBlocks(arithmetic, window, penalty, problem.samples, system)
            end = mutable_ridge_window(arithmetic, own, penalty, problem.samples, mutation, solvers[system])
            return [value.mid() for value in end]

        return advance_ridge
    upper, omega = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
    ends = [arithmetic.number(0)] if upper is None else [arithmetic.number(0), upper]

    def advance_svm(own: LocalWindow, mutation: Mutation) -> list:
        # The sum of increments misses the end of the box by a rounding of its own, which is no effect.
        return [
            next((end for end in ends if value.overlaps(end)), value.mid())
            for value in mutable_svm_window(arithmetic, own, omega, upper, mutation)
        ]

    return advance_svm
