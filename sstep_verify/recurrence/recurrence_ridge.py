"""The mutable s-step BDCD recurrence for K-RR, in the paper's form with a frozen over the window.

Source: Algorithm 4, lines 11-16. With no mutation it equals the reference exactly (shown in rational
arithmetic). Increments are summed per coordinate, which changes nothing in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.recurrence.window import LocalWindow

BlockSolve = Callable[[int, Any], Any]
"""Solves the system of step j of the window for a right-hand side: ``solve(j, rhs) -> vector``."""


def block_system(
    arithmetic, window: LocalWindow, step: int, penalty, samples: int, mutation: Mutation = NONE
) -> list:
    """Rows of ``G = K_BB / penalty + m I`` for the block of a step, as b vectors; see `system_part`."""
    block = window.draws[step]
    with arithmetic.working():
        number = arithmetic.number
        off_diagonal = number(mutation.off_diagonal)
        penalty, samples = penalty * number(mutation.penalty), samples * number(mutation.samples)
        rows = []
        for place, i in enumerate(block):
            row = [off_diagonal * window.gram[i][j] / penalty for j in block]
            row[place] = window.gram[i][i] / penalty + samples
            rows.append(arithmetic.vector(row))
        return rows


def system_part(mutation: Mutation) -> Mutation:
    """What a mutation changes of the entries of the block systems, without the rest of it."""
    return Mutation(samples=mutation.samples, penalty=mutation.penalty, off_diagonal=mutation.off_diagonal)


def mutable_ridge_window(
    arithmetic,
    window: LocalWindow,
    penalty,
    samples: int,
    mutation: Mutation = NONE,
    solve: BlockSolve | None = None,
    steps: list | None = None,
):
    """Make the block steps of one window.

    Parameters
    ----------
    arithmetic
        Arithmetic object of `sstep_reference`.
    window : LocalWindow
        The window on its c distinct coordinates.
    penalty : scalar
        Regularisation (lambda).
    samples : int
        Number of samples (m).
    mutation : Mutation
        Factors and switches.
    solve : callable, optional
        Solver of the block systems, as the mutation has them; the arithmetic's own if absent.
    steps : list, optional
        Gets the increment of every block, a vector of length b.

    Returns
    -------
    vector of length c
        The dual vector at the window's end, on the window's coordinates.
    """

    def own_solve(step, rhs):
        return arithmetic.solve(block_system(arithmetic, window, step, penalty, samples, mutation), rhs)

    solve = solve or own_solve
    with arithmetic.working():
        number, count = arithmetic.number, len(window.coordinates)
        kernel, own_kernel = number(mutation.kernel), number(mutation.kernel_overlap)
        overlap, products = number(mutation.overlap), number(mutation.stale)
        divisor, diagonal = penalty * number(mutation.penalty), samples * number(mutation.samples)
        increments, last = arithmetic.zeros(count), arithmetic.zeros(count)
        solution: list = []
        made: list = []
        for step in range(int(mutation.early), len(window.draws)):
            block, rhs = window.draws[step], []
            seen = mutation.seen(increments, made, len(window.draws), lambda: arithmetic.zeros(count))
            for i in block:
                row, increment = window.gram[i], increments[i]
                own = row[i] * seen[i]
                others = arithmetic.dot(row, seen) - own
                product = products * window.stale[i] + kernel * others + own_kernel * own
                shifted = window.start[i] + overlap * increment
                rhs.append(window.targets[i] - diagonal * shifted - product / divisor)
            solution = solve(step, arithmetic.vector(rhs))
            if mutation.curvature != 1:
                solution = [change / number(mutation.curvature) for change in solution]
            if steps is not None:
                steps.append(solution)
            made.append(list(zip(block, solution, strict=True)))
            for place, i in enumerate(block):
                increments[i] = increments[i] + solution[place]
                last[i] = solution[place]
        return window.end_of(arithmetic, mutation, last if mutation.assign_once else increments, solution)
