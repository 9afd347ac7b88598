"""Plant a defect in a module's own source, for the length of a ``with`` block.

The edited source is built into a second module, whose functions and classes then take the place of the
originals wherever a module of this project refers to them. Nothing is written to disk.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from unittest import mock

from sstep_verify import compiled as compiling

PROJECT = ("sstep_verify", "sstep_reference")


class PlantError(AssertionError):
    """The text to be replaced does not stand in the source exactly once."""


def edited_source(module: ModuleType, edits: list[tuple[str, str]]) -> str:
    """Source of a module with each old text, which must occur exactly once, replaced by the new one."""
    source = inspect.getsource(module)
    for old, new in edits:
        count = source.count(old)
        if count != 1:
            raise PlantError(
                f"{module.__name__} holds the text {old!r} {count} times, but a defect is planted where it "
                f"stands exactly once; adapt the plant to the source of {module.__file__}"
            )
        source = source.replace(old, new)
    return source


def edited_module(module: ModuleType, edits: list[tuple[str, str]]) -> ModuleType:
    """Build a module from edited source; its inner loops run as plain Python, uncompiled."""
    planted = ModuleType(module.__name__, module.__doc__)
    code = compile(edited_source(module, edits), f"<planted in {module.__name__}>", "exec")
    as_it_is = dict.fromkeys(("compiled", "inlined"), lambda function: function)
    with mock.patch.multiple(compiling, **as_it_is):
        exec(code, vars(planted))
    return planted


def _own(module: ModuleType) -> dict[str, object]:
    """Functions and classes that a module defines, compiled ones included."""
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    }


@contextmanager
def plant(module: ModuleType, *edits: tuple[str, str]) -> Iterator[ModuleType]:
    """Replace what a module defines by what its edited source defines, throughout the project.

    Parameters
    ----------
    module : module
        Where the defect is planted.
    *edits : (str, str)
        Old text, which must occur exactly once, and new text.

    Yields
    ------
    module
        The module built from the edited source.

    Raises
    ------
    PlantError
        If an old text is not there exactly once.
    """
    _import_all()
    planted = edited_module(module, list(edits))
    replaced = {id(original): vars(planted)[name] for name, original in _own(module).items()}
    held, restore = _held(), list[tuple[ModuleType, str, object]]()
    compiled = [(value, value.py_func) for _, _, value in held if hasattr(value, "py_func")]
    gone: set[int] = set()
    try:
        while replaced:
            changed = [one for one in held if id(one[2]) in replaced]
            for holder, attribute, value in changed:
                setattr(holder, attribute, replaced[id(value)])
            restore += changed
            gone |= replaced.keys()
            names = {(id(vars(holder)), attribute) for holder, attribute, _ in changed}
            callers = _callers(compiled, names)
            replaced = {place: source for place, source in callers.items() if place not in gone}
        yield planted
    finally:
        for holder, attribute, value in reversed(restore):
            setattr(holder, attribute, value)


@cache
def _import_all() -> None:
    """Import all modules of the project: one that is first imported within a block would keep its defect."""
    for package in map(importlib.import_module, PROJECT):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)


def _held() -> list[tuple[ModuleType, str, object]]:
    """All that the project's modules hold, with the name under which they do."""
    return [
        (holder, attribute, value)
        for name, holder in list(sys.modules.items())
        if isinstance(holder, ModuleType) and name.partition(".")[0] in PROJECT
        for attribute, value in list(vars(holder).items())
    ]


def _callers(compiled: list[tuple[object, object]], changed: set[tuple[int, str]]) -> dict[int, object]:
    """Compiled functions that call what was changed, and what they were compiled from.

    A compiled function goes on calling what stood there when it was compiled.
    """
    return {
        id(value): source
        for value, source in compiled
        if inspect.isfunction(source)
        and any((id(source.__globals__), name) in changed for name in source.__code__.co_names)
    }
