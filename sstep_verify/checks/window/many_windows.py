"""Replays the windows of a run: the chosen ones, and those that a screen flagged, within limits of work.

Work is counted as products of increments and kernel entries, so that what is replayed does not depend on
the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, Window
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.checks.window.tries import kept_telling
from sstep_verify.quantities import KERNEL
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Hint, HintKind, Status

EFFECT_WORK = 1 << 14
"""Products in a window up to which the effect of every quantity is computed in every window."""

MOST_CONFIRMED = 4
"""Windows beyond the bound in a screen that have failed when replayed, after which no more of them are."""

REPLAY_WORK = 1 << 21
"""Products (`work_of`) and kernel entries that replays of such windows may take, after the first."""

MOST_REPLAYED = 256
"""Such windows replayed at most."""

MOST_DIAGNOSED = 3
"""Failed windows of a run in which mistakes that reproduce them are looked for."""


def work_of(case: Case, window: Window) -> int:
    """Products of increments in the exact replay of a window."""
    drawn = (window.end - window.begin) * case.stream.block
    return drawn * (min(drawn, case.problem.samples) + case.stream.block)


def comparisons_on_windows(
    case: Case,
    chosen: list[tuple[Trajectory, Window]],
    flagged: list[tuple[Trajectory, Comparison]],
    replays: WindowReplays,
    names: list[str],
    confirm: Callable[[Trajectory, Comparison], Comparison],
) -> list[Comparison]:
    """Replay chosen windows, then flagged ones up to `MOST_CONFIRMED`, `MOST_REPLAYED` and `REPLAY_WORK`.

    Each comes with its run, and is confirmed where it fails. The effect of a quantity costs a replay of its
    own. Where a window is short all are computed; where it is long, those of the kernel correction and of
    what no window before showed.
    """
    comparisons: list[Comparison] = []
    unseen, spent = set(names), 0
    further = [(run, comparison.window) for run, comparison in flagged]
    for place, (trajectory, window) in enumerate([*chosen, *further], -len(chosen)):
        work, words = work_of(case, window), case.panel_words(window.end - window.begin)
        if place >= 0:
            spent += work + words
            confirmed = count_failed(comparisons[len(chosen) :]) >= MOST_CONFIRMED
            if confirmed or place >= MOST_REPLAYED or (place and spent > REPLAY_WORK):
                break
        again = set(names) if work <= EFFECT_WORK else {KERNEL} & set(names)
        comparison = replays.replay_and_compare(
            trajectory,
            window,
            names=again | unseen,
            diagnose=case.diagnose and count_failed(comparisons) < MOST_DIAGNOSED,
        )
        comparisons = kept_telling([*comparisons, confirm(trajectory, comparison)], names)
        unseen = {name for name in unseen if not comparison.shows(name)}
    return comparisons


def count_failed(comparisons: list[Comparison]) -> int:
    """How many of them fail."""
    return sum(comparison.status is Status.FAIL for comparison in comparisons)


def replay_bridge(
    case: Case, plain: Trajectory, bridge: Comparison | None, replays: WindowReplays, *, right: bool
) -> list[Comparison]:
    """Where the run made again was another one: what the plain run did there, if that may be wrong.

    The other one is `right` if none of its windows is beyond the bound of the screen.
    """
    if bridge is None or not bridge.ratio > 1.0:
        return []
    window = bridge.window
    if work_of(case, window) + case.panel_words(window.end - window.begin) > REPLAY_WORK:
        return [bridge]
    exact = replays.replay_and_compare(plain, window, names=(), diagnose=False)
    if exact.status is not Status.FAIL or not right:
        return [exact]
    return [replace(exact, hints=(*exact.hints, Hint(HintKind.DEPENDS_ON_RECORDING)))]
