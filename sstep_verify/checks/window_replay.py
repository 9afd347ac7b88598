"""Check window-replay: every window of a run ends where exact arithmetic would, up to its own rounding.

A window is replayed exactly from the solver's own alpha at its start, and compared at its end
(sstep_verify/oracle/replay.py). A K-SVM is replayed in balls, a K-RR by points with a proven distance from
the exact end; the oracle mpmath evaluates both at two precisions instead. The bound is on the rounding
errors that one window of any correct implementation can make. Errors of earlier windows do not enter, so
nothing is amplified, and no later window heals an error: a wrong correction term shows at its full size.

Some windows are replayed so. sstep_verify/checks/window/choose.py chooses among those that the run
recorded; the screen adds the first in which each event happens. All windows, or as many as
fit, are screened in float64 as well; of a solver of level 0 or 1, the first ones. Three kinds of run are
not screened: that of a solver whose log is kept, that of a K-SVM solver that adds its increments, and
that with maintained weights. A screen (sstep_verify/checks/window/screen.py) passes windows and fails none,
since its bound is wider by the judge's own error. A window beyond that bound is replayed, the largest ratio
first, or it is INCONCLUSIVE.

The first window of a run that is continued at a window's end, from the alpha recorded there, is replayed
too. A solver that is run again for every length gives windows between the results of two runs. Such a
window fails only where the longer run is beyond its bound from its own start as well
(sstep_verify/checks/window/ends_apart.py). The kernel is that of the data; kernel-entries judges rows that
a solver exposes. The steps of a solver that makes them from maintained weights are replayed from alpha and
these weights, which residual-gap judges: unless that passed the run, stale product and window boundary
are not tested. A solver of level 0 or 1 records no weights, so the check does not apply to one that
maintains them.

The status of a verdict is found step by step. `Comparison.status` compares one value with its bound, and
`_judge_run` picks the comparison that decides. `verdict_from` turns a PASS that could have shown nothing
into VACUOUS, and `joined` adds the continued run. Later sstep_verify/checks/registry.py may make a verdict
INCONCLUSIVE, where the arithmetic was altered, and sstep_verify/checks/together.py a PASS VACUOUS.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, plain_request, run_key, unseen_weights
from sstep_verify.checks.shared.comparison import (
    Comparison,
    Window,
    any_tried,
    decisive,
    promising,
    unbounded,
)
from sstep_verify.checks.shared.continued import (
    continued_key,
    continued_request,
    joined,
    started_at_zero,
)
from sstep_verify.checks.shared.last_window import hints_of_last_window
from sstep_verify.checks.shared.outcome import right_at_one, verdict_from
from sstep_verify.checks.shared.signs import (
    UNDRAWN,
    hints_of_a_stop,
    hints_of_signs,
    hints_of_stillness,
    moved_until,
    signs_of_one_run,
)
from sstep_verify.checks.shared.terms import core_terms, quantity_terms
from sstep_verify.checks.window.choose import choose_windows, screenable
from sstep_verify.checks.window.ends_apart import EndsApart
from sstep_verify.checks.window.many_windows import comparisons_on_windows, count_failed, replay_bridge
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.checks.window.screen import SCREEN, Screen, made_again, requests, screen
from sstep_verify.checks.window.tries import with_limits
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import BOUNDARY, STALE, TAIL
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Coverage, Hint, HintKind, Note, NoteKind, Place, Status, Verdict, Why

ID = "window-replay"

DRIFT = 2.0**-20
"""Share of the largest alpha up to which an error may be drift; a hint depends on it, and no verdict."""

TELLING = 3
"""Correct windows that move most, and those that move least, in which several causes are told apart."""

SOURCES = ("data", SCREEN)
"""What windows are compared with: their exact replay from the data, or the float64 screen."""


def applies(case: Case, s: int) -> bool:
    """Whether a window can be replayed from what a run records: not where its weights are missing."""
    return not unseen_weights(case)


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s that is judged."""
    return {run_key(s): plain_request(case, s) for s in sorted(case.s_values) if applies(case, s)}


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """The plain runs again, for their screen, and continued at a window's end."""
    wanted = requests(case, trajectories) if screenable(case) else {}
    for s in _judged_s(case):
        wanted |= continued_request(case, s, trajectories, window=True)
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Replay chosen windows of every plain run whose windows are within the case's replay limit."""
    replays = WindowReplays(case, oracle)
    verdicts: list[Verdict] = []
    for s in _judged_s(case):
        between = s > 1 and right_at_one(case, verdicts)
        started = _started(case, s, trajectories, replays)
        verdict = _judge_run(case, s, trajectories, replays, started, between=between)
        if started is not None:
            plain, after = trajectories[run_key(s)], trajectories[continued_key(s)]
            verdict = joined(verdict, case, plain, after, started, _origin(case, started.source), 1)
        verdicts.append(verdict)
    return verdicts


