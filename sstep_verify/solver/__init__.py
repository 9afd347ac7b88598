"""The production solver, serial and distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sstep_verify.solver.run import ProductionSolver

__all__ = ["ProductionSolver"]


def __getattr__(name: str) -> object:
    """The solver where it is asked for: ranks that only communicate load no compiler."""
    if name != "ProductionSolver":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sstep_verify.solver.run import ProductionSolver

    return ProductionSolver
