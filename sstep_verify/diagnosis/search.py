"""The engine: which candidates end where a solver did, everywhere.

Candidates that explain the same runs are one class of ambiguity: nothing that was run tells them apart, so
all of them are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import Candidate, Suspects
from sstep_verify.diagnosis.other_problems import SOLVED_INSTEAD
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.verdict import HintKind

NOTHING = Mutation("nothing is wrong")
"""Right steps, allowed what steps with a mistake are."""


class Place(Protocol):
    """What a solver did somewhere, such as how it ended one window."""

    def work(self, candidate: Candidate) -> int:
        """About how many products it takes to try a candidate here."""

    def ended_by(self, alike: Sequence[Candidate]) -> list[bool]:
        """For each of some candidates alike, whether it ends here as the solver did, within its bound."""

    def at_ends(self) -> bool:
        """Whether every value that is wrong here is an end of the box."""


def explanations(
    suspects: Suspects,
    places: Sequence[Place],
    right: Sequence[Place] = (),
    further: Callable[[], Sequence[Place]] = tuple,
) -> list[Candidate]:
    """The candidates that end everywhere as the solver did: single mistakes, or known pairs if none does.

    Places are what the solver did where it is wrong; where there is nothing, nothing explains it. Those
    stand that end as it did where it is right too; all of them, with a doubt, where none does, since a
    mistake may act in a part of a run. Where several stand, or small steps that are left out, they are
    tried at `further` places where it is right. None is a mistake in the steps where right steps would end
    everywhere as near as such a mistake is allowed to. Where all that is wrong is an end of the box, each
    has a doubt.
    """
    alone = suspects.alone()
    if not places or not alone:
        return []
    ordered = sorted(places, key=lambda place: place.work(alone[0]))
    explaining = _explaining(alone, ordered) or _explaining(suspects.pairs(), ordered)
    at_ends = bool(explaining) and all(place.at_ends() for place in ordered)
    # Steps with a mistake are allowed more than right ones: where these stay within that, it tells nothing.
    right_steps = Candidate((), alone[0].problem, mutation=NOTHING)
    if any(one.mutation is not NONE for one in explaining) and _explaining([right_steps], ordered):
        explaining = [one for one in explaining if one.mutation is NONE]
    kept = _explaining(explaining, right)
    if len({one.names for one in kept}) > 1 or any(one.mutation.threshold for one in kept):
        kept = _explaining(kept, further()) or [one for one in kept if not one.mutation.threshold]
    # A limit of the size of steps acts on every small one, so on none in a part of a run only.
    explaining = kept or [one for one in explaining if not one.mutation.threshold]
    doubt = HintKind.AT_LIMITS if at_ends else None if kept else HintKind.PART_OF_RUN
    # One of each name; few runs look by chance like right steps on another problem, which goes first.
    by_name = {candidate.names: candidate for candidate in reversed(explaining)}
    order = [*SOLVED_INSTEAD, *(name for candidate in explaining for name in candidate.names)]
    distinct = [
        replace(candidate, doubt=doubt, everywhere=bool(kept))
        for candidate in explaining
        if by_name[candidate.names] is candidate
    ]
    return sorted(distinct, key=lambda candidate: order.index(candidate.names[0]))


def _explaining(candidates: Iterable[Candidate], places: Sequence[Place]) -> list[Candidate]:
    """Those that no place refutes; the cheapest place is asked first, the others about what is left."""
    left = list(candidates)
    for place in places:
        groups: dict[tuple[int, str], list[Candidate]] = {}
        for candidate in left:
            groups.setdefault(candidate.solved, []).append(candidate)
        ends: dict[Candidate, bool] = {}
        for alike in groups.values():
            ends.update(zip(alike, place.ended_by(alike), strict=True))
        left = [candidate for candidate in left if ends[candidate]]
    return left


def mistaken_reach(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    places: np.ndarray,
    largest: np.ndarray,
    steps: int,
    s: int,
) -> np.ndarray:
    """What all steps of a K-SVM could round if each drew this coordinate, (c,): allowed, no proved bound.

    In one step ``(gamma_k (|K_i| |a| + omega |a_i| + |p_i| + threshold) + delta_i |a|) / eta_i + u |a_i|``,
    with k a count of all that a step sums, and the largest |a| on the way, shape (m,). (The bound of the
    right run is 0 where that is clipped, which another may not be.) Where float64 does not hold it, nothing
    is allowed.
    """
    dual, u = problem.dual, unit_roundoff(declaration.precision)
    shift, constant = dual.shift, np.abs(problem.linear[places]) + dual.threshold
    with np.errstate(over="ignore", invalid="ignore"):
        summed = np.abs(entries.values) @ largest + shift * largest[places] + constant
        eta = entries.values[np.arange(places.size), places] + shift
        error = (
            gamma(problem.samples + problem.features + 2 * s + 8, u) * summed
            + entries.solver_error @ largest
        )
        local = np.divide(error, eta, out=np.zeros(places.size), where=eta > 0) + u * largest[places]
        reach = steps * local
    return np.where(np.isfinite(reach), reach, 0.0)
