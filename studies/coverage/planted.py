"""The mirror of the table: the same runs with a defect that the check's own verdict was certain to show.

A verdict is PASS only where the check's planted defect would have been seen on this very run. It is planted
here: in the solver's steps where these are its own, else in what a run leaves. A check that does not refuse
it then breaks its own promise.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sstep_verify import RunRequest, Solver, Status, Trajectory, Verdict
from sstep_verify.quantities import CURVATURE, KERNEL, STALE
from sstep_verify.recurrence.mutation import Mutation, left_out
from sstep_verify.scenarios.draws import one_of
from studies.coverage.cases import Change, Either, Planned, Wanted


def _begun(solver: Solver, request: RunRequest, **changes: Any) -> Trajectory:
    """A run of no step."""
    return solver.run(replace(request, iterations=0, record=(), log=False, **changes))


def _skipped(place: int, solver: Solver, request: RunRequest, made: Trajectory) -> Trajectory:
    """Maintained weights that all updates of one coordinate are left out of."""
    held = np.array(made.alphas)
    held[:, place] = held[0, place]
    formed = [_begun(solver, request, initial=one).weights for one in held]
    return replace(made, weights=np.array([one[0] for one in formed if one is not None]))


def _ulp(solver: Solver, request: RunRequest, made: Trajectory) -> Trajectory:
    alphas = np.nextafter(made.alphas, made.alphas.dtype.type(np.inf))
    alphas[0] = made.alphas[0]
    return replace(made, alphas=alphas)


LEFT: dict[str, tuple[str, Change]] = {
    "contract": (
        "a stated length that is short",
        lambda solver, request, made: replace(
            made, iterations=made.iterations[:-1], alphas=made.alphas[:-1], stopped="iterations"
        ),
    ),
    "optimum": (
        "a run that made no step",
        lambda solver, request, made: replace(
            made, alphas=np.repeat(made.alphas[:1], len(made.alphas), axis=0)
        ),
    ),
    "kernel-entries": (
        "other entries",
        lambda solver, request, made: replace(
            made,
            panels={k: replace(one, entries=2 * one.entries + 1) for k, one in made.panels.items()},
        ),
    ),
    "message-count": (
        "communication in every iteration",
        lambda solver, request, made: replace(
            made, counters=made.counters | {"collectives": 2 * made.length + 7}
        ),
    ),
    "rank-coherence": (
        "a rank that goes its own way",
        lambda solver, request, made: replace(
            made,
            fingerprints={k: (*every, last[::-1]) for k, (*every, last) in made.fingerprints.items()},
        ),
    ),
    "claim-honesty": (
        "the value of an earlier a",
        lambda solver, request, made: replace(made, claims=_begun(solver, request).claims),
    ),
}
"""What is planted in what runs leave, by check."""

WHOLE: dict[str, tuple[Mutation, Wanted | None]] = {
    "box": (Mutation("clip left out", leak=1, upper=None), None),
    "sstep-equals-classical": (left_out(KERNEL), lambda request: request.s > 1),
}
"""What is planted in steps, by checks whose verdicts do not name a quantity of these."""


def planted(verdict: Verdict, plan: Planned, generator: np.random.Generator) -> tuple[str, list[Solver]]:
    """Solvers of a plan with a defect, of which a check has to refuse one; none where none can be planted.

    The check passed the run by this verdict.
    """
    check, right, drawn, case = verdict.check, plan.solver, plan.drawn, plan.case

    def transformed(request: RunRequest) -> bool:
        return bool(request.variant) or request.problem.digest != case.problem.digest

    turns = itertools.cycle((False, True))
    moved: dict[str, Wanted] = {"metamorphic-exact": transformed, "determinism": lambda _: next(turns)}
    if check in LEFT or check in moved:
        name, change = LEFT.get(check, ("other bits", _ulp))
        return name, [Either(right, right, moved.get(check), change)]
    if check == "residual-gap":
        changes = [partial(_skipped, place) for place in range(case.problem.samples)]
        return "an update left out", [Either(right, right, None, one) for one in changes]
    seen = {term.name for term in verdict.terms if term.status is Status.PASS}
    # Quantities of a step that are left out, one at a time; the last only of windows of several steps.
    known = [name for name in (STALE, CURVATURE, KERNEL) if name in seen]
    if drawn is None or not (known or check in WHOLE):
        return "", []
    mutation, wanted = WHOLE.get(check) or (left_out(one_of(generator, known)), None)
    if drawn.maintained and not mutation.stale:
        return "", []  # there is no stale product in a step from what is maintained
    wrong = replace(drawn, planted=mutation)
    return mutation.name, [Either(right, wrong, wanted)]