def _origin(case: Case, source: str) -> str:
    """The module that the bound of a comparison comes from, by what its window was compared with."""
    exact = "bounds/window/svm" if case.problem.is_svm else "bounds/window/ridge"
    return "bounds/screen" if source == SCREEN else exact


def _started(
    case: Case, s: int, trajectories: Mapping[str, Trajectory], replays: WindowReplays
) -> Comparison | None:
    """The comparison on the first window of the continued run of an s; None where there is no such run.

    What it could have shown is computed where other windows lie between the results of two runs.
    """
    after = trajectories.get(continued_key(s))
    if after is None:
        return None
    names = () if case.formulas.level >= 2 else None
    window = Window(0, min(s, after.length))
    comparison = replays.replay_and_compare(after, window, names=names, diagnose=False, afresh=True)
    if comparison.status is Status.FAIL:
        alphas = np.array(after.alphas)
        alphas[0] = 0.0
        other = replace(after, alphas=alphas)
        again = replays.replay_and_compare(other, window, names=(), diagnose=False, afresh=True)
        if again.status is Status.PASS:
            return started_at_zero(comparison)
    return comparison


def replayable(case: Case, s: int) -> bool:
    """Whether a window of this s stays within the case's limit of kernel entries."""
    return case.panel_words(s) <= case.replay_limit


def _judged_s(case: Case) -> list[int]:
    """The s whose windows are judged."""
    return [s for s in case.s_values if applies(case, s) and replayable(case, s)]


