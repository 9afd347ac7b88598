"""What a small correct solver declares, and what that leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify.declaration import Declaration
from sstep_verify.recurrence.mutation import NONE, Mutation
from studies.admissible.undeclared import USUAL, Undeclared


@dataclass(eq=False)
class Choices:
    """How a solver works: what it declares, and what that leaves open.

    Sums are made in one of `ORDERS`, with `products_first` before constants are added, and numbers as
    `undeclared` says; products with a are formed from the samples if `factored`; a quotient may be a
    product with a `reciprocal`; lambda divides the sum or each product. The recurrence is made in a over
    `scale`, and a is printed in `decimals`. A mutation may be planted. A run says that it ended by its
    tolerance where the gap (K-SVM) or residual (K-RR), as the solver evaluates it, is at most that; none
    does if negative.
    """

    declaration: Declaration
    order: str
    factored: bool = False
    reciprocal: bool = False
    divided: str = "product"
    products_first: bool = False
    scale: int = 1
    decimals: bool = False
    planted: Mutation = NONE
    undeclared: Undeclared = USUAL
    tolerance: float = -1.0

    @property
    def maintained(self) -> str:
        """What is maintained besides a: weights where these are declared, or what is not declared."""
        return "weights" if self.declaration.weights is not None else self.undeclared.maintained
