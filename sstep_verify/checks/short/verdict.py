"""From distances and bounds at the points of a short run to findings, and from those to one verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from sstep_verify.bounds.trajectory_bound import TrajectoryBound
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window, outcome_of, unbounded, wrong
from sstep_verify.checks.shared.outcome import verdict_on, with_planted
from sstep_verify.checks.short.runs import ShortTruth, short_length
from sstep_verify.checks.window.compare import compare, resolution
from sstep_verify.checks.window.reasons import term_records, unseen
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.oracle.replay.window import Replay
from sstep_verify.quantities import KERNEL, OMEGA, OVERLAP, STALE, STREAM, TAIL, WRITE_BACK
from sstep_verify.verdict import Status, Verdict

WRITTEN = "rounding of what was written, where that is most of the bound"
"""Key of the largest rounding that exceeds all of the run's own at a point; for how many values, of all."""


REPRODUCES = {1: "alone reproduces", 2: "no mistake alone, but both at once, reproduces"}
"""What is said of the mistakes that explain a run, by how many at once."""


def spoiled(iteration: int, note: str, measured: float, bounds: Sequence[TrajectoryBound]) -> Finding:
    """A point that is judged before anything is compared: FAIL, or VACUOUS where a number may overflow.

    An a that is not finite is no failure where nothing was promised, that is, where a bound is infinite.
    """
    promised = all(np.isfinite(bound.radius).all() for bound in bounds) or math.isfinite(measured)
    details = _details(iteration, measured, bounds)
    made = wrong if promised else unbounded
    # Only a coordinate that was not drawn and moved is wrong by a number.
    signs = (STREAM, WRITE_BACK) if math.isfinite(measured) else ()
    return made("", measured, window=Window(0, iteration), note=note, details=details, signs=signs)


def _details(iteration: int, distance: float, bounds: Sequence[TrajectoryBound]) -> dict[str, object]:
    """What the report tells of a point: the distance in the verdict's norm, what its bounds are made of."""
    whole = np.sum([bound.radius for bound in bounds], axis=0)
    written = np.sum([np.broadcast_to(bound.written, whole.shape) for bound in bounds], axis=0)
    with np.errstate(invalid="ignore"):  # infinite - infinite
        beside = np.nan_to_num(whole - written, nan=np.inf).max(initial=0.0)
    mostly = written[written > beside]
    return {
        WRITTEN: [float(mostly.max(initial=0.0)), mostly.size, written.size],
        "iteration": iteration,
        "distance": distance,
        "largest bound": float(sum(float(np.max(bound.radius, initial=0.0)) for bound in bounds)),
        "amplification": max(bound.amplification for bound in bounds),
        "undecided clips": sum(bound.undecided for bound in bounds),
    }


def _evidence(point: Finding) -> dict[str, object]:
    told = {"status": point.status.value, "ratio": point.ratio, "detection_limit": point.detection_limit}
    return {**point.details, **told}


def _written(point: Finding) -> list:
    return cast(list, point.details[WRITTEN])


def told_of(known: np.ndarray | None) -> str:
    """What is said of runs of which only a part of a was written down; empty of others."""
    return "" if known is None else f", on the {int(known.sum())} of {known.size} entries that it printed"


def unfit(truth: ShortTruth, iteration: int, state: np.ndarray) -> tuple[str, float]:
    """Why a state is wrong before any comparison, and by how much; an empty reason if it is not."""
    if not np.isfinite(state).all():
        return f"a is not finite after {iteration} iterations.", math.inf
    still = np.ones(state.size, dtype=bool)
    still[truth.places] = False
    moved = np.flatnonzero(still & (state != 0))
    if moved.size:
        value = state[moved[0]]
        return f"Coordinate {moved[0]}, never drawn, went from 0 to {value!s}.", abs(float(value))
    return "", 0.0


