"""The production solver, serial and distributed."""

from sstep_verify.solvers.production.solver import ProductionSolver

__all__ = ["ProductionSolver"]
