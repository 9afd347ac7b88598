"""Relations of a case, as data: what is changed, how a follows from a, and the run that must show it.

Every bit of two runs so related agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.checks.metamorphic.scaling_range import (
    Span,
    kernel_span,
    no_room,
    no_room_for_states,
)
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import InputError
from sstep_verify.problems.transforms import (
    Transformed,
    scale_data,
    scale_targets,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import TYPES
from sstep_verify.verdict import Sensitivity, Status, Why

POWERS = (32, 16, 8, 4, 2, 1)
"""Powers of two tried, the largest first: a large one brings absolute constants to light."""

WAYS = {"up": 1, "down": -1}
"""Sign of the powers, by the way in which numbers are scaled."""

SHARE_FOR_KERNEL = 4
"""A power may move kernel entries by this part of the range of exponents: a short one is not used up."""

SAMPLED_WINDOWS = 8
"""Windows of a short run, evenly spread, that are recorded besides the first two and the last two."""


def metamorphic_key(s: int, relation: str = "original") -> str:
    """Key of a short run on the original or a transformed problem."""
    return f"metamorphic/{relation}/s={s}"


def original_request(case: Case, s: int) -> RunRequest:
    """The short run of an s: at most ``case.short`` iterations, some windows recorded at both ends."""
    length = min(case.short, case.iterations)
    full = length // s
    windows = {0, 1, full // 2, full - 1, full, *np.linspace(0, full, SAMPLED_WINDOWS, dtype=int).tolist()}
    ends = {min((window + side) * s, length) for window in windows if window >= 0 for side in (0, 1)}
    return RunRequest(case.problem, case.stream, s, length, record=tuple(sorted(ends)))


def seen_first(terms: list[Sensitivity]) -> tuple[Sensitivity, ...]:
    """The terms, those that could have shown a defect before the others."""
    return tuple(sorted(terms, key=lambda term: term.status is Status.VACUOUS))


@dataclass(frozen=True)
class Relation:
    """One relation of a case.

    Parameters
    ----------
    name : str
        Name, such as data-up.
    claim : str
        What was done, in a few words.
    transformed : Transformed
        The transformed problem.
    kernel : Span or None
        Of the kernel entries that are multiplied by a; None where these products are the same numbers
        in both runs.
    why : Why, optional
        Why the relation does not apply: the polynomial kernel may be raised by a library's pow, whose
        errors do not scale with its argument (NOT_APPLICABLE), or numbers leave the range (OUT_OF_RANGE).
    """

    name: str
    claim: str
    transformed: Transformed
    kernel: Span | None = None
    why: Why | None = None

    def request(self, original: RunRequest) -> RunRequest:
        """The run that is compared with the original one."""
        return replace(original, problem=self.transformed.problem, stream=self.transformed.stream)

    def has_room_for(self, case: Case, states: np.ndarray) -> bool:
        """Whether the recorded states of the original run, shape (k, m), stay in range on both sides."""
        changed, declared = self.transformed, case.formulas
        if not np.isfinite(states).all():  # What overflows at one scale need not at another.
            return False
        moved = np.array([changed.forward(state) for state in states])
        faults = (
            no_room_for_states(case.problem, declared, self.kernel, states),
            no_room_for_states(changed.problem, declared, _moved(self.kernel, changed), moved),
        )
        return not any(faults)


def scalable(case: Case) -> bool:
    """Whether a problem can be scaled at all: of a K-SVM the data only, and not under a power."""
    return not case.problem.is_svm or case.problem.kernel.factors == 1


def same_bits(case: Case) -> tuple[Relation, ...]:
    """The relations between runs on two problems that must agree in every bit."""
    problem, same_kernel = case.problem, case.problem.kernel.of_distance
    kernel = None
    if not (same_kernel and problem.is_svm):
        draws = np.unique(case.stream.blocks(0, min(case.short, case.iterations)))
        kernel = kernel_span(problem, case.formulas, draws)
    entries = None if same_kernel else kernel
    related = [_scaling(case, f"data-{way}", scale_data, sign, entries) for way, sign in WAYS.items()]
    if problem.is_svm:
        # There a shrinks as K grows: the products of both stay the same numbers.
        return tuple(replace(relation, kernel=None) for relation in related)
    targets = [_scaling(case, f"targets-{way}", scale_targets, sign, kernel) for way, sign in WAYS.items()]
    return (*related, *targets)


def _scaling(
    case: Case, name: str, transform: Callable[..., Transformed], sign: int, kernel: Span | None
) -> Relation:
    """The relation for the largest power that leaves room for everything but a, which is not yet known."""
    problem, declaration = case.problem, case.formulas
    same = Transformed(problem, case.stream)
    most = np.finfo(TYPES[declaration.precision]).maxexp // SHARE_FOR_KERNEL
    what = "data" if transform is scale_data else "targets"
    if transform is scale_data and problem.kernel.factors > 1:
        return Relation(name, "", same, why=Why.NOT_APPLICABLE)
    if no_room(problem, declaration, kernel):
        return Relation(name, "", same, why=Why.OUT_OF_RANGE)
    for power in POWERS:
        with suppress(InputError):
            changed = transform(problem, case.stream, sign * power)
            near = abs(changed.kernel_exponent) <= most
            if near and not no_room(changed.problem, declaration, _moved(kernel, changed)):
                return Relation(name, f"{what} times 2**{sign * power}", changed, kernel)
    return Relation(name, "", same, why=Why.OUT_OF_RANGE)


def _moved(kernel: Span | None, changed: Transformed) -> Span | None:
    """Span of the transformed kernel entries; a bit lower, as what underflows does not grow with them."""
    grown = changed.kernel_exponent
    return None if kernel is None else Span(kernel.low + grown - 1, kernel.high + grown)
