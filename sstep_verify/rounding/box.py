"""What ends a step of a boxed loss: a soft threshold and a clip, and what an error before it becomes.

Let z be the minimiser of a coordinate's smooth part, ``a_i - g / eta``. The new value is

    P(z) = clip(soft(z, t), lower, upper),  soft(z, t) = max(z - t, 0) + min(z + t, 0),

with ``t = threshold / eta``.

* P is monotone and 1-Lipschitz, being made of clips. So where z is known up to an error e, the new value
  lies in [P(z - e), P(z + e)]: it is that value itself where the two are equal, as beyond an end of the
  box, and at 0 where t > 0 or the lower end is 0.
* The soft threshold is the median of ``u = z - t``, 0 and ``v = z + t``, and a median moves by no more than
  what most moves: of a P with u and v each off by e the new value is off by e. Each of them is the smooth
  minimiser of a K-SVM step with the linear term ``p -+ threshold`` instead of 1, whichever is formed
  first, ``g +- threshold``, or z and t. So the error of a step without a threshold holds with
  ``|p| + threshold`` for the size of the constant term, one rounding more, and ``|g / eta| + t`` and
  ``|z| + t`` for the sizes of quotient and difference.
* Between its corners P is z less a constant, and errors go on as they are (`shifts`).

Where eta = 0 the row is 0 and the gradient is -p: the minimiser is the upper end for p > threshold, the
lower end for p < -threshold, and 0 between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import inlined
from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    stored,
    unit_roundoff,
)
from sstep_verify.rounding.formulas import is_scaled


class Box(NamedTuple):
    """Ends of the box, and the threshold before it is divided by the curvature."""

    lower: float
    upper: float
    threshold: float


def box_of(dual: Dual) -> Box:
    """The box of a dual."""
    return Box(dual.lower, dual.upper, dual.threshold)


def end_error(dual: Dual, declaration: Declaration) -> float:
    """What the solver's ends of the box are off by.

    They are those of the problem that it holds (rounding/arithmetic.py), rounded once where its precision
    stores no such number: C where its input is not rounded, or an end that a loss of one's own computes
    from its parameters, in which another two roundings may be made. Where the recurrence is made in a over
    a factor f that is no power of two (rounding/kernel/entries.py), they are ends over f: two roundings.
    """
    ends = [abs(end) for end in (dual.lower, dual.upper) if abs(end) < np.inf]
    rounded = any(stored(end, declaration.precision) != end for end in ends)
    roundings = 2 * is_scaled(declaration) + 3 * rounded
    return float(gamma(roundings, unit_roundoff(declaration.precision)) * max(ends, default=0.0) * ROUND_UP)


@inlined
def soft(new, knot):
    """The soft threshold; where there is none, `knot` is 0."""
    return max(new - knot, 0.0) + min(new + knot, 0.0) if knot > 0.0 else new


@inlined
def finish(box, new, knot):
    """The new value from the smooth minimiser; `knot` is the threshold over the curvature (t)."""
    return min(max(soft(new, knot), box.lower), box.upper)


@inlined
def finish_flat(box, linear):
    """The new value of a coordinate without curvature, from its linear term."""
    return box.upper if linear > box.threshold else (box.lower if linear < -box.threshold else 0.0)


@inlined
def shifts(box, low, high, knot, off):
    """Whether P is z less a constant between two points, also where the ends of the box are `off`."""
    least, most = box.lower + (off if box.lower < 0.0 else 0.0), box.upper - off
    if knot == 0.0:
        return low >= least and high <= most
    return (low >= knot and high - knot <= most) or (high <= -knot and low + knot >= least)
