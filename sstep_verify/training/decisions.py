"""Decisions that a request leaves open: exchange and why, interval, and the identity of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sstep_verify import __version__
from sstep_verify.compiled import AVAILABLE
from sstep_verify.costs.block_size import block_size
from sstep_verify.errors import InputError
from sstep_verify.parallel.exchanges.choose import choose_exchange
from sstep_verify.problems import IndexStream, Ridge
from sstep_verify.problems.kernels import shortest
from sstep_verify.solvers.production.monitor import default_interval
from sstep_verify.solvers.production.options import EXCHANGES, Options
from sstep_verify.solvers.production.schedule import OR, Schedule
from sstep_verify.solvers.production.training_plan import Place, Plan, Stretch
from sstep_verify.training.checkpoint import MACHINE
from sstep_verify.training.request import TrainingRequest
from sstep_verify.training.tuned import (
    LARGEST_S,
    START_S,
    exchanges_of,
    first_of,
    largest_s,
    tuner_of,
    up_to,
    whole_number,
)

MEMORY = 1 << 26
"""Words of kernel rows that a rank may keep where nothing else is said."""

MOVED = " | from iteration "
"""What stands, in the identity, before the machine that training moved to."""

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
        Where s is tuned, the sequence of s does so beside it.
    exchanges : tuple of str
        Where s is tuned: what may be communicated.
    blocks : str
        Why these blocks.
    """

    stream: IndexStream
    plan: Plan
    options: Options
    reason: str
    identity: dict[str, str | int]
    exchanges: tuple[str, ...] = ()
    blocks: str = "asked for"


def decide(
    request: TrainingRequest,
    samples: int,
    ranks: int,
    kept: Mapping[str, Any] | None = None,
    stored: float | None = None,
    machine: str = "",
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
    stored : float, optional
        Values stored of all samples together, for block auto; absent, one a sample.
    machine : str
        Kinds of the ranks, which decide the last bits.

    Raises
    ------
    InputError
        If b > m, the interval is no multiple of s, or exchange and cache do not go together.
    """
    block = _block(request, samples, ranks, samples if stored is None else stored)
    s = START_S if request.s == "auto" else request.s
    iterations = request.iterations
    if iterations is None:
        iterations = -(-PASSES * samples // block)
    stream = IndexStream(request.stream, samples, block, iterations, request.seed)
    exchange, cache, reason = _earlier(request, samples, kept or {}) or _exchange(
        request, samples, iterations, ranks, block, s
    )
    whole = exchange == "allreduce" and cache >= samples * samples
    light = whole or (request.kernel.linear and not cache)
    interval = request.interval or _earlier_interval(request, kept or {})
    exchanges: tuple[str, ...] = (exchange,)
    if request.tuned:
        # Windows of any s may end there: how often is measured does not depend on s.
        interval = interval or up_to(default_interval(samples, block, 1, light), LARGEST_S)
        exchanges = exchanges_of(request, exchange, cache, ranks, kept or {})
        rows = cache // samples if cache and not whole else samples
        s = largest_s(request, samples, block, interval, rows, kept or {})
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
        "s": request.s,
        "seed": request.seed,
        "interval": interval,
        "exchange": OR.join(exchanges),
        "cache": ALL_ROWS if whole else cache,
        "timers": "separate" if request.separate_timers else "joined",
        "inner loops": "compiled" if AVAILABLE else "plain Python",
        MACHINE: machine,
        "version": __version__,
    }
    if request.stream != "uniform":
        identity["stream"] = request.stream
    if ranks > 1:
        identity["partition"] = request.partition
    if request.tuned:
        identity["largest s"] = s
    if request.bias:
        identity["bias"] = shortest(request.bias)
    plan = Plan(s, iterations, interval, request.tolerance, request.tuned)
    blocks = "solves cost no more than the rest" if request.block == "auto" else "asked for"
    return Decided(stream, plan, options, reason, identity, exchanges, blocks)


def moved_to(machine: str, kept: str, iteration: int) -> str:
    """The machines of a run that goes on, from an iteration, with one made on those `kept`."""
    return kept if last_of(kept) == machine else f"{kept}{MOVED}{iteration} on {machine}"


def last_of(machines: str) -> str:
    """Where a run was last."""
    return re.split(rf"{re.escape(MOVED)}\d+ on ", machines)[-1]


def schedule_of(
    decided: Decided, ranks: int, place: Place | None, given: Sequence[Stretch]
) -> Schedule | None:
    """What says which s comes next, where s is tuned.

    Parameters
    ----------
    decided : Decided
        What was decided.
    ranks : int
        Number of ranks (P).
    place : Place, optional
        Where an earlier run stopped: the tuner begins with its last s and exchange.
    given : sequence of Stretch
        To be followed first; of an earlier run as far as they go beyond it.

    Raises
    ------
    InputError
        If a given stretch has an s or an exchange that this run has not.
    """
    plan, exchanges = decided.plan, decided.exchanges
    if not plan.tuned:
        return None
    made, begin = (place.sequence, place.iteration) if place else ((), 0)
    for stretch in (*made, *given):
        if stretch.s > plan.s or stretch.exchange not in exchanges:
            raise InputError(
                f"the sequence of s has s = {stretch.s} with exchange {stretch.exchange}, but this run has "
                f"at most {plan.s} and exchange {OR.join(exchanges)}"
            )
    start = START_S
    if made:
        last = made[-1]
        start, first = last.s, last.exchange
        exchanges = (first, *(name for name in exchanges if name != first))
    tuner = tuner_of(exchanges, plan.s, ranks, plan.iterations - begin, start)
    later = [stretch for stretch in given if stretch.end > begin]
    return Schedule(tuner, ranks, (*made, *later), begin)


def _block(request: TrainingRequest, samples: int, ranks: int, stored: float) -> int:
    if request.block != "auto":
        return request.block
    if not isinstance(request.loss, Ridge):
        return 1
    return block_size(samples, stored, ranks, request.kernel)


def _exchange(
    request: TrainingRequest, samples: int, iterations: int, ranks: int, block: int, s: int
) -> tuple[str, int, str]:
    """Exchange, words of kept kernel rows, and why."""
    if request.exchange != "auto":
        return request.exchange, request.cache or 0, "asked for"
    choice = choose_exchange(
        samples=samples, s=s, block=block, iterations=iterations, ranks=ranks,
        kernel=request.kernel, memory=MEMORY if request.cache is None else request.cache,
    )  # fmt: skip
    return choice.exchange, choice.cache, choice.reason


def _earlier(
    request: TrainingRequest, samples: int, kept: Mapping[str, Any]
) -> tuple[str, int, str] | None:
    """The same of the run to go on with, if the request allows it: the iterations asked for may differ."""
    exchange, cache = first_of(kept.get("exchange")), kept.get("cache")
    words = samples * samples if cache == ALL_ROWS else whole_number(kept, "cache")
    if exchange not in EXCHANGES or words is None or (words and exchange != "allreduce"):
        return None
    if request.exchange != "auto":
        same = request.exchange == exchange and request.cache is None
        return (exchange, words, "asked for") if same else None
    allowed = max(MEMORY, words) if request.cache is None else request.cache
    return (exchange, words, "as in the run that is gone on with") if words <= allowed else None


def _earlier_interval(request: TrainingRequest, kept: Mapping[str, Any]) -> int | None:
    return whole_number(kept, "interval") if kept.get("s") == request.s else None
