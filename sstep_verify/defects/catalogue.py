"""The catalogue of defects: each a named mutation of the one recurrence, with where it was met."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify.defects.mutation import Mutation


@dataclass(frozen=True)
class Defect:
    """A named mistake.

    Parameters
    ----------
    mutation : Mutation
        Factors and switches that make the mistake; its name is the defect's.
    meaning : str
        What went wrong, in one sentence.
    tasks : tuple of str
        Tasks whose recurrence has the term: svm-l1, svm-l2, krr.
    """

    mutation: Mutation
    meaning: str
    tasks: tuple[str, ...] = ("svm-l1", "svm-l2", "krr")

    @property
    def name(self) -> str:
        """Name of the defect."""
        return self.mutation.name


CATALOGUE: tuple[Defect, ...] = (
    Defect(
        Mutation("overlap-dropped", overlap=0),
        "a coordinate drawn again in a window is taken at its value of the window's start",
    ),
    Defect(
        Mutation("omega-dropped", omega_stale=0, omega_overlap=0),
        "the gradient lacks the diagonal shift omega times a",
        ("svm-l2",),
    ),
    Defect(
        Mutation("stale-alpha", kernel=0, kernel_overlap=0, overlap=0, omega_overlap=0),
        "no step of a window sees the increments of the steps before it",
    ),
    Defect(
        Mutation("tail-lost", lose_tail=True),
        "the last window is left out when s does not divide the number of iterations",
    ),
    Defect(
        Mutation("assigned-once", assign_once=True),
        "alpha[I] += theta with repeated indices keeps only the last increment of a coordinate",
    ),
)
