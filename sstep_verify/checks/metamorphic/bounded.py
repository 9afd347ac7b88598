"""Transformed problems and solver variants that must agree within rounding: each a case of its own.

A window of the original run, with its exact steps and bound, is compared with that of the transformed runs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.checks.determinism import AGAIN
from sstep_verify.checks.metamorphic.exact import Relation
from sstep_verify.checks.metamorphic.scaling_range import formula_does_not_scale, no_room
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, ratios, wrong
from sstep_verify.checks.window.compare import RunWindow, bounded, compare, moved_undrawn
from sstep_verify.checks.window_replay import replayable
from sstep_verify.errors import InputError
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.window import Effect, Replay
from sstep_verify.problems.transforms import (
    Transformed,
    append_zero_columns,
    permute_features,
    relabel,
    scale_data,
)
from sstep_verify.quantities import KERNEL
from sstep_verify.rounding.arithmetic import OUTWARD, held_problem, magnitudes
from sstep_verify.rounding.block.energy import energy_norm
from sstep_verify.rounding.kernel.entries import kernel_entries

ZERO_COLUMNS = 7
"""Columns appended: no multiple of a vector's width, so that sums are cut elsewhere."""

POW_POWERS = (5, -5, 1, -1)
"""Powers of two tried where the polynomial is raised by pow."""


WINDOW_WORK = 1 << 20
"""Kernel entries and products of increments that the exact replay of a window may take: seconds."""


