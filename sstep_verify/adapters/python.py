"""Solvers by the name of a Python object, ``module:object``; they are not trusted with what is ours.

Which code such a solver is, a digest of its files tells, and so two of them apart.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import io
import os
import secrets
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterable, Iterator
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from sstep_verify.errors import InputError, closest
from sstep_verify.floating_point import restore_with_warning, state_of_caller
from sstep_verify.protocol import NEEDED, ExternalSolver, Solver, checked_solver

OURS = ["sstep_verify", "sstep_reference"]
"""Packages whose version and commit are stated anyway."""

SUFFIXES = (".py", ".so", ".pyd")

MOST_MEANT = 4
"""Objects of a file that a message names."""


def _imported(name: str, where: str) -> ModuleType:
    """A module, imported as one that has no arguments: those of our own command are none of its business.

    InputError if it cannot be imported, or ends the program while it is, as a script does.
    """
    arguments, printed = sys.argv, io.StringIO()
    sys.argv = [name]
    try:
        # A parser of arguments prints its usage on standard error.
        with contextlib.redirect_stderr(printed), state_of_caller(keep=True), _exits_raised():
            found = importlib.import_module(name)
    except (Exception, SystemExit) as error:
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
    if sys.stderr is not None:
        sys.stderr.write(printed.getvalue())
    return found


@contextlib.contextmanager
def _exits_raised() -> Iterator[None]:
    """Let `os._exit` raise in this process: it would end the command without a word, by its own code."""
    exit_at_once, own = os._exit, os.getpid()

    def raised(status: int) -> NoReturn:
        if os.getpid() != own:  # A process that the module forked may end.
            exit_at_once(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = raised
    try:
        yield
    finally:
        os._exit = exit_at_once


def _told(error: BaseException) -> str:
    """Type and first line of an error."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"


def _makes_one(found: object) -> bool:
    """Whether an object can be called without arguments, as far as can be known before it is."""
    try:
        inspect.signature(found).bind()  # type: ignore[arg-type]
    except TypeError:
        return False
    except ValueError:  # Some built-in objects have no signature.
        return callable(found)
    return True


def objects_in(path: Path) -> list[str]:
    """Names that the top level of a Python file gives to what it makes, solvers first; nothing is run.

    A solver is what a call makes, such as ``CallableSolver(...)``, a class or a function without arguments
    may make one. Empty where the file cannot be read.
    """
    try:
        lines = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    made = [
        (one.id, "Solver" in ast.unparse(line.value.func))
        for line in lines
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Call)
        for one in line.targets
        if isinstance(one, ast.Name)
    ]
    makers = [
        (line.name, False)
        for line in lines
        if isinstance(line, ast.ClassDef) or (isinstance(line, ast.FunctionDef) and not line.args.args)
    ]
    found = sorted([*made, *makers], key=lambda one: not one[1])
    return [name for name, _ in found if not name.startswith("_")]


def meant_by_file(name: str) -> str:
    """What is meant by a Python file in place of ``module:object``; empty if a name is none."""
    path = Path(name) if name.endswith(".py") else Path(f"{name}.py")
    if not path.is_file():
        return ""
    file = os.path.relpath(path.with_suffix(""))
    module = os.path.basename(file) if file.startswith(os.pardir) else file.replace(os.sep, ".")
    found = objects_in(path)
    objects = " or ".join(f"{module}:{one}" for one in found[:MOST_MEANT])
    if not objects:
        return f"did you mean {module}:OBJECT? {NEEDED}"
    more = f" ({path} holds {len(found)} objects)" if len(found) > MOST_MEANT else ""
    return f"did you mean {objects}?{more}"


