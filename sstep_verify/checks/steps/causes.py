"""Why steps of a run are wrong: a quantity left out or off by a factor, a mistake, the correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, Window
from sstep_verify.checks.shared.signs import NO_LOG, hints_of_a_stop, hints_of_stillness, logged_moves_until
from sstep_verify.checks.steps.explain import explained
from sstep_verify.checks.steps.formulas import formulas_of
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.other_draws import draws_elsewhere
from sstep_verify.checks.steps.place import placed
from sstep_verify.checks.steps.step_statistics import NAMES
from sstep_verify.checks.window.causes import causes_of, right_asked
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.diagnosis.defects import Diagnosis, diagnosis_of
from sstep_verify.diagnosis.factors import PARTS, SHIFT_EVERYWHERE, TARGETS, Factor, off_by_a_factor
from sstep_verify.diagnosis.symbols import is_known
from sstep_verify.quantities import PENALTY, SAMPLES, STREAM, WRITE_BACK
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Hint, HintKind, Status

SHARE = 0.9
"""Share of the wrong steps that a mistake must reproduce to be named."""

SIDES = "steps from one limit of the box to the other left out"

OF_PROBLEM = (PENALTY, SAMPLES, PARTS[TARGETS].name, PARTS[SHIFT_EVERYWHERE].name)
"""Names of factors in all steps that make them those of another problem."""

WORK = 1 << 18
"""Products of increments, and kernel entries, of a window up to which mistakes are tried in it."""

WRONG = 8
"""Windows that hold a wrong step, in which mistakes are tried."""


def diagnosed(comparison: Comparison, judged: JudgedRun, *, between: bool) -> tuple[Comparison, Diagnosis]:
    """Diagnose a run with wrong steps.

    Parameters
    ----------
    comparison : Comparison
        The comparison that decides.
    judged : JudgedRun
        The run.
    between : bool
        Whether only what relates the steps of a window can be wrong, since the run of s = 1 is right.

    Returns
    -------
    comparison : Comparison
        It is placed at the first wrong step; its value and bound stay those of the one that decides. Its
        signs are the quantities whose absence reproduces at least `SHARE` of the wrong steps, and enter no
        verdict.
    diagnosis : Diagnosis
        The defects that explain them.
    """
    case, found, first = judged.case, explained(judged), int(judged.wrong[0])
    width = min(judged.trajectory.s, judged.trajectory.length)
    # Quantities whose absence reproduces at least `SHARE` of the wrong steps, the best first.
    least, order = SHARE * found.over, np.argsort(-found.reproduced.sum(axis=0), kind="stable")
    places = [place for place in order if (found.reproduced[:, place] >= least).all()]
    of, svm = int(found.over.sum()), case.problem.is_svm
    intervals = found.low, found.high, found.fits
    shifted, known = not svm or case.problem.dual.shift > 0.0, partial(is_known, case.problem)
    factors = off_by_a_factor(
        *intervals, of_svm=svm, shifted=shifted, is_known=known, allowed=found.allowed
    )

    def is_certain(factor: Factor) -> bool:
        return factor.size is None or known(*factor.ends)

    # A factor that was not fitted explains all wrong steps; what explains fewer is less than that.
    if any(map(is_certain, factors)):
        places = [place for place in places if found.reproduced[:, place].sum() == of]
    names = [NAMES[place] for place in places]
    counts = [int(found.reproduced[:, place].sum()) for place in places]
    parts = [None if count == of else (count, of) for count in counts]
    ends = wrong_windows(judged) if case.diagnose else []
    ending = causes_of(case, width, ends, between=between) if ends else []
    ending = [cause for cause in ending if not _refuted_by_log(cause.mutation, width)]
    # A cause is not named again as a factor on the same quantity, such as one of 0.
    sized = [one for one in factors if not (names or any(one.holds(cause.mutation) for cause in ending))]
    mutations = [left_out(name) for name in names]
    # What more steps would have shown than are wrong would have changed a correct one.
    everywhere = [bool(judged.tested.seen[place] <= of) for place in places]
    missing = [
        Candidate((one.name,), case.problem, mutation=one, part=part, everywhere=whole)
        for one, part, whole in zip(mutations, parts, everywhere, strict=True)
    ]
    # A step that was left out has its coordinate as it was; where no step moves, none of them is small.
    still = hints_of_stillness(case.problem.base_task, judged.trajectory)
    stopped = () if still else _stopped(judged)
    sized = [] if still or stopped else sized
    if stopped:
        # Much fits steps that do not move; what is left would not have changed a correct one.
        missing = [one for one in missing if one.everywhere and one.part is None]
        ending = [one for one in ending if one.everywhere]
    if (svm and not found.none_moved) or still:
        ending = [cause for cause in ending if not cause.mutation.threshold]
    sides = [Candidate((SIDES,), case.problem)] if found.sides_left_out and not stopped else []
    if sides and found.others_moved:
        causes, sized = sides, []
    elif not found.over[0]:
        # All are at ends of the box; what is in the log is less than what follows of it.
        both = [*sides, *missing]
        both += [cause for cause in ending if cause.names not in {one.names for one in missing}]
        both = [one for one in both if one.everywhere] or both
        causes = [replace(cause, doubt=HintKind.AT_LIMITS) for cause in both]
    else:
        sure = [cause for cause in ending if not cause.doubt and cause.mutation.name not in _named(missing)]
        causes = [*(one for one in missing if one.part is None or not sure), *sure]
        # A factor that is fitted to the steps says less than what needs none, and one on what a problem is
        # made of says no more than that another was solved.
        if sure:
            of_problem = OF_PROBLEM if any(cause.mutation is NONE for cause in sure) else ()
            sized = [one for one in sized if is_certain(one) and one.name not in of_problem]
        # With s = 1 a curvature times -1 is the same, and nobody divides by that.
        if any(cause.mutation.write_back == -1 for cause in sure):
            sized = []
        if not causes and case.diagnose and not stopped and (formulas := formulas_of(judged)):
            named = formulas.items()
            causes, sized = [Candidate((name,), case.problem, part=part) for name, part in named], []
        causes = causes or ([] if sized else ending)
    if any(cause.everywhere for cause in causes):
        sized = [one for one in sized if one.everywhere]
    diagnosis = diagnosis_of(case.problem, causes, sized)
    if sides:
        diagnosis = replace(diagnosis, signs=(SIDES,))
    elif not causes:
        in_log = () if sized or still or stopped else _hints_of_windows(judged, ends)
        diagnosis = replace(diagnosis, hints=(*diagnosis.hints, *still, *stopped, *in_log))
    at = placed(judged, replace(comparison, window=Window(first, first + 1), signs=tuple(names)))
    return at, diagnosis


def _stopped(judged: JudgedRun) -> tuple[Hint, ...]:
    """The hint that a run moves no value from an iteration on, where every wrong step is."""
    draws, log = judged.judge.logged(judged.trajectory, 0, judged.trajectory.length)
    moved = logged_moves_until(judged.trajectory.alphas[0], draws, log)
    return hints_of_a_stop(moved, judged.wrong.tolist())


def _hints_of_windows(judged: JudgedRun, ends: Sequence[Comparison]) -> tuple[Hint, ...]:
    """Return the hint where windows of wrong steps, whose replays are `ends`, are correct from end to end.

    A step between these ends is in the log only, and a later one of the window may have set it right.
    """
    s = judged.trajectory.s
    wrong = {*(judged.wrong // s * s).tolist()}
    replayed = [one for one in ends if one.window.begin in wrong]
    correct = bool(replayed) and all(one.status is Status.PASS for one in replayed)
    return (Hint(HintKind.WINDOWS_CORRECT),) if correct and s > 1 else ()


def _refuted_by_log(mutation: Mutation, width: int) -> bool:
    """Whether a mutation stores other values than its steps have, though the log leads to what was stored.

    Values that are lost explain any window that ends where it begins. In a window of one step, a draw or an
    increment that is lost does the same.
    """
    return mutation.write_back == 0 or (width == 1 and (mutation.early or mutation.boundary != 1))


def _named(causes: Sequence[Candidate]) -> set[str]:
    return {cause.mutation.name for cause in causes}


def of_recorded(
    broken: Comparison, trajectory: Trajectory, judge: StepJudge, *, between: bool
) -> Diagnosis:
    """Diagnose a log that does not lead to what was recorded, by the recorded alpha alone.

    The log itself shows draws that are one place off; a log whose every step is correct shows that no
    step has a defect. Otherwise:
    Windows of which both ends were recorded are replayed as those of a run without a log are. What ends all
    wrong ones where the run did is named. Only what relates the steps of a window can be wrong if
    `between`.
    """
    case, replays = judge.case, WindowReplays(judge.case, judge.oracle)
    windows, width = trajectory.windows(), min(trajectory.s, trajectory.length)
    if broken.signs == (NO_LOG,):
        return Diagnosis()
    if defects := draws_elsewhere(case, trajectory):
        return Diagnosis(defects)
    if not (case.diagnose and affordable(case, width)) or _is_correct(trajectory, judge):
        return Diagnosis()
    chosen = [Window(*windows[place]) for place in _spread(np.arange(len(windows)), WRONG)]
    comparisons = [replays.replay_and_compare(trajectory, window, names=()) for window in chosen]
    if not any(comparison.status is Status.FAIL for comparison in comparisons):
        return Diagnosis()
    causes = causes_of(case, width, comparisons, between=between)
    if {STREAM, WRITE_BACK} <= set(broken.signs):  # No step moves what no step draws, but of other draws.
        causes = [cause for cause in causes if cause.mutation.early]
    # Much fits a window in which nothing moves, whatever is wrong in others. A tail leaves all before it as
    # it is, and values that are not stored leave alpha at its start.
    ends = [one.end[1] for one in comparisons if one.status is Status.FAIL and one.end is not None]
    moved = any((end.begin != end.end).any() for end in ends)
    at_start = not (trajectory.alphas != trajectory.alphas[0]).any()

    def may_be(mutation: Mutation) -> bool:
        if mutation.lose_tail:
            return broken.window.end == trajectory.length
        return at_start if mutation.write_back == 0 else moved

    causes = [cause for cause in causes if may_be(cause.mutation)]
    return diagnosis_of(case.problem, causes)


def _is_correct(trajectory: Trajectory, judge: StepJudge) -> bool:
    """Whether every step of a log is correct, from the values that the log has before it."""
    log = trajectory.log
    assert log is not None
    if judge.case.formulas.weights is not None or not np.isfinite(log).all():
        return False
    ends = np.array([0, trajectory.length])
    end = judge.alpha_before(trajectory, trajectory.length)
    alphas = np.array([trajectory.alphas[0], end])
    alone = replace(trajectory, iterations=ends, alphas=alphas, rounding=None)
    judged = judge.run(alone)
    return judged.decided == trajectory.length and not judged.wrong.size


def affordable(case: Case, width: int) -> bool:
    """Whether mistakes are tried in windows of so many steps."""
    return width * case.stream.block * case.problem.samples <= WORK


def wrong_windows(judged: JudgedRun) -> list[Comparison]:
    """Some windows that hold a wrong step, the first and the last among them, and some that hold none.

    Each is replayed from the run's own a: the log tells it at both ends of every window, recorded or not.
    It tells no weights that are maintained along with a; where there are any there is nothing to replay.
    """
    case, trajectory = judged.case, judged.trajectory
    if case.formulas.weights is not None or not affordable(
        case, min(trajectory.s, max(trajectory.length, 1))
    ):
        return []
    wrong = np.unique(judged.wrong // trajectory.s)
    right = np.setdiff1d(np.arange(-(-trajectory.length // trajectory.s)), wrong)
    windows = [*_spread(wrong, WRONG), *_spread(right, right_asked(trajectory.s))]
    replays = WindowReplays(case, judged.judge.oracle)
    return [_replayed(judged, window * trajectory.s, replays) for window in sorted(windows)]


def _spread(windows: np.ndarray, most: int) -> list[int]:
    """At most so many of some windows, their first and last among them, as far apart as the others are."""
    if not windows.size:
        return []
    places = np.unique(np.linspace(0, windows.size - 1, most).astype(np.int64))
    return [int(window) for window in windows[places]]


def _replayed(judged: JudgedRun, begin: int, replays: WindowReplays) -> Comparison:
    trajectory = judged.trajectory
    end = min(begin + trajectory.s, trajectory.length)
    ends = np.array([*([begin - trajectory.s] if begin else []), begin, end])
    alphas = np.array([judged.judge.alpha_before(trajectory, iteration) for iteration in ends])
    part = replace(trajectory, iterations=ends, alphas=alphas, log=None, rounding=None)
    return replays.replay_and_compare(part, Window(begin, end), names=())
