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
"""Exchange of which only the number of collectives is known: one a window, besides those of a set-up."""

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
    """Declare what the ranks of a solver communicate, so that it can be counted.

    m is the number of samples. All kinds but gram and per-window have a set-up for the RBF kernel by norm
    expansion: one collective reduces the m squared norms. Formulas: docs/costs.md.

    Parameters
    ----------
    kind : str
        The communication scheme. ``allreduce`` sends the m words of every distinct column of a window, in
        one collective. ``support`` sends only those of samples with a nonzero alpha, or drawn in this
        window or the one before. ``reduce-scatter`` has the words of allreduce and of gram, a collective
        each. ``gram`` (linear kernel) sends c^2 + c words for c distinct columns. ``column-cache`` is
        allreduce for the columns that are not kept. ``kept-gram`` sends all m columns once. ``per-window``
        is one collective a window after an unknown set-up, and its words are not checked.
    rows : int
        For kept-gram: rows of the Gram matrix that one collective reduces, >= 0; 0 for all of them.
    words : int
        For column-cache: words of kernel rows that are kept from window to window, m a row, >= 0.
    trailer : int
        Further words in every reduction, >= 0, such as a status by which ranks fail together. For
        reduce-scatter they are in the second reduction of a window. The default, 0, is what the paper
        sends.

    Raises
    ------
    InputError
        If the kind is unknown, a count is negative or no whole number, or the kind has no such count.

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
    """Declare how a solver computes; the bounds are computed for exactly this.

    Everything else a solver may do in any way, because the bounds take the worst case. It may sum in any
    order, and sum the increments of a coordinate before or after the product with a kernel entry. It may
    raise to a degree by multiplication or pow, and take a squared distance below 0 as 0 or not. One thing
    is assumed: exp and pow err by at most `LIBRARY_ULPS` units in the last place.

    Parameters
    ----------
    name : str
        Name for tables and messages.
    precision : {"float32", "float64"}
        Arithmetic of the recurrence. In float32, data, targets and parameters are first rounded to it, to
        nearest.
    update : {"in-place", "added", "frozen"}
        How a step changes alpha. ``in-place`` stores the new value itself (K-SVM), so that a clipped
        coordinate is exactly on its limit. ``added`` forms the increment and adds it, ``a_i += theta``, as
        Algorithm 1 is printed; the sum rounds. ``frozen`` keeps alpha of the window's start and sums the
        increments (the paper's Algorithms 2 and 4). For K-RR, ``in-place`` and ``added`` are the same:
        ``a_B += D``.
    products : {"any", "rows"}
        How the products of kernel rows with alpha are formed; this matters for the linear kernel. ``rows``
        uses kernel entries, ``sum_l K_il a_l``. ``any`` allows also ``A (A' a)``, with ``w = A'a`` formed
        again in every window. For a maintained w see `weights`.
    rbf : {"norm-expansion", "difference"}
        How squared distances are formed.
    factorisation : {"cholesky", "ldl", "lu", "orthogonal"}
        How the block systems of K-RR are solved. ``ldl`` is elimination in rows without pivoting, with or
        without use of the symmetry. ``lu`` has partial pivoting, as ``numpy.linalg.solve``. ``orthogonal``
        is any method by orthogonal transformations. Among these are QR, SVD, an eigendecomposition,
        ``numpy.linalg.lstsq`` and ``numpy.linalg.pinv``.
    panels : bool
        Whether a run exposes the kernel entries of its windows if asked (``Trajectory.panels``). These are
        whole rows, or the entries among the window's own coordinates (``Panel.among``).
    log : bool
        Whether a run writes down the new value of each drawn coordinate if asked (``Trajectory.log``). The
        function of a `CallableSolver` then gets an array for it as its fifth argument.
    exchange : Exchange, optional
        What is communicated; None, the default, if it is not declared.
    ranks : int
        Number of processes, >= 1.
    weights : int, optional
        For a solver that maintains ``w = A'(y a)`` (K-SVM) or ``w = A'a`` (K-RR) of the linear kernel from
        window to window, and steps from it. It is the number of windows after which w is formed again from
        alpha, 0 for never; None, the default, if w is not maintained. If both happen at a window's end, w
        is recorded (``Trajectory.weights``) after it is formed again. After every increment, w gets its
        products with the sample, added in turn. A solver that maintains anything else, such as its
        gradient, declares nothing. The bounds then take the largest size that alpha had so far. They do not
        count how often such a vector was rounded, so its drift over a long run is not bounded.
    level : {0, 1, 2, 3}
        What a run shows. ``0`` is its final alpha, and with ``1`` it also takes index stream and start.
        ``2`` adds alpha at window ends, and ``3`` counts of its communication.
    options : dict
        Further options that a reader of the report should see; nothing is derived from them.

    Raises
    ------
    InputError
        If a field that chooses between derivations holds an unknown value, or a count is negative.

    Examples
    --------
    >>> from sstep_verify import Declaration
    >>> Declaration("mine", precision="float32", update="added", log=True).precision
    'float32'
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
        if not isinstance(self.name, str):
            raise InputError(
                f"name = {self.name!r:.80} of a declaration, but it must be a text, such as 'mine'"
            )
        for field_name in ("panels", "log"):
            if type(value := getattr(self, field_name)) is not bool:
                raise InputError(
                    f"{field_name} = {value!r:.80} of the {self.name} solver, but it must be True or False"
                )
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
        if type(self.ranks) is not int or self.ranks < 1:
            raise InputError(f"ranks = {self.ranks!r} of the {self.name} solver, but it must be >= 1")
        if self.weights is not None and (type(self.weights) is not int or self.weights < 0):
            raise InputError(
                f"weights = {self.weights!r} of the {self.name} solver, but it must be >= 0, the windows "
                "after which w is formed again, 0 for never; None if it is not maintained"
            )
