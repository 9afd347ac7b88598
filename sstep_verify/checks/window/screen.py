"""Screens a run: all its windows, or whole segments of it, in float64 against the judge's own steps.

This module says which windows are screened, and what becomes of them. The judge's steps, the bound and the
comparison are in bounds/screen.py.

A run is made as a user's run is made, recorded in a few places. From there it is made again, recorded at
the end of every window: whole where that fits into memory, else in segments between recorded states,
chosen after the run by a digest of what it returned. What is made again must arrive at the states recorded
before, to the last bit; else it is not the run that was asked about, and its windows do not count for it.
A solver of level 0 or 1 is asked for a shorter run to every window end, from the first on, as many as cost
four times the iterations of the run (`PREFIXES`): its windows lie between these, and later ones, but those
that the run recorded, are not looked at.
Then the plain run itself is judged over the first recorded part that it went otherwise, as one long window:
if that is right too, it only rounded otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from sstep_verify.bounds.screen import THRICE, TWICE, Screened, screen_ridge, screen_svm
from sstep_verify.bounds.window.svm_formulas import HIGH, LOW
from sstep_verify.checks.shared.case import Case, after_run, run_key
from sstep_verify.checks.shared.comparison import Comparison, Window
from sstep_verify.checks.window.choose import screenable
from sstep_verify.checks.window.compare import largest_until
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Why

WORDS = 1 << 24
"""Numbers of a (m per window end) that the runs of one s may record for their screen: 128 MiB."""

ENTRIES = 1 << 22
"""Kernel entries held at a time, unless one window has more."""

BRIDGE = 1 << 30
"""Products (steps, error symbols, coordinates) of a part judged as one long window: about a second."""

PREFIXES = 4
"""Iterations that a solver of level 0 or 1, which makes a run for every recorded iteration, is asked for,
over those of the run, up to one more run."""

SCREEN = "screen"
"""Source of a comparison without an exact replay: a screen, which passes windows and fails none."""

NOTABLE = {LOW: "clip low", HIGH: "clip high", TWICE: "overlap", THRICE: "one coordinate drawn three times"}
"""Events of a window of which the first of the run is to be replayed, in words."""


def segment_key(s: int, begin: int, end: int) -> str:
    """Key of the run of a segment, recorded at every window end."""
    return f"s={s}/every window of {begin + 1}..{end}"


def segments(case: Case, s: int, plain: Trajectory) -> list[tuple[int, int]]:
    """Begin and end of the parts of a plain run that are made again, ascending."""
    length, samples = plain.length, case.problem.samples
    if length == 0 or not np.isfinite(plain.alphas).all():
        return []
    if case.formulas.level < 2:
        # n windows from the start cost s + 2 s + ... + n s iterations.
        windows = math.isqrt(2 * PREFIXES * -(-length // s))
        return [(0, min(min(windows, WORDS // samples - 1) * s, length))]
    if (-(-length // s) + 1) * samples <= WORDS:
        return [(0, length)]
    recorded = [point for point in plain.iterations.tolist() if point % s == 0 or point == length]
    parts = list(pairwise(recorded))
    chosen, left = [], WORDS
    for place in after_run(plain).permutation(len(parts)).tolist():
        begin, end = parts[place]
        words = (-(-(end - begin) // s) + 1) * samples
        if words <= left:
            chosen.append(parts[place])
            left -= words
    return sorted(chosen)


def requests(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """The plain runs again, recorded at every window end, whole or in segments, by key."""
    wanted = {}
    for s in case.s_values:
        plain = trajectories[run_key(s)]
        for begin, end in segments(case, s, plain):
            wanted[segment_key(s, begin, end)] = RunRequest(
                case.problem,
                case.stream,
                s,
                end - begin,
                start=plain.start + begin,
                initial=plain.at(begin).copy() if begin else case.initial,
                record=tuple(range(s, end - begin, s)),
            )
    return wanted


@dataclass
class Screen:
    """What was screened of one run.

    Attributes
    ----------
    judged : set of int
        Windows that are within a finite bound, by the iteration of the plain run they begin at.
    within : Comparison or None
        The one of them whose ratio is largest.
    flagged : list of (Trajectory, Comparison)
        Windows further than the bound, which decides nothing: they are to be replayed exactly; with the run
        made again that they are in; the largest ratio first.
    notable : list of (Trajectory, Window)
        The first windows in which each event happens, to be replayed as well.
    unlike : int or None
        The iteration at which a run made again first had another alpha than the plain run recorded; None if
        it had none.
    bridge : Comparison or None
        The part of the plain run where that first happened, judged as one long window; None if there is
        none, or it would take too long.
    """

    judged: set[int] = field(default_factory=set)
    within: Comparison | None = None
    flagged: list[tuple[Trajectory, Comparison]] = field(default_factory=list)
    notable: list[tuple[Trajectory, Window]] = field(default_factory=list)
    unlike: int | None = None
    bridge: Comparison | None = None


def made_again(
    case: Case, s: int, plain: Trajectory, trajectories: Mapping[str, Trajectory]
) -> Iterator[Trajectory]:
    """The runs that `requests` asked for, as far as made, their iterations counted as in the plain run."""
    for begin, end in segments(case, s, plain) if screenable(case) else ():
        run = trajectories.get(segment_key(s, begin, end))
        if run is not None:
            yield replace(run, start=plain.start, iterations=run.iterations + begin)


def screen(case: Case, s: int, plain: Trajectory, trajectories: Mapping[str, Trajectory]) -> Screen:
    """Compare every window of the runs `made_again`, by key, of one s."""
    screened, events = Screen(), 0
    for run in made_again(case, s, plain, trajectories):
        unlike = _first_unlike(plain, run)
        like = unlike is None
        if unlike is not None and screened.unlike is None:
            screened.unlike = unlike[1]
            screened.bridge = bridge(case, plain, *unlike)
        for first, windows in _parts(case, run):
            for place in range(windows.ratio.size):
                window = Window(*run.iterations[first + place : first + place + 2].tolist())
                comparison = _compared(windows, place, window)
                if comparison.ratio > 1.0:
                    screened.flagged.append((run, comparison))
                elif like and np.isfinite(comparison.bound):
                    screened.judged.add(window.begin)
                    if screened.within is None or comparison.ratio > screened.within.ratio:
                        screened.within = comparison
                new = int(windows.events[place]) & ~events
                if like and (tags := tuple(name for event, name in NOTABLE.items() if new & event)):
                    events |= new
                    screened.notable.append((run, replace(window, tags=tags)))
    screened.flagged.sort(key=lambda place: -place[1].ratio)
    return screened


def _compared(windows: Screened, place: int, window: Window) -> Comparison:
    """A screened window; what is beyond a bound that decides nothing may be right all the same."""
    distance, bound = float(windows.distance[place]), float(windows.bound[place])
    beyond = windows.ratio[place] > 1.0
    lower, why = (0.0, Why.NOT_REPLAYED) if beyond else (distance, None)
    return Comparison(lower, distance, bound, window, source=SCREEN, why=why)


def _first_unlike(plain: Trajectory, run: Trajectory) -> tuple[int, int] | None:
    """Recorded part of the plain run after which the run made again is first another one; None if never."""
    shared = np.intersect1d(plain.iterations, run.iterations).tolist()
    for before, after in pairwise(shared):
        if not np.array_equal(plain.at(after), run.at(after)):
            return before, after
    return None


def bridge(case: Case, plain: Trajectory, begin: int, end: int) -> Comparison | None:
    """A recorded part of a run against the judge's own steps, all in one; None if that takes too long."""
    problem, length = case.problem, end - begin
    draws = case.stream.blocks(plain.start + begin, plain.start + end)
    rows = np.unique(draws)
    if 2 * length**2 * rows.size > BRIDGE or rows.size * problem.samples > ENTRIES:
        return None
    ends, largest = np.array([plain.at(begin), plain.at(end)]), largest_until(plain, begin)
    screened = _windows(case, rows, ends, draws, plain.s, length, largest)
    return _compared(screened, 0, Window(begin, end, ("unlike the run made again",)))


