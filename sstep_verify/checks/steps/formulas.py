"""Wrong formulas that explain some wrong steps of a run: a table, each with its name in the specification.

Each is tried on a few wrong steps, spread over the run, in NumPy: it needs what the compiled passes do not
keep, such as labels, increments by their draws and the rows of other coordinates. A formula is named where
it reproduces the logged values within the bound of the step, twice: its sums and the judge's differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sstep_verify.bounds.step.clip import ClipConstants
from sstep_verify.checks.steps.judged import JudgedRun
from sstep_verify.checks.steps.kept import BEFORE, NEW, OWN_ENTRY, UNCLIPPED
from sstep_verify.diagnosis.factors import ENOUGH, at_end
from sstep_verify.rounding.box import finish
from sstep_verify.verdict import DETECTION_FACTOR

STEPS = 24
"""Wrong steps on which formulas are tried, at most.

This number, `SHARE` and `ENOUGH` choose names, and no verdict. With any of them a formula reproduces every
step that counts for its name within twice the bound, where the correct step is not as near; by chance that
has the probability of the bound over the length of the box.
"""

SHARE = 0.9
"""Share of them that a formula must reproduce to be named; what else is wrong may spoil the others."""

ROW_ENTRIES = 1 << 18
"""Kernel entries of a window up to which the rows of its other coordinates are tried."""

OTHER_ROW = "kernel row of another coordinate"
EARLIER_WINDOWS = "increments of coordinates of earlier windows left out"
ROUNDED = "increments of the correction rounded to float32"
STALE_ALPHA = "stale-alpha"


@dataclass(frozen=True, eq=False)
class WrongStep:
    """One wrong step, with what was known before it.

    Parameters
    ----------
    judged : JudgedRun
        The run.
    iteration : int
        Iterations made before the step.
    """

    judged: JudgedRun
    iteration: int

    @property
    def begin(self) -> int:
        """Iterations made before its window."""
        return self.iteration // self.judged.trajectory.s * self.judged.trajectory.s

    @cached_property
    def signs(self) -> np.ndarray:
        """Labels, or ones, shape (m,)."""
        return self.judged.case.problem.signs

    @cached_property
    def start(self) -> np.ndarray:
        """Alpha at the window's start, shape (m,)."""
        return self.judged.judge.alpha_before(self.judged.trajectory, self.begin).copy()

    @cached_property
    def drawn(self) -> np.ndarray:
        """The coordinates that it drew, shape (b,)."""
        return self.judged.step(self.iteration)[0]

    @cached_property
    def rows(self) -> np.ndarray:
        """Their kernel rows, shape (b, m)."""
        return self.judged.judge.rows.entries(self.drawn).values

    @cached_property
    def earlier(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and increments of the earlier draws of the window, one behind the other."""
        draws, log = self.judged.judge.logged(self.judged.trajectory, self.begin, self.iteration)
        alpha, increments = self.start.copy(), np.zeros(log.shape)
        for step, (block, values) in enumerate(zip(draws, log, strict=True)):
            increments[step] = values - alpha[block]
            alpha[block] = values
        return draws.ravel(), increments.ravel()

    @cached_property
    def known(self) -> np.ndarray:
        """Of each earlier draw of the window whether an earlier window drew its coordinate."""
        judged, known = self.judged, np.zeros(self.start.size, dtype=bool)
        known[judged.judge.logged(judged.trajectory, 0, self.begin)[0].ravel()] = True
        return known[self.earlier[0]]

    @cached_property
    def alpha(self) -> np.ndarray:
        """Alpha before the step, shape (m,)."""
        return self.judged.judge.alpha_before(self.judged.trajectory, self.iteration).copy()

    @cached_property
    def window(self) -> np.ndarray:
        """The distinct coordinates that its window draws."""
        trajectory = self.judged.trajectory
        end = min(self.begin + trajectory.s, trajectory.length)
        return np.unique(self.judged.judge.logged(trajectory, self.begin, end)[0])

    @cached_property
    def _kept(self) -> tuple[np.ndarray, Any, Any]:
        """What was kept of it, its bound, and the constants of the bounds."""
        passed = self.judged.judge.passed(self.judged.trajectory, self.iteration)
        last, kept = len(passed.segment.draws) - 1, passed.kept
        constants = passed.clip or passed.solve
        if passed.clip is not None:
            return kept.table[last, 0].copy(), passed.tally.bound[last], constants
        solved = kept.residual[last].copy() if kept.solved[last] else np.full(self.drawn.size, np.nan)
        return solved, kept.left[last].copy(), constants

    def correction(self, chosen: np.ndarray | slice = slice(None), signed: bool = True) -> np.ndarray:
        """What the chosen increments of the window add to the products, shape (b,), without its label.

        Increments are times their labels where `signed`.
        """
        coordinates, increments = (values[chosen] for values in self.earlier)
        signs = self.signs[coordinates] if signed else 1.0
        return self.rows[:, coordinates] @ (signs * increments)

    def free(self) -> bool:
        """Whether its value tells more than its side of the box."""
        constants = self._kept[2]
        logged = self.judged.step(self.iteration)[1][0]
        return not (isinstance(constants, ClipConstants) and at_end(constants.box, logged, self._kept[1]))

    def reproduced(self, added: np.ndarray, curvature: float | None = None) -> bool:
        """Whether a product that is larger by so much, shape (b,), leads to the logged values.

        The product has its label, or is over lambda; another `curvature` is for a K-SVM.
        """
        kept, bound, constants = self._kept
        if not isinstance(constants, ClipConstants):
            if not (np.abs(kept) > DETECTION_FACTOR * bound).any():
                return False  # The step as it should be is as near.
            return bool((np.abs(kept - added) <= DETECTION_FACTOR * bound).all())
        logged, whole = self.judged.step(self.iteration)[1][0], kept[OWN_ENTRY] + constants.shift
        if not (kept[UNCLIPPED] < np.inf and whole > 0.0):
            return False
        divisor = whole if curvature is None else curvature + constants.shift
        if not divisor > 0.0 or (curvature is not None and constants.box.threshold):
            return False
        new, knot = kept[NEW] - float(added[0]) / whole, constants.box.threshold / whole
        if abs(finish(constants.box, kept[NEW], knot) - logged) <= DETECTION_FACTOR * max(
            kept[UNCLIPPED], bound
        ):
            return False
        if curvature is not None:
            new = kept[BEFORE] + (new - kept[BEFORE]) * (whole / divisor)
        allowed = DETECTION_FACTOR * max(kept[UNCLIPPED], bound) * max(whole / divisor, 1.0)
        return bool(abs(finish(constants.box, new, knot) - logged) <= allowed)


Formula = Callable[[WrongStep], Iterator[tuple[np.ndarray, float | None]]]
"""What a mistake may add to the product of a step, and the curvature that it takes; None: the right one."""


def _one(added: Callable[[WrongStep], np.ndarray]) -> Formula:
    def formula(step: WrongStep) -> Iterator[tuple[np.ndarray, float | None]]:
        yield added(step), None

    return formula


def _stale(step: WrongStep, signed: bool = True) -> np.ndarray:
    """Products of the rows with alpha of the window's start, without the label of the row."""
    return step.rows @ (step.signs * step.start if signed else step.start)


def _label_lost_in_correction(step: WrongStep) -> Iterator[tuple[np.ndarray, float | None]]:
    label = step.signs[step.drawn]
    for chosen in (slice(None), step.earlier[0] != step.drawn[0]):
        yield (1.0 - label) * step.correction(chosen), None


def _of_earlier_windows(step: WrongStep) -> np.ndarray:
    return -_scaled(step, step.correction(step.known))


def _of_rounded_increments(step: WrongStep) -> Iterator[tuple[np.ndarray, float | None]]:
    """Products of what increments lose in float32; of K-RR also with m times it, where that is rounded."""
    coordinates, increments = step.earlier
    with np.errstate(over="ignore", invalid="ignore"):
        lost = increments.astype(np.float32) - increments
    if not np.isfinite(lost).all():
        return
    added = _scaled(step, step.rows[:, coordinates] @ (step.signs[coordinates] * lost))
    yield added, None
    if not step.judged.case.problem.is_svm:
        own = np.array([lost[coordinates == place].sum() for place in step.drawn])
        yield added + step.start.size * own, None


def _tells_of_earlier_windows(step: WrongStep) -> bool:
    """Whether it is not the whole correction that would be missing."""
    return step.free() and bool(0 < np.count_nonzero(step.known) < step.known.size)


def _scaled(step: WrongStep, product: np.ndarray) -> np.ndarray:
    """A product with the label of its row, or over lambda."""
    problem = step.judged.case.problem
    return product * step.signs[step.drawn] if problem.is_svm else product / problem.ridge.penalty


def _other_rows(step: WrongStep) -> Iterator[tuple[np.ndarray, float | None]]:
    """Products of the row of another coordinate of the window, with alpha at its start or as it is now."""
    others = step.window[~np.isin(step.window, step.drawn)]
    if not others.size or others.size * step.start.size > ROW_ENTRIES:
        return
    rows = step.judged.judge.rows.entries(others).values
    for vector in (step.start, step.alpha):
        weighted = step.signs * vector
        products, right = rows @ weighted, step.rows @ weighted
        if not step.judged.case.problem.is_svm:
            if step.drawn.size == 1:
                yield from ((_scaled(step, product - right), None) for product in products)
            continue
        for place, product in enumerate(products):
            added = _scaled(step, product - right)
            for curvature in (None, rows[place, step.drawn[0]], rows[place, others[place]]):
                yield added, curvature


def _over_lambda(step: WrongStep, product: np.ndarray) -> np.ndarray:
    return product * (1.0 - 1.0 / step.judged.case.problem.ridge.penalty)


def _frozen_at_start(step: WrongStep) -> np.ndarray:
    moved = step.alpha[step.drawn] - step.start[step.drawn]
    return -step.start.size * moved - _scaled(step, step.correction())


LABELLED: dict[str, Formula] = {
    "label left out of the stale product": _one(lambda step: (1.0 - step.signs[step.drawn]) * _stale(step)),
    "labels of alpha left out of the stale product": _one(
        lambda step: step.signs[step.drawn] * (_stale(step, signed=False) - _stale(step))
    ),
    "labels left out of the stale product": _one(
        lambda step: _stale(step, signed=False) - step.signs[step.drawn] * _stale(step)
    ),
    "label left out of the correction": _label_lost_in_correction,
    "labels of increments left out of the correction": _one(
        lambda step: step.signs[step.drawn] * (step.correction(signed=False) - step.correction())
    ),
    "labels left out of the correction": _one(
        lambda step: step.correction(signed=False) - step.signs[step.drawn] * step.correction()
    ),
}
"""Labels that a K-SVM lacks."""

RIDGE: dict[str, Formula] = {
    "lambda left out of the newest correction": _one(
        lambda step: _over_lambda(
            step, step.correction(slice(max(step.earlier[0].size - step.drawn.size, 0), None))
        )
    ),
    "lambda left out of the correction": _one(lambda step: _over_lambda(step, step.correction())),
    STALE_ALPHA: _one(_frozen_at_start),
}
"""What a K-RR has wrong."""

FORMULAS = (*LABELLED, *RIDGE, ROUNDED, EARLIER_WINDOWS, OTHER_ROW)
"""All of them, by name."""


def formulas_of(judged: JudgedRun) -> dict[str, tuple[int, int] | None]:
    """The wrong formulas that explain the wrong steps of a run, by name.

    With each stands how many of how many steps tried it reproduces, None where that is all.
    """
    problem = judged.case.problem
    table = (LABELLED if problem.loss.labelled else {}) if problem.is_svm else RIDGE
    every = _steps(judged, judged.wrong)
    # A row that is wrong spoils the later steps of its window too: the first wrong one tells of it.
    _, first = np.unique(judged.wrong // judged.trajectory.s, return_index=True)
    found = {name: (_reproduced(formula, every), len(every)) for name, formula in table.items()}
    found[ROUNDED] = _reproduced(_of_rounded_increments, every), len(every)
    earlier = _reproduced(_one(_of_earlier_windows), every, _tells_of_earlier_windows)
    found[EARLIER_WINDOWS] = earlier, len(every)
    if not any(count for count, _ in found.values()):
        firsts = _steps(judged, judged.wrong[first])
        found[OTHER_ROW] = _reproduced(_other_rows, firsts), len(firsts)
    return {name: None if count == of else (count, of) for name, (count, of) in found.items() if count}


def _steps(judged: JudgedRun, wrong: np.ndarray) -> list[WrongStep]:
    """The first of some wrong steps, and others spread over them."""
    spread = np.linspace(0, wrong.size - 1, STEPS // 2).astype(np.int64)
    places = np.union1d(np.arange(min(wrong.size, STEPS // 2)), spread)
    return [WrongStep(judged, int(iteration)) for iteration in wrong[places]]


def _reproduced(
    formula: Formula, steps: list[WrongStep], tells: Callable[[WrongStep], bool] = WrongStep.free
) -> int:
    """How many wrong steps a formula reproduces; 0 if too few of them, or of those inside the box."""
    missed = free = 0
    for step in steps:
        if any(step.reproduced(*one) for one in formula(step)):
            free += tells(step)
        elif (missed := missed + 1) > (1.0 - SHARE) * len(steps):
            return 0
    return len(steps) - missed if free >= ENOUGH else 0
