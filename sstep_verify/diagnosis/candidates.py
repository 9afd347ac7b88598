"""What may be wrong with a solver, as one list: mistakes in its steps, other problems, kernel rows, pairs.

A candidate says what would have been run in the place of what was asked for, so that one engine
(`sstep_verify.diagnosis.search`) can try all of them, each against the same ends of windows or runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Literal

import numpy as np

from sstep_verify.diagnosis.kernel_rows import mistaken_rows
from sstep_verify.diagnosis.other_problems import mistaken_problems
from sstep_verify.problems import Problem
from sstep_verify.quantities import TAIL
from sstep_verify.recurrence.catalogue import CATALOGUE
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out
from sstep_verify.solver import Declaration

PARTIAL = (
    Mutation("corrected-by-newest-increment-alone", earlier=(-1, None)),
    Mutation("newest-increment-lost", earlier=(None, -1)),
    Mutation("corrected-by-first-increment-alone", earlier=(None, 1)),
    Mutation("first-increment-lost", earlier=(1, None)),
    Mutation("last-step-alone-corrected", corrected=(-1, None)),
    Mutation("last-step-uncorrected", corrected=(None, -1)),
)
"""The kernel correction of the s-step recurrence, made for a part of it."""

SINGLE = "computed in float32"

_BETWEEN = ("kernel", "kernel_overlap", "overlap", "omega_overlap", "lose_tail", "assign_once")


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
    """

    names: tuple[str, ...]
    problem: Problem
    rows: str = ""
    mutation: Mutation = NONE
    precision: Literal["", "float32"] = ""

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
        return " together with ".join(self.names)


def of_correction(mutation: Mutation) -> bool:
    """Whether a mutation changes nothing where a window is a single step."""
    right = {name: getattr(NONE, name) for name in ("name", "corrected", "earlier", *_BETWEEN)}
    return replace(mutation, **right) == NONE


def mistakes(task: str, names: list[str]) -> list[Mutation]:
    """The mutations that are tried, once each: quantities left out, the catalogue, parts of the correction.

    Parameters
    ----------
    task : {"svm-l1", "svm-l2", "krr"}
        Task.
    names : list of str
        Quantities of a step.
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
    """

    problem: Problem
    mutations: tuple[Mutation, ...]
    between: bool = False

    def alone(self) -> list[Candidate]:
        """Every mistake by itself: of the steps first, which need no other kernel."""
        return [*self._steps(self.problem), *self._computed(), *self._solved()]

    def in_pairs(self) -> Iterator[Candidate]:
        """Two mistakes at once: of the steps, of the steps on another problem, in what is solved."""
        for first, second in combinations(self.mutations, 2):
            if both := joined(first, second):
                yield Candidate((first.name, second.name), self.problem, "", both)
        solved = self._solved()
        for other in solved:
            for step in self._steps(other.problem):
                yield replace(other, names=(*other.names, *step.names), mutation=step.mutation)
        tried = {other.problem.digest for other in solved}
        for other in solved:
            for more in [] if other.rows else _solved_instead(other.problem):
                # Which of two changes of a problem is made first makes no difference.
                if not more.rows and more.problem.digest in tried:
                    continue
                tried.add(more.problem.digest)
                yield replace(more, names=(*other.names, *more.names))

    def _steps(self, problem: Problem) -> list[Candidate]:
        return [Candidate((one.name,), problem, "", one) for one in self.mutations]

    def _computed(self) -> list[Candidate]:
        return [] if self.between else [Candidate((SINGLE,), self.problem, precision="float32")]

    def _solved(self) -> list[Candidate]:
        return [] if self.between else _solved_instead(self.problem)


def suspects_of(problem: Problem, update: str, s: int, block: int, *, between: bool = False) -> Suspects:
    """The candidates for runs of one s.

    Parameters
    ----------
    problem : Problem
        What should be solved.
    update : {"in-place", "frozen", "added"}
        Form of the update.
    s, block : int
        Iterations per window, coordinates per block (b).
    between : bool
        Whether only what relates the steps of a window can be wrong.
    """
    known = mistakes(problem.kin, problem.quantities(update, s, block))
    if problem.is_svm and not problem.loss.labelled:
        known = [one for one in known if one.labels == NONE.labels]
    right = (lambda one: of_correction(one)) if between else (lambda one: s > 1 or not of_correction(one))
    return Suspects(problem, tuple(filter(right, known)), between)


def joined(first: Mutation, second: Mutation) -> Mutation | None:
    """Both mutations at once; None where both change the same quantity."""
    changed = [
        {name.name for name in fields(one) if getattr(one, name.name) != getattr(NONE, name.name)}
        - {"name"}
        for one in (first, second)
    ]
    if changed[0] & changed[1]:
        return None
    return replace(first, name="", **{name: getattr(second, name) for name in changed[1]})


def _solved_instead(problem: Problem) -> list[Candidate]:
    """Right steps on another problem, or from other kernel rows."""
    solved = [Candidate((other.name,), other.problem) for other in mistaken_problems(problem)]
    return [*solved, *(Candidate((name,), problem, name) for name in mistaken_rows(problem))]
