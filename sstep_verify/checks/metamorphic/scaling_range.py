"""Whether a problem leaves the floating point range room, so that a power of two passes through exactly.

Multiplying by a power of two commutes with every rounding as long as no result, before or after, is
nonzero below the normal range or above the largest number. Sums that end below the normal range are
exact, so what can underflow are products and quotients:

* products of data, ``|x z| >= 2**(2 l)`` if the smallest nonzero entry is at least ``2**l``; squared
  differences, nonzero multiples of ``2**(2 q)`` if all entries are multiples of ``2**q``;
* powers of ``c + <x, z>``: no smaller than the smallest nonzero kernel entry;
* products with a, quotients that make a.

Kernel entries: every computed one is within delta_K of its value (rounding/kernel/entries.py), so it is at
least ``|K| - delta_K`` where that is positive; else it is 0 or, since rounding never sets a bit below
the last one of what it rounds, a multiple of the last bit of the products, ``2**(2q)`` or ``2**(2qd)``.

A linear or polynomial K-SVM has the same numbers in all products of kernel and a before and after its
data are scaled, and an RBF kernel stays what it was; there only a itself needs room.

Products with a: a cancelled sum keeps at least the last of its t bits, so a total cancellation takes t
bits off the least magnitude. What a run did between its recorded states is not seen; room is asked for
two total cancellations in a row, 2 t bits, below the smallest recorded nonzero value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import PolynomialKernel, Problem
from sstep_verify.rounding.arithmetic import TYPES, stored
from sstep_verify.rounding.formulas import rounds_data
from sstep_verify.rounding.kernel.entries import kernel_entries

MOST_ENTRIES = 1 << 22
"""Kernel entries formed to find the smallest; of more rows the last bits alone decide."""


@dataclass(frozen=True)
class Span:
    """Nonzero absolute values lie in ``[2**low, 2**high)``."""

    low: int
    high: int


def span(values: np.ndarray) -> Span:
    """Span of the nonzero values of an array; of 1 if there is none."""
    absolute = np.abs(np.asarray(values))
    nonzero = absolute[absolute > 0]
    if nonzero.size == 0:
        return Span(0, 1)
    exponents = np.frexp(nonzero)[1]
    return Span(int(exponents.min()) - 1, int(exponents.max()))


def last_bit(values: np.ndarray) -> int:
    """Largest q such that all values, float64, are multiples of ``2**q``; 0 if all are 0."""
    nonzero = np.abs(values[values != 0])
    if nonzero.size == 0:
        return 0
    fractions, exponents = np.frexp(nonzero)
    digits = (fractions * 2.0**53).astype(np.int64)
    return int((exponents - 53 + np.frexp((digits & -digits).astype(np.float64))[1] - 1).min())


def kernel_span(problem: Problem, declaration: Declaration, rows: np.ndarray) -> Span:
    """Span of the computed kernel entries of some rows, shape of rows (c,)."""
    fallback, high = _crude_span(problem, declaration)
    if rows.size * problem.samples > MOST_ENTRIES:
        return Span(fallback, high)
    entries = kernel_entries(problem, declaration, rows)
    doubt = entries.judge_error + entries.solver_error
    certain = np.abs(entries.values) - doubt
    low = span(np.maximum(certain, 0.0)).low if (certain > 0).any() else 0
    # An entry without any doubt is an exact zero; all others may be as small as the last bit.
    if ((certain <= 0) & (doubt > 0)).any():
        low = min(low, fallback)
    return Span(low, high)


def _crude_span(problem: Problem, declaration: Declaration) -> tuple[int, int]:
    """Exponents from the data alone: last bit of a nonzero entry, and one that no entry reaches."""
    kernel, limits = problem.kernel, np.finfo(TYPES[declaration.precision])
    data = _data(problem, declaration)
    bits, high = 2 * last_bit(data), _product_top(data)
    if kernel.linear:
        return bits, high
    if kernel.of_distance:
        return int(limits.minexp) - limits.nmant - 1, 1
    if isinstance(kernel, PolynomialKernel):
        offset = np.array([stored(kernel.offset, declaration.precision)])
        bits = min(bits, last_bit(offset)) if offset.any() else bits
        high = max(high, span(offset).high) + 1
        return kernel.degree * bits, kernel.degree * high
    return int(limits.minexp) - limits.nmant - 1, int(limits.maxexp)


def no_room(problem: Problem, declaration: Declaration, kernel: Span | None) -> str:
    """Why forming the kernel of a problem could under- or overflow; empty if it cannot.

    The span of its entries is None where they are the same numbers before and after the scaling.
    """
    limits = np.finfo(TYPES[declaration.precision])
    data = _data(problem, declaration)
    entries = span(data)
    products = 2 * entries.low
    if problem.kernel.of_distance and declaration.rbf == "difference":
        products = min(products, 2 * last_bit(data))
    needed = {
        "data": Span(min(entries.low, span(problem.dense).low), entries.high),
        "products of data": Span(products, _product_top(data)),
        "parameters": span(np.array(_parameters(problem))),
    }
    if kernel is not None:
        needed["kernel entries"] = kernel
    for what, values in needed.items():
        if values.low < limits.minexp or values.high >= limits.maxexp:
            return (
                f"{what} may lie between 2**{values.low} and 2**{values.high}, "
                f"beyond the normal numbers of {declaration.precision}"
            )
    return ""


def no_room_for_states(
    problem: Problem, declaration: Declaration, kernel: Span | None, states: np.ndarray
) -> str:
    """Why a, or its products with kernel entries, could under- or overflow; empty if they cannot.

    States are those that the run recorded, shape (k, m). The span of the kernel entries is None where the
    products are the same numbers before and after the scaling.
    """
    limits = np.finfo(TYPES[declaration.precision])
    state, reserve = span(states), 2 * (limits.nmant + 1)
    if not problem.is_svm and kernel is not None:
        # A step from a = 0 makes y over the system: what underflows there is recorded as 0.
        system = max(kernel.high - math.frexp(problem.ridge.penalty)[1] + 1, 0)
        first = span(problem.targets).low - max(system, math.frexp(problem.samples)[1]) - 1
        state = Span(min(state.low, first), state.high)
    low, high = state.low - reserve, state.high
    if kernel is not None:
        low, high = low + min(kernel.low, 0), high + max(kernel.high, 0) + math.frexp(problem.samples)[1]
    if not problem.is_svm:
        penalty = math.frexp(problem.ridge.penalty)[1]
        low, high = low - max(penalty, 0), high - min(penalty - 1, 0)
    if low >= limits.minexp and high < limits.maxexp:
        return ""
    return (
        f"products with a may lie between 2**{low} and 2**{high}, beyond the normal numbers of "
        f"{declaration.precision} (a itself lies between 2**{state.low} and 2**{state.high}; room for two "
        f"total cancellations, {reserve} bits, is included)"
    )


def _data(problem: Problem, declaration: Declaration) -> np.ndarray:
    return stored(problem.dense, declaration.precision) if rounds_data(declaration) else problem.dense


def _product_top(data: np.ndarray) -> int:
    """Exponent that no sum met in forming ``<x,z>`` or ``|x - z|**2`` reaches: 4 n terms at most."""
    return 2 * span(data).high + math.frexp(data.shape[1])[1] + 2


def _parameters(problem: Problem) -> list[float]:
    kernel = problem.kernel
    values = [getattr(kernel, "sigma", 0.0), getattr(kernel, "offset", 0.0)]
    if not problem.is_svm:
        return [*values, problem.ridge.penalty]
    double = 2.0 * problem.hinge.C
    return [*values, problem.hinge.C, double, 1.0 / double]
