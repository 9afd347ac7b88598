"""What leaving out one quantity of the recurrence does to a at a window's end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import numpy as np

from sstep_verify import quantities
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import LocalWindow
from sstep_verify.rounding.block.repeats import redrawn


class Effects(Mapping[str, np.ndarray]):
    """Effects of the quantities that can act, by name: each is computed when it is first asked for."""

    def __init__(self, names: Iterable[str], effect: Callable[[str], np.ndarray]):
        self._names, self._effect = list(names), cache(effect)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        return self._effect(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def acting(problem: Problem, window: LocalWindow) -> list[str]:
    """Quantities that a window of this shape has at all; the others have no effect."""
    svm, distinct, steps = problem.is_svm, len(window.coordinates), len(window.draws)
    repeated = redrawn(window.draws)  # Within one block no increment corrects another.
    acting = {
        quantities.STALE: True,
        quantities.CURVATURE: True,
        quantities.SAMPLES: not svm,
        quantities.PENALTY: not svm,
        quantities.KERNEL: distinct > 1 if svm else steps > 1,
        quantities.SAME: repeated,
        quantities.OVERLAP: repeated,
        quantities.OMEGA: svm and problem.boxed.shift > 0,
        quantities.UPPER: svm and problem.boxed.upper < math.inf,
        quantities.OFF_DIAGONAL: len(window.draws[0]) > 1,
        quantities.LABELS: problem.loss.labelled,
        quantities.LOWER: svm and problem.boxed.lower > -math.inf,
        quantities.WRITE_BACK: True,
        quantities.BOUNDARY: True,
        quantities.STREAM: True,
    }
    return [name for name, acts in acting.items() if acts]
