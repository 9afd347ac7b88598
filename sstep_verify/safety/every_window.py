"""How a bound on the increments of every window is found: one that confirms itself.

What a step loses at most, l, and by how much its unclipped value is off, e, follow from a bound R on the
weighted sum T of the sizes of a window's increments (safety/svm_windows.py, safety/ridge_windows.py), and T
follows from l and e: over t steps

    T <= sqrt(t) (sqrt(2 g + 2 t l) + sqrt(t) w),

g a bound on the gap where the window begins and w on the weighted size of e; K-RR has ``w = sqrt(2 l)``. R
bounds T as soon as the l and w that follow from ``T <= R`` give ``T <= R`` again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, magnitudes, rounded_up
from sstep_verify.solver import Declaration

ROUNDS = 60
"""Attempts to find a bound on the increments that confirms itself."""

GROWTH = 1.0 + 2.0**-10
"""Factor by which the bound is taken larger than what follows from the one before."""


class EveryWindow:
    """Every window of a problem from one vector.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        A solver that updates in place from kernel entries.
    alpha : ndarray, shape (m,)
        Where windows begin (a).
    gap : float
        Upper bound on its duality gap (g).
    block : int
        Coordinates of a block (b).

    Raises
    ------
    InputError
        If the declaration is of another kind of solver.
    """

    def __init__(
        self, problem: Problem, declaration: Declaration, alpha: np.ndarray, gap: float, block: int = 1
    ):
        if declaration.update != "in-place" or declaration.products != "rows" or declaration.state:
            raise InputError(
                f"the {declaration.name} solver declares update {declaration.update!r}, products "
                f"{declaration.products!r} and state {declaration.state!r}: every window is bounded only "
                "for update 'in-place', products 'rows' and no carried state"
            )
        self._declaration, self._gap, self._block = declaration, max(gap, 0.0), block
        self._samples, self._start = problem.samples, magnitudes(alpha)
        self._support = int(np.count_nonzero(alpha))

    def loss(self, s: int, width: int | None = None) -> float:
        """Bound on what s steps may lose of the objective; infinite where nothing can be promised.

        Parameters
        ----------
        s : int
            Number of steps.
        width : int, optional
            Steps of a window, if not all of them are one: 1 for the same number of classical steps.
        """
        width = width or s
        # A window that does not begin at `alpha` itself may find other coordinates moved.
        support = self._support if width == s else min(self._support + s * self._block, self._samples)
        constants, box = self._constants(support, width), self._box(s)
        moved = min(math.sqrt(2.0 * s * self._gap) * OUTWARD, box)
        longest = self._longest(math.sqrt(2.0 * self._gap), 0.0)
        for _ in range(ROUNDS):
            step, error = self._step(constants, width, moved, longest)
            loss = float(rounded_up(s * step))
            if not loss < math.inf:
                return math.inf
            fallen = math.sqrt(2.0 * self._gap + 2.0 * loss)
            follows = min(math.sqrt(s) * (fallen + math.sqrt(s) * error) * OUTWARD, box)
            single = self._longest(fallen, error)
            if follows <= moved and single <= longest:
                return loss
            moved, longest = follows * GROWTH, single * GROWTH
        return math.inf

    def _constants(self, support: int, width: int) -> Any:
        """Constants of the bound of one step in a window of so many, p values of a nonzero."""
        raise NotImplementedError

    def _box(self, s: int) -> float:
        """Bound on the weighted sum of all increments that holds whatever they are."""
        return math.inf

    def _longest(self, fallen: float, error: float) -> float:
        """Largest weighted size of one increment, f having fallen by ``fallen^2 / 2``; 0 where unused."""
        return 0.0

    def _step(self, constants: Any, width: int, moved: float, longest: float) -> tuple[float, float]:
        """Largest loss of a step and largest weighted error of an unclipped value.

        Increments of weighted size `moved` are made before it, the largest of them of size `longest`.
        """
        raise NotImplementedError
