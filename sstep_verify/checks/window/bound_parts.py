"""What the bound of a window is the sum of, for `explain`: each source of error with its share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.window.split import ridge_window_split, svm_window_split
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.window.compare import largest_until
from sstep_verify.oracle.choice import oracle_named
from sstep_verify.quantities import SvmSteps
from sstep_verify.rounding.arithmetic import rounded_problem
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory


@dataclass(frozen=True)
class ExplainedWindow:
    """Measured error and bound of a window where their ratio is largest, and what the bound is the sum of.

    Parameters
    ----------
    where : str
        The coordinate, or the M-norm.
    measured, bound : float
        Upper end of the measured error, and the bound.
    parts : dict of str to float
        Contribution of each source of error; they add up to the bound.
    """

    where: str
    measured: float
    bound: float
    parts: dict[str, float]


def explain_window(case: Case, trajectory: Trajectory, begin: int, end: int) -> ExplainedWindow | None:
    """Share out the bound of the window of iterations begin + 1..end, the kernel taken from the data.

    Parameters
    ----------
    case : Case
        The case.
    trajectory : Trajectory
        A run that recorded both ends.
    begin, end : int
        The window.

    Returns
    -------
    ExplainedWindow or None
        None if a is not finite at an end, the bound is infinite, or weights are maintained.
    """
    declaration = case.formulas
    problem = rounded_problem(case.problem, declaration) or case.problem  # as it is judged
    before, after = trajectory.at(begin), trajectory.at(end)
    if declaration.weights is not None or not (np.isfinite(before).all() and np.isfinite(after).all()):
        return None
    draws = case.stream.blocks(trajectory.start + begin, trajectory.start + end)
    replay = oracle_named(case.oracle, problem).replay(problem, before, after, draws)
    entries = kernel_entries(problem, declaration, replay.places)
    sizes = largest_until(trajectory, begin)
    names = [f"coordinate {place}" for place in replay.places]
    if isinstance(replay.steps, SvmSteps):
        shares = svm_window_split(entries, replay.places, sizes, replay.steps, problem.dual, declaration)
        return _largest(names, replay.upper, shares)
    norm, shares = ridge_window_split(
        entries,
        replay.places,
        sizes,
        problem.targets,
        replay.steps,
        problem.ridge.penalty,
        declaration,
    )
    whole = _largest(["M-norm"], replay.upper, {name: np.array([part]) for name, part in norm.items()})
    single = _largest(names, replay.with_components().upper[1:], shares)
    shared = [part for part in (whole, single) if part is not None]
    return max(shared, key=lambda part: part.measured / part.bound, default=None)


def _largest(
    names: list[str], measured: np.ndarray, shares: dict[str, np.ndarray]
) -> ExplainedWindow | None:
    """The entry with the largest ratio among those with a bound that is not 0."""
    if not shares:
        return None
    bound = np.sum(list(shares.values()), axis=0)
    ratio = np.divide(measured, bound, out=np.zeros(bound.size), where=bound > 0)
    place = int(np.argmax(ratio))
    if not bound[place] > 0:
        return None
    parts = {name: float(part[place]) for name, part in shares.items()}
    return ExplainedWindow(names[place], float(measured[place]), float(bound[place]), parts)