def _judge_run(
    case: Case,
    s: int,
    trajectories: Mapping[str, Trajectory],
    replays: WindowReplays,
    started: Comparison | None,
    *,
    between: bool,
) -> Verdict:
    """The verdict on the plain run of an s, before the continued run is joined to it.

    Windows are chosen, screened and replayed, and the worst comparison decides. After a FAIL the known
    defects are tried that may have caused it.
    """
    trajectory = trajectories[run_key(s)]
    width = min(s, max(trajectory.length, 1))
    absent = {TAIL} if trajectory.length % s == 0 else set()
    absent |= {BOUNDARY} if trajectory.length <= s else set()
    names = case.problem.quantities(case.formulas.update, width, case.stream.block)
    names = [name for name in names if name not in absent]
    # 1. Choose windows, and screen all that fit (checks/window/screen.py).
    windows = choose_windows(case, trajectory)
    screened = screen(case, s, trajectory, trajectories) if screenable(case) else Screen()
    # 2. Replay the chosen ones, then those that the screen flagged (checks/window/many_windows.py).
    chosen = [*((trajectory, window) for window in windows), *screened.notable]
    confirm = EndsApart(case, replays).confirmed
    comparisons = comparisons_on_windows(case, chosen, screened.flagged, replays, names, confirm)
    tried = len(comparisons) - len(chosen)
    replayed = sum(comparison.bits > 0 for comparison in comparisons[len(chosen) :])
    comparisons += replay_bridge(case, trajectory, screened.bridge, replays, right=not screened.flagged)
    exact = {one.window.begin for one in comparisons if one.decided and one.bits}
    judged = exact | screened.judged
    alone = len(judged - exact)
    # 3. What could have been seen of each quantity.
    if started is not None and case.formulas.level < 2:
        *comparisons, started = with_limits([*comparisons, started], names)
        terms = quantity_terms(names, [*comparisons, started])
    else:
        comparisons = with_limits(comparisons, names)
        terms = quantity_terms(names, comparisons)
    if tried < len(screened.flagged) and not count_failed(comparisons):
        # Beyond a bound that decides nothing: that is neither right nor wrong.
        comparisons.append(screened.flagged[tried][1])
    within = [screened.within] if screened.within else []
    if not comparisons and not within:
        comparisons.append(unbounded(why=Why.NOT_RECORDED if trajectory.length else Why.NO_STEPS))
    # 4. Pick the comparison that decides.
    decided_by = comparisons or within  # A screen alone shows of no quantity that it could have been seen.
    status, compared = decisive(promising(decided_by)).status, [*comparisons, *within]
    largest = decisive([comparison for comparison in compared if comparison.status is status])
    fields: dict[str, Any] = {}
    planned = -(-trajectory.length // s)
    steps = sum(min(begin + s, trajectory.length) - begin for begin in judged)
    # 5. Which known defects end the failed windows where the solver ended them.
    if status is Status.FAIL:
        from sstep_verify.checks.window.causes import causes_of
        from sstep_verify.diagnosis.defects import diagnosis_of

        correct: list[Comparison] = []
        failed = [one for one in comparisons if one.status is Status.FAIL]
        open_too = [*failed, *(one for _, one in screened.flagged)]
        again = [*made_again(case, s, trajectory, trajectories)]
        moved_by = moved_until([trajectory, *again])
        still = hints_of_stillness(case.problem.base_task, trajectory)
        stopped = () if still else hints_of_a_stop(moved_by, [one.window.begin for one in open_too])
        if case.diagnose and stopped:
            before = {begin for begin in judged if begin < moved_by}
            correct = _correct_windows([trajectory, *again], s, before, replays)
        elif case.diagnose and not any(one.end and one.status is Status.PASS for one in comparisons):
            correct = _correct_windows(again, s, screened.judged - exact, replays)
        replayed_too = [*correct, *comparisons]

        def further() -> list[Comparison]:
            others = judged - {one.window.begin for one in replayed_too}
            more = [] if stopped else _telling_windows([trajectory, *again], s, others, replays)
            correct.extend(more)
            return more

        causes = [] if still else causes_of(case, width, replayed_too, between=between, further=further)
        if case.declaration.log:
            # step-replay tells small steps left out: at a window's end a value below its limit looks alike.
            causes = [cause for cause in causes if not cause.mutation.threshold]
        if stopped:
            # Much fits windows in which nothing moves; what is left would have changed no correct one.
            causes = [cause for cause in causes if cause.everywhere] if correct else []
        still = still or (() if causes else stopped)
        found = diagnosis_of(case.problem, causes)
        alone -= sum(one.window.begin not in exact for one in correct)
        if not _tail_only(comparisons, judged):
            largest = replace(largest, signs=tuple(sign for sign in largest.signs if sign != TAIL))
        full = any(begin + s <= trajectory.length for begin in judged)
        begins = (one.window.begin for one in open_too)
        last = hints_of_last_window(begins, trajectory.length, s, others=full)
        apart = case.formulas.level < 2
        moved = hints_of_signs(largest.signs, apart=apart and largest.window.begin > 0)
        if not apart:
            fields["signs"] = signs_of_one_run(largest.signs)
        # No formula of a step, which is the check's own requirement, moves what no step draws.
        fields["claimed"] = not set(largest.signs) >= UNDRAWN
        hints = *largest.hints, *moved, *found.hints, *still, *last
        if case.problem.kernel.linear and case.formulas.weights is None and _small(largest, trajectory):
            hints = *hints, Hint(HintKind.DECLARE_WEIGHTS)
        fields |= {"defects": found.defects, "hints": hints}
        fields["diagnosed"] = case.diagnose and any_tried(comparisons) and not still
    if largest.place is None and largest.window.end:
        largest = replace(largest, place=Place(largest.window.begin, largest.window.end))
    flagged, svm = len(screened.flagged), case.problem.is_svm
    seen = next(iter([*(comparison for _, comparison in screened.flagged), *within]), None)
    return verdict_from(
        ID,
        case,
        s,
        largest,
        units="absolute, largest coordinate" if svm else "M-norm, or largest coordinate",
        bound_origin=_origin(case, largest.source),
        planned=planned,
        executed=len(judged),
        terms=terms,
        required=core_terms(terms, width),
        evidence={
            **_sources(compared),
            "windows_judged": {"judged": len(judged), "of": planned},
            "steps": {"judged": steps, "of": trajectory.length},
            "screen": {
                "windows": len(screened.judged) + flagged,
                "largest_ratio": seen.ratio if seen else 0.0,
                "distance": seen.upper if seen else 0.0,
                "bound": seen.bound if seen else math.inf,
                "flagged": flagged,
                "other_run_at": screened.unlike,
                "replayed": replayed,
            },
            "windows": [comparison.evidence() for comparison in comparisons],
        },
        coverage=Coverage("window", len(judged), planned, flagged, replayed),
        notes=(
            *([] if screened.unlike is None else [Note(NoteKind.OTHER_RUN, (screened.unlike,))]),
            *([Note(NoteKind.SCREENED, (float(alone),))] if alone else []),
        ),
        **fields,
    )


def _small(comparison: Comparison, trajectory: Trajectory) -> bool:
    """Whether an error is so small that it may be the drift of weights, which is rounding."""
    return comparison.measured <= DRIFT * float(np.abs(trajectory.final).max(initial=0.0))


def _tail_only(comparisons: list[Comparison], judged: Collection[int]) -> bool:
    """Whether the only failed window is the last, short one, which left alpha as it was."""
    failed = [comparison for comparison in comparisons if comparison.status is Status.FAIL]
    return all(TAIL in comparison.signs for comparison in failed) and len(judged) > len(failed)


def _correct_windows(
    runs: list[Trajectory], s: int, begins: Collection[int], replays: WindowReplays
) -> list[Comparison]:
    """Exact replays of the first and the last complete window that the screen passed.

    A defect of every window would change them, so they distinguish it from one of the failed windows only.
    """
    complete = [
        (run, Window(begin, begin + s))
        for run in runs
        for begin in sorted(begins)
        if {begin, begin + s} <= {*run.iterations.tolist()}
    ]
    first_and_last = complete[:1] + complete[1:][-1:]
    return [replays.replay_and_compare(run, window, names=()) for run, window in first_and_last]


def _telling_windows(
    runs: list[Trajectory], s: int, begins: Collection[int], replays: WindowReplays
) -> list[Comparison]:
    """Exact replays of some complete windows that are correct: those that move most values, and least.

    What explains the failed windows as well as the mistake does may be refuted there.
    """
    known = {
        begin: (run, Window(begin, begin + s))
        for run in runs
        for begin in sorted(begins)
        if {begin, begin + s} <= {*run.iterations.tolist()}
    }

    def moves(begin: int) -> tuple[int, float]:
        run = known[begin][0]
        change = np.abs(run.at(begin + s) - run.at(begin))
        inside = run.at(begin + s)[change > 0]
        return np.unique(inside[inside != 0.0]).size, float(change.max())

    moved = {begin: size for begin in known if (size := moves(begin))[1] > 0}
    by_count = sorted(moved, key=lambda begin: (-moved[begin][0], begin))[:TELLING]
    by_size = sorted(moved, key=lambda begin: (moved[begin][1], begin))[:TELLING]
    return [replays.replay_and_compare(*known[begin], names=()) for begin in sorted({*by_count, *by_size})]


def _sources(comparisons: list[Comparison]) -> dict[str, dict]:
    """Largest ratio in exact replays and in the screen, with both values and what these could have seen."""
    sources: dict[str, dict] = {}
    for source in SOURCES:
        parts = [comparison for comparison in comparisons if comparison.source == source]
        if parts:
            known = [part.detection_limit for part in parts]
            limits = {name: min(one.get(name, math.inf) for one in known) for one in known for name in one}
            largest = max(parts, key=lambda part: part.ratio)
            sources[f"from_{source}"] = {**largest.numbers(), "detection_limit": limits}
    return sources


CHECK = Check(
    id=ID,
    text=__doc__,
    exact=True,
    needs="the plain run of every s, made again with every window's end recorded, and one continued from "
    "it at a window's end",
    planted="stale product or curvature left out of the steps, or, for s > 1, the kernel correction",
    runs=runs,
    continued=continued,
    judge=judge,
    rests_on={"residual-gap": (STALE, BOUNDARY)},
    bounds=("bounds/window/svm", "bounds/window/ridge", "bounds/screen"),
    level=1,
    applies=applies,
    affordable=replayable,
    primary=True,
    by_windows=True,
)
