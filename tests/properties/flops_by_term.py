"""Flops of a window by term, exactly, for exchanges allreduce, reduce-scatter and gram.

An addition, a multiplication, a division and a square root are one flop each; exponentials are counted
apart (the paper's mu), comparisons not at all. For a window of w steps, blocks of b, d distinct coordinates
and a rank with p features and k of the m samples after a reduce-scatter:

    panel        dense: d m (2 p - 1), or as of all m samples, m^2 products of which symmetry saves half,
                 where d > m / 2 of few samples (16 m <= p), and for gram where d > 0.9 m; sparse: 2 for
                 each pair of a nonzero of a drawn sample and a nonzero in its column; by differences
                 d m 3 p; gram: d (d + 1) inner products and d more
    function     d k entries: nothing (linear), degree (polynomial), 4 or 1 and an exponential (RBF)
    gradient     d (2 k - 1)
    corrections  K-RR: 2 for each coordinate already touched, at each of b places of each step: in all
                 2 binom(w, 2) b^2 where no coordinate is drawn twice; K-SVM: 3 for each later step, where
                 the coordinate moved: 3 binom(w, 2)
    solves       w (b (b + 1) (2 b + 1) / 6 + 2 b + 2 b^2)
    steps        the rest: w b (b + 1) / 2 + O(w b)
    weights      gram: 2 p, or 2 for each nonzero, for each coordinate that changed

Source: Theorem 2, "Computation": s b f m n / P + mu s b m + s b^3 + binom(s, 2) b^2 in each of H / s
windows, and s b m for the products with a, which its proof names and mu s b m covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.costs.prediction import solve_flops
from sstep_verify.problems import Kernel, PolynomialKernel

LONG_BLOCK = 96
"""Coordinates of a block from which on a rank alone makes windows step by step."""

GATHER_FACTOR, FEW = 16, 6
"""K-RR gathers corrections unless they are dense, or the window long, by this factor; inner products among
so few dense samples are formed pair by pair."""


LEAST_BLOCK = 128
"""Samples of a rank with which reduce-scatter forms products of their own."""

WIDE, MOST, NEARLY_ALL, LARGEST = 16, 0.5, 0.9, 1 << 19
"""Where products of all samples are formed in place of those asked for: features a sample, share of the
samples (of a panel, of a Gram matrix), products in all."""


class Flops(NamedTuple):
    """Flops by term; `functions` are exponentials."""

    panel: int = 0
    function: int = 0
    functions: int = 0
    gradient: int = 0
    corrections: int = 0
    solves: int = 0
    steps: int = 0
    weights: int = 0

    def plus(self, other: Flops) -> Flops:
        """Term by term."""
        return Flops(*(one + two for one, two in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Held:
    """What a rank holds.

    Parameters
    ----------
    features : int
        Its features (p).
    own : int
        Samples whose sums it has after the reduction: all m, or its share of them.
    nonzeros, pairs : ndarray of int64, shape (m,)
        Of each sample: its nonzeros here, and the nonzeros of their columns, summed.
    sparse : bool
        How the data are stored.
    """

    features: int
    own: int
    nonzeros: np.ndarray
    pairs: np.ndarray
    sparse: bool

    @classmethod
    def of(cls, data: Any, own: int) -> Held:
        """The figures of a rank's columns, an ndarray or csr_array of shape (m, p)."""
        pattern: Any = sp.csr_array(np.ones(data.shape)) if isinstance(data, np.ndarray) else data
        counts = np.bincount(pattern.indices, minlength=pattern.shape[1])
        before = np.concatenate([[0], np.cumsum(counts[pattern.indices])])
        pairs = before[pattern.indptr[1:]] - before[pattern.indptr[:-1]]
        return cls(pattern.shape[1], own, np.diff(pattern.indptr), pairs, sp.issparse(data))


@dataclass(frozen=True)
class Method:
    """What is run.

    Parameters
    ----------
    exchange : {"allreduce", "reduce-scatter", "gram"}
        What is communicated.
    kernel : Kernel
        The kernel.
    svm, frozen, differences : bool
        Whether it is a K-SVM; a is kept frozen within a window; the RBF kernel is formed by differences.
    alone : bool
        Whether there is one rank, whose timers are not separate.
    """

    exchange: str
    kernel: Kernel
    svm: bool
    frozen: bool = False
    differences: bool = False
    alone: bool = False

    def by_steps(self, held: Held, draws: np.ndarray) -> bool:
        """Whether a window, shape (w, b), is made step by step."""
        steps, block = draws.shape
        usual = self.exchange == "allreduce" and not (self.svm or self.frozen)
        fresh = steps == 1 or draws.size * GATHER_FACTOR >= held.nonzeros.size
        return usual and fresh and self.alone and block >= LONG_BLOCK


