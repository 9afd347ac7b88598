"""Effect of a defect on a whole run: the mutable s-step recurrence to many digits, not a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from sstep_reference.kernels import Columns

from sstep_verify.oracle.balls.block_solve import refined
from sstep_verify.problems import Problem
from sstep_verify.recurrence.driver import run_mutants
from sstep_verify.recurrence.mutation import Mutation
from sstep_verify.recurrence.steps import Solve, finisher_of


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
    arithmetic: Any = kernel.arithmetic
    wanted, start = set(at), arithmetic.vector(initial)
    states: list[dict[int, Any]] = [{0: start.copy()} if 0 in wanted else {} for _ in mutations]
    finisher = finisher_of(problem, arithmetic)
    if isinstance(finisher, Solve):
        stored = _to_points()
        finisher = refined(arithmetic, finisher)
    else:
        stored = _to_points(arithmetic.number(0), finisher.upper, finisher.lower)
    runs = run_mutants(kernel, problem.targets, finisher, start, draws.tolist(), s, mutations, stored)
    for windows in islice(runs, -(-max(wanted, default=0) // s)):
        for kept, window in zip(states, windows, strict=True):
            if window.end in wanted:
                kept[window.end] = window.alpha.copy()
    return states


def _to_points(*ends: Any) -> Callable[[Any], list]:
    """Makes points of balls: ends of the box where those may be, middles elsewhere.

    The sum of increments misses the end of the box by a rounding of its own, which is no effect.
    """
    box = [end for end in ends if end is not None]
    return lambda reached: [
        next((end for end in box if value.overlaps(end)), value.mid()) for value in reached
    ]
