"""Solvers by the name of a Python object, ``module:object``; they are not trusted with what is ours."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import sys
import traceback
from types import ModuleType
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.runs.floating_point import restore_with_warning
from sstep_verify.solver import Declaration, Observer, RunRequest, Solver
from sstep_verify.trajectory import Trajectory

NEEDED = (
    "needed is a solver, an object with a Declaration as declaration and a method run(request, observe); "
    "wrap a function in CallableSolver(function, Declaration(...))"
)
"""What is told of an object that is no solver."""


def is_foreign(name: str) -> bool:
    """Whether a name is that of a Python object: ``module:object``."""
    return ":" in name


class ForeignSolver:
    """A solver that is not trusted: `runs.make.make_run` gives it copies of inputs, and keeps its errors.

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


def _imported(name: str, where: str) -> ModuleType:
    """A module, imported as one that has no arguments: those of our own command are none of its business.

    Raises
    ------
    InputError
        If it cannot be imported, or ends the program while it is, as a script does.
    """
    arguments, printed = sys.argv, io.StringIO()
    sys.argv = [name]
    try:
        with contextlib.redirect_stderr(printed):  # A parser of arguments prints its usage there.
            found = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        places = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(f"{name}.py")]
        at = f" (line {places[-1].lineno} of {os.path.basename(places[-1].filename)})" if places else ""
        if isinstance(error, SystemExit):
            said = printed.getvalue().strip().splitlines()
            told = f"it ends the program while it is imported{at}: {said[-1] if said else _told(error)}"
        else:
            told = f"it cannot be imported: {_told(error)}{at}"
        script = isinstance(error, SystemExit) or "sys.argv" in (places[-1].line or "" if places else "")
        more = "; put what runs it as a program under: if __name__ == '__main__'" if script else ""
        raise InputError(f"{where} cannot be had: {told}{more}") from error
    finally:
        sys.argv = arguments
        restore_with_warning(f"after {name} was imported")
    sys.stderr.write(printed.getvalue())
    return found


def _told(error: BaseException) -> str:
    """Type and first line of an error."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"


def checked_solver(found: object, where: str) -> Solver:
    """An object that is a solver.

    Parameters
    ----------
    found : object
        What was handed in.
    where : str
        What it is, for messages.

    Raises
    ------
    InputError
        If it has no Declaration as `declaration` or no `run`, or is a class and no object of it.
    """
    if isinstance(found, type):
        raise InputError(f"{where} is the class {found.__name__}; {NEEDED}")
    if not isinstance(found, Solver) or not isinstance(found.declaration, Declaration):
        raise InputError(f"{where} is of type {type(found).__name__}; {NEEDED}")
    return found


def _makes_one(found: object) -> bool:
    """Whether an object can be called without arguments, as far as can be known before it is."""
    try:
        inspect.signature(found).bind()  # type: ignore[arg-type]
    except TypeError:
        return False
    except ValueError:  # Some built-in objects have no signature.
        return callable(found)
    return True


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
    found: Any = _imported(module_name, where)
    try:
        for attribute in path.split("."):
            found = getattr(found, attribute)
        is_maker = not isinstance(found, Solver) or isinstance(found, type)
        if is_maker and _makes_one(found):
            found, is_maker = found(), False
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{where} cannot be had: {_told(error)}") from error
    if is_maker:
        raise InputError(
            f"{where} is of type {type(found).__name__}, which cannot be called without arguments; {NEEDED}"
        )
    return ForeignSolver(checked_solver(found, where))
