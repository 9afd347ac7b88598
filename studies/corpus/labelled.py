"""A solver with its label, and the right ones made here, with what each declares.

A label is made by reading what was changed and the specification, never by looking at what a check says of
it: verdicts are graded against labels. Sentences S-3.1 and S-3.2 say of a whole step what others
say of its parts; they stand in a label only where none of those others holds all that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sstep_verify import CallableSolver, Declaration, Problem, Solver
from studies.admissible.undeclared import USUAL, Undeclared
from studies.corpus.sstep import Array, SStep

Names = tuple[str, ...]

LATER, LATER_WINDOWS = "after the first step of a window", "after the first window"
LAST, BLOCKS = "last step of a window", "block of several coordinates"
"""Some places where mistakes act, see `grading.PLACES`."""

CORRECTION = ("correction-dropped", "kernel-correction left out", "kernel-correction off by a factor")
STREAM = ("index-stream", "index-stream left out")
"""What some mistakes are called, see `Made`."""


@dataclass(frozen=True)
class Labelled:
    """A solver with its label, of a `kind`: python, program (C and MPI), or production (an edit).

    It is judged `on` a task and kernel, all of its campaign if empty. Of a mistake, `breaks` has the
    sentences that it breaks, of which any may be named first (why stands next to it), and `acts` where, a
    name of `grading.PLACES`; `equivalent` says why its exact trajectory stays within the bound, and is
    empty of one that must be found. `where` has the parts of the system that it needs.
    """

    id: str
    on: str = ""
    breaks: Names = ()
    acts: str = ""
    equivalent: str = ""
    where: Names = ("serial",)
    kind: str = "python"

    @property
    def right(self) -> bool:
        """Whether it is a right solver."""
        return not self.breaks

    @property
    def tasks(self) -> Names:
        """What it solves; everything if empty."""
        return tuple(self.on.split()[:1])

    @property
    def kernels(self) -> Names:
        """The kernels of what it solves; every one if empty."""
        return tuple(self.on.split()[1:])

    @property
    def campaign(self) -> str:
        """The campaign that judges it: profile smoke for three kinds of solvers, ci for the others."""
        return "smoke" if self.on in ("", "svm-l1 rbf", "krr polynomial") else "ci"


@dataclass(frozen=True)
class Made(Labelled):
    """One that `make` makes: in Python, or a program on `ranks`, in the folder that it is handed.

    Of a mistake in Python `named` holds what it is called, by names that say the same; none where no run of
    `grading.every_failure` shows it, or no known defect is it. A mistake in some steps has the name of the
    quantity that is wrong there; of a alone a last step that is not made, one whose value is not stored,
    and draws one place late are the same.
    """

    named: Names = ()
    ranks: int = 1
    undeclared: Undeclared = USUAL
    make: Callable[..., Solver] = field(kw_only=True)


def _made(
    name: str, solver: type[SStep], log: bool, order: str, undeclared: Undeclared, **declared: Any
) -> Callable[[], Solver]:
    """A class of solvers as a function that works in a way, and declares it; with its log if asked."""
    way = Declaration(name, log=log, **({"products": "rows"} | declared))

    def function(problem: Problem, blocks: Array, s: int, a0: Array, log: Array | None = None) -> Array:
        return solver(way, order, problem, undeclared).solve(blocks, s, a0, log)

    return lambda: CallableSolver(function, way)


def right(name: str, on: str = "", log: bool = True, order: str = "forward", **how: Any) -> Made:
    """A right solver that works in the way chosen: declared, or by a field of `Undeclared`."""
    if order in ("pairwise", "blocked"):
        how["summation"] = order
    known = vars(USUAL)
    undeclared = Undeclared(**{key: value for key, value in how.items() if key in known})
    declared = {key: value for key, value in how.items() if key not in known}
    return Made(
        name, on, undeclared=undeclared, make=_made(name, SStep, log, order, undeclared, **declared)
    )


def mistake(
    name: str,
    what: str,
    on: str,
    *breaks: str,
    acts: str = "every step",
    named: Names = (),
    log: bool = True,
    equivalent: str = "",
    **changed: Callable[..., Any],
) -> Made:
    """The solver with methods changed, in `what` its mistake; it declares what the right one would."""
    solver = type(name, (SStep,), {"__doc__": what, **changed})
    return Made(
        name, on, breaks, acts, equivalent, named=named, make=_made(name, solver, log, "forward", USUAL)
    )


RIGHT = (
    right("forward"),
    right("reversed", order="reversed"),
    right("pairwise", order="pairwise"),
    right("blocked", order="blocked"),
    right("compensated", order="compensated"),
    right("extended", order="extended"),
    right("float32", precision="float32"),
    right("float32 frozen", precision="float32", update="frozen", log=False),
    right("added", "svm-l1 rbf", update="added"),
    right("added windows", "svm-l1 rbf", update="added", log=False),
    right("frozen summed", update="frozen", increments="summed"),
    right("frozen separate", update="frozen", log=False),
    right("summed in place", increments="summed"),
    right("differences", "svm-l1 rbf", rbf="difference"),
    right("unclamped", "svm-l1 rbf", clamped=False),
    right("pow", "krr polynomial", power="pow"),
    right("lu", "krr polynomial", factorisation="lu"),
    right("least squares", "krr polynomial", factorisation="orthogonal"),
    right("elimination", "krr polynomial", factorisation="ldl", log=False),
    right("linear rows", "svm-l1 linear"),
    right("linear weights", "svm-l2 linear", products="any"),
    right("windows alone", log=False),
    right("l1 linear weights windows", "svm-l1 linear", products="any", log=False),
    right("l1 polynomial reversed", "svm-l1 polynomial", order="reversed"),
    right("l1 differences extended", "svm-l1 rbf", rbf="difference", order="extended"),
    right("l1 pairwise frozen", "svm-l1 rbf", order="pairwise", update="frozen"),
    right("l1 float32 added", "svm-l1 rbf", precision="float32", update="added"),
    right("l2 linear frozen summed", "svm-l2 linear", update="frozen", increments="summed"),
    right("l2 polynomial pow", "svm-l2 polynomial", power="pow", log=False),
    right("l2 added", "svm-l2 rbf", update="added"),
    right("l2 differences windows", "svm-l2 rbf", rbf="difference", log=False),
    right("ridge linear weights", "krr linear", products="any"),
    right("ridge linear elimination", "krr linear", factorisation="ldl"),
    right("ridge unclamped", "krr rbf", clamped=False),
    right("ridge float32 lu", "krr rbf", precision="float32", rbf="difference", factorisation="lu"),
    right("ridge float32 reversed", "krr polynomial", precision="float32", order="reversed", log=False),
    right("ridge blocked lu", "krr polynomial", order="blocked", factorisation="lu"),
    right("ridge compensated frozen", "krr polynomial", order="compensated", update="frozen"),
    right("float32 compensated", precision="float32", order="compensated"),
    right("float32 extended", "svm-l1 rbf", precision="float32", order="extended"),
)  # fmt: skip
"""Right solvers with what each declares."""