def judged(
    case: Case,
    truth: ShortTruth,
    s: int,
    iteration: int,
    state: np.ndarray,
    distance: tuple[np.ndarray, np.ndarray],
    bounds: Sequence[TrajectoryBound],
    known: np.ndarray | None = None,
) -> Finding:
    """Compare a distance with the sum of some bounds.

    Parameters
    ----------
    case, truth
        The case and what is known of its short runs.
    s, iteration : int
        Iterations per window of the run, and where it is judged.
    state : ndarray, shape (m,)
        The run's a there.
    distance : pair of ndarray, shape (c,) or (1,)
        Enclosure of the distance.
    bounds : sequence of TrajectoryBound
        Bounds that add up.
    known : ndarray of bool, shape (m,), optional
        Coordinates that were written down; all if absent.
    """
    exact = truth.exact
    if not truth.seen(known).any():
        return unbounded("", window=Window(0, iteration), details=_details(iteration, 0.0, bounds))
    steps = type(exact.steps)(*(part[:iteration] for part in vars(exact.steps).values()))
    effects = truth.effects(s, known)[iteration]
    replay = Replay(exact.places, *distance, steps, effects, exact.bits)
    bound = np.sum([bound.radius for bound in bounds], axis=0)
    resolved = resolution(case.declaration, replay, np.zeros_like(state), state)
    finding = compare(Window(0, iteration), replay, bound, resolved)
    if math.isinf(finding.bound):
        # Nothing is promised, however wide the enclosure of what overflowed.
        finding = unbounded(finding.what, finding.lower, window=finding.window)
    return replace(finding, details=_details(iteration, float(np.max(distance[1], initial=0.0)), bounds))


def verdict_of(
    check: str,
    case: Case,
    s: int,
    points: list[Finding],
    compared: str,
    origin: str,
    causes: str,
    mistaken: Callable[[], list[Candidate]] | None = None,
    between: str = "",
) -> Verdict:
    """One verdict on all points of a run.

    Parameters
    ----------
    check, case, s
        As in `verdict_on`.
    points : list of Finding
        At least one.
    compared : str
        What was compared with what, without an end.
    origin : str
        Where the bound comes from.
    causes : str
        Likely causes of a failure.
    mistaken : callable, optional
        Names the mistakes that reproduce a failure; asked if there is one.
    between : str
        What is said first, and which of these can be, where the run of s = 1 is right.
    """
    finding = max(points, key=lambda point: point.ratio)
    names = case.problem.quantities(case.declaration.update, s, 1)
    told = (
        KERNEL,
        OVERLAP,
        OMEGA,
        *([STALE] if s == 1 else []),
        *([TAIL] if short_length(case) % s else []),
    )
    names = [name for name in names if name in told]
    terms = term_records(names, points, "runs from zero to a recorded point")
    # A point whose bound is infinite is vacuous; what the bounded ones say counts.
    status = outcome_of(points)
    # The planted defect is the dropped kernel correction. s = 1 has none; but where a result was written
    # with a rounding that is most of the bound, the run must have shown the stale product left out.
    loose = finding if _written(finding)[0] else max(points, key=_written)
    written, some, of = _written(loose)
    planted = [one for one in terms if one.name == (KERNEL if s > 1 else STALE)]
    status = with_planted(status, planted if s > 1 or written else ())
    reason = (
        f"{compared} after {finding.window.end} iterations: measured {finding.measured:.3g}, "
        f"bound {finding.bound:.3g} ({origin})."
    )
    tried = mistaken is not None and status is Status.FAIL
    found = mistaken() if mistaken and tried else []
    named = [one.words for one in found]
    if status is Status.FAIL:
        said = f"{' or '.join(named)} ({REPRODUCES[len(found[0].names)]} the run)" if found else ""
        causes = ": ".join(part for part in (between, said) if part) or causes
        reason = " ".join(part for part in (reason, finding.note, f"Likely causes: {causes}.") if part)
    elif status is Status.VACUOUS and not math.isfinite(finding.bound):
        reason += " The bound is infinite: no implementation is promised to come near the exact run."
    elif status is Status.VACUOUS:
        reason += f" The run could not have shown the planted defect: {unseen(planted)}."
    elif status is Status.INCONCLUSIVE:
        reason += " The enclosure of the distance holds the bound."
    return verdict_on(
        check,
        case,
        s,
        status,
        replace(finding, window=Window(0, 0)),  # Of a whole run, whose steps it does not tell apart.
        reason,
        units="absolute, largest coordinate" if case.problem.is_svm else "M-norm",
        planned=len(points),
        executed=sum(point.decided for point in points),
        terms=terms,
        evidence={
            # Fewer where the exact trajectory of more would take too much work.
            "iterations": f"{short_length(case)} of {min(case.short, case.iterations)}",
            "points": [_evidence(point) for point in points],
            **({"likely causes": named} if tried else {}),
        },
        signs=[name for one in found for name in one.names] or finding.signs,
        each=len(found) == 1,
        uncertain=[
            f"how its result was written down (after {loose.window.end} iterations up to {written:.2g}, "
            f"{some} of {of} values)"
        ]
        * (some > 0),
    )
