"""Declaration: what a solver says it is, in the values that the bounds are derived for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from sstep_verify.errors import InputError

Precision = Literal["float32", "float64"]

Update = Literal["in-place", "added", "frozen"]

Products = Literal["any", "rows"]

Distances = Literal["norm-expansion", "difference"]

Factorisation = Literal["cholesky", "ldl", "lu", "orthogonal"]

SEPARATE = "separate timers"
"""Key of `Declaration.options` of a solver that makes a barrier a window, to tell waiting from transfer."""

PER_WINDOW = "per-window"
"""Exchange of which only the number of collectives is known: one a window, beside those of a set-up."""

KEPT_GRAM, COLUMN_CACHE = "kept-gram", "column-cache"
"""Exchanges of a solver that keeps kernel rows: all of them, or as many as fit."""

EXCHANGES = ("allreduce", "reduce-scatter", "gram", "support", COLUMN_CACHE, KEPT_GRAM, PER_WINDOW)
"""Kinds of `Exchange`."""

LIBRARY_ULPS = 4.0
"""Error of exp and pow, in units in the last place, that NumPy and C libraries keep to on every processor.

The vectorised functions that NumPy takes from SVML on processors with AVX-512 err by at most 4 (numpy/numpy
pull request 19478), its own float32 exp by 2.52 (13134); those of common C libraries by about 1.
"""

ASSUMED = f"exp and pow are assumed to err by at most {LIBRARY_ULPS:g} units in the last place"
"""What no check can see of a solver, and every bound rests on: said once in every report."""

KNOWN = {
    "precision": get_args(Precision),
    "update": get_args(Update),
    "products": get_args(Products),
    "rbf": get_args(Distances),
    "factorisation": get_args(Factorisation),
}
"""Values of the fields of a `Declaration` that choose between derivations."""


@dataclass(frozen=True)
class Exchange:
    """What the ranks of a solver communicate, for counting; m is the number of samples.

    All kinds but gram and per-window have a set-up for the RBF kernel by norm expansion: one collective
    reduces the m squared norms. Formulas: docs/costs.md.

    Parameters
    ----------
    kind : str
        One of these. allreduce: the m words of every distinct column of a window, one collective a window.
        support: of these words only those of samples where a is not 0 as the window before begins, or that
        one of the two draws. reduce-scatter: the words of allreduce and those of gram, a collective each.
        gram (linear kernel): c^2 + c words for c distinct columns. column-cache: as allreduce, of the
        columns that are not kept. kept-gram: all m columns once. per-window: one collective a window beside
        those of a set-up that is not known; words are not judged.
    rows : int
        Of kept-gram, rows of the Gram matrix that one collective reduces, >= 0; 0 for all of them.
    words : int
        Of column-cache, words of kernel rows that are kept from window to window, m a row, >= 0.
    trailer : int
        Words beside these in every reduction, >= 0, such as a status by which ranks fail together; of
        reduce-scatter in the second of a window. The default, 0, is what the paper sends.

    Raises
    ------
    InputError
        If the kind is unknown, a count is no whole number or negative, or one is given with a kind that
        has none.

    Examples
    --------
    >>> from sstep_verify import Exchange
    >>> Exchange("kept-gram", rows=256)
    Exchange(kind='kept-gram', rows=256, words=0, trailer=0)
    """

    kind: str
    rows: int = 0
    words: int = 0
    trailer: int = 0

    def __post_init__(self) -> None:
        if self.kind not in EXCHANGES:
            raise InputError(f"exchange {self.kind!r} is unknown; known: {', '.join(EXCHANGES)}")
        kinds = {"rows": (KEPT_GRAM,), "words": (COLUMN_CACHE,), "trailer": set(EXCHANGES) - {PER_WINDOW}}
        for name, having in kinds.items():
            count = getattr(self, name)
            if type(count) is not int or count < 0:
                raise InputError(
                    f"exchange {self.kind}: {name} = {count!r}, but it must be a whole number >= 0"
                )
            if count and self.kind not in having:
                others = " or ".join(kind for kind in EXCHANGES if kind in having)
                raise InputError(f"exchange {self.kind}: {name} = {count} goes with exchange {others} only")


@dataclass(frozen=True)
class Declaration:
    """What a solver says it is; the bounds are computed for exactly this.

    What it leaves open a solver may do in any way, for bounds take the worst: sum in any order, sum the
    increments of a coordinate before they multiply a kernel entry or not, raise to a degree by
    multiplication or pow, take a squared distance below 0 as 0 or not. That exp and pow err by at most
    `LIBRARY_ULPS` units in the last place is assumed.

    Parameters
    ----------
    name : str
        Name for tables and messages.
    precision : {"float32", "float64"}
        Arithmetic of the recurrence; it fixes the unit roundoff u. In float32 data, targets and parameters
        are rounded to it, to nearest, before anything is computed.
    update : {"in-place", "added", "frozen"}
        How a step changes a. in-place: the new value itself is stored (K-SVM), so that a clipped
        coordinate sits on the box exactly. added: the increment ``theta = (new value) - a_i`` is formed
        and added, ``a_i += theta``, as Algorithm 1 is printed; the sum rounds. frozen: a is kept at the
        window's start and the increments are summed (the paper's Algorithms 2 and 4). K-RR has no new
        value but an increment: in-place and added are the same there, ``a_B += D``.
    products : {"any", "rows"}
        How the products of kernel rows with a are formed, which matters for the linear kernel. rows: from
        kernel entries, ``sum_l K_il a_l``. any: that, or ``A (A' a)`` from the samples, with w = A'a formed
        anew from a in every window (for a w that is maintained from window to window see `weights`).
    rbf : {"norm-expansion", "difference"}
        How squared distances are formed.
    factorisation : {"cholesky", "ldl", "lu", "orthogonal"}
        How the block systems of K-RR are solved: Cholesky; elimination in rows without pivoting
        (LDL', whether or not it makes use of the symmetry); LU with partial pivoting, as
        ``numpy.linalg.solve`` does; orthogonal transformations, as in QR, SVD, least squares
        (``numpy.linalg.lstsq``), an eigendecomposition or ``numpy.linalg.pinv``.
    panels : bool
        Whether a run that is asked for it exposes the kernel entries it used in its windows
        (``Trajectory.panels``): whole rows, or of a solver that has none the entries among the window's own
        coordinates (``Panel.among``).
    log : bool
        Whether a run that is asked for it writes down the new value of each drawn coordinate
        (``Trajectory.log``). The function of a `CallableSolver` then gets an array for it as its fifth
        argument.
    exchange : Exchange, optional
        What is communicated, for counting. None, the default, if it is not declared.
    ranks : int
        Number of processes, >= 1.
    weights : int, optional
        Says that the weights ``w = A'(y a)`` (K-SVM) or ``w = A'a`` (K-RR) of the linear kernel are
        maintained from window to window, that steps are made from them, and that they are recorded
        (``Trajectory.weights``): the number of windows after which w is formed again from a, before it is
        recorded, 0 for never. None, the default, if w is not maintained. After every increment w gets the
        increment's products with the sample, each of them added in turn. A solver that maintains anything
        else, such as its gradient, declares nothing. The sizes in a bound are the largest that alpha had so
        far, which such a vector was rounded beside. How often it was rounded is not counted: its drift over
        a long run is not bounded.
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
    rbf: Distances = "norm-expansion"
    factorisation: Factorisation = "cholesky"
    panels: bool = False
    log: bool = False
    exchange: Exchange | None = None
    ranks: int = 1
    weights: int | None = None
    level: int = 2
    options: dict[str, object] = field(default_factory=dict)

    internal: ClassVar[tuple[str, ...]] = ()
    """Further precisions, of what the product itself evaluates."""

    def __post_init__(self) -> None:
        for field_name, known in KNOWN.items():
            value = getattr(self, field_name)
            if value not in known and not (field_name == "precision" and value in self.internal):
                raise InputError(
                    f"{field_name} {value!r} of the {self.name} solver is unknown; "
                    f"known: {', '.join(known)}"
                    + " (of kernel and recurrence together: the coarser)"
                    * (field_name == "precision")
                )
        if self.level not in range(4):
            raise InputError(
                f"level = {self.level!r} of the {self.name} solver, but it must be 0, 1, 2 or 3"
            )
        exchange: object = self.exchange
        if exchange is not None and not isinstance(exchange, Exchange):
            given = f"Exchange({exchange!r})" if exchange in EXCHANGES else "an Exchange, or None"
            raise InputError(f"exchange = {exchange!r} of the {self.name} solver: give {given}")
        if self.ranks < 1:
            raise InputError(f"ranks = {self.ranks} of the {self.name} solver, but it must be >= 1")
        if self.weights is not None and (type(self.weights) is not int or self.weights < 0):
            raise InputError(
                f"weights = {self.weights!r} of the {self.name} solver, but it must be >= 0, the windows "
                "after which w is formed again, 0 for never; None if it is not maintained"
            )
