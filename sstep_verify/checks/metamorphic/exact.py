"""Runs of a case that must end in the same bits: on transformed problems that fit, or begun again.

Two are compared bit by bit, and where no defect would show on them it is said why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.checks.metamorphic import scaling_range
from sstep_verify.checks.metamorphic.scaling_range import Span
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window, wrong
from sstep_verify.errors import InputError, counted
from sstep_verify.problems.transforms import Transformed, flip_labels, scale_data, scale_targets
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import TYPES, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Term

POWERS = (32, 16, 8, 4, 2, 1)
"""Powers of two tried, the largest first: a large one brings absolute constants to light."""

WAYS = {"up": 1, "down": -1}
"""Sign of the powers, by the way in which numbers are scaled."""

LABELS, RESTART = "labels", "restart"

OF_HISTORY = {
    "column-cache": "a cache is empty where a run begins again, so that rows are formed in other panels",
    "support": "what the window before drew is in a panel, but not where a run begins again",
}
"""Exchanges whose panels have another shape after a restart: equal within the bounds, not bit for bit."""

SHARE_FOR_KERNEL = 4
"""A power may move kernel entries by this part of the range of exponents: a short one is not used up."""


ROWS_LOOKED_AT = 64
"""Drawn samples among which the RBF kernel is searched for an entry off the diagonal."""

SAMPLED_WINDOWS = 8
"""Windows of a short run, evenly spread, that are recorded beside the first two and the last two."""


def metamorphic_key(s: int, relation: str = "original", begin: int | None = None) -> str:
    """Key of a short run, or of one of its windows, on the original or a transformed problem."""
    window = "" if begin is None else f"/window={begin}"
    return f"metamorphic/{relation}/s={s}{window}"


def original_request(case: Case, s: int) -> RunRequest:
    """The short run of an s: at most ``case.short`` iterations, some windows recorded at both ends."""
    length = min(case.short, case.iterations)
    full = length // s
    windows = {0, 1, full // 2, full - 1, full, *np.linspace(0, full, SAMPLED_WINDOWS, dtype=int).tolist()}
    ends = {min((window + side) * s, length) for window in windows if window >= 0 for side in (0, 1)}
    return RunRequest(case.problem, case.stream, s, length, record=tuple(sorted(ends)))


def seen_first(terms: list[Term]) -> tuple[Term, ...]:
    """The terms, those that could have shown a defect before the others."""
    return tuple(sorted(terms, key=lambda term: term.status is Status.VACUOUS))


@dataclass(frozen=True)
class Relation:
    """One relation of a case, in either check.

    Parameters
    ----------
    name : str
        Name, such as data-up.
    claim : str
        What was done, in a few words.
    transformed : Transformed
        The transformed problem; the problem itself for another run of it.
    kernel : Span or None
        Of the kernel entries that are multiplied by a; None where these products are the same numbers
        in both runs.
    reason : str
        Why the relation does not apply, or nothing could show whatever the runs did; empty otherwise.
    begin : int
        Iteration of the original run from whose recorded a the other run goes on.
    variant : str
        Name of the solver's variant that makes the other run; empty for the solver under test.
    """

    name: str
    claim: str
    transformed: Transformed
    kernel: Span | None = None
    reason: str = ""
    begin: int = 0
    variant: str = ""

    def no_room_for_states(self, case: Case, states: np.ndarray) -> str:
        """Why the recorded states of the original run, shape (k, m), leave no room; empty if they do."""
        changed = self.transformed
        if self.name in (LABELS, RESTART):  # labels enter as signs only
            return ""
        if not np.isfinite(states).all():
            return "a of the original run is not finite: what overflows at one scale need not at another"
        moved = np.array([changed.forward(state) for state in states])
        return scaling_range.no_room_for_states(
            case.problem, case.declaration, self.kernel, states
        ) or scaling_range.no_room_for_states(
            changed.problem, case.declaration, _moved(self.kernel, changed), moved
        )


def relations(case: Case) -> tuple[Relation, ...]:
    """The relations between runs on two problems; the restart is not among them."""
    problem, declaration = case.problem, case.declaration
    same_kernel = problem.kernel.of_distance
    kernel = None
    if not (same_kernel and problem.is_svm):
        draws = np.unique(case.stream.blocks(0, min(case.short, case.iterations)))
        kernel = scaling_range.kernel_span(problem, declaration, draws)
    entries = None if same_kernel else kernel
    related = [_scaling(case, f"data-{way}", scale_data, sign, entries) for way, sign in WAYS.items()]
    if problem.is_svm:
        # There a shrinks as K grows: the products of both stay the same numbers.
        related = [replace(relation, kernel=None) for relation in related]
        return (*related, Relation(LABELS, "the two classes exchanged", flip_labels(problem, case.stream)))
    targets = [_scaling(case, f"targets-{way}", scale_targets, sign, kernel) for way, sign in WAYS.items()]
    return (*related, *targets)


def restart(case: Case, request: RunRequest) -> Relation:
    """The relation of a short run with the same begun again from the recorded a at the end of a window.

    Full windows stand on either side: a run of less than s iterations may form other panels.
    """
    full = request.iterations // request.s
    reason = OF_HISTORY.get(case.declaration.exchange, "")
    if case.declaration.state:
        reason = f"a run cannot be given {', '.join(case.declaration.state)}, which the solver carries"
    elif full < 2 and not reason:
        reason = f"fewer than two full windows of {request.s} in {counted(request.iterations, 'iteration')}"
    begin, same = full // 2 * request.s, Transformed(case.problem, case.stream)
    return Relation(RESTART, f"continued from a at iteration {begin}", same, reason=reason, begin=begin)


def _scaling(
    case: Case, name: str, transform: Callable[..., Transformed], sign: int, kernel: Span | None
) -> Relation:
    """The relation for the largest power that leaves room for everything but a, which is not yet known."""
    problem, declaration = case.problem, case.declaration
    same = Transformed(problem, case.stream)
    most = np.finfo(TYPES[declaration.precision]).maxexp // SHARE_FOR_KERNEL
    what, fault = "targets times -", ""
    if transform is scale_data:
        what, fault = "data times ", scaling_range.formula_does_not_scale(problem, declaration)
    if fault := fault or scaling_range.no_room(problem, declaration, kernel):
        return Relation(name, "", same, reason=fault)
    fault = f"every power of two tried moves the kernel entries by more than 2**{most}"
    for power in POWERS:
        try:
            changed = transform(problem, case.stream, sign * power)
        except InputError as error:
            fault = str(error)
            continue
        if abs(changed.kernel_exponent) > most:
            continue
        fault = scaling_range.no_room(changed.problem, declaration, _moved(kernel, changed))
        if not fault:
            return Relation(name, f"{what}2**{sign * power}", changed, kernel)
    return Relation(name, "", same, reason=fault)


def _moved(kernel: Span | None, changed: Transformed) -> Span | None:
    """Span of the transformed kernel entries; a bit lower, as what underflows does not grow with them."""
    grown = changed.kernel_exponent
    return None if kernel is None else Span(kernel.low + grown - 1, kernel.high + grown)


def compare_bits(
    what: str, original: Trajectory, iterations: np.ndarray, states: list[np.ndarray]
) -> Finding:
    """Compare the states of a run, mapped back, with those of the original one, bit by bit."""
    largest, note, first = 0.0, "", 0
    for iteration, state in zip(iterations.tolist(), states, strict=True):
        expected = original.at(iteration)
        if np.array_equal(expected, state, equal_nan=True):
            continue
        with np.errstate(invalid="ignore"):
            difference = np.abs(expected - state)
        difference = np.where(np.isfinite(difference), difference, math.inf)
        difference[(expected == state) | (np.isnan(expected) & np.isnan(state))] = 0.0
        place = int(np.argmax(difference))
        # A difference of longdouble numbers may be 0 as a float64, and is one all the same.
        largest = max(largest, float(difference[place]) or smallest_subnormal("float64"))
        first = first or iteration
        note = note or (
            f"differs, first at iteration {iteration} in "
            f"{counted(int(np.count_nonzero(difference)), 'coordinate')}: number {place} is "
            f"{expected[place]!s} and, mapped back, {state[place]!s}"
        )
    return wrong(f"{what} {note}".rstrip(), largest, window=Window(0, first), note=note)


def blind(case: Case, relation: Relation, original: Trajectory) -> str:
    """Why a planted defect of this relation would not show on this run; empty if it would."""
    if relation.name == RESTART:
        state, begin = original.at(relation.begin), relation.begin
        if not state.any():
            return f"a is 0 at iteration {begin}"
        still = np.array_equal(state, original.final, equal_nan=True)
        return f"a does not change after iteration {begin}" if still else ""
    # A recorded coordinate shows the outcome of a step: any of K-RR, a free one of K-SVM.
    svm, states = case.problem.is_svm, original.alphas
    shows = (states > 0) & (states < case.problem.hinge.upper) if svm else states != 0
    if not shows.any():
        return "every recorded coordinate lies on the box or is 0, where no constant can show"
    if relation.name.startswith("data") and case.problem.kernel.of_distance:
        draws = np.unique(case.stream.blocks(0, original.length))[:ROWS_LOOKED_AT]
        entries = kernel_entries(case.problem, case.declaration, draws).values
        entries[np.arange(draws.size), draws] = 0.0
        largest = float(entries.max())
        if largest * case.problem.samples < unit_roundoff(case.declaration.precision):
            return f"no off-diagonal kernel entry looked at exceeds {largest:.3g}: distances do not act"
    return ""
