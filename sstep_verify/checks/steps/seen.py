"""What a judged run showed, or could have shown, of each quantity: by its counts, and in exact arithmetic.

Some steps are replayed exactly, against the solver's share of the bound alone: notable ones, and for each
quantity the one that would show the smallest error in it. The judge's own roundings, about half of what a
float64 step is compared with, are no part of that bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sstep_verify.checks.shared.comparison import Comparison, Window, ratios, unbounded
from sstep_verify.checks.shared.terms import term_of
from sstep_verify.checks.steps.judged import JudgedRun
from sstep_verify.checks.steps.step_statistics import CLIP_HIGH, CLIP_LOW, EVENTS, NAMES, REPEATED
from sstep_verify.checks.steps.tested import Tested
from sstep_verify.oracle.facade import MOST_BITS
from sstep_verify.quantities import (
    BOUNDARY,
    LOWER,
    OVERLAP,
    SAME,
    TAIL,
    UPPER,
    WRITE_BACK,
)
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.verdict import DETECTION_FACTOR, Sensitivity, Why

EXACT_WORDS = 1 << 16
"""Kernel entries of the exact steps of a run; one step is replayed even where it has more."""

ENDS = (UPPER, LOWER)
"""Of what is certainly clipped the float64 judge knows the last bit."""

BITS = 192
"""Precision a step is replayed with at first: one step loses few bits."""


def exact_steps(judged: JudgedRun) -> list[Comparison]:
    """Replay steps of a judged run exactly.

    Returns
    -------
    list of Comparison
        One per step replayed that has a bound; with the smallest relative errors of either sign, by
        quantity, that it was certain to show, of those that it shows best.
    """
    words = judged.case.problem.samples * judged.case.stream.block
    if words > judged.case.replay_limit:
        return []
    most = max(EXACT_WORDS // words, 1)
    why = _notable(judged)
    telling = _telling(judged) if most > len(why) else {}
    for iteration, errors in telling.items():
        why.setdefault(iteration, f"shows_{next(iter(errors))}")
    chosen = list(why)[:most]
    # In their order in the run, since the oracle makes again what an alpha before did not have.
    made = {
        iteration: _exact(judged, iteration, why[iteration], telling.get(iteration, {}))
        for iteration in sorted(chosen)
    }
    return [made[iteration] for iteration in chosen if made[iteration].bound < math.inf]


def _telling(judged: JudgedRun) -> dict[int, dict[str, tuple[float, float]]]:
    """Iterations made before each step that shows a quantity best, and the errors it shows, by quantity.

    For errors of either sign, too large and too small, it is sought in the window of the step at which the
    float64 judge would see them best. It need not be the same step: what it does not show is infinite.
    """
    windows: dict[int, Tested] = {}
    telling: dict[int, dict[str, tuple[float, float]]] = {}
    for number, name in enumerate(NAMES):
        steps = judged.tested.best[:, number].tolist()
        if min(steps) < 0 or name in ENDS:
            continue
        for sign, best in enumerate(steps):
            window = best // judged.trajectory.s
            if window not in windows:
                windows[window] = judged.judge.window_by_exact_steps(judged.trajectory, best)
            tested = windows[window]
            error = float(tested.least[sign, number])
            if 0.0 < error < math.inf:
                errors = telling.setdefault(int(tested.best[sign, number]), {})
                least = [*errors.get(name, (math.inf, math.inf))]
                least[sign] = error
                errors[name] = least[0], least[1]
    return telling


def _notable(judged: JudgedRun) -> dict[int, str]:
    """Iterations and why: the worst step, the first wrong one, the first of each event, a seeded one."""
    if judged.worst is None:
        return {}
    notable = {judged.worst.window.begin: "largest_ratio"}
    for first in judged.wrong[:1].tolist():
        notable.setdefault(first, "first_over_bound")
    for name, first in zip(EVENTS, judged.tally.first.tolist(), strict=True):
        if first >= 0:
            notable.setdefault(first, f"first_{identifier(name)}")
    generator = np.random.Generator(np.random.PCG64(judged.case.seed))
    notable.setdefault(int(generator.integers(judged.trajectory.length)), "seeded")
    return notable


def _exact(
    judged: JudgedRun, iteration: int, why: str, least: dict[str, tuple[float, float]]
) -> Comparison:
    trajectory, judge, (drawn, logged) = judged.trajectory, judged.judge.exact, judged.step(iteration)
    before = judge.alpha_before(trajectory, iteration)
    after = before.copy()
    after[drawn] = logged
    bounds = judge.step_bounds(trajectory, iteration)
    chosen: dict[str, object] = {"chosen": why}
    window = Window(iteration, iteration + 1)
    bound = float(bounds.max())
    if not bound < math.inf or not np.isfinite(before).all():
        # A step from no vector of numbers is none.
        return unbounded(math.inf, window=window, details=chosen)
    if not np.isfinite(after).all():
        return Comparison(math.inf, math.inf, bound, window, least=least, details=chosen)
    bits = BITS
    while True:
        lower, upper = judge.step_error(before, after, drawn, bits)
        place = int(np.argmax(ratios(upper, bounds)))
        comparison = Comparison(float(lower[place]), float(upper[place]), float(bounds[place]), window,
            least=least, details=chosen,
        )  # fmt: skip
        # The radius must be small relative to the bound, or the ratio is that of the radius.
        if (
            comparison.upper - comparison.lower <= comparison.bound * 2.0**-10
            or bits >= MOST_BITS
            or bound == 0.0
        ):
            return comparison
        bits *= 2


def step_terms(judged: JudgedRun, exact: Sequence[Comparison]) -> tuple[Sensitivity, ...]:
    """One record per quantity that the steps of a run have, of which some were replayed exactly."""
    case, length, s = judged.case, judged.trajectory.length, judged.trajectory.s
    shown = [step.least for step in exact if step.decided]
    terms = []
    for name in case.problem.quantities(case.formulas.update, min(s, max(length, 1)), case.stream.block):
        if (name == TAIL and length % s == 0) or (name == BOUNDARY and length <= s):
            continue
        if name == WRITE_BACK:
            terms.append(_write_back(judged))
            continue
        place = NAMES.index(name)
        seen, least = int(judged.tested.seen[place]), judged.tested.least[:, place].tolist()
        # Of either sign the smallest that a step shows; an error has one sign, and it is not known which.
        both = (
            min(own, *(one[name][sign] for one in shown if name in one), math.inf)
            for sign, own in enumerate(least)
        )
        limit = max(both)
        counts = int(judged.tested.planned[0]), int(judged.tested.looked[0]), seen
        # Left out, what was not seen changes no step by more than this.
        largest = DETECTION_FACTOR / min(least) if min(least) > 0.0 else math.inf
        if not seen:
            largest = min(largest, DETECTION_FACTOR)
            # What may be left out altogether may be off by as much.
            limit = limit if limit >= 1.0 else math.inf
        terms.append(term_of(name, limit, *counts, _why_not(name, judged), largest))
    return tuple(terms)


def _write_back(judged: JudgedRun) -> Sensitivity:
    """Stored values are compared bit for bit at every recorded iteration."""
    trajectory = judged.trajectory
    pairs = zip(trajectory.alphas[:-1], trajectory.alphas[1:], strict=True)
    moved = sum(not np.array_equal(before, after) for before, after in pairs)
    compared = trajectory.iterations.size - 1
    limit = unit_roundoff(judged.case.formulas.precision) if moved else math.inf
    return term_of(WRITE_BACK, limit, compared, compared, moved, Why.NO_EFFECT, math.inf if moved else 0.0)


def _why_not(name: str, judged: JudgedRun) -> Why:
    tally, tested = judged.tally, judged.tested
    events = {UPPER: CLIP_HIGH, LOWER: CLIP_LOW, SAME: REPEATED, OVERLAP: REPEATED}
    if not tested.looked[0]:
        return Why.NONE_DECIDED
    never = name in events and not tally.events[events[name]]
    if never or (name != TAIL and not tested.acts[NAMES.index(name)]):
        return Why.NO_EFFECT
    return Why.WITHIN_BOUND


def identifier(name: str) -> str:
    """The name of an event as a key."""
    return name.replace(" ", "_")
