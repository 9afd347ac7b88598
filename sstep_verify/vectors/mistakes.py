"""The mistakes that a vector can show, and what each of them makes of a run, in balls.

Every defect of the catalogue, and every quantity of a step left out that is none of them, planted in the
one mutable recurrence. No midpoint is taken on the way: at every window end the balls hold the exact a
of a solver that makes the mistake and no rounding error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sstep_reference import Kernel
from sstep_reference.inputs import svm_constants

from sstep_verify.quantities import QUANTITIES
from sstep_verify.recurrence.catalogue import CATALOGUE
from sstep_verify.recurrence.mutation import TERMS, Mutation, left_out
from sstep_verify.recurrence.recurrence_ridge import mutable_ridge_window
from sstep_verify.recurrence.recurrence_svm import mutable_svm_window
from sstep_verify.recurrence.window import drawn_early, local_window
from sstep_verify.solver import RunRequest

CORRECTION, STEP, BOX, PARAMETER, STREAM, STORE = (
    "correction",
    "step",
    "box",
    "parameter",
    "stream",
    "store",
)

EFFECTS: dict[str, str] = {
    CORRECTION: "iterates depend on s: convergence is slower or fails as s grows; for s = 1 all is well",
    STEP: "steps do not minimise along their coordinates: convergence is slower, or to another point",
    BOX: "a leaves the box or cannot reach its end: the answer is that of another problem",
    PARAMETER: "another problem is solved, to its own right answer",
    STREAM: "other steps are made than asked for: the limit is right, no run can be compared step by step",
    STORE: "a part of what was computed does not arrive in a: iterates depend on s, or nothing moves",
}
"""What becomes of a solver, by the type of its mistake."""

BUG_TYPES: dict[str, str] = {
    "overlap-dropped": CORRECTION,
    "omega-dropped": STEP,
    "stale-alpha": CORRECTION,
    "tail-lost": STREAM,
    "assigned-once": STORE,
    "correction-dropped": CORRECTION,
    "curvature-halved": STEP,
    "label-lost": STEP,
    "upper-end-lost": BOX,
    "upper-end-halved": BOX,
    "lower-end-lost": BOX,
    "boundary-off-by-one": STORE,
    "draws-off-by-one": STREAM,
    "m-doubled": PARAMETER,
    "lambda-doubled": PARAMETER,
    "off-diagonal-dropped": STEP,
    "write-back-lost": STORE,
    "stale-product-left-out": STEP,
    "curvature-left-out": STEP,
    "kernel-correction-left-out": CORRECTION,
    "same-coordinate-left-out": CORRECTION,
}
"""Type of each mistake; one of the catalogue that is not named here is a step's."""


LEFT_OUT = "-left-out"
"""Ends the name of the mistake that a quantity of a step is left out."""


@dataclass(frozen=True)
class Mistake:
    """A mistake that may be planted.

    Parameters
    ----------
    id : str
        Name of the flag.
    bug_type : str
        One of `EFFECTS`.
    description : str
        What goes wrong.
    tasks : tuple of str
        Tasks whose recurrence can make it.
    mutation : Mutation
        What makes it.
    """

    id: str
    bug_type: str
    description: str
    tasks: tuple[str, ...]
    mutation: Mutation


def _mistakes() -> tuple[Mistake, ...]:
    found = [
        Mistake(one.name, BUG_TYPES.get(one.name, STEP), one.meaning, one.tasks, one.mutation)
        for one in CATALOGUE
    ]
    known = {replace(one.mutation, name="") for one in found}
    for quantity in QUANTITIES:
        mutation = left_out(quantity.name)
        if quantity.name in TERMS and replace(mutation, name="") not in known:
            name = f"{quantity.name}{LEFT_OUT}"
            kind = BUG_TYPES.get(name, STEP)
            found.append(Mistake(name, kind, quantity.meaning, quantity.tasks, mutation))
    return tuple(found)


MISTAKES = _mistakes()
"""All of them: the catalogue in its order, then quantities of a step."""


def mistaken_states(
    request: RunRequest, initial: np.ndarray, kernel: Kernel, mutation: Mutation
) -> dict[int, list[Any]]:
    """Run the mutable s-step recurrence in balls.

    Parameters
    ----------
    request : RunRequest
        The run.
    initial : ndarray, shape (m,)
        Start vector, exact.
    kernel : Kernel
        The problem's exact kernel over `Balls`.
    mutation : Mutation
        The mistake; `NONE` for the right run.

    Returns
    -------
    dict of int to list of m balls
        The dual vector by window end, from 0 to H.
    """
    problem, arithmetic, s = request.problem, kernel.arithmetic, request.s
    targets, alpha = arithmetic.vector(problem.targets), arithmetic.vector(initial)
    blocks = request.stream.blocks(request.start, request.start + request.iterations).tolist()
    blocks, mutation = drawn_early(blocks, mutation)
    states = {0: list(alpha)}
    for begin in range(0, len(blocks), s):
        drawn = blocks[begin : begin + s]
        if not (mutation.lose_tail and len(drawn) < s):
            window = local_window(arithmetic, kernel, targets, alpha, drawn, signed=problem.is_svm)
            end = _window_end(request, arithmetic, window, mutation)
            for coordinate, value in zip(window.coordinates, end, strict=True):
                alpha[coordinate] = value
        states[begin + len(drawn)] = list(alpha)
    return states


def _window_end(request: RunRequest, arithmetic: Any, window: Any, mutation: Mutation) -> Any:
    problem = request.problem
    if problem.is_svm:
        upper, omega = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
        return mutable_svm_window(arithmetic, window, omega, upper, mutation)
    penalty = arithmetic.number(problem.ridge.penalty)
    return mutable_ridge_window(arithmetic, window, penalty, problem.samples, mutation)
