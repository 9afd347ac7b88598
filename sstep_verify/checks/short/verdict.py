"""The points of a short run compared with the exact trajectory, and one verdict on all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np

from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.checks.shared.comparison import Comparison, Window, decisive, promising, unbounded, wrong
from sstep_verify.checks.shared.outcome import nothing_compared, verdict_from
from sstep_verify.checks.shared.signs import FIRST_ALPHA, hints_of_signs, hints_of_stillness
from sstep_verify.checks.shared.terms import quantity_terms
from sstep_verify.checks.short.runs import ShortTruth, short_length, short_points
from sstep_verify.checks.window.compare import compare, resolution, undrawn_apart
from sstep_verify.oracle.replay import Replay
from sstep_verify.quantities import KERNEL, OMEGA, OVERLAP, STALE, STREAM, TAIL, WRITE_BACK
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import ESTIMATED, Defect, Note, NoteKind, Place, Status, Verdict, Why

THESE = "bound_of_these_runs"
"""Key of whether the bound at a point is that of runs which leave the exact trajectory."""

WRITTEN = "rounding_of_printed_digits"
"""Key of the largest rounding that exceeds all of the run's own at a point; for how many values, of all."""


def compared_at(
    truth: ShortTruth,
    iteration: int,
    s: int,
    run: Trajectory,
    classical: Trajectory | None = None,
) -> Comparison:
    """Compare a short run with the exact trajectory, or with the solver's own classical run.

    Either run may leave the exact trajectory by its bound: two may differ by the sum of both. The classical
    one, of s = 1, stands instead of the exact trajectory.
    """
    known, runs = _known_of(run, classical), {s: run} | ({1: classical} if classical else {})
    bound = _sum(
        [
            truth.widened(truth.bounds(steps)[iteration], recorded.rounding_at(iteration), known)
            for steps, recorded in runs.items()
        ]
    )
    these = False
    states, window = [recorded.at(iteration) for recorded in runs.values()], Window(0, iteration)
    for state in reversed(states):  # what is not finite in the classical run is named before what differs
        unfit = _unfit(truth, iteration, state, states[1] if classical else None)
        if unfit is not None:
            # Where a bound is infinite nothing was promised, so values that are not finite are no failure.
            promised = math.isfinite(unfit.lower) or np.isfinite(bound.radius).all()
            details = _details(iteration, unfit.lower, bound)
            if promised:
                return replace(unfit, window=window, details=details)
            return unbounded(unfit.lower, window=window, details=details, why=Why.OVERFLOW)
    if classical and _left(truth, iteration, states[1], classical, known):
        bound, these = truth.of_these_runs(bound, [one.alphas for one in runs.values()], s), True
    other = truth.vector(states[1]) if classical else None
    distance = truth.distance(iteration, states[0], known, other)
    details = _details(iteration, float(np.max(distance[1], initial=0.0)), bound) | {THESE: these}
    if not truth.seen(known).any():
        return unbounded(window=window, details=details, why=Why.NOT_RECORDED)
    exact = truth.exact
    steps = type(exact.steps)(*(part[:iteration] for part in vars(exact.steps).values()))
    replay = Replay(exact.places, *distance, steps, truth.effects(s, known)[iteration], exact.bits)
    resolved = resolution(truth.case.formulas, replay, np.zeros_like(states[0]), states[0])
    comparison = compare(window, replay, bound.radius, resolved)
    if math.isinf(comparison.bound):
        # Nothing is promised, however wide the enclosure of what overflowed.
        comparison = unbounded(comparison.lower, window=window)
    return replace(comparison, details=details)


def _left(
    truth: ShortTruth, iteration: int, state: np.ndarray, run: Trajectory, known: np.ndarray | None
) -> bool:
    """Whether a classical run certainly left the exact trajectory by more than its bound."""
    bound = truth.widened(truth.bounds(1)[iteration], run.rounding_at(iteration), known)
    return bool((truth.distance(iteration, state, known)[0] > bound.radius).any())


def _known_of(run: Trajectory, classical: Trajectory | None) -> np.ndarray | None:
    """Coordinates that a run, or both of two, wrote down; None for all."""
    parts = [part.known for part in (run, classical) if part is not None and part.known is not None]
    return np.logical_and.reduce(parts) if parts else None


def _sum(bounds: list[TrajectoryBound]) -> TrajectoryBound:
    """The bound of a difference of runs that have these."""
    radius = np.sum([bound.radius for bound in bounds], axis=0)
    return TrajectoryBound(
        radius,
        max(bound.amplification for bound in bounds),
        sum(bound.undecided for bound in bounds),
        np.sum([np.broadcast_to(bound.written, radius.shape) for bound in bounds], axis=0),
    )


