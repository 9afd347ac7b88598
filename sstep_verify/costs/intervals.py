"""Iterations of the first interval of a training, from counts of work.

A measurement, and what an interval begins with, take as long as c iterations. Measured seldom, training
continues after its tolerance is reached; measured often, it is slow. With intervals of d iterations a run
of T takes T c / d for measurements, and on average d / 2 too many: the sum is least for d = sqrt(2 c T).
Ends after 1, 3, 6, 10, ... times 2 c keep near that for every T, which nobody knows before.
"""

from __future__ import annotations

import math

CALLS, STEP = 50_000, 60
"""Operations in whose time Python makes a measurement and begins an interval, and one step is begun."""

COLLECTIVE, COLLECTIVES = 20_000, 4
"""Operations in whose time a small collective of several ranks is made, and how many an interval has."""


def first_interval(
    samples: int, stored: float, block: int, s: int, ranks: int, exchange: str, kept_rows: int
) -> int:
    """Twice the iterations that make as much work as a measurement.

    Parameters
    ----------
    samples, stored : int and float
        Number of samples (m), and of values of all of them together.
    block, s, ranks : int
        Coordinates a block (b), iterations a window, and ranks (P).
    exchange : str
        What is communicated in a window.
    kept_rows : int
        Kernel rows that a rank keeps; all of them for a kept Gram matrix.

    Returns
    -------
    int
        Iterations, at least 1.
    """
    measured, step = float(CALLS), float(STEP)
    if ranks > 1:
        measured += COLLECTIVES * COLLECTIVE
        step += COLLECTIVE / s
    if exchange == "gram":
        # The weights again, and twice a product with the data; a step: its products with the weights and
        # with the window's draws, and the weights moved.
        measured += 6.0 * stored / ranks
        step += block * (5.0 + s * block) * stored / (samples * ranks)
    elif kept_rows >= samples:
        measured += 2.0 * samples * samples
        step += 2.0 * samples * block
    else:
        # Rows of all samples, and those that were kept, in steps that form a row each.
        row = 2.0 * stored / ranks
        measured += (samples + kept_rows) * row
        step += block * row
    return max(math.ceil(2.0 * measured / step), 1)