def load_solver(name: str) -> Solver:
    """The solver that a Python object is, or makes when called without arguments.

    The module of ``module:object`` is looked for in the working folder too, and the object may be an
    attribute of another (``module:Class.make``). InputError if there is none, or it is no solver.
    """
    module_name, _, path = name.partition(":")
    where = f"solver {name!r}"
    if not module_name or not path:
        meant = meant_by_file(module_name) if module_name else ""
        raise InputError(
            f"{where}: names no object of a module; {meant or 'write module:object, as my_solver:solver'}"
        )
    if module_name.endswith(".py") or os.sep in module_name:
        file = os.path.relpath(module_name.removesuffix(".py"))
        module = os.path.basename(file) if file.startswith(os.pardir) else file.replace(os.sep, ".")
        raise InputError(
            f"{where}: {module_name} is a file, and a module is named without folder and ending; write "
            f"{module}:{path}, in the folder that the module is imported from"
        )
    if (folder := os.getcwd()) not in sys.path:
        sys.path.append(folder)
    found: Any = _imported(module_name, where)
    try:
        with state_of_caller(keep=True):
            for attribute in path.split("."):
                if not hasattr(found, attribute):
                    raise _without(found, attribute, module_name, where)
                found = getattr(found, attribute)
            is_maker = not isinstance(found, Solver) or isinstance(found, type)
            if is_maker and _makes_one(found):
                found, is_maker = found(), False
    except InputError as error:
        if str(error).startswith(where):
            raise
        raise InputError(f"{where} cannot be had: {_told(error)}") from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{where} cannot be had: {_told(error)}") from error
    if is_maker:
        raise InputError(
            f"{where} is of type {type(found).__name__}, which cannot be called without arguments; {NEEDED}"
        )
    return ExternalSolver(checked_solver(found, where))


def _without(found: object, attribute: str, module: str, where: str) -> InputError:
    """The error of an object that is not there, with one that is like it, or those that are solvers."""
    if not isinstance(found, ModuleType):
        return InputError(f"{where} cannot be had: {type(found).__name__} has no {attribute!r}")
    if hides := _hides_own(module):
        return InputError(f"{where} cannot be had: module {module!r} is {hides}")
    public = [name for name in vars(found) if not name.startswith("_")]
    solvers = [name for name in public if isinstance(getattr(found, name), Solver)]
    meant = closest(attribute, public) or (f"; solvers in it: {', '.join(solvers)}" if solvers else "")
    return InputError(f"{where} cannot be had: module {module!r} has no {attribute!r}{meant}")


def _hides_own(module: str) -> str:
    """Where a module is from, if a file of the working folder has its name, too; else an empty text."""
    first = module.partition(".")[0]
    own = next((file for file in (f"{first}.py", first) if os.path.exists(file)), "")
    place = getattr(sys.modules.get(first), "__file__", None)
    if not own or (place and os.path.realpath(place).startswith(os.path.realpath(own))):
        return ""
    return f"{place or 'a part of Python'}, which comes before {own} of the working folder; rename {own}"


def digest_of_code(name: str) -> str:
    """SHA-256 of the files of a solver's module, and of those that it imports and nobody has installed.

    Imports are read from the code, also those inside functions; nothing is run. What is installed is known
    by its version; what code reads in another way, such as a file, cannot be known. Where the files cannot
    be found, it is a number drawn now, which no other is equal to.
    """
    module = name.partition(":")[0]
    found = hashlib.sha256()
    try:
        for key, path in sorted(_files(module)):
            found.update(f"{key} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    except (ImportError, SyntaxError, ValueError, OSError, AttributeError):
        return secrets.token_hex(32)
    return found.hexdigest()


def _files(module: str) -> Iterable[tuple[str, Path]]:
    """Names and files of the modules that a module is made of."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        raise ImportError(module)
    folder = Path(spec.submodule_search_locations[0]) if spec.submodule_search_locations else None
    if _is_installed(spec.origin):
        files = folder.rglob("*") if folder else [Path(spec.origin)]
        return [(path.name, path) for path in files if path.suffix in SUFFIXES]
    root = str((folder or Path(spec.origin)).parent)
    finder = ModuleFinder([root, *(path for path in sys.path if not _is_installed(path))], excludes=OURS)
    with warnings.catch_warnings(action="ignore"):
        finder.import_hook(module)
    found = {key: vars(one)["__file__"] for key, one in finder.modules.items()}
    return [(key, Path(file)) for key, file in found.items() if file]


def _is_installed(path: str) -> bool:
    """Whether a file or folder belongs to this Python, or was installed next to it."""
    places = (Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return any(Path(path).resolve().is_relative_to(place.resolve()) for place in places)
