"""The production solver, serial and distributed."""

from sstep_verify.production.solver import ProductionSolver

__all__ = ["ProductionSolver"]
