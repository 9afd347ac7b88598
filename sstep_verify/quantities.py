"""The quantities of one step, by the names that verdicts use: made of what, and where each exists.

With them the numbers of the exact steps of a window, which an oracle finds and a bound is made from.

A verdict says of every quantity whether an error in it could have been seen on this very input. Each has a
mutation in the one mutable recurrence (`sstep_verify.recurrence`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

STALE = "stale-product"
CURVATURE = "curvature"
KERNEL = "kernel-correction"
SAME = "same-coordinate"
OVERLAP = "overlap"
OMEGA = "omega"
LABELS = "labels"
UPPER = "upper-end"
LOWER = "lower-end"
SAMPLES = "samples"
PENALTY = "penalty"
OFF_DIAGONAL = "off-diagonal"
WRITE_BACK = "write-back"
BOUNDARY = "window-boundary"
TAIL = "tail"
STREAM = "index-stream"


@dataclass(frozen=True)
class Quantity:
    """One quantity of a step.

    Parameters
    ----------
    name : str
        Name in verdicts.
    meaning : str
        What it is, with what leaving it out means.
    tasks : tuple of str
        Tasks whose step has it: svm-l1, svm-l2, krr.
    windowed : bool
        Whether only windows of several steps (s > 1) have it.
    frozen : bool
        Whether only a recurrence that keeps a frozen within a window has it.
    blocked : bool
        Whether only blocks of several coordinates (b > 1) have it.
    """

    name: str
    meaning: str
    tasks: tuple[str, ...] = ("svm-l1", "svm-l2", "krr")
    windowed: bool = False
    frozen: bool = False
    blocked: bool = False


QUANTITIES: tuple[Quantity, ...] = (
    Quantity(STALE, "product of the kernel row with alpha at the window's start; left out: 0 instead"),
    Quantity(
        CURVATURE, "diagonal entry the gradient is divided by (K-RR: block system); left out: doubled"
    ),
    Quantity(
        KERNEL, "correction of the gradient by increments of other coordinates of the window", windowed=True
    ),
    Quantity(SAME, "correction of the gradient by own increments in the window", windowed=True),
    Quantity(
        OVERLAP,
        "increments of the same coordinate added to its frozen value; left out: its first value",
        windowed=True,
        frozen=True,
    ),
    Quantity(OMEGA, "diagonal shift omega times alpha in the gradient", ("svm-l2",)),
    Quantity(LABELS, "label of the drawn coordinate; left out: its sign flipped", ("svm-l1", "svm-l2")),
    Quantity(UPPER, "upper limit of the box (C); left out: no upper limit", ("svm-l1",)),
    Quantity(LOWER, "lower limit of the box (0); left out: no lower limit", ("svm-l1", "svm-l2")),
    Quantity(
        SAMPLES,
        "number of samples m on the diagonal and in the right-hand side; left out: wrong in one of them",
        ("krr",),
    ),
    Quantity(PENALTY, "lambda that kernel entries are divided by; left out: doubled", ("krr",)),
    Quantity(OFF_DIAGONAL, "off-diagonal entries of the block system", ("krr",), blocked=True),
    Quantity(WRITE_BACK, "new values stored in alpha; left out: alpha stays as it was"),
    Quantity(
        BOUNDARY, "increment of a window's last step, passed to what comes after; left out: it is lost"
    ),
    Quantity(TAIL, "the last, short window; left out: it is not made", windowed=True),
    Quantity(STREAM, "the index stream; left out: each draw taken one place off"),
)


def quantities_of(task: str, update: str, s: int, block: int) -> tuple[Quantity, ...]:
    """The quantities that the steps of a run have.

    Parameters
    ----------
    task : {"svm-l1", "svm-l2", "krr"}
        Task.
    update : {"in-place", "frozen", "added"}
        Form of the update.
    s : int
        Iterations per window.
    block : int
        Coordinates per block (b).
    """
    return tuple(
        quantity
        for quantity in QUANTITIES
        if task in quantity.tasks
        and (s > 1 or not quantity.windowed)
        and (update == "frozen" or not quantity.frozen)
        and (block > 1 or not quantity.blocked)
    )


def required_quantities(s: int) -> tuple[str, ...]:
    """Quantities that a run of this s must have shown, or its PASS becomes VACUOUS."""
    return (STALE, CURVATURE, KERNEL) if s > 1 else (STALE, CURVATURE)


@dataclass(frozen=True)
class SvmSteps:
    """The exact steps of a window in float64, with enclosures where a decision depends on them.

    All have shape (s,): drawn coordinates as places among the distinct ones; the exact value before each
    step and the exact increment, rounded to float64; the enclosure of the exact unclipped new value.
    """

    draws: np.ndarray
    value: np.ndarray
    increment: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class RidgeSteps:
    """The exact block steps of a window, rounded to float64.

    Both have shape (s, b): drawn blocks as places among the distinct coordinates, exact increments.
    """

    draws: np.ndarray
    increments: np.ndarray
