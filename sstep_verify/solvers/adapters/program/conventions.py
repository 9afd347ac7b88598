"""Conventions: how a and its coordinates, as a program has them, become ours, and ours become its.

With the program's v and our a, of coordinate i at its place k: ``a_i = scale sign_i v_k``. A sign, and a
scale that is a power of two, change no rounding of any correct recurrence, so that all of it can be judged.
With any other scale the program's recurrence is another one in float64: what its constants may be off by
enters the bounds (`Declaration.scaled`, rounding/kernel/entries.py), and our a is known up to the rounding
of one product, which is formed exactly here and rounded once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sstep_verify.errors import InputError, RefusedError
from sstep_verify.problems import Problem
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.program.translation import FARTHEST, Translation

PARAMETERS = {"m": "", "C": "svm", "lambda": "krr"}
"""What a scale may be by name, itself or as ``1/NAME``, and the tasks that have it."""

SVM = ("svm-l1", "svm-l2")


@dataclass(frozen=True)
class Conventions:
    """Where a program's words for a differ from ours.

    Parameters
    ----------
    scale : number or {"m", "1/m", "C", "1/C", "lambda", "1/lambda"}
        Its a times this is ours; > 0.
    sign : {1, -1, "labels"}
        -1: its a is the negative of ours; labels: its a carries them, ``y_i a_i`` (K-SVM).
    order : {"given", "by-class"}
        How it numbers samples. by-class: those with the label 1 before those with -1, each in the order
        given. LIBLINEAR groups classes in order of their first appearance, but puts 1 before -1.
    counts : {"iterations", "windows", "epochs"}
        What ``{H}`` is in its arguments; an epoch is ``m // b`` iterations.
    start : {"given", "zero"}
        zero: it takes no a0.
    panel : {"K", "Q"}
        What the kernel rows hold that it leaves as probes: K(x_i, x_l), or y_i y_l K(x_i, x_l) (K-SVM).

    Raises
    ------
    InputError
        If the scale or sign is none of these.
    """

    scale: int | float | str = 1
    sign: int | str = 1
    order: Literal["given", "by-class"] = "given"
    counts: Literal["iterations", "windows", "epochs"] = "iterations"
    start: Literal["given", "zero"] = "given"
    panel: Literal["K", "Q"] = "K"

    def __post_init__(self) -> None:
        names = [*PARAMETERS, *(f"1/{name}" for name in PARAMETERS)]
        if isinstance(self.scale, str):
            if self.scale not in names:
                raise InputError(f"scale = {self.scale!r:.40}; known: {', '.join(names)}, or a number > 0")
        elif not (0 < self.scale < 2**FARTHEST and 1 / self.scale < 2**FARTHEST):
            raise InputError(
                f"scale = {self.scale!r:.40}, but it must lie between 2^-{FARTHEST} and 2^{FARTHEST}; the "
                "sign is told by sign = -1"
            )
        if self.sign not in (1, -1, "labels") or isinstance(self.sign, bool):
            raise InputError(f"sign = {self.sign!r:.40}, but it must be 1, -1 or 'labels'")

    @property
    def exact(self) -> bool:
        """Whether nothing is rounded: the scale is a power of two."""
        return not isinstance(self.scale, str) and math.frexp(self.scale)[0] == 0.5

    @property
    def plain(self) -> bool:
        """Whether its a, and so its gradients and increments, are ours as they stand."""
        return self.exact and self.scale == 1 and self.sign == 1 and self.order == "given"

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that have what these conventions name: labels, C or lambda."""
        named = PARAMETERS.get(str(self.scale).removeprefix("1/"), "")
        if self.sign == "labels" or self.order == "by-class" or self.panel == "Q" or named == "svm":
            return SVM if named != "krr" else ()
        return ("krr",) if named == "krr" else (*SVM, "krr")

    def of(self, problem: Problem) -> Translation:
        """The translation for a problem.

        Raises
        ------
        RefusedError
            If the problem has no such parameter, or no labels.
        """
        if problem.loss.task not in self.tasks:
            raise RefusedError(
                f"scale = {self.scale!r}, sign = {self.sign!r}, order = {self.order!r}, "
                f"panel = {self.panel!r}: {problem.loss.task} has no such parameter, or no "
                "labels; ask for the tasks that the program is for (--task)"
            )
        signs = problem.targets if self.sign == "labels" else np.full(problem.samples, float(self.sign))
        order = np.arange(problem.samples)
        if self.order == "by-class":
            order = np.argsort(-problem.targets, kind="stable")
        factor = self._factor(problem)
        if not Fraction(1, 2**FARTHEST) < factor < 2**FARTHEST:
            raise RefusedError(
                f"scale = {self.scale!r} is {float(factor):.3g} here, but bounds are derived for scales "
                f"between 2^-{FARTHEST} and 2^{FARTHEST}"
            )
        return Translation(factor, signs, order)

    def _factor(self, problem: Problem) -> Fraction:
        if not isinstance(self.scale, str):
            return Fraction(self.scale)
        name = self.scale.removeprefix("1/")
        value = Fraction(problem.samples if name == "m" else problem.loss.parameter)
        return 1 / value if self.scale.startswith("1/") else value

    def others(self, *, reordered: bool) -> Iterator[tuple[str, Conventions]]:
        """Conventions that differ in one word, and that word as a program file has it.

        Parameters
        ----------
        reordered : bool
            Whether the order of samples may differ as well.
        """
        names = [*PARAMETERS, *(f"1/{name}" for name in PARAMETERS)]
        known: dict[str, list[object]] = {"sign": [1, -1, "labels"], "scale": [1, *names]}
        if reordered:
            known["order"] = ["given", "by-class"]
        for key, values in known.items():
            for value in values:
                if value != getattr(self, key):
                    changed: Any = {key: value}
                    yield f"{key} = {json.dumps(value)}", replace(self, **changed)

    def counted(self, request: RunRequest) -> int:
        """The iterations of a run as the program counts them.

        Raises
        ------
        RefusedError
            If they are no whole number of what it counts.
        """
        unit = {"iterations": 1, "windows": request.s, "epochs": epoch_of(request)}[self.counts]
        if request.iterations % unit:
            raise RefusedError(
                f"it counts {self.counts} of {unit} iterations, but the run is to make "
                f"{request.iterations}, which is no whole number of them"
            )
        return request.iterations // unit


def epoch_of(request: RunRequest) -> int:
    """Iterations of an epoch: so many whole blocks are in m coordinates."""
    return request.problem.samples // request.stream.block
