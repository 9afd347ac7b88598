"""What training is to do, completed from the data: exchange and why, interval, what a checkpoint says."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify import __version__
from sstep_verify.compiled import AVAILABLE
from sstep_verify.errors import InputError
from sstep_verify.parallel.choose import choose_exchange
from sstep_verify.problems import IndexStream, Kernel, LinearKernel, Loss
from sstep_verify.problems.bias import require_usable
from sstep_verify.problems.kernels import shortest
from sstep_verify.solvers.production.monitor import default_interval
from sstep_verify.solvers.production.options import EXCHANGES, Options
from sstep_verify.solvers.production.training import Plan

MEMORY = 1 << 26
"""Words of kernel rows that a rank may keep where nothing else is said."""

PASSES = 100
"""Passes over the samples after which training ends where nothing else is said."""


@dataclass(frozen=True)
class Settings:
    """What the user asked for.

    Parameters
    ----------
    kernel : Kernel
        Kernel.
    loss : Loss
        Loss, with C or lambda.
    block, s : int
        Coordinates per block (b), iterations per window.
    iterations, interval : int or None
        Most iterations, iterations between two measurements; None to choose.
    tolerance : float
        Relative gap or residual at which training ends.
    seed : int
        Seed of the index stream.
    exchange : {"auto", "allreduce", "reduce-scatter", "gram"}
        What is communicated in a window.
    cache : int or None
        Words of kernel rows that a rank may keep; None for `MEMORY` with exchange auto, else for none.
    separate_timers : bool
        Tell waiting from transfer, and the gradient from the recurrence.
    bias : float
        Value of the constant feature that is appended to the data; 0 for none. See `problems.bias`.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    kernel: Kernel
    loss: Loss
    block: int = 1
    s: int = 16
    iterations: int | None = None
    interval: int | None = None
    tolerance: float = 1e-6
    seed: int = 0
    exchange: str = "auto"
    cache: int | None = None
    separate_timers: bool = False
    bias: float = 0.0

    def __post_init__(self):
        require_usable(self.bias, self.kernel)
        for name, least in (("block", 1), ("s", 1), ("iterations", 0), ("interval", 1), ("cache", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} = {value}, but it must be >= {least}")
        if self.exchange not in ("auto", *EXCHANGES):
            raise InputError(
                f"exchange = {self.exchange!r} is unknown; known: auto, {', '.join(EXCHANGES)}"
            )


@dataclass(frozen=True)
class Decided:
    """Settings completed for m samples on P ranks.

    Parameters
    ----------
    stream : IndexStream
        Coordinates to draw.
    plan : Plan
        How long to train.
    options : Options
        How to run.
    reason : str
        Why this exchange.
    identity : dict of str to str or int
        What decides every bit of the run beside the data: a checkpoint is of this run iff it says the same.
    """

    stream: IndexStream
    plan: Plan
    options: Options
    reason: str
    identity: dict[str, str | int]


def decide(settings: Settings, samples: int, ranks: int) -> Decided:
    """Complete settings.

    Parameters
    ----------
    settings : Settings
        What was asked for.
    samples, ranks : int
        Number of samples (m), number of ranks (P).

    Raises
    ------
    InputError
        If b > m, the interval is no multiple of s, or exchange and cache do not go together.
    """
    block, s = settings.block, settings.s
    iterations = settings.iterations
    if iterations is None:
        iterations = -(-PASSES * samples // block)
    stream = IndexStream("uniform", samples, block, iterations, settings.seed)
    exchange, cache, reason = _exchange(settings, samples, iterations, ranks)
    whole = exchange == "allreduce" and cache >= samples * samples
    light = whole or (isinstance(settings.kernel, LinearKernel) and not cache)
    interval = settings.interval or default_interval(samples, block, s, light)
    options = Options(
        exchange=exchange,
        keep_gram=whole,
        gram_limit=max(samples * samples, Options.gram_limit) if whole else Options.gram_limit,
        cache=0 if whole else cache,
        columns="local",
        separate_timers=settings.separate_timers,
    )
    identity: dict[str, str | int] = {
        "ranks": ranks,
        "kernel": repr(settings.kernel),
        "loss": repr(settings.loss),
        "block": block,
        "s": s,
        "seed": settings.seed,
        "interval": interval,
        "exchange": exchange,
        "cache": "all kernel rows" if whole else cache,
        "timers": "separate" if settings.separate_timers else "joined",
        "inner loops": "compiled" if AVAILABLE else "plain Python",
        "version": __version__,
    }
    if settings.bias:
        identity["bias"] = shortest(settings.bias)
    return Decided(stream, Plan(s, iterations, interval, settings.tolerance), options, reason, identity)


def _exchange(settings: Settings, samples: int, iterations: int, ranks: int) -> tuple[str, int, str]:
    """Exchange, words of kept kernel rows, and why."""
    if settings.exchange != "auto":
        return settings.exchange, settings.cache or 0, "asked for"
    choice = choose_exchange(
        samples=samples, s=settings.s, block=settings.block, iterations=iterations, ranks=ranks,
        kernel=settings.kernel, memory=MEMORY if settings.cache is None else settings.cache,
    )  # fmt: skip
    return choice.exchange, choice.cache, choice.reason
