"""Settings of the production solver and of a training: what is asked for, checked once."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from sstep_verify.compiled import AVAILABLE
from sstep_verify.declaration import (
    COLUMN_CACHE,
    KEPT_GRAM,
    SEPARATE,
    Declaration,
    Distances,
    Exchange,
    Update,
)
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, Kernel, LinearKernel, Loss, Problem, Ridge
from sstep_verify.problems.transforms import require_usable
from sstep_verify.solver.data.partition import PARTITIONS
from sstep_verify.solver.packet import TRAILER

GRAM_ROWS = 256
"""Rows of a kept Gram matrix that are formed, and reduced, at once."""

EXCHANGES = ("allreduce", "support", "reduce-scatter", "gram")

MOST = 1 << 53
"""Largest whole number that an option may have: products of two still fit what counts words."""

LEAST_SCALE = sys.float_info.min / sys.float_info.epsilon
"""Least C or lambda: one unit roundoff of it must still be a normal number; the largest is 1 over it."""

LONGEST = 17
"""Times the first interval, up to which intervals lengthen. Where the first takes twice the work of a
measurement, the longest spend less than 3 % on it."""

OR = " or "
"""Between the exchanges that may be tried, in the identity of a run."""


def interval_end(iteration: int, first: int, lengthening: bool = False) -> int:
    """Where the interval that holds an iteration ends.

    Without `lengthening` all are as long as the `first`; else it ends after 1, 3, 6, 10, ... lengths of it,
    and from `LONGEST` of these on after that many more each time.
    """
    lengths = iteration // first
    if not lengthening:
        return (lengths + 1) * first
    before = min((math.isqrt(8 * lengths + 1) - 1) // 2, LONGEST)
    ended = before * (before + 1) // 2
    if before < LONGEST:
        return (ended + before + 1) * first
    return (ended + ((lengths - ended) // LONGEST + 1) * LONGEST) * first


@dataclass(frozen=True)
class Options:
    """How the production solver runs.

    `update` keeps alpha in place within the window, or "frozen" as in the paper, with the increments
    summed. `rbf` forms squared distances of the RBF kernel from inner products and norms
    ("norm-expansion"), at the speed of a matrix product, or from differences, which keeps all digits of
    data far from the origin ("difference"). `exchange`, one of `EXCHANGES`, is what is communicated in a
    window; gram is for the linear kernel, whose weights are formed again after every `recompute` windows, 0
    for never. With allreduce, `keep_gram` forms the whole Gram matrix once, m*m words and at most
    `gram_limit`, and takes every panel from it, and `cache` is how many words kernel rows may take to be
    kept from window to window (0, None: none).

    `columns` says whether the problem of a request holds all features ("whole"), of which each rank takes
    its share, or only those of this rank ("local"). `partition` shares them out so that each rank has as
    much of a panel's work and as many nonzeros ("work"), or, as in the paper, in runs, here of nearly equal
    nonzeros ("contiguous"): it decides the bits of a run, not its bounds. `separate_timers` tell waiting
    from transfer (a barrier a window) and the gradient from the recurrence. For small problems that are to
    take the ways of large ones: a rank alone makes windows step by step, and LAPACK solves, from
    `long_block` coordinates a block on, and measurements form panels of `panel_words` words.

    Raises InputError if a value is unknown or two do not go together.
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
            raise InputError("keep_gram keeps every kernel row, so a cache has no use; drop one")
        if self.recompute and self.exchange != "gram":
            raise InputError(f"recompute is for exchange 'gram', but exchange is {self.exchange!r}")

    @property
    def frozen(self) -> bool:
        """Whether alpha is kept frozen within a window."""
        return self.update == "frozen"

    def cached_rows(self, samples: int) -> int:
        """Kernel rows of m words that fit the cache, at most m."""
        return min((self.cache or 0) // samples, samples)

    def refuse(self, problem: Problem) -> None:
        """Refuse, by InputError, a Gram matrix beyond its limit, and exchange gram with another kernel."""
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

    @property
    def _communicated(self) -> Exchange:
        if self.keep_gram:
            return Exchange(KEPT_GRAM, rows=GRAM_ROWS, trailer=TRAILER)
        if self.cache:
            return Exchange(COLUMN_CACHE, words=self.cache, trailer=TRAILER)
        return Exchange(self.exchange, trailer=TRAILER)

    def declaration(self, ranks: int) -> Declaration:
        """What the solver is with these options on some ranks."""
        return Declaration(
            name="production",
            update=self.update,
            products="rows",
            rbf=self.rbf,
            panels=True,
            log=True,
            exchange=self._communicated,
            weights=self.recompute if self.exchange == "gram" else None,
            level=3,
            ranks=ranks,
            options={
                "gram kept": self.keep_gram,
                "compiled": AVAILABLE,
                **dict.fromkeys([SEPARATE] * self.separate_timers, True),
            },
        )


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """What to train on, what to solve, how, and which files to write.

    What is None or "auto" is left to `solver.training.decisions.decide`, which returns the same record with
    everything in it: also `exchanges`, what may be communicated, the first to begin with (one
    unless s is tuned), and why this exchange, these blocks and this s.

    `data` is a LIBSVM file or the name of a data set, of which `directory` has some; the checkpoint is
    next to `out`, the file of the result, and written every `checkpoint_seconds`, see
    `solver.training.checkpoint.Keeper`; `test`, LIBSVM file of samples to predict, and `predictions`
    go together. A run continues from its checkpoint if it is to `resume`, and replaces files by `force`.
    `bias` is the value of a constant feature that is appended, 0 for none (`problems.transforms`).

    `block` (b; auto: `costs.messages`), `s` (auto: on several ranks tuned while training runs, by
    `costs.tuning`) and `iterations` (H) are counted in coordinates and iterations, and so is `interval`,
    from one measurement to the next: a multiple of s unless s is tuned, for windows are cut where an
    interval ends. Where intervals are `lengthening`, it is the first, and each is longer than the one
    before by as much, up to `LONGEST` times. `tolerance` is the relative gap (K-SVM) or residual (K-RR) at
    which training ends, 0 for never. `stream` draws every block independently ("uniform") or a permutation
    of all coordinates each pass ("epochs"). Where s is tuned, `largest_s` may be tried, `exchange` is that
    of the first window, and the windows of the run whose result or checkpoint `sequence` names are made
    again, as far as they go. `cache` None is the default
    with exchange auto, else 0. All else is of `Options`.

    Raises InputError if a value is out of range, or two do not go together.
    """

    data: str = ""
    out: str = ""
    kernel: Kernel = field(default_factory=LinearKernel)
    loss: Loss = field(default_factory=lambda: Hinge(1.0))
    block: int | Literal["auto"] = 1
    s: int | Literal["auto"] | None = None
    largest_s: int | None = None
    sequence: str | None = None
    iterations: int | None = None
    interval: int | None = None
    lengthening: bool = False
    tolerance: float = 1e-6
    stream: str = "uniform"
    seed: int = 0
    exchange: str = "auto"
    columns: str = "local"
    bias: float = 0.0
    directory: str | None = None
    checkpoint_seconds: float = 600.0
    test: str | None = None
    predictions: str | None = None
    resume: bool = False
    force: bool = False
    exchanges: tuple[str, ...] = ()
    exchange_reason: str = "asked for"
    block_reason: str = "asked for"
    s_reason: str = "asked for"

    KNOWN: ClassVar = {
        **Options.KNOWN, "exchange": ("auto", *EXCHANGES), "stream": ("uniform", "epochs"),
    }  # fmt: skip
    LEAST: ClassVar = {
        **Options.LEAST, "block": 1, "s": 1, "largest_s": 1, "iterations": 0, "interval": 1, "seed": 0,
    }  # fmt: skip

    def __post_init__(self):
        if self.bias:
            require_usable(self.bias, self.kernel)
        loss = self.loss
        name, scale = ("lambda", loss.penalty) if isinstance(loss, Ridge) else ("C", loss.C)
        if not LEAST_SCALE <= scale <= 1 / LEAST_SCALE:
            raise InputError(
                f"{name} = {scale:g}, but it must lie between {LEAST_SCALE:.3g} and {1 / LEAST_SCALE:.3g}: "
                "beyond, its products underflow or overflow float64; scale data or targets"
            )
        super().__post_init__()
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InputError(f"tolerance = {self.tolerance!r}, but it must be finite and >= 0")
        if not self.checkpoint_seconds >= 0:
            raise InputError(f"checkpoint_seconds = {self.checkpoint_seconds!r}, but it must be >= 0")
        if self.s != "auto":
            for name, value in (("largest_s", self.largest_s), ("sequence", self.sequence)):
                if value is not None:
                    raise InputError(
                        f"{name} = {value} is for s = 'auto', but s is {self.s}; ask for s = 'auto', or "
                        "drop it"
                    )
            if self.interval is not None and self.s is not None and self.interval % self.s:
                raise InputError(
                    f"interval = {self.interval} is no multiple of s = {self.s}, but windows are not cut; "
                    f"use {max(round(self.interval / self.s), 1) * self.s}"
                )
        if self.block not in (1, "auto") and not self.ridge:
            raise InputError(f"block = {self.block}: a K-SVM steps one coordinate at a time; drop --block")
        if (self.test is None) != (self.predictions is None):
            raise InputError("--test and --predictions go together: give both, or neither")

    @property
    def ridge(self) -> bool:
        """Whether a K-RR is trained."""
        return isinstance(self.loss, Ridge)

    @property
    def tuned(self) -> bool:
        """Whether s is tuned while training runs."""
        return self.s == "auto"

    @property
    def checkpoint(self) -> Path:
        """Where the checkpoint is."""
        return Path(f"{self.out}.checkpoint")

    # Of settings that are complete.

    @property
    def width(self) -> int:
        """Iterations of the longest window."""
        width = self.largest_s if self.s == "auto" else self.s
        assert isinstance(width, int)
        return width

    def draws_of(self, samples: int) -> IndexStream:
        """The coordinates to draw, from so many."""
        assert self.block != "auto"
        assert self.iterations is not None
        return IndexStream(self.stream, samples, self.block, self.iterations, self.seed)

    def end(self, begin: int) -> int:
        """Where the interval that begins at an iteration ends."""
        assert self.iterations is not None
        return min(self._whole_end(begin), self.iterations)

    def is_end(self, iteration: int) -> bool:
        """Whether a whole interval ends at an iteration."""
        return iteration == 0 or self._whole_end(iteration - 1) == iteration

    def _whole_end(self, iteration: int) -> int:
        assert self.interval is not None
        return interval_end(iteration, self.interval, self.lengthening)

    def refuse_start(self, start: int) -> None:
        """Raise InputError unless training can begin at an iteration: an interval ends there."""
        assert self.iterations is not None
        if start > self.iterations:
            raise InputError(
                f"training cannot continue from iteration {start}, because it is to end at "
                f"{self.iterations}; ask for more (--iterations)"
            )
        if not self.is_end(start):
            raise InputError(
                f"training cannot continue from iteration {start}: not the end of an interval of "
                f"{self.interval} iterations{', each longer by as much' if self.lengthening else ''}"
            )
