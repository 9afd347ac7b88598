"""Conventions: how a and its coordinates, as a program has them, become ours, and ours become its.

With the program's v and our a, of coordinate i at its place k: ``a_i = scale sign_i v_k``. A sign, and a
scale that is a power of two, change no rounding of any correct recurrence, so that all of it can be judged.
With any other scale the program's recurrence is another one in float64: what its constants may be off by
enters the bounds (`Formulas.scaled`, rounding/kernel/entries.py), and our a is known up to the rounding
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

from sstep_verify.errors import InputError, NoResultError, RefusedError
from sstep_verify.problems import Problem
from sstep_verify.protocol import RunRequest

PARAMETERS = {"m": "", "C": "svm", "lambda": "krr"}
"""Parameters that a scale may be, themselves or as ``1/NAME``, and the tasks that have them."""

SVM = ("svm-l1", "svm-l2")

FARTHEST = 64
"""Binary exponents of scales lie between this and its negative."""

SCALES = [*PARAMETERS, *map("1/{}".format, PARAMETERS)]
"""What a scale may be by name."""


@dataclass(frozen=True, eq=False)
class Translation:
    """From a program's a and coordinates to ours, for one problem.

    `factor` is the scale, `signs` (m,) the sign of each of our coordinates, `order` (int64, (m,)) our
    number of each of its coordinates.
    """

    factor: Fraction
    signs: np.ndarray
    order: np.ndarray

    @property
    def exact(self) -> bool:
        """Whether the scale is a power of two."""
        top, bottom = self.factor.numerator, self.factor.denominator
        return top & (top - 1) == 0 and bottom & (bottom - 1) == 0

    def ours(self, values: np.ndarray, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A program's values as ours, and how far each is from the exact product, of their shape.

        `coordinates` are our numbers of theirs, of their shape or of that of their last axis. ProgramError
        if a power of two scales a value beyond the range of float64.
        """
        signed = values * self.signs[coordinates]
        scaled = _times(signed, self.factor)
        if not self.exact:
            with np.errstate(invalid="ignore"):
                return scaled, np.nan_to_num(np.spacing(np.abs(scaled)), nan=0.0, posinf=0.0)
        if not np.array_equal(_times(scaled, 1 / self.factor), signed, equal_nan=True):
            raise NoResultError(f"a value times scale = {float(self.factor)!r} leaves the range of float64")
        return scaled, np.zeros(values.shape)

    def into(self, other: Translation) -> Translation:
        """From what this made of a program's words to what another makes of them.

        Its `order` tells, of each coordinate of the other, which of this it was.
        """
        order = np.empty_like(self.order)
        order[other.order] = self.order
        return Translation(other.factor / self.factor, other.signs * self.signs[order], order)

    def reach(self, rounding: np.ndarray) -> np.ndarray:
        """How far our values may be off where the program's were rounded by so much."""
        return rounding if self.factor == 1 else rounding * (float(self.factor) * (1 + 2.0**-50))

    def theirs(self, alpha: np.ndarray) -> np.ndarray:
        """Our a as the program has it, shape (m,)."""
        return _times((self.signs * alpha)[self.order], 1 / self.factor) + 0.0  # None is -0.

    def numbers(self, blocks: np.ndarray) -> np.ndarray:
        """Our coordinates by the program's numbers, of the same shape."""
        return np.argsort(self.order)[blocks]


def _times(values: np.ndarray, factor: Fraction) -> np.ndarray:
    """Each value times a factor, rounded once."""

    def product(value: float) -> float:
        if not math.isfinite(value):
            return value
        try:
            return float(Fraction(value) * factor)
        except OverflowError:
            return math.copysign(math.inf, value)

    if factor == 1:
        return values
    return np.array([product(value) for value in values.ravel().tolist()]).reshape(values.shape)


@dataclass(frozen=True)
class Conventions:
    """Where a program's words for a differ from ours; a scale or sign that is none is an InputError.

    Its a times `scale` (> 0, or one of `SCALES`) is ours; `sign` -1: its a is the negative of ours;
    labels: its a carries them, ``y_i a_i`` (K-SVM). In the `order` by-class it numbers samples with the
    label 1 before those with -1, each in the order given (LIBLINEAR groups classes in order of their
    first appearance, but puts 1 before -1). `counts` is what ``{H}`` counts in its arguments; an epoch
    is ``m // b`` iterations. With the `start` zero it takes no a0. `rows` is what the kernel rows hold
    that it leaves: K(x_i, x_l), or Q = y_i y_l K(x_i, x_l) (K-SVM). `data` says whether one in float32
    rounds its data, targets and parameters to float32 first, or uses them as they are given.
    """

    scale: int | float | str = 1
    sign: int | str = 1
    order: Literal["given", "by-class"] = "given"
    counts: Literal["iterations", "windows", "epochs"] = "iterations"
    start: Literal["given", "zero"] = "given"
    rows: Literal["K", "Q"] = "K"
    data: Literal["rounded", "given"] = "rounded"

    def __post_init__(self) -> None:
        if isinstance(self.scale, str):
            if self.scale not in SCALES:
                raise InputError(f"scale = {self.scale!r:.40}; known: {', '.join(SCALES)}, or a number > 0")
        elif not (0 < self.scale < 2**FARTHEST and 1 / self.scale < 2**FARTHEST):
            raise InputError(
                f"scale = {self.scale!r:.40}, but it must lie between 2^-{FARTHEST} and 2^{FARTHEST}; "
                "declare another sign by sign = -1"
            )
        if self.sign not in (1, -1, "labels") or isinstance(self.sign, bool):
            raise InputError(f"sign = {self.sign!r:.40}, but it must be 1, -1 or 'labels'")

    @property
    def exact(self) -> bool:
        """Whether nothing is rounded: the scale is a power of two."""
        return not isinstance(self.scale, str) and math.frexp(self.scale)[0] == 0.5

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that have what these conventions name: labels, C or lambda."""
        named = PARAMETERS.get(str(self.scale).removeprefix("1/"), "")
        if self.sign == "labels" or self.order == "by-class" or self.rows == "Q" or named == "svm":
            return SVM if named != "krr" else ()
        return ("krr",) if named == "krr" else (*SVM, "krr")

    def of(self, problem: Problem) -> Translation:
        """The translation for a problem; RefusedError if it has no such parameter, or no labels."""
        if problem.loss.task not in self.tasks:
            raise RefusedError(
                f"scale = {self.scale!r}, sign = {self.sign!r}, order = {self.order!r}, "
                f"rows = {self.rows!r}: {problem.loss.task} has no such parameter, or no "
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
        """Conventions that differ in one word, of the order of samples if it may, and that word."""
        known: dict[str, list[object]] = {"sign": [1, -1, "labels"], "scale": [1, *SCALES]}
        if reordered:
            known["order"] = ["given", "by-class"]
        for key, values in known.items():
            for value in values:
                if value != getattr(self, key):
                    changed: Any = {key: value}
                    yield f"{key} = {json.dumps(value)}", replace(self, **changed)

    def counted(self, request: RunRequest) -> int:
        """The iterations of a run as the program counts them; RefusedError if that is no whole number."""
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
