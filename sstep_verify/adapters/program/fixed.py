"""What a program has fixed: sizes, parameters, tasks and kernels that it knows no other values of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sstep_verify.errors import InputError, closest
from sstep_verify.problems import Kernel
from sstep_verify.problems.kernels import KERNELS
from sstep_verify.problems.losses import TASKS

WHOLE = ("degree", "b", "H", "m", "n")
"""Whole numbers that may be fixed, each at least 1."""

REAL = {"sigma": True, "C": True, "lambda": True, "offset": False}
"""Real numbers that may be fixed, and whether each must be above 0."""

WORDS = {"task": tuple(TASKS), "kernel": tuple(KERNELS)}
"""Names that may be fixed: one, or a list."""


@dataclass(frozen=True)
class Fixed:
    """What a program has fixed, such as constants of its source: only problems that have it are made.

    `values` are by the name that stands for them in the braces of a command: task, kernel, degree, offset,
    sigma, C, lambda, b, H, m, n. What is absent may have any value; an unknown name, or a value out of
    range, is an InputError.
    """

    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = (*WORDS, *WHOLE, *REAL)
        for name, value in self.values.items():
            if name not in known:
                raise InputError(
                    f"fixed: {name!r} is unknown{closest(name, known)}; known: {', '.join(known)}"
                )
            if wanted := self._wanted(name, value):
                raise InputError(f"fixed: {name} = {value!r:.40}, but it must be {wanted}")

    def _wanted(self, name: str, value: Any) -> str:
        """What a value must be; empty if it is that."""
        if name in WORDS:
            right = self.names(name) and set(self.names(name)) <= set(WORDS[name])
            return "" if right else f"one or several of {', '.join(WORDS[name])}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "a number"
        if name in WHOLE:
            return "" if isinstance(value, int) and 0 < value < 2**31 else "a whole number, 1 to 2^31 - 1"
        if math.isfinite(value) and (value > 0 or not REAL[name]):
            return ""
        return "a number > 0" if REAL[name] else "a finite number"

    def names(self, name: str) -> tuple[str, ...]:
        """Tasks or kernels that are fixed; all if none is."""
        value = self.values.get(name, WORDS[name])
        return tuple(value) if isinstance(value, list | tuple) else (value,)

    def kernel(self, given: Kernel) -> Kernel:
        """A kernel with the parameters that are fixed."""
        own = {item.name for item in fields(given)} & {"degree", "offset", "sigma"}
        return replace(given, **{name: self.values[name] for name in own & set(self.values)})

    def misfit(self, samples: int, features: int) -> str:
        """The first size of data that is fixed otherwise, as ``m = 4, not 5``; empty if it fits."""
        sizes = {"m": samples, "n": features}
        wrong = [name for name, size in sizes.items() if self.values.get(name, size) != size]
        return f"{wrong[0]} = {self.values[wrong[0]]}, not {sizes[wrong[0]]}" if wrong else ""

    def penalty(self, task: str) -> tuple[float, ...]:
        """C or lambda of a task, if it is fixed."""
        name = "lambda" if task == "krr" else "C"
        return (float(self.values[name]),) if name in self.values else ()
