"""What may be wrong with a solver, as one list: mistakes in its steps, other problems, kernel rows.

A candidate says what would have been run instead of what was asked for, so that one engine
(`sstep_verify.diagnosis.search`) can try all of them, each against the same ends of windows or runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from sstep_verify.diagnosis.factors import M_ON_DIAGONAL
from sstep_verify.diagnosis.kernel_rows import LABELS, NORMS, mistaken_rows
from sstep_verify.diagnosis.other_problems import mistaken_problems
from sstep_verify.problems import Problem
from sstep_verify.quantities import LOWER, TAIL, UPPER
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out
from sstep_verify.verdict import HintKind

PARTIAL = (
    Mutation("corrected-by-newest-increment-only", earlier=(-1, None)),
    Mutation("newest-increment-lost", earlier=(None, -1)),
    Mutation("corrected-by-first-increment-only", earlier=(None, 1)),
    Mutation("first-increment-lost", earlier=(1, None)),
    Mutation("only-last-step-corrected", corrected=(-1, None)),
    Mutation("last-step-uncorrected", corrected=(None, -1)),
)
"""The kernel correction of the s-step recurrence, made for a part of it."""

IN_RESIDUAL = tuple(replace(mutation, alike=True) for mutation in PARTIAL)
"""The same for the residual of K-RR, whose correction holds the overlap as well."""

SIGN_OF_CORRECTION = Mutation("correction with the wrong sign", kernel=-1, kernel_overlap=-1, overlap=-1)
"""K-RR: what should be subtracted from a residual is added to it."""

SUBTRACTED = Mutation("increments subtracted", write_back=-1)
"""K-RR: ``alpha[block] -= D``."""

SMALL = "small steps left out"
REVERSED_WINDOWS = "draws of a window in reverse order"
OLD_A, OLD_ROWS = "alpha of the window before", "kernel rows of the window before"
SOLVED_ONCE = "repeated coordinate solved for once"

OWN_OMEGA = Mutation("omega of own increments left out", omega_overlap=0)
"""The diagonal shift of K-SVM-L2 made for alpha of the window's start only."""

CAPPED = Mutation("an upper limit C of K-SVM-L2", capped=True)
"""The upper end of the box of K-SVM-L1, with the diagonal shift of K-SVM-L2."""

NO_BOX = Mutation("no box", upper=None, leak=1)
"""K-SVM-L1 without the limits of its box: each by itself has a name, which explains a part of the steps."""

OF_REPEATS = (
    *(Mutation("assigned-once", assigned=what) for what in ("stored", "values", "products")),
    Mutation(SOLVED_ONCE, once=True),
)
"""Mistakes in blocks that hold a coordinate several times; the first ones are of any window, not of one
step only, as the defect of the same name in the catalogue.
"""

SELDOM = (
    Mutation("only the first own increment used", repeats=(None, 1)),
    Mutation("only the newest own increment used", repeats=(-1, None)),
    Mutation("first own increment left out", repeats=(1, None)),
    Mutation("newest own increment left out", repeats=(None, -1)),
    Mutation(OLD_A, late="A"),
    Mutation(OLD_ROWS, late="K"),
    Mutation(OLD_ROWS, late="Q"),
    Mutation(REVERSED_WINDOWS, backwards=True),
    *(Mutation(SMALL, threshold=10.0**-digits) for digits in range(1, 16)),
)
"""Mistakes that act from the second or third draw on, from the second window on, in the order of the steps
of a window, or in small steps."""

PUBLIC_PAIRS = ((LABELS, NORMS),)
"""Two mistakes at once that public code makes: of the problem, and of the kernel rows."""

BETWEEN = {
    "kernel", "kernel_overlap", "overlap", "omega_overlap", "lose_tail", "assign_once", "corrected",
    "earlier", "repeats", "alike", "backwards",
}  # fmt: skip
"""What relates the steps of a window: fields of a mutation that change nothing where it is a single one."""

OF_WINDOWS = {*BETWEEN, "boundary"}
"""The same, and what a window hands on: one of a single step may be made in another way."""


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
        Name of the kernel rows (`mistaken_rows`) instead of the problem's own; empty for these.
    mutation : Mutation
        What is wrong in the steps.
    doubt : HintKind, optional
        Why it may not be what was done: all that it explains is ends of the box, at which others end as
        well (AT_LIMITS); or it would change what is right (PART_OF_RUN).
    part : tuple of int, optional
        How many wrong steps it reproduces, of how many tried, where it does not reproduce all.
    everywhere : bool
        Whether it may have been made in the whole run: it is not known to change what is right.
    """

    names: tuple[str, ...]
    problem: Problem
    rows: str = ""
    mutation: Mutation = NONE
    doubt: HintKind | None = None
    part: tuple[int, int] | None = None
    everywhere: bool = True

    @property
    def solved(self) -> tuple[int, str]:
        """What is solved, from which rows; those alike differ in their mutation."""
        return id(self.problem), self.rows


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
    """

    problem: Problem
    mutations: tuple[Mutation, ...]
    between: bool = False

    def alone(self) -> list[Candidate]:
        """Every mistake by itself: of the steps first, which need no other kernel."""
        steps = [Candidate((mutation.name,), self.problem, "", mutation) for mutation in self.mutations]
        if self.between:
            return steps
        solved = [Candidate((other.name,), other.problem) for other in mistaken_problems(self.problem)]
        rows = [Candidate((name,), self.problem, name) for name in mistaken_rows(self.problem)]
        return [*steps, *solved, *rows]

    def pairs(self) -> list[Candidate]:
        """The pairs that are known in public, and both limits of the box."""
        others = [] if self.between else mistaken_problems(self.problem)
        limits = tuple(left_out(name).name for name in (UPPER, LOWER))
        no_box = [Candidate(limits, self.problem, "", NO_BOX)]
        boxed = self.problem.base_task == "svm-l1" and not self.between
        return no_box * boxed + [
            Candidate((first, rows), other.problem, rows)
            for first, rows in PUBLIC_PAIRS
            for other in others
            if other.name == first and rows in mistaken_rows(other.problem)
        ]


def suspects_of(
    problem: Problem,
    update: str,
    s: int,
    block: int,
    *,
    between: bool = False,
    replacement: bool = False,
) -> Suspects:
    """The candidates for runs of one s and blocks of b coordinates, whose update has this form.

    Only what relates the steps of a window can be wrong `between` them. Of blocks that are drawn with
    `replacement` a single step may lose increments of a coordinate, or solve for it once.
    """
    known = mistakes(problem.base_task, problem.quantities(update, s, block))
    if problem.is_svm and not problem.loss.labelled:
        known = [mutation for mutation in known if mutation.labels == NONE.labels]

    def possible(mutations: Iterable[Mutation]) -> tuple[Mutation, ...]:
        return tuple(
            mutation
            for mutation in mutations
            if (mutation.changes.keys() <= OF_WINDOWS if between else s > 1 or not of_correction(mutation))
            or (replacement and mutation.assign_once)
        )

    residual = [] if problem.is_svm else [*IN_RESIDUAL, SIGN_OF_CORRECTION, SUBTRACTED]
    of_this: list[int | Fraction] = [] if problem.is_svm else [Fraction(1, problem.samples), 0]
    diagonals = [Mutation(M_ON_DIAGONAL, diagonal=factor) for factor in of_this]
    repeats = OF_REPEATS if replacement else ()
    own = [OWN_OMEGA, CAPPED] if problem.base_task == "svm-l2" else []
    return Suspects(problem, possible([*known, *own, *residual, *SELDOM, *diagonals, *repeats]), between)
