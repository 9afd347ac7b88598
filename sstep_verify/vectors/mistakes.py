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

from sstep_verify.quantities import KERNEL, QUANTITIES, SAME
from sstep_verify.recurrence.catalogue import CATALOGUE
from sstep_verify.recurrence.driver import run_mutant
from sstep_verify.recurrence.mutation import TERMS, Mutation, left_out
from sstep_verify.recurrence.steps import finisher_of
from sstep_verify.solver import RunRequest

EFFECTS: dict[str, str] = {
    "correction": "iterates depend on s: convergence is slower or fails as s grows; for s = 1 all is well",
    "step": "steps do not minimise along their coordinates: convergence is slower, or to another point",
    "box": "a leaves the box or cannot reach its end: the answer is that of another problem",
    "parameter": "another problem is solved, to its own right answer",
    "stream": "other steps are made than asked for: the limit is right, "
    "no run can be compared step by step",
    "store": "a part of what was computed does not arrive in a: iterates depend on s, or nothing moves",
}
"""What becomes of a solver, by the type of its mistake."""

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
        Mistake(defect.name, defect.bug_type, defect.meaning, defect.tasks, defect.mutation)
        for defect in CATALOGUE
    ]
    known = {replace(one.mutation, name="") for one in found}
    for quantity in QUANTITIES:
        mutation = left_out(quantity.name)
        if quantity.name in TERMS and replace(mutation, name="") not in known:
            name = f"{quantity.name}{LEFT_OUT}"
            kind = "correction" if quantity.name in (KERNEL, SAME) else "step"
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
    blocks = request.stream.blocks(request.start, request.start + request.iterations).tolist()
    finisher = finisher_of(request.problem, kernel.arithmetic)
    windows = run_mutant(kernel, request.problem.targets, finisher, initial, blocks, request.s, mutation)
    return {0: list(kernel.arithmetic.vector(initial))} | {one.end: list(one.alpha) for one in windows}
