"""The numbers that the pass over the steps of a segment keeps for the passes after it.

That pass reads every kernel row once; a later pass reads no row, and changes no state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.checks.steps.step_statistics import StepStatistics


class Segment(NamedTuple):
    """Consecutive whole windows of a run.

    Parameters
    ----------
    draws : ndarray of int64, shape (steps, b)
        Coordinates drawn, by their places in `JudgeRows.columns`.
    log : ndarray, shape (steps, b)
        The values they were left with.
    width : int
        Steps per window (s).
    first : int
        Iterations made before.
    closing : bool
        Whether the run ends here, so that a short window is its tail.
    drift : ndarray, shape (steps,)
        What a state carried along with alpha adds to the error of each gradient (K-RR: residual, in the
        2-norm); infinite where nothing is promised, since a product may be no number.
    """

    draws: np.ndarray
    log: np.ndarray
    width: int
    first: int
    closing: bool
    drift: np.ndarray


(BEFORE, AT_START, PRODUCT, OLD_PRODUCT, OF_BOUNDARY, OWN_ENTRY, OF_LATE, NEW, UNCLIPPED) = range(9)
"""What is kept of a coordinate that a step drew, in its order in `Kept.table`.

* BEFORE, AT_START: its entry of alpha before the step, and at the window's start.
* PRODUCT, OLD_PRODUCT: products of its kernel row with alpha at these times (K-RR: over lambda).
* OF_BOUNDARY: in a window's first step, what the increments of the step before add to the product; else 0.
* OWN_ENTRY: its kernel entry with itself.
* OF_LATE: K-SVM: alpha of the coordinate that the step before drew, NaN where there is none or it is drawn
  again. K-RR: G times the logged values less those of the block before, 0 where there is none.
* NEW, UNCLIPPED: K-SVM: the judge's unclipped value, and the bound on its error (infinite: none).
"""


class Kept(NamedTuple):
    """What is kept of the steps of a segment; the last seven of K-RR.

    Parameters
    ----------
    table : ndarray, shape (steps, b, 9)
        What stands above, side by side as a step writes and reads it.
    increment, applied, residual, left, size : ndarray, shape (steps, b)
        The logged increment; G times that; what it leaves of the right-hand side; bounds on the entries of
        that; bounds on the diagonal of the block system G.
    growth : ndarray, shape (steps,)
        By how much, at most, the bound on an entry grows with another right-hand side, over the 2-norm of
        what is added to that: a longer increment is rounded more.
    solved : ndarray of bool, shape (steps,)
        Whether there is a residual.
    """

    table: np.ndarray
    increment: np.ndarray
    applied: np.ndarray
    residual: np.ndarray
    left: np.ndarray
    size: np.ndarray
    growth: np.ndarray
    solved: np.ndarray

    @classmethod
    def room(cls, steps: int, block: int, *, of_svm: bool) -> Kept:
        """Room for so many steps of b coordinates."""
        solved = 0 if of_svm else steps
        own = np.zeros((5, solved, block))
        growth = np.zeros(solved)
        return cls._make((np.zeros((steps, block, 9)), *own, growth, np.zeros(solved, dtype=np.bool_)))


class Passed(NamedTuple):
    """A segment after its steps were judged: the arguments of the later passes.

    Parameters
    ----------
    kept : Kept
        What was kept of its steps.
    segment : Segment
        The segment.
    tally : StepStatistics
        Distances and bounds of its steps.
    clip, solve : ClipConstants and SolveConstants, one of them None
        What its bounds were made from.
    """

    kept: Kept
    segment: Segment
    tally: StepStatistics
    clip: object
    solve: object