def _parts(case: Case, run: Trajectory) -> Iterator[tuple[int, Screened]]:
    """Groups of windows whose kernel rows fit into memory: number of the first, and what was found."""
    samples, s, ends = case.problem.samples, run.s, run.iterations.tolist()
    whole = [min(before + s, run.length) for before in ends[:-1]]
    count = next((n for n, end in enumerate(whole) if ends[n + 1] != end), len(whole))
    draws = case.stream.blocks(run.start + ends[0], run.start + run.length)
    most = max(ENTRIES // samples, 1)
    first = 0
    while first < count:
        last, rows = first, np.empty(0, dtype=np.int64)
        while last < count:
            more = np.union1d(rows, draws[last * s : (last + 1) * s])
            if more.size > most and last > first:
                break
            last, rows = last + 1, more
            if rows.size == samples:
                last = count
        yield (
            first,
            _windows(
                case, rows, run.alphas[first : last + 1], draws[first * s : last * s], s,
                largest=largest_until(run, ends[first]),
            ),
        )  # fmt: skip
        first = last


def _windows(
    case: Case,
    rows: np.ndarray,
    alphas: np.ndarray,
    draws: np.ndarray,
    s: int,
    length: int = 0,
    largest: np.ndarray | None = None,
) -> Screened:
    problem, declared = case.problem, case.formulas
    compare, drawn = (screen_svm, draws.ravel()) if problem.is_svm else (screen_ridge, draws)
    return compare(
        problem, declared, kernel_entries(problem, declared, rows), rows, alphas, drawn, s, length, largest
    )
