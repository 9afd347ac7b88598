"""Choice of windows to replay: first, last, a seeded sample, and one where each thing happens."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.shared.finding import Window
from sstep_verify.checks.window.in_float64 import EVENTS, FloatWindow
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.quantities import TAIL, quantities_of
from sstep_verify.trajectory import Trajectory

WEIGHTY = 2.0**-20
"""Weight of a quantity (`FloatWindow.weights`) with which the search for a window in which it acts ends."""


def choose_windows(
    problem: Problem,
    stream: IndexStream,
    trajectory: Trajectory,
    sampled: int,
    seed: int,
    update: str = "in-place",
) -> list[Window]:
    """Choose windows among the recorded ones.

    Parameters
    ----------
    problem : Problem
        The problem.
    stream : IndexStream
        Its index stream.
    trajectory : Trajectory
        A run with recorded windows.
    sampled : int
        Windows of the seeded sample.
    seed : int
        Seed of the sample (PCG64).
    update : str
        Form of the update (`Declaration.update`), which decides what quantities there are.

    Returns
    -------
    list of Window
        In order of iteration, each once.
    """
    recorded = trajectory.windows()
    if not recorded:
        return []
    chosen: dict[int, list[str]] = {0: ["first"]}
    chosen.setdefault(len(recorded) - 1, []).append("last")
    generator = np.random.Generator(np.random.PCG64(seed))
    for place in generator.choice(len(recorded), size=min(sampled, len(recorded)), replace=False).tolist():
        chosen.setdefault(place, []).append("sampled")
    tails = [place for place, (begin, end) in enumerate(recorded) if end - begin < trajectory.s]
    for place in tails:
        chosen.setdefault(place, []).append("tail")
    told = _Told(problem, stream, trajectory)
    missing = set(EVENTS if problem.is_svm else EVENTS[:1])
    for place in [*chosen, *range(len(recorded))]:
        if not missing:
            break
        events = told.events(place)
        if events & missing:
            chosen.setdefault(place, [])
            missing -= events
    if problem.is_svm:
        names = [one.name for one in quantities_of(problem.loss.task, update, trajectory.s, 1)]
        wanted = [name for name in names if name != TAIL]
        for name, place in _acting(told, wanted, [*chosen, *range(len(recorded))]).items():
            chosen.setdefault(place, []).append(f"{name} acts")
    return [
        Window(*recorded[place], (*tags, *sorted(told.events(place))))
        for place, tags in sorted(chosen.items())
    ]


class _Told:
    """What the judge's own float64 replay of each recorded window tells, made once."""

    def __init__(self, problem: Problem, stream: IndexStream, trajectory: Trajectory):
        self._problem, self._stream, self._trajectory = problem, stream, trajectory
        self._recorded = trajectory.windows()
        self._made: dict[int, FloatWindow] = {}

    def _draws(self, place: int) -> np.ndarray:
        begin, end = self._recorded[place]
        return self._stream.blocks(self._trajectory.start + begin, self._trajectory.start + end)

    def _window(self, place: int) -> FloatWindow:
        if place not in self._made:
            begin = self._trajectory.at(self._recorded[place][0])
            self._made[place] = FloatWindow(self._problem, begin, self._draws(place).ravel())
        return self._made[place]

    def weights(self, place: int, names: list[str]) -> dict[str, tuple[float, float]]:
        """See `FloatWindow.weights`."""
        return self._window(place).weights(names)

    def events(self, place: int) -> set[str]:
        """See `FloatWindow.events`; of K-RR, whose steps are all free, only what the stream tells."""
        if self._problem.is_svm:
            return self._window(place).events()
        draws = self._draws(place)
        return {"overlap"} if np.unique(draws).size < draws.size else set()


def _acting(told: _Told, wanted: list[str], places: list[int]) -> dict[str, int]:
    """Per quantity the first window in which it acts with weight, or else the one where it acts most.

    With weight means both if it is changed and if it is left out.
    """
    heaviest, found = dict.fromkeys(wanted, 0.0), {}
    for place in dict.fromkeys(places):
        open_ones = [name for name, weight in heaviest.items() if weight < WEIGHTY]
        if not open_ones:
            break
        for name, weights in told.weights(place, open_ones).items():
            weight = WEIGHTY if min(weights) >= WEIGHTY else min(max(weights), WEIGHTY / 2)
            if weight > heaviest[name]:
                heaviest[name], found[name] = weight, place
    return found
