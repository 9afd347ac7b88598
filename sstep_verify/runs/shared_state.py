"""What all code of a process shares, and a solver may replace: looked at before a run, put back after."""

from __future__ import annotations

import builtins
import math
import os
import sys
from collections.abc import Mapping
from types import ModuleType

import numpy as np
import scipy.linalg

MODULES: tuple[ModuleType, ...] = (builtins, math, os, np, np.linalg, scipy.linalg)
"""Modules whose functions judges call."""

LIMIT = "the recursion limit"


class SharedState:
    """Names of `MODULES` with what they stand for now, and the recursion limit."""

    def __init__(self) -> None:
        self._limit = sys.getrecursionlimit()
        self._names: list[tuple[ModuleType, Mapping[str, object]]] = [
            (module, dict(vars(module))) for module in MODULES
        ]

    def put_back(self) -> tuple[str, ...]:
        """Put back what is no longer what it was, and say what that was; a name that is new stays."""
        replaced = []
        if sys.getrecursionlimit() != self._limit:
            if sys.getrecursionlimit() < self._limit:  # A higher one harms nobody.
                replaced.append(LIMIT)
            sys.setrecursionlimit(self._limit)
        for module, names in self._names:
            now = vars(module)
            for name, value in names.items():
                if name not in now or now[name] is not value:
                    replaced.append(f"{module.__name__}.{name}")
                    setattr(module, name, value)
        return tuple(replaced)
