"""Options of the production solver, and what they make it declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from sstep_verify.compiled import AVAILABLE
from sstep_verify.declaration import SEPARATE, Distances, Update
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.production.data.partition import PARTITIONS
from sstep_verify.solver import Declaration

GRAM_ROWS = 256
"""Rows of a kept Gram matrix that are formed, and reduced, at once."""

EXCHANGES = ("allreduce", "support", "reduce-scatter", "gram")

MOST = 1 << 53
"""Largest whole number that an option may have: products of two still fit what counts words."""


@dataclass(frozen=True)
class Options:
    """How the production solver runs.

    Parameters
    ----------
    update : {"in-place", "frozen"}
        Update a within the window, or keep the paper's form with a frozen and the increments summed.
    rbf : {"norm-expansion", "difference"}
        Form squared distances of the RBF kernel from inner products and norms, at the speed of a matrix
        product, or from differences, which keeps all digits of data far from the origin.
    exchange : {"allreduce", "support", "reduce-scatter", "gram"}
        What is communicated in a window; gram is for the linear kernel.
    keep_gram : bool
        Form the whole Gram matrix once (m*m words) and take every panel from it; with allreduce.
    gram_limit : int
        Largest Gram matrix that may be kept, in words.
    cache : int or None
        Words that kernel rows may take to be kept from window to window; 0, None: none; with allreduce.
    recompute : int
        Windows after which the weights of exchange gram are formed anew; 0 for never.
    columns : {"whole", "local"}
        Whether the problem of a request holds all features, of which each rank takes its share, or only
        those of this rank.
    partition : {"work", "contiguous"}
        How columns are shared out: so that each rank has as much of a panel's work and as many nonzeros,
        or, as in the paper, in runs, here of nearly equal nonzeros. It decides the bits of a run, not its
        bounds.
    separate_timers : bool
        Tell waiting from transfer (a barrier a window) and the gradient from the recurrence.
    long_block : int
        Coordinates of a block from which on a rank alone makes windows step by step, and LAPACK solves.
    panel_words : int
        Words of the panels that are formed for a measurement. This limit and the one before are for small
        problems that are to take the ways of large ones.

    Raises
    ------
    InputError
        If a value is unknown or two do not go together.
    """

    update: Update = "in-place"
    rbf: Distances = "norm-expansion"
    exchange: str = "allreduce"
    keep_gram: bool = False
    gram_limit: int = 1 << 26
    cache: int | None = None
    recompute: int = 0
    columns: str = "whole"
    partition: str = "work"
    separate_timers: bool = False
    long_block: int = 96
    panel_words: int = 1 << 20

    KNOWN: ClassVar[Mapping[str, Iterable[str]]] = {
        "update": ("in-place", "frozen"), "rbf": ("norm-expansion", "difference"), "exchange": EXCHANGES,
        "columns": ("whole", "local"), "partition": PARTITIONS,
    }  # fmt: skip
    LEAST: ClassVar[Mapping[str, int]] = {
        "gram_limit": 0, "cache": 0, "recompute": 0, "long_block": 1, "panel_words": 1,
    }  # fmt: skip

    def __post_init__(self):
        for name, known in self.KNOWN.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} = {getattr(self, name)!r} is unknown; known: {', '.join(known)}")
        for name, least in self.LEAST.items():
            value = getattr(self, name)
            if value not in (None, "auto") and not least <= value <= MOST:
                raise InputError(f"{name} = {value}, but it must lie between {least} and 2^53 = {MOST}")
        if self.exchange not in ("allreduce", "auto") and (self.keep_gram or self.cache):
            raise InputError(
                f"exchange {self.exchange!r} leaves no rank with whole kernel rows, so none can be kept: "
                "drop keep_gram and cache (--cache), or use exchange 'allreduce'"
            )
        if self.keep_gram and self.cache:
            raise InputError("keep_gram keeps every kernel row: a cache beside it has no use; drop one")
        if self.recompute and self.exchange != "gram":
            raise InputError(f"recompute is for exchange 'gram', but exchange is {self.exchange!r}")

    @property
    def frozen(self) -> bool:
        """Whether a is kept frozen within a window."""
        return self.update == "frozen"

    def cached_rows(self, samples: int) -> int:
        """Kernel rows of m words that fit the cache, at most m."""
        return min((self.cache or 0) // samples, samples)

    def refuse(self, problem: Problem) -> None:
        """Refuse a problem that these options cannot run.

        Raises
        ------
        InputError
            If the Gram matrix would exceed its limit, or exchange gram meets another kernel.
        """
        samples = problem.samples
        if self.keep_gram and samples * samples > self.gram_limit:
            raise InputError(
                f"{problem.name}: a Gram matrix of {samples} x {samples} = {samples**2} words exceeds the "
                f"limit of {self.gram_limit}; run without keep_gram or raise gram_limit"
            )
        if self.exchange == "gram" and not problem.kernel.linear:
            raise InputError(
                f"{problem.name}: exchange 'gram' carries weights, which only the linear kernel has; "
                "use 'allreduce' or 'reduce-scatter'"
            )

    def declaration(self, ranks: int) -> Declaration:
        """What the solver is with these options on some ranks."""
        whole = self.exchange == "allreduce"
        return Declaration(
            name="production",
            update=self.update,
            products="rows",
            increments="summed",
            rbf=self.rbf,
            clamped=True,
            power="multiplication",
            panels=whole,
            blocks=not whole,
            log=True,
            exchange="kept-gram" if self.keep_gram else "column-cache" if self.cache else self.exchange,
            state=("weights",) if self.exchange == "gram" else (),
            level=3,
            gram_rows=GRAM_ROWS if self.keep_gram else 0,
            cache_words=self.cache or 0,
            recompute=self.recompute,
            ranks=ranks,
            options={
                "gram kept": self.keep_gram,
                "compiled": AVAILABLE,
                **dict.fromkeys([SEPARATE] * self.separate_timers, True),
            },
        )
