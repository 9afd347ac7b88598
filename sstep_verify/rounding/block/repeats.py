"""Blocks that hold a coordinate several times, as blocks that are drawn with replacement do.

Let S sum the b draws of a block over its d distinct coordinates, and C = S S' hold how often each is drawn,
c at most. The block system is ``G = S'KS / lambda + m I >= m I``, K of the distinct coordinates. Since
``S (S'XS + m I)^{-1} = (C X + m I)^{-1} S``,

    S G^{-1} S' = N^{-1},   N = K / lambda + m C^{-1},   S G^{-1} = N^{-1} C^{-1} S :

the draws of one coordinate get the same increment, and together they get what the system N of the distinct
coordinates gives. An error of the right-hand sides counts by its mean over the draws of a coordinate.

* M = K / lambda + m I on the distinct coordinates lies between N and c N. An exact step maps an error e to
  ``e - N^{-1} M e`` there: in the M-norm a symmetric map of eigenvalues 1 and in 1 - [1, c], no longer than
  `growth` = max(1, c - 1). For c = 1 it is a projection.
* Increments of draws that are off by x move a by S x, and ``||S x||_M^2 <= c x'Gx``, for ``S'S <= c I``.
* An error of M-norm T changes the exact increments by Dx with ``||Dx||_G <= sqrt(c) T``, for
  ``(M e)' N^{-1} M e <= c ||e||_M^2``; so by at most ``sqrt(c) T / sqrt(mu)``, mu the smallest eigenvalue
  of G.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Repeats(NamedTuple):
    """A block by its distinct coordinates.

    Parameters
    ----------
    distinct : ndarray of int, shape (d,)
        These, in order of first draw.
    place : ndarray of int, shape (b,)
        The place of each draw among them.
    counts : ndarray of int, shape (d,)
        How often each is drawn.
    """

    distinct: np.ndarray
    place: np.ndarray
    counts: np.ndarray

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums of what the draws of each coordinate have, shape (d,), from values of shape (b,)."""
        return np.bincount(self.place, values, self.distinct.size)


def repeats_of(draws: np.ndarray) -> Repeats:
    """The distinct coordinates of one block, shape (b,)."""
    found, first, place, counts = np.unique(
        draws, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    return Repeats(found[order], position[place.reshape(-1)], counts[order])


def most_often(draws: np.ndarray) -> np.ndarray:
    """How often each block, shape (H, b), holds the coordinate that it holds most often (c), shape (H,)."""
    ordered = np.sort(draws, axis=1)
    same = ordered[:, 1:] == ordered[:, :-1]
    most = np.ones(draws.shape[0], dtype=np.int64)
    if not same.any():
        return most
    run = most.copy()
    for column in same.T:
        run = np.where(column, run + 1, 1)
        np.maximum(most, run, out=most)
    return most


def last_draws(draws: np.ndarray) -> np.ndarray:
    """The place of the last draw of each coordinate in its step; shapes (steps, b)."""
    last = np.tile(np.arange(draws.shape[1]), (draws.shape[0], 1))
    for place in range(1, draws.shape[1]):
        earlier = draws[:, :place] == draws[:, place, None]
        last[:, :place][earlier] = place
    return last


def growth(most: int) -> float:
    """Factor that the M-norm of an error grows by in an exact step, at most."""
    return max(1.0, most - 1.0)


def whole_growth(most: np.ndarray) -> float:
    """The same over several steps."""
    return math.prod(map(growth, most.tolist()))


def redrawn(draws: Sequence[Sequence[int]] | np.ndarray) -> bool:
    """Whether two blocks of a window share a coordinate."""
    distinct = [set(map(int, block)) for block in draws]
    return len(set().union(*distinct)) < sum(map(len, distinct))
