"""A sum of products, kept in two float64 numbers, with a bound on its error.

The sum is ``high + low``, ``high`` the float64 number nearest to it. To it is added ``(change + rest) x``,
where ``change + rest`` is the exact difference of two float64 numbers. With p the rounded product of change
and x, and e its error, both exact (Dekker), and with s + r = high + p exact (Knuth), what is lost is the
rounding of ``rest x`` and of its sums with e, low and r, one after the other. These four are at most u |p|,
2 u |p|, u |high| + 2 u |p| and u |s| + u |high| + 2 u |p| in size, so that each addition loses at most

    u^2 (|s| + 2 |high| + 7 |p|) (1 + O(u)) <= 2^-103 (|s| + |high| + |p|),

and a few smallest numbers where products underflow. High and low are again the exact sum of two numbers.

Source: Dekker 1971, theorem on the product of two numbers; Knuth, TAOCP 2, section 4.2.2, theorem B.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import inlined

LARGEST = 2.0**900
"""Size of a factor up to which its halves, and the products of these, do not overflow."""

LOST = 2.0**-103
"""Share of the sizes of its terms that one addition may lose."""

UNDERFLOW = 8.0 * float(np.finfo(np.float64).smallest_subnormal)
"""What an addition may lose more: of four partial products, two roundings of them and ``rest x``."""

SPLIT = 2.0**27 + 1.0
"""Factor that splits a float64 number into two of 26 bits each (Veltkamp)."""


@inlined
def exact_sum(one, other):
    """The rounded sum of two numbers, and its error: together they are the exact sum."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


@inlined
def exact_product(one, other):
    """The rounded product of two numbers, and its error: exact but for what underflows."""
    product = one * other
    first, second = SPLIT * one, SPLIT * other
    first, second = first - (first - one), second - (second - other)
    one_rest, other_rest = one - first, other - second
    error = first * second - product
    error += first * other_rest
    error += one_rest * second
    return product, error + one_rest * other_rest


@inlined
def add_product(high, low, change, rest, factor):
    """Add ``(change + rest) factor`` to a sum in two numbers; return both, and what was lost at most."""
    product, error = exact_product(change, factor)
    total, rounded = exact_sum(high, product)
    lost = LOST * (abs(total) + abs(high) + abs(product)) + UNDERFLOW
    new, least = exact_sum(total, rounded + (low + (error + rest * factor)))
    return new, least, lost
