"""The mistakes that a vector can show, and what each of them makes of a run, in balls.

Every defect of the catalogue, and every quantity of a step left out that is none of them, planted in the
one mutable recurrence. No midpoint is taken on the way: at every window end the balls hold the exact a
of a solver that makes the mistake and no rounding error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sstep_reference import Kernel

from sstep_verify.quantities import KERNEL, QUANTITIES, SAME
from sstep_verify.recurrence.catalogue import CATALOGUE, Defect
from sstep_verify.recurrence.driver import run_mutant
from sstep_verify.recurrence.mutation import TERMS, Mutation, left_out
from sstep_verify.recurrence.steps import finisher_of
from sstep_verify.solver import RunRequest
from sstep_verify.vectors.allowed import initial_of

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


def _quantities_left_out() -> Iterator[Defect]:
    """A defect for each quantity of a step whose leaving out is none of the catalogue."""
    known = {replace(defect.mutation, name="") for defect in CATALOGUE}
    for quantity in QUANTITIES:
        mutation = left_out(quantity.name)
        if quantity.name in TERMS and replace(mutation, name="") not in known:
            bug_type = "correction" if quantity.name in (KERNEL, SAME) else "step"
            named = replace(mutation, name=f"{quantity.name}{LEFT_OUT}")
            yield Defect(named, bug_type, quantity.meaning, quantity.tasks)


MISTAKES = (*CATALOGUE, *_quantities_left_out())
"""All of them: the catalogue in its order, then quantities of a step."""


def mistaken_states(request: RunRequest, kernel: Kernel, mutation: Mutation) -> dict[int, list[Any]]:
    """Run the mutable s-step recurrence in balls.

    Parameters
    ----------
    request : RunRequest
        The run.
    kernel : Kernel
        The problem's exact kernel over `Balls`.
    mutation : Mutation
        The mistake; `NONE` for the right run.

    Returns
    -------
    dict of int to list of m balls
        The dual vector by window end, from 0 to H.
    """
    problem, initial = request.problem, initial_of(request)
    blocks = request.stream.blocks(request.start, request.start + request.iterations).tolist()
    finisher = finisher_of(problem, kernel.arithmetic)
    windows = run_mutant(kernel, problem.targets, finisher, initial, blocks, request.s, mutation)
    states = {window.end: list(window.alpha) for window in windows}
    return {0: list(kernel.arithmetic.vector(initial))} | states
