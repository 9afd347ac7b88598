"""Keeps files of the working folder from hiding Python's own modules, and names those that do.

A command begins with this module: it imports nothing that Python has not loaded when it starts.
"""

from __future__ import annotations

import os
import sys

NAMES = frozenset(sys.stdlib_module_names) - {"distutils"}
"""Modules of the standard library; an installed package may put its own `distutils` there."""

SAFE_PATH = "PYTHONSAFEPATH"
"""Variable by which Python starts without the working folder among those of modules."""

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def is_of_working_folder() -> bool:
    """Whether this package itself is that of the working folder, as in a clone without installation."""
    try:
        return os.path.realpath(os.path.dirname(PACKAGE)) == os.path.realpath(os.getcwd())
    except OSError:  # The working folder is gone.
        return False


def put_working_folder_last() -> None:
    """Look into the working folder last, which ``python -m`` puts first; a clone's own stays there.

    The command ``sstep-verify`` looks there last, too, once it needs a module of the user.
    """
    try:
        first = bool(sys.path) and sys.path[0] == os.getcwd()
    except OSError:
        return
    if first and not sys.flags.safe_path and not is_of_working_folder():
        sys.path.append(sys.path.pop(0))


def without_working_folder() -> list[str]:
    """Options of Python for a process that uses this package, and needs nothing of the working folder."""
    return [] if is_of_working_folder() else ["-P"]


def hiding(error: BaseException) -> str:
    """What is to be said of a file that has the name of a module of Python, if an error is about it.

    Empty where it is not: where the error neither names such a module nor was raised in one.
    """
    own = os.path.realpath(os.path.dirname(os.__file__)) + os.sep
    # An ImportError has the name of the module, an AttributeError the module itself.
    about = {getattr(error, "name", None), getattr(getattr(error, "obj", None), "__name__", None)}
    files = [getattr(sys.modules.get(name), "__file__", None) for name in NAMES & about]
    named = [file for file in files if file]
    place = error.__traceback__
    while place is not None:
        file = place.tb_frame.f_code.co_filename
        # One that failed is no longer among the loaded modules.
        if _name_of(file) in NAMES and os.path.dirname(os.path.abspath(file)) in map(
            os.path.abspath, sys.path
        ):
            named.append(file)
        place = place.tb_next
    for file in named:
        if not os.path.realpath(file).startswith(own) and "lib-dynload" not in file:
            return f"{file} hides Python's own module {_name_of(file)}; rename that file"
    return ""


def _name_of(file: str) -> str:
    """The module that a file is: of ``__init__.py`` the package, else that of its name."""
    stem = os.path.basename(file).partition(".")[0]
    return os.path.basename(os.path.dirname(file)) if stem == "__init__" else stem
