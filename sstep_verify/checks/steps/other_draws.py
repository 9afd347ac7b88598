"""Whether a log that contradicts its run leads to every record by other draws: one place off, or reversed.

Nothing is rounded in this: a log of values, stored at the coordinates of other draws, gives every recorded
alpha bit for bit, or it does not.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.specification import requirements_of
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Defect

PLACES = {"draws one place behind": -1, "draws one place ahead": 1}
"""Places of the stream by which a step is off, by the name of that in the specification."""

REVERSED = "draws in reverse order"

ENOUGH = 3
"""Values stored elsewhere than the stream says that must be recorded, as other draws have them."""

WINDOWS = 4
"""Window ends at which the draws may have begun to be off, that are tried."""


def draws_elsewhere(case: Case, trajectory: Trajectory) -> tuple[Defect, ...]:
    """Return the defect by which other draws explain all records; nothing if none does."""
    log, count = trajectory.log, trajectory.iterations.size
    assert log is not None
    if names := _reversed(case, trajectory):
        return _defects(case, names)
    alpha = np.array(trajectory.alphas[0])
    for number in range(1, count):
        begin, end = trajectory.iterations[number - 1 : number + 1].tolist()
        before = alpha.copy()
        _store(case, trajectory, alpha, begin, end, 0)
        if not np.array_equal(alpha, trajectory.alphas[number], equal_nan=True):
            names = [
                name for name, off in PLACES.items() if _explains(case, trajectory, number, before, off)
            ]
            return _defects(case, names)
    return ()


def _defects(case: Case, names: list[str]) -> tuple[Defect, ...]:
    task = case.problem.loss.task
    return tuple(Defect((name,), None, requirements_of(task, (name,))) for name in names)


def _reversed(case: Case, trajectory: Trajectory) -> list[str]:
    """The name of draws from the end of the run to its start, where they lead to all that it recorded.

    A solver that returns its final alpha only has another run for each shorter length, and no log of it.
    """
    log, length = trajectory.log, trajectory.length
    assert log is not None
    draws = case.stream.blocks(trajectory.start, trajectory.start + length)
    places = range(1, trajectory.iterations.size)

    def leads(draws: np.ndarray, log: np.ndarray) -> bool:
        """Whether this log, stored at these draws, gives every record."""
        for place in places if case.formulas.level >= 2 else places[-1:]:
            made, alpha = int(trajectory.iterations[place]), np.array(trajectory.alphas[0])
            alpha[draws[:made].ravel()] = log[:made].ravel()
            if not np.array_equal(alpha, trajectory.alphas[place], equal_nan=True):
                return False
        return True

    right = np.array(trajectory.alphas[0])
    right[draws.ravel()] = log.ravel()
    if (right != trajectory.final).sum() < ENOUGH:
        return []
    # Where no coordinate is drawn again, a log that was written backwards leads there too.
    return [REVERSED] if leads(draws[::-1], log) and not leads(draws, log[::-1]) else []


def _store(case: Case, trajectory: Trajectory, alpha: np.ndarray, begin: int, end: int, off: int) -> None:
    """Store what the log has for some steps, at the coordinates of draws that are so many places off."""
    assert trajectory.log is not None
    draws = case.stream.blocks(trajectory.start + begin + off, trajectory.start + end + off)
    alpha[draws.ravel()] = trajectory.log[begin:end].ravel()


def _explains(case: Case, trajectory: Trajectory, number: int, before: np.ndarray, off: int) -> bool:
    """Whether draws are off from some window of a segment on, which ends at a record, and stay so."""
    begin, end = trajectory.iterations[number - 1 : number + 1].tolist()
    if (
        trajectory.start + begin + off < 0
        or trajectory.start + trajectory.length + off > case.stream.length
    ):
        return False
    for first in _borders(case, trajectory, number, off):
        alpha = before.copy()
        _store(case, trajectory, alpha, begin, first, 0)
        right = alpha.copy()
        _store(case, trajectory, alpha, first, end, off)
        _store(case, trajectory, right, first, end, 0)
        if (alpha != right).sum() >= ENOUGH and _leads_on(case, trajectory, number, alpha, off):
            return True
    return False


def _borders(case: Case, trajectory: Trajectory, number: int, off: int) -> list[int]:
    """The first window ends at which the draws can have begun to be off.

    A coordinate that is recorded with another value than its last draw of these would leave was drawn
    last before that.
    """
    assert trajectory.log is not None
    begin, end = trajectory.iterations[number - 1 : number + 1].tolist()
    draws = case.stream.blocks(trajectory.start + begin + off, trajectory.start + end + off).ravel()
    values, width = trajectory.log[begin:end].ravel(), case.stream.block
    coordinates, last = np.unique(draws[::-1], return_index=True)
    last = draws.size - 1 - last
    wrong = last[values[last] != trajectory.alphas[number][coordinates]]
    first = begin + (int(wrong.max()) // width + 1 if wrong.size else 0)
    border = -(-first // trajectory.s) * trajectory.s
    return [one for one in range(border, border + WINDOWS * trajectory.s, trajectory.s) if one < end]


def _leads_on(case: Case, trajectory: Trajectory, number: int, alpha: np.ndarray, off: int) -> bool:
    """Whether an alpha is what was recorded, and all later records follow with draws that are off."""
    for place in range(number, trajectory.iterations.size):
        if place > number:
            begin, end = trajectory.iterations[place - 1 : place + 1].tolist()
            _store(case, trajectory, alpha, begin, end, off)
        if not np.array_equal(alpha, trajectory.alphas[place], equal_nan=True):
            return False
    return True
