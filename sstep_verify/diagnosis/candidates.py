"""What may be wrong with a solver, as one list: mistakes in its steps, other problems, kernel rows, pairs.

A candidate says what would have been run in the place of what was asked for, so that one engine
(`sstep_verify.diagnosis.search`) can try all of them, each against the same ends of windows or runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.factors import M_ON_DIAGONAL
from sstep_verify.diagnosis.kernel_rows import mistaken_rows
from sstep_verify.diagnosis.other_problems import mistaken_problems
from sstep_verify.problems import Problem
from sstep_verify.quantities import TAIL
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out
from sstep_verify.rounding.arithmetic import held_problem

PARTIAL = (
    Mutation("corrected-by-newest-increment-alone", earlier=(-1, None)),
    Mutation("newest-increment-lost", earlier=(None, -1)),
    Mutation("corrected-by-first-increment-alone", earlier=(None, 1)),
    Mutation("first-increment-lost", earlier=(1, None)),
    Mutation("last-step-alone-corrected", corrected=(-1, None)),
    Mutation("last-step-uncorrected", corrected=(None, -1)),
)
"""The kernel correction of the s-step recurrence, made for a part of it."""

SMALL, END = "small steps left out", "upper-end off by a factor"
OLD_A, OLD_ROWS = "a of the window before", "kernel rows of the window before"

SELDOM = (
    Mutation("of own increments the first alone seen", repeats=(None, 1)),
    Mutation("of own increments the newest alone seen", repeats=(-1, None)),
    Mutation("first own increment not seen", repeats=(1, None)),
    Mutation("newest own increment not seen", repeats=(None, -1)),
    Mutation(OLD_A, late="A"),
    Mutation(OLD_ROWS, late="K"),
    Mutation(OLD_ROWS, late="Q"),
    *(Mutation(SMALL, threshold=10.0**-digits) for digits in range(1, 16)),
)
"""Mistakes that act from the second or third draw on, from the second window on, or in small steps."""

SINGLE = "computed in float32, or rounded to it"

BETWEEN = {
    "kernel", "kernel_overlap", "overlap", "omega_overlap", "lose_tail", "assign_once", "corrected",
    "earlier", "repeats",
}  # fmt: skip
"""What relates the steps of a window: fields of a mutation that change nothing where it is a single one."""


PAIR = " together with "
"""What stands between the names of two mistakes at once."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to be wrong: what is solved, from which kernel rows, by which recurrence.

    Parameters
    ----------
    names : tuple of str
        Names of the mistakes that it is made of: one, or the two of a pair.
    problem : Problem
        What is solved.
    rows : str
        Name of the kernel rows (`mistaken_rows`) in the place of the problem's own; empty for these.
    mutation : Mutation
        What is wrong in the steps.
    precision : str
        Precision of all arithmetic and of what it leaves; empty for the declared one.
    doubt : {"", "ends", "part"}
        Why it is not told that it was made: all that it explains is ends of the box, at which others end as
        well; or it would change what is right. Empty where it is told.
    """

    names: tuple[str, ...]
    problem: Problem
    rows: str = ""
    mutation: Mutation = NONE
    precision: Literal["", "float32"] = ""
    doubt: Literal["", "ends", "part"] = ""

    @property
    def signs(self) -> tuple[str, ...]:
        """Its names, for the sentences that are broken; none where it is not told that it was made."""
        return () if self.doubt else self.names

    @property
    def solved(self) -> tuple[int, str, str]:
        """What is solved, from which rows, in which precision; those alike differ in their mutation."""
        return id(self.problem), self.rows, self.precision

    def declared(self, declaration: Declaration) -> Declaration:
        """What a solver declares that is right but for what is wrong here."""
        return replace(declaration, precision=self.precision) if self.precision else declaration

    def holds(self, values: np.ndarray) -> bool:
        """Whether its precision holds all of some values."""
        if not self.precision:
            return True
        with np.errstate(over="ignore"):
            return np.array_equal(values, values.astype(self.precision))

    @property
    def words(self) -> str:
        """The mistakes in words."""
        return PAIR.join(self.names)


def of_correction(mutation: Mutation) -> bool:
    """Whether a mutation changes nothing where a window is a single step."""
    return mutation.changes.keys() <= BETWEEN


def mistakes(task: str, names: list[str]) -> list[Mutation]:
    """The mutations that are tried of a task, once each.

    Quantities of a step left out, by name; the catalogue; parts of the correction.
    """
    distinct: dict[Mutation, Mutation] = {}
    known = [defect.mutation for defect in CATALOGUE if task in defect.tasks]
    for mutation in [*(left_out(name) for name in names if name != TAIL), *known, *PARTIAL]:
        distinct.setdefault(replace(mutation, name=""), mutation)
    return list(distinct.values())


@dataclass(frozen=True)
class Suspects:
    """The candidates for runs on one problem.

    Parameters
    ----------
    problem : Problem
        What should be solved.
    mutations : tuple of Mutation
        Mistakes in the steps.
    between : bool
        Whether only what relates the steps of a window can be wrong, since the run of s = 1 is right.
    seldom : tuple of Mutation
        Mistakes in the steps that are tried alone, not in pairs.
    """

    problem: Problem
    mutations: tuple[Mutation, ...]
    between: bool = False
    seldom: tuple[Mutation, ...] = ()

    def alone(self) -> list[Candidate]:
        """Every mistake by itself: of the steps first, which need no other kernel."""
        steps, seldom = (_in_steps(self.problem, some) for some in (self.mutations, self.seldom))
        if self.between:
            return [*steps, *seldom]
        held = held_problem(self.problem, Declaration(SINGLE, precision="float32"))
        single = [] if held is None else [Candidate((SINGLE,), held, precision="float32")]
        return [*steps, *single, *_solved_instead(self.problem), *seldom]

    def in_pairs(self) -> Iterator[Candidate]:
        """Two mistakes at once: of the steps, of the steps on another problem, in what is solved."""
        for first, second in combinations(self.mutations, 2):
            if both := joined(first, second):
                yield Candidate((first.name, second.name), self.problem, "", both)
        solved = [] if self.between else _solved_instead(self.problem)
        for other in solved:
            for step in _in_steps(other.problem, self.mutations):
                yield replace(other, names=(*other.names, *step.names), mutation=step.mutation)
        digests = {other.problem.digest for other in solved}
        for other in solved:
            for more in [] if other.rows else _solved_instead(other.problem):
                # Which of two changes of a problem is made first makes no difference.
                if not more.rows and more.problem.digest in digests:
                    continue
                digests.add(more.problem.digest)
                yield replace(more, names=(*other.names, *more.names))


def suspects_of(
    problem: Problem,
    update: str,
    s: int,
    block: int,
    *,
    between: bool = False,
    ends: Iterable[np.ndarray] = (),
) -> Suspects:
    """The candidates for runs of one s and blocks of b coordinates, whose update has this form.

    Only what relates the steps of a window can be wrong `between` them. Some a of the run, shape (m,), tell
    where a wrong upper end of the box would be.
    """
    known = mistakes(problem.kin, problem.quantities(update, s, block))
    if problem.is_svm and not problem.loss.labelled:
        known = [mutation for mutation in known if mutation.labels == NONE.labels]

    def possible(mutations: Iterable[Mutation]) -> tuple[Mutation, ...]:
        return tuple(
            mutation
            for mutation in mutations
            if (of_correction(mutation) if between else s > 1 or not of_correction(mutation))
        )

    return Suspects(problem, possible(known), between, possible([*SELDOM, *_of_this(problem, ends)]))


def _of_this(problem: Problem, ends: Iterable[np.ndarray]) -> Iterator[Mutation]:
    """Mistakes whose size the problem or the run tells, by some a of shape (m,)."""
    if not problem.is_svm:
        yield Mutation(M_ON_DIAGONAL, diagonal=Fraction(1, problem.samples))
        yield Mutation(M_ON_DIAGONAL, diagonal=0)
        return
    vectors = np.array(list(ends))
    largest = float(vectors.max(initial=0.0))
    # A value that none but one coordinate has is no end of a box that anything was clipped to.
    clipped = (vectors == largest).any(axis=0).sum() > 1
    if clipped and 0 < largest < math.inf and largest != problem.boxed.upper < math.inf:
        yield Mutation(END, upper=Fraction(largest) / Fraction(problem.boxed.upper))


def joined(first: Mutation, second: Mutation) -> Mutation | None:
    """Both mutations at once; None where both change the same quantity."""
    if first.changes.keys() & second.changes.keys():
        return None
    return replace(first, name="", **second.changes)


def _in_steps(problem: Problem, mutations: Iterable[Mutation]) -> list[Candidate]:
    return [Candidate((mutation.name,), problem, "", mutation) for mutation in mutations]


def _solved_instead(problem: Problem) -> list[Candidate]:
    """Right steps on another problem, or from other kernel rows."""
    solved = [Candidate((other.name,), other.problem) for other in mistaken_problems(problem)]
    return [*solved, *(Candidate((name,), problem, name) for name in mistaken_rows(problem))]
