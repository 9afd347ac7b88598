"""Decisions that a request leaves open: exchange and why, interval, and the identity of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sstep_verify import __version__
from sstep_verify.compiled import AVAILABLE
from sstep_verify.parallel.choose import choose_exchange
from sstep_verify.problems import IndexStream
from sstep_verify.problems.kernels import shortest
from sstep_verify.solvers.production.monitor import default_interval
from sstep_verify.solvers.production.options import EXCHANGES, Options
from sstep_verify.solvers.production.training_plan import Plan
from sstep_verify.training.request import MOST, TrainingRequest

MEMORY = 1 << 26
"""Words of kernel rows that a rank may keep where nothing else is said."""

ALL_ROWS = "all kernel rows"
"""Word of the identity for the cache where a Gram matrix is kept."""

PASSES = 100
"""Passes over the samples after which training ends where nothing else is said."""


@dataclass(frozen=True)
class Decided:
    """A request completed for m samples on P ranks.

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


def decide(
    request: TrainingRequest, samples: int, ranks: int, kept: Mapping[str, Any] | None = None
) -> Decided:
    """Complete a request.

    Parameters
    ----------
    request : TrainingRequest
        What was asked for.
    samples, ranks : int
        Number of samples (m), number of ranks (P).
    kept : mapping of str to object, optional
        Identity of the run to go on with: what the request leaves open is as it was there.

    Raises
    ------
    InputError
        If b > m, the interval is no multiple of s, or exchange and cache do not go together.
    """
    block, s = request.block, request.s
    iterations = request.iterations
    if iterations is None:
        iterations = -(-PASSES * samples // block)
    stream = IndexStream("uniform", samples, block, iterations, request.seed)
    exchange, cache, reason = _earlier(request, samples, kept or {}) or _exchange(
        request, samples, iterations, ranks
    )
    whole = exchange == "allreduce" and cache >= samples * samples
    light = whole or (request.kernel.linear and not cache)
    interval = request.interval or _earlier_interval(request, kept or {})
    interval = interval or default_interval(samples, block, s, light)
    options = Options(
        exchange=exchange,
        keep_gram=whole,
        gram_limit=max(samples * samples, Options.gram_limit) if whole else Options.gram_limit,
        cache=0 if whole else cache,
        columns="local",
        partition=request.partition,
        separate_timers=request.separate_timers,
    )
    identity: dict[str, str | int] = {
        "ranks": ranks,
        "kernel": repr(request.kernel),
        "loss": repr(request.loss),
        "block": block,
        "s": s,
        "seed": request.seed,
        "interval": interval,
        "exchange": exchange,
        "cache": ALL_ROWS if whole else cache,
        "timers": "separate" if request.separate_timers else "joined",
        "inner loops": "compiled" if AVAILABLE else "plain Python",
        "version": __version__,
    }
    if ranks > 1:
        identity["partition"] = request.partition
    if request.bias:
        identity["bias"] = shortest(request.bias)
    return Decided(stream, Plan(s, iterations, interval, request.tolerance), options, reason, identity)


def _exchange(request: TrainingRequest, samples: int, iterations: int, ranks: int) -> tuple[str, int, str]:
    """Exchange, words of kept kernel rows, and why."""
    if request.exchange != "auto":
        return request.exchange, request.cache or 0, "asked for"
    choice = choose_exchange(
        samples=samples, s=request.s, block=request.block, iterations=iterations, ranks=ranks,
        kernel=request.kernel, memory=MEMORY if request.cache is None else request.cache,
    )  # fmt: skip
    return choice.exchange, choice.cache, choice.reason


def _earlier(
    request: TrainingRequest, samples: int, kept: Mapping[str, Any]
) -> tuple[str, int, str] | None:
    """The same of the run to go on with, if the request allows it: the iterations asked for may differ."""
    exchange, cache = kept.get("exchange"), kept.get("cache")
    words = samples * samples if cache == ALL_ROWS else _whole_number(kept, "cache")
    if exchange not in EXCHANGES or words is None or (words and exchange != "allreduce"):
        return None
    if request.exchange != "auto":
        same = request.exchange == exchange and request.cache is None
        return (exchange, words, "asked for") if same else None
    allowed = max(MEMORY, words) if request.cache is None else request.cache
    return (exchange, words, "as in the run that is gone on with") if words <= allowed else None


def _earlier_interval(request: TrainingRequest, kept: Mapping[str, Any]) -> int | None:
    return _whole_number(kept, "interval") if kept.get("s") == request.s else None


def _whole_number(kept: Mapping[str, Any], name: str) -> int | None:
    value = kept.get(name)
    return value if type(value) is int and 0 <= value <= MOST else None
