"""Which solver a family tests: its name, its options, and the variants that some checks compare with."""

from __future__ import annotations

from sstep_verify.errors import InputError
from sstep_verify.solver import Solver
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from sstep_verify.solvers.production import ProductionSolver

NAMES = ("production", "reference", "reference-classical")


def make_solvers(
    name: str, *, precision: str, update: str, keep_gram: bool, rbf: str = "norm-expansion"
) -> dict[str, Solver]:
    """The solver under test under the empty name, and its variants by theirs.

    Parameters
    ----------
    name : {"production", "reference", "reference-classical"}
        Which solver.
    precision : {"float32", "float64", "longdouble"}
        Arithmetic of the reference; the production solver has float64 only.
    update : {"in-place", "frozen"}
        Form of the production solver's update.
    keep_gram : bool
        Whether the production solver keeps the whole Gram matrix.
    rbf : {"norm-expansion", "difference"}
        How the production solver forms squared distances; the reference takes differences.

    Raises
    ------
    InputError
        If the name is unknown, or the production solver is asked for another precision.
    """
    if name not in NAMES:
        raise InputError(f"solver {name!r} is unknown; known: {', '.join(NAMES)}")
    if name == "production":
        if precision != "float64":
            raise InputError(f"precision = {precision!r}, but the production solver has float64 only")
        return {
            "": ProductionSolver(update=update, rbf=rbf, keep_gram=keep_gram),
            "panels" if keep_gram else "gram": ProductionSolver(
                update=update, rbf=rbf, keep_gram=not keep_gram
            ),
        }
    return {"": ReferenceSolver(precision, "classical" if name.endswith("classical") else "sstep")}
