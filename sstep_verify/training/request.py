"""Training request: everything that is asked for, checked once."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sstep_verify.errors import InputError
from sstep_verify.outputs import Output
from sstep_verify.parallel.data.partition import PARTITIONS
from sstep_verify.problems import Kernel, Loss, Ridge
from sstep_verify.problems.bias import require_usable
from sstep_verify.solvers.production.options import EXCHANGES

MOST = 1 << 53
"""Largest whole number that an option may have: products of two still fit what counts words."""

STREAMS = ("uniform", "epochs")
"""Kinds of the index stream that training draws from."""

LEAST_SCALE = sys.float_info.min / sys.float_info.epsilon
"""Least C or lambda: one unit roundoff of it must still be a normal number; the largest is 1 over it."""


@dataclass(frozen=True)
class TrainingRequest:
    """What to train on, what to solve, how, and which files to write.

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
        Where s is tuned: the largest that may be tried; None to choose.
    sequence : str or None
        Where s is tuned: result or checkpoint of a run whose windows are made again, as far as they go.
    iterations, interval : int or None
        Most iterations, iterations between two measurements; None to choose.
    tolerance : float
        Relative gap or residual at which training ends; 0 for never.
    stream : {"uniform", "epochs"}
        Draw every block anew, or each pass a permutation of all coordinates.
    seed : int
        Seed of the index stream.
    exchange : {"auto", "allreduce", "support", "reduce-scatter", "gram"}
        What is communicated in a window.
    partition : {"work", "contiguous"}
        How the columns are shared out, see `solvers.production.options.Options`.
    cache : int or None
        Words of kernel rows that a rank may keep; None for the default with exchange auto, else for none.
    separate_timers : bool
        Tell waiting from transfer, and the gradient from the recurrence.
    bias : float
        Value of the constant feature that is appended to the data; 0 for none. See `problems.bias`.
    directory : str or None
        Folder with data sets.
    checkpoint_seconds : float
        Seconds from one checkpoint to the next, see `training.keeping`.
    test, predictions : str or None
        LIBSVM file of samples to predict, and file for the predictions; both or neither.
    resume : bool
        Go on from the checkpoint, if there is one.
    force : bool
        Replace files that are there.

    Raises
    ------
    InputError
        If a value is out of range, or two do not go together.
    """

    data: str
    out: str
    kernel: Kernel
    loss: Loss
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
    partition: str = "work"
    cache: int | None = None
    separate_timers: bool = False
    bias: float = 0.0
    directory: str | None = None
    checkpoint_seconds: float = 600.0
    test: str | None = None
    predictions: str | None = None
    resume: bool = False
    force: bool = False

    def __post_init__(self):
        require_usable(self.bias, self.kernel)
        _require_normal(self.loss)
        for name, least in (
            ("block", 1), ("s", 1), ("largest_s", 1), ("iterations", 0), ("interval", 1), ("cache", 0),
            ("seed", 0),
        ):  # fmt: skip
            value = getattr(self, name)
            if value not in (None, "auto") and not least <= value <= MOST:
                raise InputError(f"{name} = {value}, but it must lie between {least} and 2^53 = {MOST}")
        if self.exchange not in ("auto", *EXCHANGES):
            raise InputError(
                f"exchange = {self.exchange!r} is unknown; known: auto, {', '.join(EXCHANGES)}"
            )
        if self.stream not in STREAMS:
            raise InputError(f"stream = {self.stream!r} is unknown; known: {', '.join(STREAMS)}")
        if self.partition not in PARTITIONS:
            raise InputError(f"partition = {self.partition!r} is unknown; known: {', '.join(PARTITIONS)}")
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InputError(f"tolerance = {self.tolerance!r}, but it must be finite and >= 0")
        if not self.checkpoint_seconds >= 0:
            raise InputError(f"checkpoint_seconds = {self.checkpoint_seconds!r}, but it must be >= 0")
        for name, value in (("largest_s", self.largest_s), ("sequence", self.sequence)):
            if value is not None and not self.tuned:
                raise InputError(
                    f"{name} = {value} is for s = 'auto', but s is {self.s}; ask for s = 'auto', or drop it"
                )
        if self.block not in (1, "auto") and not isinstance(self.loss, Ridge):
            raise InputError(f"block = {self.block}: a K-SVM steps one coordinate at a time; drop --block")
        if (self.test is None) != (self.predictions is None):
            raise InputError("--test and --predictions go together: give both, or neither")

    @property
    def tuned(self) -> bool:
        """Whether s is tuned while training runs."""
        return self.s == "auto"

    @property
    def task(self) -> str:
        """What the targets are for, as data sets are loaded."""
        return "regression" if isinstance(self.loss, Ridge) else "classification"

    @property
    def checkpoint(self) -> Path:
        """Where the checkpoint is."""
        return Path(f"{self.out}.checkpoint")

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All files that are written: result, checkpoint, predictions."""
        again = "pass --resume to go on from it, or --force to begin anew"
        # What is there is of the run that is gone on with only where that run left its checkpoint.
        replace = self.force or (self.resume and self.checkpoint.exists())
        result = Output("--out", self.out, replace)
        if self.resume:
            gone = "no checkpoint beside it to go on from; name another, or pass --force to begin anew"
            result = result._replace(otherwise=gone)
        checkpoint = Output(
            "the checkpoint of --out", self.checkpoint, self.resume or self.force, otherwise=again
        )
        found: tuple[Output, ...] = (checkpoint, result) if self.out else (result,)
        if self.predictions is not None:
            found = (*found, Output("--predictions", self.predictions, replace))
        return found


def _require_normal(loss: Loss) -> None:
    """Refuse a C or lambda beside which products underflow or overflow."""
    name, scale = ("lambda", loss.penalty) if isinstance(loss, Ridge) else ("C", loss.C)
    if not LEAST_SCALE <= scale <= 1 / LEAST_SCALE:
        raise InputError(
            f"{name} = {scale:g}, but it must lie between {LEAST_SCALE:.3g} and {1 / LEAST_SCALE:.3g}: "
            "beyond, its products underflow or overflow float64; scale data or targets"
        )
