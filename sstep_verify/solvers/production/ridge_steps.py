"""Windows of long blocks for K-RR, step by step: every step pushes its increments to what later ones need.

Source: Algorithm 4, lines 10-15, right-looking. The samples stand in the order of
`sstep_verify.parallel.exchanges.step_order`. When a coordinate is drawn first, its kernel row is new and
in cache, and its product with the current a is taken whole. From then on each step adds the products of
its rows with its increments to those of all coordinates that are drawn later, which stand at the first
places. So a row that is drawn again is read no further than these, and no product of whole rows is taken
from memory.

The products of a step are summed apart before they are added: in a window of no more steps than a block has
coordinates no term is then rounded more often than once for each coordinate drawn before
(rounding/block/local.py), although increments of one coordinate are not summed first.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.solvers.production.block_solve import solve_long

TILE = 1 << 12
"""Places to which a step's products are summed at once: few enough to stay in the nearest cache."""


class RidgeSteps:
    """The steps of such windows, and their scratch.

    Parameters
    ----------
    alpha, targets : ndarray, shape (m,)
        Dual vector (updated), targets.
    system, rhs : ndarray, shapes (b, b) and (b,)
        Scratch for the block system.
    penalty : float
        Regularisation (lambda).
    words : int
        Most places of a tile, if that is less than `TILE`.
    """

    def __init__(
        self,
        alpha: np.ndarray,
        targets: np.ndarray,
        system: np.ndarray,
        rhs: np.ndarray,
        penalty: float,
        words: int,
    ):
        self._alpha, self._targets, self._system, self._rhs = alpha, targets, system, rhs
        self._penalty = penalty
        self._ordered = np.empty(alpha.size)
        self._products = np.empty((2, alpha.size))
        self._taken, self._tile = np.empty(rhs.size), np.empty(min(TILE, words, alpha.size))
        self._draws = np.empty((3, rhs.size), dtype=np.int64)

    def arrange(self, order: np.ndarray) -> None:
        """Begin a window in which sample ``order[p]`` stands at place p."""
        np.take(self._alpha, order, out=self._ordered, mode="clip")

    def step(
        self,
        words: np.ndarray,
        starts: np.ndarray,
        fresh: np.ndarray,
        rows: np.ndarray,
        block: np.ndarray,
        place_of: np.ndarray,
        ahead: int,
        log: np.ndarray,
    ) -> None:
        """Make one step; parameters as of `sstep_verify.parallel.exchanges.steps.Steps`."""
        write_equations(
            words, starts, fresh, rows, block, place_of, ahead, self._draws, self._taken, self._targets,
            self._ordered, self._products, self._system, self._rhs, self._penalty,
        )  # fmt: skip
        solve_long(self._system, self._rhs)
        make_moves(
            words, starts, block, ahead, self._draws, self._rhs, self._ordered, self._alpha, self._products,
            self._tile, log,
        )  # fmt: skip


@compiled
def write_equations(
    words, starts, fresh, rows, block, place_of, ahead, draws, taken, targets, ordered, products, system,
    rhs, penalty,
):  # fmt: skip
    """Write the block system of a step; parameters as of the functions that it calls, and of `Steps`."""
    new_first(rows, fresh.shape[0], block, place_of, ahead, draws)
    if fresh.size:
        take_products(fresh, draws, ordered, products, taken)
    write_right_side(block, draws, targets, ordered, products, rhs, penalty)
    write_system(words, starts, draws, system, ordered.size, penalty)


@compiled
def make_moves(words, starts, block, ahead, draws, increments, ordered, alpha, products, tile, log):
    """Make the moves of a step and push them; parameters as of the functions it calls, and of `Steps`."""
    move(block, draws, increments, ordered, alpha, log)
    push_increments(words, starts, draws, increments, products[1, :ahead], tile)


