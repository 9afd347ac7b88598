"""A solver with its label.

A label is made by reading what was changed and the specification, never by looking at what a check says of
it: verdicts are graded against labels. Sentences S-3.1, S-3.2 and S-3.14 say of a whole step what others
say of its parts; they stand in a label only where none of those others holds all that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sstep_verify.solver import Solver

SVM, L2, RIDGE = ("svm-l1",), ("svm-l2",), ("krr",)
RBF, POLYNOMIAL, LINEAR = ("rbf",), ("polynomial",), ("linear",)
IN_SMOKE = {("svm-l1", "rbf"), ("krr", "polynomial")}
"""Tasks and kernels of profile smoke; others need profile ci."""


@dataclass(frozen=True)
class Labelled:
    """A solver with its label.

    Parameters
    ----------
    id : str
        Its name.
    make : callable
        Makes the solver.
    tasks, kernels : tuple of str
        What it is judged on; all of the profile if empty.
    breaks : tuple of str
        Numbers of the sentences that it breaks; empty of a right one. Where there are several, each is
        broken and any of them may be named first; why stands beside it.
    acts : str
        Where its mistake acts, a name of `places.PLACES`; empty of a right one.
    equivalent : str
        Why the exact trajectory of a mistake stays within the bound; empty of one that must be found.
    """

    id: str
    make: Callable[[], Solver]
    tasks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    acts: str = ""
    equivalent: str = ""

    @property
    def right(self) -> bool:
        """Whether it is a right solver."""
        return not self.breaks

    def profile(self, asked: str) -> str:
        """The profile asked for, or ci where that has no problem for it."""
        pairs = {(task, kernel) for task in self.tasks for kernel in self.kernels}
        return asked if asked != "smoke" or not pairs or pairs & IN_SMOKE else "ci"
