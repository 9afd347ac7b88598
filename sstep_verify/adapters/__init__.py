"""Adapters: other solvers made to look like a `Solver`."""

from sstep_verify.adapters.callable import CallableSolver
from sstep_verify.adapters.reference import ReferenceSolver

__all__ = ["CallableSolver", "ReferenceSolver"]