def affordable_steps(case: Case) -> int:
    """Steps of a window whose exact replay stays within `WINDOW_WORK`, at least 2: one has no correction.

    A replay of d drawn and c <= min(d, m) distinct coordinates forms c kernel rows of m entries and, for
    every drawn coordinate, a product with c increments: c (m + d) in all.
    """
    samples = case.problem.samples
    drawn = (math.isqrt(samples**2 + 4 * WINDOW_WORK) - samples) // 2
    if drawn > samples:
        drawn = WINDOW_WORK // samples - samples
    return max(drawn // case.stream.block, 2)


def comparable(case: Case, s: int) -> bool:
    """Whether the affordable steps of a window of this s stay within the case's limit of kernel entries."""
    return replayable(case, min(s, affordable_steps(case)))


def relations(case: Case) -> tuple[Relation, ...]:
    """The relations of a case."""
    problem, stream, seed = case.problem, case.stream, case.seed
    transformed = {
        "relabelling": (relabel(problem, stream, seed), f"samples numbered anew (seed {seed})"),
        "zero-columns": (
            append_zero_columns(problem, stream, ZERO_COLUMNS),
            f"{ZERO_COLUMNS} columns of zeros appended",
        ),
        "features": (permute_features(problem, stream, seed), f"features reordered (seed {seed})"),
    }
    same = "the transformed problem equals the original"
    related = [
        Relation(name, claim, changed, reason=same if changed.problem.digest == problem.digest else "")
        for name, (changed, claim) in transformed.items()
    ]
    if formula_does_not_scale(problem, case.declaration):
        related += _scaled(case)
    plain = Transformed(problem, stream)
    related += [
        Relation(f"variant-{name}", f"solver variant {name}", plain, variant=name)
        for name in case.variants
        if name not in AGAIN
    ]
    return tuple(related)


def _scaled(case: Case) -> list[Relation]:
    """Data times a power of two, for a formula that does not commute with it; none if none fits."""
    for power in POW_POWERS:
        try:
            changed = scale_data(case.problem, case.stream, power)
            fits = _fits(case, power)
        except InputError:
            continue
        if fits:
            return [Relation("data-scaled", f"data times 2**{power}", changed)]
    return []


def _fits(case: Case, power: int) -> bool:
    """Whether scaling leaves numbers of the precision what they are, so that it and rounding commute.

    What a solver uses as it is has to stay a number of its precision, or no a can hold it.
    """
    held = held_problem(case.problem, case.declaration)
    if held is None:
        return False
    scaled = scale_data(held, case.stream, power).problem
    if case.declaration.data_rounding:
        return held_problem(scaled, case.declaration) is scaled
    return not no_room(scaled, case.declaration, None)


LOST = "lost contributions"
"""The planted defect, as a quantity of the window: what samples not drawn, or earlier steps, contribute."""


class ExactWindow:
    """A window of the original run: exact steps, bound, effect of the planted defect.

    The state that the window carries is None where it was formed from the a at its start.
    """

    def __init__(self, case: Case, recorded: RunWindow, oracle: Oracle):
        self._case, self._recorded, self._oracle = case, recorded, oracle
        bits = FIRST_BITS
        while True:
            replay = self._replayed(recorded.begin, bits)
            self._replay, self._bound = _bounded(case, replay, recorded)
            if np.isfinite(self._bound).all() or bits >= MOST_BITS:
                break
            bits *= 2
        # Transformed runs begin with a, whatever the original one carried.
        self._from_alpha = replace(recorded, carried=None)
        self._afresh = self._bound
        if recorded.carried is not None:
            self._afresh = _bounded(case, replay, self._from_alpha)[1]
        effect = self._planted()
        self._replay = replace(self._replay, effects={LOST: Effect(effect, effect)})

    def _replayed(self, begin: np.ndarray, bits: int) -> Replay:
        end = np.where(np.isfinite(self._recorded.end), self._recorded.end, 0.0)
        return self._oracle.replay(self._case.problem, begin, end, self._recorded.draws, bits)

    def _planted(self) -> np.ndarray:
        """Lower bound on what lost contributions change: of samples not drawn, or of earlier steps."""
        places, begin = self._replay.places, self._recorded.begin
        lost = np.zeros_like(begin)
        lost[places] = begin[places]
        replay = self._replayed(lost, self._replay.bits)
        if replay.lower.size < self._bound.size:
            replay = replay.with_components()
        correction = self._replay.effects.get(KERNEL)
        return replay.lower if correction is None else np.maximum(replay.lower, correction.dropped)

    def _other(self, relation: Relation) -> np.ndarray:
        """Bound of the transformed run's window, carried back to the original problem.

        Renumbering, zero columns and another order of features leave the exact problem and every bound as
        it is: an exact zero adds no rounding, and the bounds hold for any order of summation.
        """
        changed, replay, window = relation.transformed, self._replay, self._from_alpha
        if not relation.variant and not changed.kernel_exponent:
            return self._afresh
        declared = self._case.variants.get(relation.variant, self._case.declaration)
        case = replace(self._case, problem=changed.problem, stream=changed.stream, declaration=declared)
        if changed.kernel_exponent:
            window = replace(window, begin=changed.forward(window.begin))
            oracle = self._oracle.kept(f"scaled {case.problem.digest}", lambda: Oracle(case.problem))
            end = np.zeros_like(window.begin)
            replay = oracle.replay(case.problem, window.begin, end, window.draws, replay.bits)
        return np.ldexp(_bounded(case, replay, window)[1], -changed.exponent)

    def compare(self, relation: Relation, ended: np.ndarray) -> Finding:
        """Compare the original end with that of a transformed run, mapped back."""
        window, end = self._recorded.window, self._recorded.end
        what = (
            f"{relation.name} ({relation.claim}): the two ends of the window of iterations "
            f"{window.begin + 1}..{window.end}"
        )
        state = relation.transformed.back(ended)
        moved = moved_undrawn(window, end, state, self._recorded.draws)
        if moved is not None:
            return wrong(f"{what}: {moved.note}", window=window)
        allowed = (self._bound + self._other(relation)) * OUTWARD
        low, high = self._difference(state)
        if self._case.problem.is_svm:
            what += f", coordinate {self._replay.places[np.argmax(ratios(high, allowed))]}"
        replay = replace(self._replay, lower=low, upper=high)
        return replace(compare(window, replay, allowed, np.zeros(low.size)), what=what)

    def _difference(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the distance of the two ends, as the bound has it: K-RR in the M-norm first."""
        problem, places = self._case.problem, self._replay.places
        with np.errstate(invalid="ignore"):
            difference = self._recorded.end[places] - state[places]
        difference = np.where(np.isfinite(difference), difference, np.inf)
        low = magnitudes(difference) / OUTWARD
        high = magnitudes(difference) * OUTWARD
        if problem.is_svm:
            return low, high
        entries = kernel_entries(problem, self._case.declaration, places)
        norm = energy_norm(
            entries, places, difference.astype(np.float64), problem.samples, problem.ridge.penalty
        )
        count = self._bound.size
        return np.array([norm[0], *low])[:count], np.array([norm[1], *high])[:count]


def _bounded(case: Case, replay: Replay, recorded: RunWindow) -> tuple[Replay, np.ndarray]:
    """What window-replay allows; a state that is carried is formed from a unless it was recorded."""
    begin = recorded.begin
    weights = carried_weights(case.problem, case.declaration, replay.places, begin, recorded.carried)
    carried = weights.begin(np.abs(begin), recorded.draws.size) if weights else None
    return bounded(case, replay, recorded, carried=carried)
