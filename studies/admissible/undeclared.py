"""What a correct solver does that it does not declare, for bounds take the worst of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Undeclared:
    """How a solver forms its numbers where its declaration leaves that open.

    Parameters
    ----------
    increments : {"separate", "summed"}
        Whether the increments of a coordinate are summed before they multiply a kernel entry.
    clamped : bool
        Whether a squared distance that norm expansion makes negative is taken as 0.
    power : {"multiplication", "pow"}
        How the polynomial kernel raises to its degree.
    functions : {"rounded", "library"}
        Whether exp and pow are rounded once from longdouble, or those of NumPy's vectors.
    summation : {"any", "pairwise", "blocked"}
        A tree in which the products with a are summed apart from all else; any: one sum of everything.
    maintained : {"", "gradient", "residual"}
        What steps are made from instead of products with a: the gradient (K-SVM) or the residual (K-RR),
        maintained from step to step.
    shown : {"rows", "draws"}
        Whether exposed kernel entries are whole rows, or those among the coordinates that a window draws.
    """

    increments: Literal["separate", "summed"] = "separate"
    clamped: bool = True
    power: Literal["multiplication", "pow"] = "multiplication"
    functions: Literal["rounded", "library"] = "library"
    summation: Literal["any", "pairwise", "blocked"] = "any"
    maintained: Literal["", "gradient", "residual"] = ""
    shown: Literal["rows", "draws"] = "rows"


USUAL = Undeclared()
"""Those of a plain loop."""

PRODUCTION = Undeclared(increments="summed")
"""Those of the production solver."""
