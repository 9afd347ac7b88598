"""Transformed problems and solver variants that must agree within rounding, and how much that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.checks.metamorphic.scaling_range import formula_does_not_scale, no_room
from sstep_verify.checks.shared.case import AGAIN, Case
from sstep_verify.errors import InputError
from sstep_verify.oracle.replay.window import Replay
from sstep_verify.problems import Problem
from sstep_verify.problems.transforms import (
    Transformed,
    append_zero_columns,
    permute_features,
    relabel,
    scale_data,
)
from sstep_verify.solver import Declaration
from sstep_verify.steps import RidgeSteps, SvmSteps

ZERO_COLUMNS = 7
"""Columns appended: no multiple of a vector's width, so that sums are cut elsewhere."""

POW_POWERS = (5, -5, 1, -1)
"""Powers of two tried where the polynomial is raised by pow."""


@dataclass(frozen=True)
class Relation:
    """One relation of a case.

    Parameters
    ----------
    name : str
        Name, such as relabelling.
    claim : str
        What was done, in a few words.
    transformed : Transformed
        The transformed problem; the problem itself for another variant of the solver.
    declaration : Declaration
        What the solver of the transformed run declares.
    variant : str
        Name of that variant; empty for the solver under test.
    blind : str
        Why nothing could show, whatever the runs did; empty otherwise.
    """

    name: str
    claim: str
    transformed: Transformed
    declaration: Declaration
    variant: str = ""
    blind: str = ""

    def bound(self, problem: Problem, replay: Replay, begin: np.ndarray) -> np.ndarray:
        """Bound on the error of the transformed run's window, carried back to the original problem.

        Shape (c,) per distinct coordinate (K-SVM) or (1,) in the M-norm (K-RR). `begin`, shape (m,), is
        the original problem's a at the window's start.

        Renumbering, zero columns and another order of features leave the exact problem and every bound
        as it is: an exact zero adds no rounding, and the bounds hold for any order of summation.
        """
        exponent, changed = self.transformed.exponent, problem
        if self.scales:
            changed, begin = self.transformed.problem, np.ldexp(begin, exponent)
        found = window_bound(changed, self.declaration, scaled_steps(replay, exponent), begin)
        return np.ldexp(found, -exponent)

    @property
    def scales(self) -> bool:
        """Whether the numbers of the transformed problem are others than the original's."""
        return self.name == "data-scaled"


def relations(case: Case) -> tuple[Relation, ...]:
    """The relations of a case."""
    problem, stream, declaration, seed = case.problem, case.stream, case.declaration, case.seed
    transformed = {
        "relabelling": (relabel(problem, stream, seed), f"samples numbered anew (seed {seed})"),
        "zero-columns": (
            append_zero_columns(problem, stream, ZERO_COLUMNS),
            f"{ZERO_COLUMNS} columns of zeros appended",
        ),
        "features": (permute_features(problem, stream, seed), f"features reordered (seed {seed})"),
    }
    found = [
        Relation(name, claim, changed, declaration, blind=_same(problem, changed))
        for name, (changed, claim) in transformed.items()
    ]
    if formula_does_not_scale(problem, declaration):
        found += [item for item in [_scaled(case)] if item is not None]
    plain = Transformed(problem, stream)
    found += [
        Relation(f"variant-{name}", f"solver variant {name}", plain, declared, variant=name)
        for name, declared in case.variants.items()
        if name not in AGAIN
    ]
    return tuple(found)


def _same(problem: Problem, changed: Transformed) -> str:
    return "the transformed problem equals the original" if changed.problem.digest == problem.digest else ""


def _scaled(case: Case) -> Relation | None:
    """Data times a power of two, for a formula that does not commute with it; None if none fits."""
    for power in POW_POWERS:
        try:
            changed = scale_data(case.problem, case.stream, power)
        except InputError:
            continue
        # What a solver uses as it is has to stay a number of its precision, or no a can hold it.
        if case.declaration.data_rounding or not no_room(changed.problem, case.declaration, None):
            return Relation("data-scaled", f"data times 2**{power}", changed, case.declaration)
    return None


def scaled_steps(replay: Replay, exponent: int) -> Replay:
    """The exact steps of the window on a problem whose a is ``2**exponent`` times as large."""
    steps = replay.steps
    if exponent == 0:
        return replay
    if isinstance(steps, SvmSteps):
        grown = (
            np.ldexp(part, exponent) for part in (steps.value, steps.increment, steps.lower, steps.upper)
        )
        moved: SvmSteps | RidgeSteps = SvmSteps(steps.draws, *grown)
    else:
        moved = RidgeSteps(steps.draws, np.ldexp(steps.increments, exponent))
    return Replay(replay.places, replay.lower, replay.upper, moved, replay.effects, replay.bits)


def window_bound(
    problem: Problem,
    declaration: Declaration,
    replay: Replay,
    begin: np.ndarray,
    state: np.ndarray | None = None,
) -> np.ndarray:
    """Bound B of a window, per distinct coordinate (K-SVM, shape (c,)) or in the M-norm (K-RR, (1,)).

    A carried state is formed anew from `begin` unless the `state` that the window goes on from is given.
    """
    places = replay.places
    rows = kernel_entries(problem, declaration, places)
    weights = carried_weights(problem, declaration, places, begin, state)
    carried = weights.begin(np.abs(begin), replay.steps.draws.size) if weights else None
    if isinstance(replay.steps, SvmSteps):
        loss = problem.hinge
        return svm_window_bound(
            rows, places, begin, replay.steps, loss.shift, loss.upper, declaration, carried
        ).radius
    penalty = problem.ridge.penalty
    norm = ridge_window_errors(
        rows, places, begin, problem.targets, replay.steps, penalty, declaration, carried
    ).norm
    return np.array([norm])
