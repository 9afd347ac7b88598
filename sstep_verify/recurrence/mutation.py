"""Mutation: which quantities of the s-step recurrence are scaled, and which steps of it go wrong.

The catalogue of defects: each a named mutation of the one recurrence, with where it was met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal

from sstep_verify import quantities

Factor = int | Fraction


@dataclass(frozen=True)
class Mutation:
    """One factor per quantity of a step (1 is right, 0 drops it) and one switch per slip.

    Parameters
    ----------
    name : str
        Name of the defect; ``none`` for the right recurrence.
    stale : Factor
        Product of the kernel row with a at the window's start.
    curvature : Factor
        What the gradient is divided by: eta (K-SVM), the block system (K-RR).
    kernel : Factor
        Kernel correction between different coordinates: ``K(i_j, i_t) theta_t`` with i_t != i_j.
    kernel_overlap : Factor
        Kernel correction of a coordinate with itself: ``K_ii theta_t`` where it was drawn before.
    overlap : Factor
        Increments of the same coordinate: in rho (Algorithm 2, line 16), or ``m V_j'V_t D_t``
        (Algorithm 4, line 14).
    omega_stale, omega_overlap : Factor
        Diagonal shift times a at the window's start, and times the increments since (Algorithm 2,
        line 17).
    labels : Factor
        Label of the drawn coordinate in its gradient; -1 flips it.
    upper : Factor or None
        Upper end of the box (nu); None: there is none.
    leak : Factor
        Part of what lies below the lower end of the box that stays; 0 is right, 1: there is no lower end.
    samples, penalty : Factor
        K-RR: m, and lambda, wherever they occur.
    off_diagonal : Factor
        K-RR: off-diagonal entries of the block system.
    write_back : Factor
        Increments as they are stored in a.
    boundary : Factor
        Increment of the window's last step, as what comes after sees it.
    early : bool
        Each draw is replaced by the next one of the stream, the very last by the first. Of a window alone
        the steps after the first are made: what it draws last is not among its coordinates.
    lose_tail : bool
        Leave out the last window if it is shorter than s.
    assign_once : bool
        ``alpha[I] += theta`` with repeated indices: only the last increment of a coordinate counts.
    corrected : (int or None, int or None)
        Ends of the slice of a window's steps whose kernel products are corrected.
    earlier : (int or None, int or None)
        Ends of the slice of the increments made before in the window that correct those products.
    repeats : (int or None, int or None)
        Ends of the slice of a coordinate's own increments in the window that its product sees.
    late : str
        What the stale products are made from that is of the window before, where there is one: its `A` at
        the start, or its rows, of `K` or with labels of `Q`, where it has as many; empty is right.
    diagonal : Factor
        K-RR: m on the diagonal of the block systems alone.
    threshold : float
        Increments whose absolute value is smaller are left out.
    """

    name: str = "none"
    stale: Factor = 1
    curvature: Factor = 1
    kernel: Factor = 1
    kernel_overlap: Factor = 1
    overlap: Factor = 1
    omega_stale: Factor = 1
    omega_overlap: Factor = 1
    labels: Factor = 1
    upper: Factor | None = 1
    leak: Factor = 0
    samples: Factor = 1
    penalty: Factor = 1
    off_diagonal: Factor = 1
    write_back: Factor = 1
    boundary: Factor = 1
    early: bool = False
    lose_tail: bool = False
    assign_once: bool = False
    corrected: tuple[int | None, int | None] = (None, None)
    earlier: tuple[int | None, int | None] = (None, None)
    repeats: tuple[int | None, int | None] = (None, None)
    late: Literal["", "A", "K", "Q"] = ""
    diagonal: Factor = 1
    threshold: float = 0.0

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from the right recurrence, by field."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self) if one.name != "name")
        return {name: value for name, value in values if value != getattr(NONE, name)}

    def seen(self, whole: Any, earlier_steps: list, steps: int, zeros: Callable[[], Any]) -> Any:
        """Increments of a window's coordinates as the products of its next step see them.

        `whole`, of length c as what `zeros` makes, is all of them, which is what the right recurrence sees;
        `earlier_steps` are the (coordinate, increment) pairs of each step before, in order, of so many
        `steps`.
        """
        if self.corrected == self.earlier == (None, None):
            return whole
        visible = zeros()
        if len(earlier_steps) in range(steps)[slice(*self.corrected)]:
            for step in earlier_steps[slice(*self.earlier)]:
                for place, increment in step:
                    visible[place] = visible[place] + increment
        return visible

    def repeated(self, whole: Any, earlier_steps: list, place: int) -> Any:
        """Own increments of one coordinate as its product sees them, with arguments of `seen`."""
        own = [increment for step in earlier_steps for other, increment in step if other == place]
        return sum(own[slice(*self.repeats)], start=0 * whole[place])

    def scaled(self, fields: tuple[str, ...], factor: Factor | None, name: str) -> Mutation:
        """A copy with some factors set to another value."""
        changes: dict[str, Any] = dict.fromkeys(fields, factor)
        return replace(self, name=name, **changes)


NONE = Mutation()

TERMS: dict[str, tuple[str, ...]] = {
    quantities.STALE: ("stale",),
    quantities.CURVATURE: ("curvature",),
    quantities.KERNEL: ("kernel",),
    quantities.SAME: ("kernel_overlap",),
    quantities.OVERLAP: ("overlap",),
    quantities.OMEGA: ("omega_stale", "omega_overlap"),
    quantities.LABELS: ("labels",),
    quantities.UPPER: ("upper",),
    quantities.LOWER: ("leak",),
    quantities.SAMPLES: ("samples",),
    quantities.PENALTY: ("penalty",),
    quantities.OFF_DIAGONAL: ("off_diagonal",),
    quantities.WRITE_BACK: ("write_back",),
    quantities.BOUNDARY: ("boundary",),
    quantities.TAIL: ("lose_tail",),
    quantities.STREAM: ("early",),
}
"""Quantities of a step, and the factors or switches that act on each."""

LEFT_OUT: dict[str, Factor | None] = {
    quantities.CURVATURE: 2,
    quantities.LABELS: -1,
    quantities.UPPER: None,
    quantities.LOWER: 1,
    quantities.SAMPLES: 2,
    quantities.PENALTY: 2,
    quantities.TAIL: True,
    quantities.STREAM: True,
}
"""Factor that stands for leaving a quantity out; 0 for those not named."""


def left_out(name: str) -> Mutation:
    """The mutation that leaves a quantity out, as `sstep_verify.quantities` says what that means."""
    return NONE.scaled(TERMS[name], LEFT_OUT.get(name, 0), f"{name} left out")


def off_by(name: str, relative: Fraction) -> Mutation | None:
    """The mutation by which a quantity is relatively off; None where leaving it out says as much.

    That is so for a switch, which is on or off, and for what is stored, in which a is linear. The lower
    end of the box is 0, and so the part of what lies below it that stays takes the place.
    """
    if name in (quantities.TAIL, quantities.STREAM, quantities.WRITE_BACK, quantities.BOUNDARY):
        return None
    factor = relative if name == quantities.LOWER else 1 + relative
    return NONE.scaled(TERMS[name], factor, f"{name} off by {float(relative):.3g}")


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
