"""The catalogue of defects: each a named mutation of the one recurrence, with where it was met."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sstep_verify.recurrence.mutation import Mutation


@dataclass(frozen=True)
class Defect:
    """A named mistake.

    Parameters
    ----------
    mutation : Mutation
        Factors and switches that make the mistake; its name is the defect's.
    bug_type : {"correction", "step", "box", "parameter", "stream", "store"}
        Part of a solver that it is in.
    meaning : str
        What went wrong, in one sentence.
    tasks : tuple of str
        Tasks whose recurrence has the term: svm-l1, svm-l2, krr.
    """

    mutation: Mutation
    bug_type: str
    meaning: str
    tasks: tuple[str, ...] = ("svm-l1", "svm-l2", "krr")

    @property
    def name(self) -> str:
        """Name of the defect."""
        return self.mutation.name


SVM = ("svm-l1", "svm-l2")

CATALOGUE: tuple[Defect, ...] = (
    Defect(
        Mutation("overlap-dropped", overlap=0),
        "correction",
        "a coordinate drawn again in a window is taken at its value of the window's start",
    ),
    Defect(
        Mutation("omega-dropped", omega_stale=0, omega_overlap=0),
        "step",
        "the gradient lacks the diagonal shift omega times a",
        ("svm-l2",),
    ),
    Defect(
        Mutation("stale-alpha", kernel=0, kernel_overlap=0, overlap=0, omega_overlap=0),
        "correction",
        "no step of a window sees the increments of the steps before it",
    ),
    Defect(
        Mutation("tail-lost", lose_tail=True),
        "stream",
        "the last window is left out when s does not divide the number of iterations",
    ),
    Defect(
        Mutation("assigned-once", assign_once=True),
        "store",
        "alpha[I] += theta with repeated indices keeps only the last increment of a coordinate",
    ),
    Defect(
        Mutation("correction-dropped", kernel=0, kernel_overlap=0),
        "correction",
        "the gradient of the window's start is used as it is, beside the coordinate's current value",
    ),
    Defect(Mutation("curvature-halved", curvature=Fraction(1, 2)), "step", "steps are twice as long"),
    Defect(
        Mutation("label-lost", labels=-1), "step", "the drawn coordinate's label has the wrong sign", SVM
    ),
    Defect(Mutation("upper-end-lost", upper=None), "box", "a is not kept below C", ("svm-l1",)),
    Defect(Mutation("upper-end-halved", upper=Fraction(1, 2)), "box", "the box ends at C/2", ("svm-l1",)),
    Defect(Mutation("lower-end-lost", leak=1), "box", "a is not kept above 0", SVM),
    Defect(
        Mutation("boundary-off-by-one", boundary=0), "store", "what the last step of a window did is lost"
    ),
    Defect(
        Mutation("draws-off-by-one", early=True), "stream", "every draw is the one after it in the stream"
    ),
    Defect(Mutation("m-doubled", samples=2), "parameter", "m is counted twice", ("krr",)),
    Defect(
        Mutation("lambda-doubled", penalty=2), "parameter", "lambda is twice what was asked for", ("krr",)
    ),
    Defect(
        Mutation("off-diagonal-dropped", off_diagonal=0),
        "step",
        "a block is solved by its diagonal",
        ("krr",),
    ),
    Defect(Mutation("write-back-lost", write_back=0), "store", "the new values are not stored in a"),
)
