"""Settings of a training: everything that is asked for, checked once, and completed by what is decided."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from sstep_verify import __version__
from sstep_verify.compiled import AVAILABLE
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, Kernel, LinearKernel, Loss, Ridge
from sstep_verify.problems.bias import require_usable
from sstep_verify.problems.kernels import shortest
from sstep_verify.production.options import EXCHANGES, Options

LEAST_SCALE = sys.float_info.min / sys.float_info.epsilon
"""Least C or lambda: one unit roundoff of it must still be a normal number; the largest is 1 over it."""

OR = " or "
"""Between the exchanges that may be tried, in the identity of a run."""

ALL_ROWS = "all kernel rows"
"""Word of the identity for the cache where a Gram matrix is kept."""

MACHINE = "machine"
"""Word of the identity for the kinds of the ranks."""


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """What to train on, what to solve, how, and which files to write.

    What is None or "auto" is left to `sstep_verify.training.decisions.decide`, which returns the same
    record with everything in it.

    Parameters
    ----------
    data : str
        LIBSVM file, or name of a data set.
    out : str
        File of the result; the checkpoint is beside it.
    kernel : Kernel
        Kernel.
    loss : Loss
        Loss, with C or lambda.
    block : int or "auto"
        Coordinates per block (b); auto: see `costs.block_size`.
    s : int or "auto"
        Iterations per window; auto: tuned while training runs, see `costs.tuning`.
    largest_s : int or None
        Where s is tuned: the largest that may be tried.
    sequence : str or None
        Where s is tuned: result or checkpoint of a run whose windows are made again, as far as they go.
    iterations, interval : int or None
        Most iterations (H), iterations between two measurements; the latter a multiple of s, unless s is
        tuned: windows are cut where an interval ends.
    tolerance : float
        Relative gap (K-SVM) or residual (K-RR) at which training ends; 0 for never.
    stream : {"uniform", "epochs"}
        Draw every block anew, or each pass a permutation of all coordinates.
    seed : int
        Seed of the index stream.
    exchange : {"auto", "allreduce", "support", "reduce-scatter", "gram"}
        What is communicated in a window; where s is tuned, in the first.
    cache : int or None
        Words of kernel rows that a rank may keep; None for the default with exchange auto, else for none.
    bias : float
        Value of the constant feature that is appended to the data; 0 for none. See `problems.bias`.
    directory : str or None
        Folder with data sets.
    checkpoint_seconds : float
        Seconds from one checkpoint to the next, see `training.checkpoint.Keeper`.
    test, predictions : str or None
        LIBSVM file of samples to predict, and file for the predictions; both or neither.
    resume : bool
        Go on from the checkpoint, if there is one.
    force : bool
        Replace files that are there.
    exchanges : tuple of str
        Decided: what may be communicated, the first to begin with; one unless s is tuned.
    exchange_reason, block_reason : str
        Decided: why this exchange, and these blocks.
    **options
        Of `Options`.

    Raises
    ------
    InputError
        If a value is out of range, or two do not go together.
    """

    data: str = ""
    out: str = ""
    kernel: Kernel = field(default_factory=LinearKernel)
    loss: Loss = field(default_factory=lambda: Hinge(1.0))
    block: int | Literal["auto"] = 1
    s: int | Literal["auto"] = 16
    largest_s: int | None = None
    sequence: str | None = None
    iterations: int | None = None
    interval: int | None = None
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

    KNOWN: ClassVar = {
        **Options.KNOWN, "exchange": ("auto", *EXCHANGES), "stream": ("uniform", "epochs"),
    }  # fmt: skip
    LEAST: ClassVar = {
        **Options.LEAST, "block": 1, "s": 1, "largest_s": 1, "iterations": 0, "interval": 1, "seed": 0,
    }  # fmt: skip

    def __post_init__(self):
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
            if self.interval is not None and self.interval % self.s:
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
        assert width is not None
        return width

    def draws_of(self, samples: int) -> IndexStream:
        """The coordinates to draw, from so many."""
        assert self.block != "auto"
        assert self.iterations is not None
        return IndexStream(self.stream, samples, self.block, self.iterations, self.seed)

    def end(self, begin: int) -> int:
        """Where the interval that begins at an iteration ends."""
        assert self.interval is not None
        assert self.iterations is not None
        return min(begin + self.interval - begin % self.interval, self.iterations)

    def is_end(self, iteration: int) -> bool:
        """Whether a whole interval ends at an iteration."""
        assert self.interval is not None
        return iteration % self.interval == 0

    def refuse_start(self, start: int) -> None:
        """Raise InputError unless training can begin at an iteration: an interval ends there."""
        assert self.iterations is not None
        if start > self.iterations:
            raise InputError(
                f"training cannot go on from iteration {start}, because it is to end at "
                f"{self.iterations}; ask for more (--iterations)"
            )
        if not self.is_end(start):
            raise InputError(
                f"training cannot go on from iteration {start}: not the end of an interval of "
                f"{self.interval} iterations"
            )

    def identity(self, ranks: int, machine: str = "") -> dict[str, str | int | None]:
        """What decides every bit of the run beside the data: a checkpoint is of it iff it says the same.

        Where s is tuned, the sequence of s does so beside it. `machine`: kinds of the ranks, which decide
        the last bits.
        """
        found: dict[str, str | int | None] = {
            "ranks": ranks,
            "kernel": repr(self.kernel),
            "loss": repr(self.loss),
            "block": self.block,
            "s": self.s,
            "seed": self.seed,
            "interval": self.interval,
            "exchange": OR.join(self.exchanges),
            "cache": ALL_ROWS if self.keep_gram else self.cache,
            "timers": "separate" if self.separate_timers else "joined",
            "inner loops": "compiled" if AVAILABLE else "plain Python",
            MACHINE: machine,
            "version": __version__,
        }
        if self.stream != "uniform":
            found["stream"] = self.stream
        if ranks > 1:
            found["partition"] = self.partition
        if self.tuned:
            found["largest s"] = self.largest_s
        if self.bias:
            found["bias"] = shortest(self.bias)
        return found
