"""Solvers by the name of a Python object, ``module:object``; they are not trusted with what is ours."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.solver import Declaration, Observer, RunRequest, Solver
from sstep_verify.trajectory import Trajectory


def is_foreign(name: str) -> bool:
    """Whether a name is that of a Python object: ``module:object``."""
    return ":" in name


class ForeignSolver:
    """A solver that is not trusted: `made.make_run` gives it copies of all inputs, and keeps its errors.

    Parameters
    ----------
    inner : Solver
        The solver.
    """

    foreign = True

    def __init__(self, inner: Solver):
        self._inner = inner
        self.declaration = inner.declaration

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Let the solver make the run."""
        return self._inner.run(request, observe)


def load_solver(name: str) -> Solver:
    """The solver that a Python object is, or makes when called without arguments.

    Parameters
    ----------
    name : str
        ``module:object``; the module is looked for in the working folder too, and the object may be an
        attribute of another (``module:Class.make``).

    Raises
    ------
    InputError
        If the module cannot be imported, has no such object, or the object is no solver.
    """
    module_name, _, path = name.partition(":")
    where = f"solver {name!r}"
    if not module_name or not path:
        raise InputError(f"{where}: needed is module:object, such as my_solver:solver")
    if (folder := os.getcwd()) not in sys.path:
        sys.path.append(folder)
    try:
        found: Any = importlib.import_module(module_name)
        for attribute in path.split("."):
            found = getattr(found, attribute)
        if not isinstance(found, Solver) or isinstance(found, type):
            found = found()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        told = str(error).splitlines()[0] if str(error) else "no message"
        raise InputError(f"{where} cannot be had: {type(error).__name__}: {told}") from error
    if not isinstance(found, Solver) or not isinstance(found.declaration, Declaration):
        raise InputError(
            f"{where} is a {type(found).__name__}; needed is a solver, with a Declaration as "
            "declaration and run(request, observe), or what returns one when called without arguments"
        )
    return ForeignSolver(found)
