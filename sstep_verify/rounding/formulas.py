"""Formulas: a declaration, and what the product itself knows of how a solver forms its numbers.

A user declares what a user can know. A program file says more by the way: that its alpha is ours over a
factor that is no power of two, or that its data stay as they are given. Nobody declares these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sstep_verify.declaration import Declaration


@dataclass(frozen=True)
class Formulas(Declaration):
    """What bounds are derived for.

    Parameters
    ----------
    precision : {"float32", "float64", "longdouble"}
        As declared; the last for numbers that safety/ evaluates.
    scaled : bool
        Whether the recurrence is made in alpha times a factor that is no power of two, so that its
        constants are rounded (rounding/kernel/entries.py). It is no worst case: with it a loss of one's own
        is VACUOUS.
    as_given : bool
        Whether data, targets and parameters that the precision cannot represent are used as they are. Else
        they are rounded to it, to nearest, before anything is computed. It matters in float32 only.
    """

    internal: ClassVar[tuple[str, ...]] = ("longdouble",)

    precision: Any = "float64"
    scaled: bool = False
    as_given: bool = False


def formulas_of(declaration: Declaration, *, scaled: bool = False, as_given: bool = False) -> Declaration:
    """A declaration with what is known besides; itself where nothing is."""
    if not (scaled or as_given):
        return declaration
    return Formulas(**{**vars(declaration), "scaled": scaled, "as_given": as_given})


def is_scaled(declaration: Declaration) -> bool:
    """Whether the recurrence is made in another scale, of which a declaration says nothing."""
    return isinstance(declaration, Formulas) and declaration.scaled


def rounds_data(declaration: Declaration) -> bool:
    """Whether the problem is rounded to the solver's precision before anything is computed."""
    as_given = isinstance(declaration, Formulas) and declaration.as_given
    return declaration.precision == "float32" and not as_given