def window_flops(
    held: Held, method: Method, draws: np.ndarray, moved: np.ndarray, changed: np.ndarray
) -> Flops:
    """Flops of one window on one rank.

    Parameters
    ----------
    held : Held
        What the rank holds.
    method : Method
        What is run.
    draws : ndarray of int64, shape (w, b)
        Coordinates drawn.
    moved : ndarray of bool, shape (w, b)
        Which of the draws changed their coordinate.
    changed : ndarray of int64
        Coordinates whose values at the two ends of the window differ; a clipped one may have come back.

    Returns
    -------
    Flops
    """
    columns = distinct_in_order(draws)
    count, samples = columns.size, held.nonzeros.size
    small = method.exchange != "allreduce"
    fresh = not (small or method.svm or method.frozen) and draws.size * GATHER_FACTOR >= samples
    rows = draws.size if fresh else count
    function, exponentials = (0, 0) if method.exchange == "gram" else function_flops(method)
    corrections = 0 if fresh else corrections_of(method, draws, moved)
    weights = int(2 * held.nonzeros[changed].sum()) if method.exchange == "gram" else 0
    return Flops(
        panel=panel_flops(held, method, columns),
        function=count * held.own * function,
        functions=count * held.own * exponentials,
        gradient=0 if method.exchange == "gram" else rows * _inner(held.own),
        corrections=corrections,
        solves=0 if method.svm else draws.shape[0] * solve_flops(draws.shape[1]),
        # Step by step nobody asks for the sum of increments.
        steps=_steps(method, draws, moved)
        + (count if small else -draws.size * method.by_steps(held, draws)),
        weights=weights,
    )


def distinct_in_order(draws: np.ndarray) -> np.ndarray:
    """Distinct coordinates of a window in order of first draw, shape (d,)."""
    found, first = np.unique(draws, return_index=True)
    return found[np.argsort(first)]


def panel_flops(held: Held, method: Method, columns: np.ndarray) -> int:
    """Partial sums of a window's distinct coordinates, shape (d,)."""
    count, inner = columns.size, _inner(held.features)
    if method.exchange == "gram":
        if held.sparse:
            return int(2 * (np.arange(2, count + 2) * held.nonzeros[columns]).sum())
        if count > FEW and _forms_all(held, count, NEARLY_ALL):
            return (held.nonzeros.size**2 + held.nonzeros.size) * inner
        pairs = count * (count + 1) // 2 if count <= FEW else count * count
        return (pairs + count) * inner
    if method.differences:
        return 3 * count * held.nonzeros.size * held.features
    if held.sparse:
        return int(2 * held.pairs[columns].sum())
    # Counted whole, as the numbers that count are multiplied: BLAS makes half of them.
    # A rank of reduce-scatter with many samples forms the products with each rank's apart.
    whole = held.own == held.nonzeros.size or held.own < LEAST_BLOCK
    rows = held.nonzeros.size if count > 1 and whole and _forms_all(held, count, MOST) else count
    return rows * held.nonzeros.size * inner


def _forms_all(held: Held, count: int, share: float) -> bool:
    """Whether products of all samples are formed for those of so many."""
    samples = held.nonzeros.size
    few = held.features >= WIDE * samples and samples * samples <= LARGEST
    return few and count > share * samples


def function_flops(method: Method) -> tuple[int, int]:
    """Flops and exponentials of a kernel entry after the reduction."""
    if isinstance(method.kernel, PolynomialKernel):
        return method.kernel.degree, 0
    if method.kernel.of_distance:
        return (1, 1) if method.differences else (4, 1)
    return 0, 0


def corrections_of(method: Method, draws: np.ndarray, moved: np.ndarray) -> int:
    """What the increments of a window cost the gradients of its later steps."""
    if method.svm:
        return int(3 * (draws.shape[0] - 1 - np.flatnonzero(moved.ravel())).sum())
    total, touched = 0, set[int]()
    for block in draws.tolist():
        count, reach = len(touched), max(touched, default=-1) + 1
        if method.exchange != "allreduce":
            reach = count  # Coordinates are numbered in order of first draw.
        # Where they lie close together, the product runs over all up to the last of them.
        dense = count >= GATHER_FACTOR and count * GATHER_FACTOR >= reach
        total += len(block) * 2 * (reach if dense else count)
        touched.update(block)
    return total


def _steps(method: Method, draws: np.ndarray, moved: np.ndarray) -> int:
    """What is left of the steps of a window."""
    steps, block = draws.shape
    frozen = draws.size if method.frozen else 0
    if method.svm:
        again = 2 if method.frozen else 1
        # Two for the stale gradient; slope, curvature, quotient, difference and increment are 6.
        return 8 * steps + (1 + again) * int(moved.sum()) + 3 * frozen
    # Right-hand side 4, diagonal 1, increment and value 2 for each draw; the block's upper triangle.
    each = steps * (7 * block + block * (block + 1) // 2)
    return each + frozen + (np.unique(draws).size if method.frozen else 0)


def _inner(length: int) -> int:
    """An inner product of so many terms."""
    return max(2 * length - 1, 0)