def _unfit(
    truth: ShortTruth, iteration: int, state: np.ndarray, classical: np.ndarray | None
) -> Comparison | None:
    """What is wrong with a recorded alpha before any comparison; None if nothing is.

    Coordinates that are never drawn are those of the classical run, or where there is none 0.
    """
    if not np.isfinite(state).all():
        first = int(np.argmin(np.isfinite(state)))
        return wrong(place=Place(0, iteration, first, found=float(state[first])))
    other = np.zeros_like(state) if classical is None else classical
    moved = undrawn_apart(other, state, truth.places)
    if moved is None:
        return None
    signs = [STREAM, WRITE_BACK]
    if classical is None and truth.case.formulas.level < 2:
        signs.append(FIRST_ALPHA)
    place = Place(0, iteration, moved, found=float(state[moved]), expected=float(other[moved]))
    return wrong(abs(float(state[moved] - other[moved])), signs=tuple(signs), place=place)


def _details(iteration: int, distance: float, bound: TrajectoryBound) -> dict[str, object]:
    """What the report tells of a point: the distance in the verdict's norm, what its bound is made of."""
    written = np.broadcast_to(bound.written, bound.radius.shape)
    with np.errstate(invalid="ignore"):  # infinite - infinite
        beside = np.nan_to_num(bound.radius - written, nan=np.inf).max(initial=0.0)
    mostly = written[written > beside]
    return {
        WRITTEN: [float(mostly.max(initial=0.0)), mostly.size, written.size],
        "iteration": iteration,
        "distance": distance,
        "largest_bound": float(np.max(bound.radius, initial=0.0)),
        "amplification": bound.amplification,
        "undecided_clips": bound.undecided,
    }


def _written(point: Comparison) -> list:
    return cast(list, point.details[WRITTEN])


def verdict_of(
    check: str,
    truth: ShortTruth,
    s: int,
    run: Trajectory,
    classical: Trajectory | None = None,
    *,
    right: bool = False,
) -> Verdict:
    """Return one verdict on all points of a run, compared as `compared_at` does.

    A failure against the exact trajectory holds the defects that reproduce it. Another number of iterations
    is looked for though another check has told a cause. Where the run of s = 1 is `right`, the others are
    between the steps of a window.
    """
    case, known = truth.case, _known_of(run, classical)
    planned, runs = short_points(case, s), [run] if classical is None else [run, classical]
    # A run that its solver's own rule ended has no later points.
    made = [end for end in planned if all(end in recorded.iterations for recorded in runs)]
    if not made:
        return nothing_compared(check, case, s, len(planned), Why.NOT_RECORDED)
    points = [compared_at(truth, iteration, s, run, classical) for iteration in made]
    notes = [] if known is None else [Note(NoteKind.PRINTED, (int(known.sum()), known.size))]
    # A point whose bound is infinite is vacuous; what the bounded ones say counts.
    comparison = decisive(promising(points))
    shown = {KERNEL, OVERLAP, OMEGA} | ({STALE} if s == 1 else set())
    shown |= {TAIL} if short_length(case) % s else set()
    names = [name for name in case.problem.quantities(case.formulas.update, s, 1) if name in shown]
    terms = quantity_terms(names, points)
    loose = comparison if _written(comparison)[0] else max(points, key=_written)
    written, count, of = _written(loose)
    # The planted defect is the dropped kernel correction. s = 1 has none; but where a result was written
    # with a rounding that is most of the bound, the run must have shown the stale product left out.
    planted = [term for term in terms if term.name == (KERNEL if s > 1 else STALE)]
    required = planted if s > 1 or written else []
    origin = f"bounds/window/{'svm' if case.problem.is_svm else 'ridge'}"
    if any(point.details.get(THESE) for point in points):
        notes.append(Note(NoteKind.THESE_RUNS))
    if comparison.details.get(THESE):
        origin = ESTIMATED
    if count:
        notes.append(Note(NoteKind.ROUNDED, (written, count, of)))
    failed = classical is None and comparison.status is Status.FAIL
    asked = failed and case.diagnose
    defects: tuple[Defect, ...] = ()
    hints = hints_of_signs(comparison.signs)
    if failed:
        from sstep_verify.checks.short.causes import causes_of
        from sstep_verify.diagnosis.defects import diagnosis_of

        still = hints_of_stillness(case.problem.base_task, run)
        asked = asked and not still
        causes = [] if still else causes_of(truth, s, run, points, between=right)
        found = diagnosis_of(case.problem, causes)
        defects, hints = found.defects, (*hints, *found.hints, *still)
    end = comparison.window.end
    return verdict_from(
        check,
        case,
        s,
        comparison if comparison.place is None else replace(comparison, place=None),
        required=required,
        place=comparison.place or Place(0, end),  # Of a whole run, whose steps it does not tell apart.
        bound_origin=origin,
        notes=tuple(notes),
        units="absolute, largest coordinate" if case.problem.is_svm else "M-norm",
        planned=len(planned),
        executed=sum(point.decided for point in points),
        terms=terms,
        evidence={
            # Fewer where the exact trajectory of more would take too much work.
            "iterations": [short_length(case), min(case.short, case.iterations)],
            "points": [point.details | point.numbers() for point in points],
        },
        defects=defects,
        hints=hints,
        diagnosed=asked,
        signs=comparison.signs,
    )
