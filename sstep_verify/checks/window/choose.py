"""Which windows of a run are replayed: first, last, a seeded sample, and one where each thing happens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.checks.window.acting_terms import KERNEL, OMEGA, OVERLAP, term_weights
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.trajectory import Trajectory

EVENTS = ("overlap", "clip low", "clip high", "free")

WEIGHTY = 2.0**-20
"""Weight of a term (`term_weights`) with which the search for a window in which it acts ends."""


@dataclass(frozen=True)
class Window:
    """One window of a run and why it was chosen.

    Parameters
    ----------
    begin, end : int
        Iterations at which it starts and ends, counted from the run's beginning.
    tags : tuple of str
        first, last, tail, sampled, "<term> acts" (one window a term, `term_weights`), and the events it
        holds: overlap, clip low, clip high, free.
    """

    begin: int
    end: int
    tags: tuple[str, ...]


def choose_windows(
    problem: Problem, stream: IndexStream, trajectory: Trajectory, sampled: int, seed: int
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
    missing = set(EVENTS if problem.is_svm else EVENTS[:1])
    for place in [*chosen, *range(len(recorded))]:
        if not missing:
            break
        events = _events(problem, stream, trajectory, recorded[place])
        if events & missing:
            chosen.setdefault(place, [])
            missing -= events
    if problem.is_svm and trajectory.s > 1:
        for term, place in _acting(problem, stream, trajectory, recorded, list(chosen)).items():
            chosen.setdefault(place, []).append(f"{term} acts")
    return [
        Window(
            *recorded[place],
            (*tags, *sorted(_events(problem, stream, trajectory, recorded[place]))),
        )
        for place, tags in sorted(chosen.items())
    ]


def _acting(
    problem: Problem,
    stream: IndexStream,
    trajectory: Trajectory,
    recorded: list[tuple[int, int]],
    first: list[int],
) -> dict[str, int]:
    """Per term the first window in which it acts with weight, or else the one where it acts most.

    With weight means both if it is changed and if it is left out. Looked at are the windows `first` and
    then all others.
    """
    wanted = {KERNEL, OVERLAP, OMEGA} if problem.hinge.shift else {KERNEL, OVERLAP}
    heaviest, found = dict.fromkeys(wanted, 0.0), {}
    for place in dict.fromkeys([*first, *range(len(recorded))]):
        if min(heaviest.values()) == WEIGHTY:
            break
        begin, end = recorded[place]
        draws = stream.blocks(trajectory.start + begin, trajectory.start + end).ravel()
        for term, weights in term_weights(problem, trajectory.at(begin), draws).items():
            weight = WEIGHTY if min(weights) >= WEIGHTY else min(max(weights), WEIGHTY / 2)
            if weight > heaviest[term]:
                heaviest[term], found[term] = weight, place
    return found


def _events(
    problem: Problem, stream: IndexStream, trajectory: Trajectory, window: tuple[int, int]
) -> set[str]:
    """What certainly happened in a window, read off the stream and a at its two ends."""
    begin, end = window
    draws = stream.blocks(trajectory.start + begin, trajectory.start + end)
    coordinates = np.unique(draws)
    events = {"overlap"} if coordinates.size < draws.size else set()
    if not problem.is_svm:
        return events
    before, after = trajectory.at(begin)[coordinates], trajectory.at(end)[coordinates]
    upper = problem.hinge.upper
    if ((after == 0) & (before != 0)).any():
        events.add("clip low")
    if ((after == upper) & (before != upper)).any():
        events.add("clip high")
    if ((after > 0) & (after < upper) & (after != before)).any():
        events.add("free")
    return events
