"""Two runs compared bit by bit, and why a defect would not show on them."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.checks.metamorphic.exact_relations import RESTART, Relation
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window, wrong
from sstep_verify.rounding.arithmetic import smallest_subnormal, unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory

ROWS_LOOKED_AT = 64
"""Drawn samples among which the RBF kernel is searched for an entry off the diagonal."""


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
            f"differs, first at iteration {iteration}, where coordinate {place} is {expected[place]!s} "
            f"and, mapped back, {state[place]!s}; {np.count_nonzero(difference)} coordinates differ"
        )
    return wrong(f"{what} {note}".rstrip(), largest, window=Window(0, first), note=note)


def inside_box(case: Case, trajectory: Trajectory) -> bool:
    """Whether some recorded coordinate shows the outcome of a step: any of K-RR, a free one of K-SVM."""
    states = trajectory.alphas
    if not case.problem.is_svm:
        return bool((states != 0).any())
    return bool(((states > 0) & (states < case.problem.hinge.upper)).any())


def blind(case: Case, relation: Relation, original: Trajectory) -> str:
    """Why a planted defect of this relation would not show on this run; empty if it would."""
    if relation.name == RESTART:
        return _still(original, relation.begin)
    if not inside_box(case, original):
        return "every recorded coordinate lies on the box or is 0, where no constant can show"
    if relation.name.startswith("data") and case.problem.kernel.of_distance:
        draws = np.unique(case.stream.blocks(0, original.length))[:ROWS_LOOKED_AT]
        entries = kernel_entries(case.problem, case.declaration, draws).values
        entries[np.arange(draws.size), draws] = 0.0
        largest = float(entries.max())
        if largest * case.problem.samples < unit_roundoff(case.declaration.precision):
            return f"no off-diagonal kernel entry looked at exceeds {largest:.3g}: distances do not act"
    return ""


def _still(original: Trajectory, begin: int) -> str:
    """Why a lost state or position would not show after a restart; empty if it would."""
    state = original.at(begin)
    if not state.any():
        return f"a is 0 at iteration {begin}"
    if np.array_equal(state, original.final, equal_nan=True):
        return f"a does not change after iteration {begin}"
    return ""
