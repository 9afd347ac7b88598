"""Transformed problems and solver variants that must agree within rounding: each a case of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sstep_verify.checks.metamorphic.scaling_range import formula_does_not_scale, no_room
from sstep_verify.checks.shared.case import AGAIN, Case
from sstep_verify.checks.window.compare import WindowBounds
from sstep_verify.errors import InputError
from sstep_verify.problems.transforms import (
    Transformed,
    append_zero_columns,
    permute_features,
    relabel,
    scale_data,
)
from sstep_verify.rounding.held import held_problem
from sstep_verify.solver import Declaration

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
    case : Case
        The case of the transformed runs: that problem and stream, and what their solver declares.
    variant : str
        Name of that variant; empty for the solver under test.
    blind : str
        Why nothing could show, whatever the runs did; empty otherwise.
    scales : bool
        Whether the numbers of the transformed problem are others than the original's. Renumbering, zero
        columns and another order of features leave the exact problem and every bound as it is: an exact
        zero adds no rounding, and the bounds hold for any order of summation.
    """

    name: str
    claim: str
    transformed: Transformed
    case: Case
    variant: str = ""
    blind: str = ""
    scales: bool = False

    @cached_property
    def bounds(self) -> WindowBounds:
        """Bounds of the windows of the transformed runs."""
        return WindowBounds(self.case)


def relations(case: Case) -> tuple[Relation, ...]:
    """The relations of a case."""
    problem, stream, seed = case.problem, case.stream, case.seed
    transformed = {
        "relabelling": (relabel(problem, stream, seed), f"samples numbered anew (seed {seed})"),
        "zero-columns": (
            append_zero_columns(problem, stream, ZERO_COLUMNS),
            f"{ZERO_COLUMNS} columns of zeros appended",
        ),
        "features": (permute_features(problem, stream, seed), f"features reordered (seed {seed})"),
    }
    same = "the transformed problem equals the original"
    related = [
        Relation(
            name,
            claim,
            changed,
            _case(case, changed),
            blind=same if changed.problem.digest == problem.digest else "",
        )
        for name, (changed, claim) in transformed.items()
    ]
    if formula_does_not_scale(problem, case.declaration):
        related += _scaled(case)
    plain = Transformed(problem, stream)
    related += [
        Relation(f"variant-{name}", f"solver variant {name}", plain, _case(case, plain, declared), name)
        for name, declared in case.variants.items()
        if name not in AGAIN
    ]
    return tuple(related)


def _case(case: Case, changed: Transformed, declared: Declaration | None = None) -> Case:
    """The case of a transformed problem, or of another variant of the solver."""
    return replace(
        case, problem=changed.problem, stream=changed.stream, declaration=declared or case.declaration
    )


def _scaled(case: Case) -> list[Relation]:
    """Data times a power of two, for a formula that does not commute with it; none if none fits."""
    for power in POW_POWERS:
        try:
            changed = scale_data(case.problem, case.stream, power)
            fits = _fits(case, power)
        except InputError:
            continue
        if fits:
            claim = f"data times 2**{power}"
            return [Relation("data-scaled", claim, changed, _case(case, changed), scales=True)]
    return []


def _fits(case: Case, power: int) -> bool:
    """Whether scaling leaves numbers of the precision what they are, so that it and rounding commute.

    What a solver uses as it is has to stay a number of its precision, or no a can hold it.
    """
    held = held_problem(case.problem, case.declaration)
    if held is None:
        return False
    scaled = scale_data(held, case.stream, power).problem
    if case.declaration.data_rounding:
        return held_problem(scaled, case.declaration) is scaled
    return not no_room(scaled, case.declaration, None)
