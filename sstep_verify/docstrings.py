"""Docstrings that are shown to users, also by a Python that drops them (``python -OO``)."""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
from typing import Any


def docstring_of(thing: Any) -> str:
    """The docstring of a module or function, read from its source where it was dropped; or empty."""
    if thing.__doc__:
        return inspect.cleandoc(thing.__doc__)
    with contextlib.suppress(OSError, TypeError, SyntaxError):
        tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
        node: Any = tree if inspect.ismodule(thing) else tree.body[0]
        return ast.get_docstring(node) or ""
    return ""
