"""A solver with its label.

A label is made by reading what was changed and the specification, never by looking at what a check says of
it: verdicts are graded against labels. Sentences S-3.1, S-3.2 and S-3.14 say of a whole step what others
say of its parts; they stand in a label only where none of those others holds all that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from sstep_verify import CallableSolver, Declaration
from sstep_verify.problems import Problem
from sstep_verify.solver import Solver
from studies.corpus.sstep import Array, SStep

Names = tuple[str, ...]
Kind = Literal["python", "program", "production"]

IN_SMOKE = ("svm-l1 rbf", "krr polynomial")
"""Task and kernel of the problems of profile smoke; others need profile ci."""

LATER, LATER_WINDOWS = "after the first step of a window", "after the first window"
LAST, BLOCKS = "last step of a window", "block of several coordinates"
AGAIN, THIRD = "coordinate drawn again in the window", "coordinate drawn a third time in the window"
"""Some places where mistakes act, see `places.PLACES`."""

CORRECTION = ("correction-dropped", "kernel-correction left out", "kernel-correction off by a factor")
STREAM = ("index-stream", "index-stream left out")
"""What some mistakes are called, see `Function`."""


@dataclass(frozen=True)
class Labelled:
    """A solver with its label.

    Parameters
    ----------
    id : str
        Its name.
    on : str
        Task and kernel that it is judged on; all of its campaign if empty.
    breaks : tuple of str
        Numbers of the sentences that it breaks; empty of a right one. Where there are several, each is
        broken and any of them may be named first; why stands beside it.
    acts : str
        Where its mistake acts, a name of `places.PLACES`; empty of a right one.
    equivalent : str
        Why the exact trajectory of a mistake stays within the bound; empty of one that must be found.
    where : tuple of str
        Parts of the system that it needs; "serial" where it needs none.
    """

    id: str
    on: str = ""
    breaks: Names = ()
    acts: str = ""
    equivalent: str = ""
    where: Names = ("serial",)
    kind: ClassVar[Kind]
    """A function made here; an external program in C and MPI; the production solver, edited or not."""

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
        """The campaign that judges it: profile smoke, or ci where that has no problem for it."""
        return "ci" if self.on and self.on not in IN_SMOKE else "smoke"


@dataclass(frozen=True)
class Function(Labelled):
    """An s-step solver in Python; of a mistake `named` holds what it is called, by names that say the same.

    None has one that no run of `named` shows. A mistake in some steps has the name of the quantity that is
    wrong there; of a alone a last step that is not made, one whose value is not stored, and draws one place
    late are the same.
    """

    make: Callable[[], Solver] = field(kw_only=True)
    named: Names = ()
    kind: ClassVar[Kind] = "python"


SUMMED = {"pairwise": "pairwise", "blocked": "blocked:4"}
"""What is declared of an order of sums; any of the others."""


def declared(name: str, log: bool, order: str, **choices: Any) -> Declaration:
    """What a solver that works in this way declares."""
    usual: dict[str, Any] = {"products": "rows", "clamped": True, "power": "multiplication"}
    return Declaration(name, log=log, summation=SUMMED.get(order, "any"), **(usual | choices))


def callable_of(solver: type[SStep], order: str, way: Declaration, declaration: Declaration) -> Solver:
    """A class of solvers as a function that works in a way; its log is written where one is declared."""

    def function(problem: Problem, blocks: Array, s: int, a0: Array, log: Array | None = None) -> Array:
        return solver(way, order, problem).solve(blocks, s, a0, log)

    return CallableSolver(function, declaration)


def right(name: str, on: str = "", log: bool = True, order: str = "forward", **choices: Any) -> Function:
    """A right solver that works in the way chosen."""
    way = declared(name, log, order, **choices)
    return Function(name, on, make=lambda: callable_of(SStep, order, way, way))


def wrong(
    catalogue: list[Function],
    on: str,
    *breaks: str,
    acts: str = "every step",
    named: Names = (),
    log: bool = True,
    suffix: str = "",
    equivalent: str = "",
) -> Callable[[type[SStep]], type[SStep]]:
    """Add the solver with a mistake to a catalogue; it declares what the right one would."""

    def add(solver: type[SStep]) -> type[SStep]:
        way = declared(solver.__name__ + suffix, log, "forward")
        catalogue.append(
            Function(
                way.name, on, breaks, acts, equivalent, named=named,
                make=lambda: callable_of(solver, "forward", way, way),
            )
        )  # fmt: skip
        return solver

    return add
