"""The Solver protocol: what a run is asked for, and what a solver declares itself to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.trajectory import Trajectory

if TYPE_CHECKING:
    from sstep_verify.problems import IndexStream, Problem

Observer = Callable[[int, np.ndarray], bool]
"""Called with (iteration, a) at each recorded iteration; returning True ends the run there."""

Precision = Literal["float32", "float64", "longdouble"]
Update = Literal["in-place", "added", "frozen"]
Products = Literal["any", "rows"]
Increments = Literal["summed", "separate"]
Distances = Literal["norm-expansion", "difference"]
Power = Literal["multiplication", "pow"]
Factorisation = Literal["cholesky", "ldl", "lu"]

KNOWN = {
    "precision": get_args(Precision),
    "update": get_args(Update),
    "products": get_args(Products),
    "increments": get_args(Increments),
    "rbf": get_args(Distances),
    "power": get_args(Power),
    "factorisation": get_args(Factorisation),
}
"""Values of the fields of a `Declaration` that choose between derivations."""


@dataclass(frozen=True)
class Declaration:
    """What a solver says it is; the bounds are computed for exactly this.

    Parameters
    ----------
    name : str
        Name for tables and messages.
    precision : {"float32", "float64", "longdouble"}
        Arithmetic of the recurrence; it fixes the unit roundoff u.
    update : {"in-place", "added", "frozen"}
        How a step changes a. in-place: the new value itself is stored (K-SVM), so that a clipped
        coordinate sits on the box exactly. added: the increment ``theta = (new value) - a_i`` is formed
        and added, ``a_i += theta``, as Algorithm 1 is printed; the sum rounds. frozen: a is kept at the
        window's start and the increments are summed (the paper's Algorithms 2 and 4). K-RR has no new
        value but an increment: in-place and added are the same there, ``a_B += D``.
    products : {"any", "rows"}
        How the products of kernel rows with a are formed, which matters for the linear kernel. rows: from
        kernel entries, ``sum_l K_il a_l``. any: that, or ``A (A' a)`` from the samples, with w = A'a formed
        anew from a in every window (a w that is carried from window to window is a `state`).
    increments : {"summed", "separate"}
        Whether the increments of a coordinate are summed before they multiply a kernel entry.
    rbf : {"norm-expansion", "difference"}
        How squared distances are formed.
    clamped : bool
        Whether a squared distance that norm expansion makes negative is taken as 0, so that no RBF entry
        exceeds 1 by more than the error of exp. Otherwise such an entry may be any number above 1.
    power : {"multiplication", "pow"}
        How the polynomial kernel raises to its degree.
    function_ulps : float
        Largest error of the solver's exp and pow, in units in the last place.
    factorisation : {"cholesky", "ldl", "lu"}
        How the block systems of K-RR are solved: Cholesky; elimination in rows without pivoting
        (LDL', whether or not it makes use of the symmetry); LU with partial pivoting.
    data_rounding : bool
        Whether data, targets and parameters that `precision` cannot represent are rounded to it,
        to nearest, before anything is computed. No matter in float64 and longdouble, which hold
        every problem exactly; False in float32 says that what is not representable is used as it is.
    summation : str
        Order in which the terms of kernel entries and of a row's product with a are summed: "any";
        "pairwise" (a tree of ``ceil(log2 N)`` levels over N terms); "blocked:K" (sums of K terms
        each, in any order, then the sum of those). Corrections may be added to such a sum in any
        order.
    panels : bool
        Whether a run that is asked for it exposes the kernel rows it used (``Trajectory.panels``).
    blocks : bool
        Whether a run that is asked for panels exposes of each the entries among the window's own
        coordinates, being one that has no whole rows (``Panel.among``).
    log : bool
        Whether a run that is asked for it writes down the new value of each drawn coordinate
        (``Trajectory.log``).
    exchange : {"", "allreduce", "kept-gram"}
        What is communicated, for counting; empty if not declared. allreduce: the m words of every
        distinct column of a window, one collective a window. kept-gram: all m columns once,
        `gram_rows` (or all of them) in a collective. Set-up in both: RBF by norm expansion
        reduces the m squared norms in one collective.
    gram_rows : int
        Rows of a kept Gram matrix that one collective reduces; 0 for all of them.
    cache_words : int
        Words of kernel rows that exchange column-cache keeps from window to window.
    recompute : int
        Windows after which a carried state is formed anew from a; 0 for never.
    ranks : int
        Number of processes, >= 1.
    state : tuple of str
        Names of what is carried beside a and recorded (``Trajectory.state``). Steps are made from the
        first one. After every increment it gets the increment's products with the kernel's entries (or
        with the samples), the shift's or m's own product where it has one, each of them added in turn.
    level : {0, 1, 2, 3}
        0 final a; 1 takes index stream and a0; 2 per-window trace; 3 communication counts.
    options : dict
        Further options that a reader of the report should see; nothing is derived from them.

    Raises
    ------
    InputError
        If a field that chooses between derivations holds an unknown value, or a count is negative.
    """

    name: str
    precision: Precision = "float64"
    update: Update = "in-place"
    products: Products = "any"
    increments: Increments = "separate"
    rbf: Distances = "norm-expansion"
    clamped: bool = False
    power: Power = "multiplication"
    function_ulps: float = 1.0
    factorisation: Factorisation = "cholesky"
    data_rounding: bool = True
    summation: str = "any"
    panels: bool = False
    blocks: bool = False
    log: bool = False
    exchange: str = ""
    gram_rows: int = 0
    cache_words: int = 0
    recompute: int = 0
    ranks: int = 1
    state: tuple[str, ...] = ()
    level: int = 2
    options: dict[str, object] = field(default_factory=dict)

    def __post_init__(self):
        for field_name, known in KNOWN.items():
            value = getattr(self, field_name)
            if value not in known:
                raise InputError(
                    f"{field_name} {value!r} of the {self.name} solver is unknown; "
                    f"known: {', '.join(known)}"
                )
        for field_name, least in (("gram_rows", 0), ("cache_words", 0), ("recompute", 0), ("ranks", 1)):
            if getattr(self, field_name) < least:
                raise InputError(
                    f"{field_name} = {getattr(self, field_name)} of the {self.name} solver, "
                    f"but it must be >= {least}"
                )

    @property
    def exposes(self) -> bool:
        """Whether kernel entries that a run used can be seen: whole rows, or those among its draws."""
        return self.panels or self.blocks


@dataclass(frozen=True, eq=False)
class RunRequest:
    """One run: H iterations of the stream from `start`, in windows of s.

    Parameters
    ----------
    problem : Problem
        What is solved.
    stream : IndexStream
        The coordinates drawn, H x b.
    s : int
        Iterations per communication, >= 1 (1 is the classical method).
    iterations : int
        Number of iterations to make (H >= 0); the last window is shorter if s does not divide it.
    start : int
        First position of the stream to use; a run may continue another.
    initial : ndarray, shape (m,), optional
        Start vector (a0); zeros if absent.
    record : tuple of int
        Iterations, counted from this run's beginning, at which a is kept and the observer called.
        Each must be a window end (a multiple of s, or the last iteration); 0 and the last are
        always kept.
    variant : str
        Name of the solver's variant to use, such as one that keeps the Gram matrix; the solver under
        test itself if empty. Whoever makes the runs chooses the solver by it; a solver ignores it.
    expose_panels : bool
        Keep the kernel rows used in every window whose two ends are recorded (c x m words each), or
        what is declared of them.
    log : bool
        Keep the new value of each drawn coordinate (H x b words).

    Raises
    ------
    InputError
        If s < 1, iterations < 0, the stream is too short, or a recorded iteration is no window end.
    """

    problem: Problem
    stream: IndexStream
    s: int
    iterations: int
    start: int = 0
    initial: np.ndarray | None = None
    record: tuple[int, ...] = ()
    variant: str = ""
    expose_panels: bool = False
    log: bool = False

    def __post_init__(self):
        if self.s < 1:
            raise InputError(f"s = {self.s}, but a window holds at least one iteration: s >= 1")
        if self.iterations < 0 or self.start < 0:
            raise InputError(f"iterations = {self.iterations}, start = {self.start}: both must be >= 0")
        if self.start + self.iterations > self.stream.length:
            raise InputError(
                f"the run needs {self.start + self.iterations} drawn blocks, "
                f"but the index stream has {self.stream.length}"
            )
        if self.stream.samples != self.problem.samples:
            raise InputError(
                f"the index stream draws from {self.stream.samples} coordinates, "
                f"but {self.problem.name} has {self.problem.samples} samples"
            )
        if self.problem.is_svm and self.stream.block != 1:
            raise InputError(
                f"K-SVM draws one coordinate a step, but the stream has b = {self.stream.block}"
            )
        if self.initial is not None and np.shape(self.initial) != (self.problem.samples,):
            raise InputError(
                f"a0 has shape {np.shape(self.initial)}, but {self.problem.name} has "
                f"{self.problem.samples} samples"
            )
        if self.initial is not None and not np.isfinite(self.initial).all():
            raise InputError("a0 holds a value that is not finite")
        for iteration in self.record:
            if not 0 <= iteration <= self.iterations or (
                iteration % self.s and iteration != self.iterations
            ):
                raise InputError(
                    f"a cannot be recorded at iteration {iteration}: not the end of a window "
                    f"(s = {self.s}, {self.iterations} iterations)"
                )

    @property
    def stops(self) -> list[int]:
        """Recorded iterations in ascending order, 0 and the last one included."""
        return sorted({0, *self.record, self.iterations})


@runtime_checkable
class Solver(Protocol):
    """Anything that maps a request to a trajectory; it never grades itself."""

    declaration: Declaration

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; call `observe` at every recorded iteration."""
        ...
