"""The production solver, serial and distributed."""

from sstep_verify.solver.solver import ProductionSolver

__all__ = ["ProductionSolver"]
