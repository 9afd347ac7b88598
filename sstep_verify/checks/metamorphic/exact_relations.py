"""Runs of a case that must end in the same bits: on transformed problems that fit, or begun again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sstep_verify.checks.metamorphic import scaling_range
from sstep_verify.checks.metamorphic.scaling_range import Span
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import InputError
from sstep_verify.problems.transforms import Transformed, flip_labels, scale_data, scale_targets
from sstep_verify.rounding.arithmetic import TYPES
from sstep_verify.solver import RunRequest

POWERS = (32, 16, 8, 4, 2, 1)
"""Powers of two tried, the largest first: a large one brings absolute constants to light."""

LABELS, RESTART = "labels", "restart"

OF_HISTORY = {
    "column-cache": "a cache is empty where a run begins again, so that rows are formed in other panels",
    "support": "what the window before drew is in a panel, but not where a run begins again",
}
"""Exchanges whose panels have another shape after a restart: equal within the bounds, not bit for bit."""

SHARE_FOR_KERNEL = 4
"""A power may move kernel entries by this part of the range of exponents: a short one is not used up."""


@dataclass(frozen=True)
class Relation:
    """One relation of a case: its transformed problem, or why it does not apply.

    Parameters
    ----------
    name : str
        Name, such as data-up.
    claim : str
        What was done, in a few words.
    transformed : Transformed or None
        The transformed problem; None if the relation does not apply.
    kernel : Span or None
        Of the kernel entries that are multiplied by a; None where these products are the same numbers
        in both runs.
    reason : str
        Why the relation does not apply; empty if it does.
    begin : int
        Iteration of the original run from whose recorded a the other run goes on.
    """

    name: str
    claim: str = ""
    transformed: Transformed | None = None
    kernel: Span | None = None
    reason: str = ""
    begin: int = 0

    def no_room_for_states(self, case: Case, states: np.ndarray) -> str:
        """Why the recorded states of the original run, shape (k, m), leave no room; empty if they do."""
        changed = self.transformed
        if changed is None or self.name in (LABELS, RESTART):  # labels enter as signs only
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
    fault = scaling_range.formula_does_not_scale(problem, declaration)
    related = []
    for way, sign in (("up", 1), ("down", -1)):
        name = f"data-{way}"
        if fault:
            related.append(Relation(name, reason=fault))
            continue
        relation = _scaling(case, name, scale_data, sign, None if same_kernel else kernel)
        # In a K-SVM a shrinks as K grows: the products of both stay the same numbers.
        products = None if problem.is_svm else relation.kernel
        related.append(Relation(name, relation.claim, relation.transformed, products, relation.reason))
    if problem.is_svm:
        return (*related, Relation(LABELS, "the two classes exchanged", flip_labels(problem, case.stream)))
    targets = [
        _scaling(case, f"targets-{way}", scale_targets, sign, kernel)
        for way, sign in (("up", 1), ("down", -1))
    ]
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
        reason = f"fewer than two full windows of {request.s} in {request.iterations} iterations"
    begin, same = full // 2 * request.s, Transformed(case.problem, case.stream)
    return Relation(RESTART, f"continued from a at iteration {begin}", same, reason=reason, begin=begin)


def _scaling(
    case: Case, name: str, transform: Callable[..., Transformed], sign: int, kernel: Span | None
) -> Relation:
    """The relation for the largest power that leaves room for everything but a, which is not yet known."""
    problem, declaration = case.problem, case.declaration
    most = np.finfo(TYPES[declaration.precision]).maxexp // SHARE_FOR_KERNEL
    what = "data times " if transform is scale_data else "targets times -"
    fault = scaling_range.no_room(problem, declaration, kernel)
    if fault:
        return Relation(name, reason=fault)
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
    return Relation(name, reason=fault)


def _moved(kernel: Span | None, changed: Transformed) -> Span | None:
    """Span of the transformed kernel entries; a bit lower, as what underflows does not grow with them."""
    grown = changed.kernel_exponent
    return None if kernel is None else Span(kernel.low + grown - 1, kernel.high + grown)