@compiled
def new_first(rows, count, block, place_of, ahead, draws):
    """Put the draws of a step in order: those of new rows first, those that come to be the last ones last.

    An entry of the block system is read from the row of that which comes first: from a new row, which is in
    cache, wherever one of the two is new. Coordinates drawn for the last time stand side by side, so that
    few words of an old row are read from memory that lies apart.

    Parameters
    ----------
    rows, block : ndarray of int64, shape (b,)
        Rows of the step's coordinates, and the coordinates.
    count : int
        Number of new ones, those of the last rows.
    place_of : ndarray of int64, shape (m,)
        Place of each sample.
    ahead : int
        First places, of coordinates that are drawn later.
    draws : ndarray of int64, shape (3, b)
        Out: in this order, the draw within the step, its row, its place.
    """
    known = np.max(rows) + 1 - count
    new, old, last = 0, count, rows.size - 1
    for draw in range(rows.size):
        place = place_of[block[draw]]
        if count and rows[draw] >= known:
            position = new
            new += 1
        elif place < ahead:
            position = old
            old += 1
        else:
            position = last
            last -= 1
        draws[0, position], draws[1, position], draws[2, position] = draw, rows[draw], place


@compiled
def take_products(fresh, draws, ordered, products, taken):
    """Take the whole products of new rows, shape (k, m), with a.

    Parameters
    ----------
    draws
        As in `new_first`.
    ordered : ndarray, shape (m,)
        The dual vector by place.
    products : ndarray, shape (2, m)
        Products by place: row 0 those taken here, row 1 what steps have added since.
    taken : ndarray, shape (>= k,)
        Scratch.
    """
    np.dot(fresh, ordered, taken[: fresh.shape[0]])
    for item in range(fresh.shape[0]):
        products[0, draws[2, item]] = taken[item]
        products[1, draws[2, item]] = 0.0


@compiled
def write_right_side(block, draws, targets, ordered, products, rhs, penalty):
    """Write the right-hand side of a step, shape (b,); parameters as of the functions beside it."""
    for item in range(rhs.size):
        place = draws[2, item]
        product = products[0, place] + products[1, place]
        target = targets[block[draws[0, item]]]
        rhs[item] = target - ordered.size * ordered[place] - product / penalty


@compiled
def write_system(words, starts, draws, system, samples, penalty):
    """Write the upper triangle of a step's block system, shape (b, b).

    `words` are kernel rows one behind the other, which begin at `starts`; `draws` as in `new_first`.
    """
    places = draws[2]
    for item in range(places.size):
        row, begin = system[item], starts[draws[1, item]]
        # Apart from the quotients, which wait for each other: memory is waited for at many places at once.
        for other in range(item, places.size):
            row[other] = words[begin + places[other]]
        for other in range(item, places.size):
            row[other] /= penalty
        row[item] += samples


@compiled
def move(block, draws, increments, ordered, alpha, log):
    """Add the solution of a step's system to a, in both orders, and log the new values."""
    for item in range(block.size):
        draw, place = draws[0, item], draws[2, item]
        value = ordered[place] + increments[item]
        ordered[place] = value
        alpha[block[draw]] = value
        log[draw] = value


@compiled
def push_increments(words, starts, draws, increments, pushed, tile):
    """Add the products of a step's rows with its increments to `pushed`, shape (k,), at the first places.

    `words`, `starts` and `draws` as in `write_system`; `tile` is scratch.
    """
    rows = draws[1]
    count = rows.size
    for first in range(0, pushed.size, tile.size):
        total = tile[: min(tile.size, pushed.size - first)]
        total[:] = 0.0
        # Four rows at once, which divides the traffic of the sums by four.
        for item in range(0, count - 3, 4):
            add_rows(
                total, words, starts[rows[item]] + first, starts[rows[item + 1]] + first,
                starts[rows[item + 2]] + first, starts[rows[item + 3]] + first, increments[item : item + 4],
            )  # fmt: skip
        for item in range(count - count % 4, count):
            begin, factor = starts[rows[item]] + first, increments[item]
            row = words[begin : begin + total.size]
            for place in range(total.size):
                total[place] += factor * row[place]
        for place in range(total.size):
            pushed[first + place] += total[place]


@compiled
def add_rows(total, words, one, two, three, four, factors):
    """Add four rows, which begin at some words, times their factors to `total`."""
    size = total.size
    p, q = words[one : one + size], words[two : two + size]
    r, s = words[three : three + size], words[four : four + size]
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    for place in range(size):
        total[place] += a * p[place] + b * q[place] + c * r[place] + d * s[place]
