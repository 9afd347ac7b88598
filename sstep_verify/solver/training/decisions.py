"""Decisions that settings leave open: block, exchange and why, interval, and which s may be tried."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sstep_verify import __version__
from sstep_verify.compiled import AVAILABLE
from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import shortest
from sstep_verify.solver.exchanges.exchange import choose_exchange
from sstep_verify.solver.settings import EXCHANGES, MOST, OR, Options, Settings
from sstep_verify.solver.training.intervals import Place
from sstep_verify.solver.training.schedule import Schedule, Segment

if TYPE_CHECKING:
    from sstep_verify.costs.tuning import Tuner

MEMORY = 1 << 26
"""Words of kernel rows that a rank may keep where nothing else is said."""

ALL_ROWS = "all kernel rows"
"""Word of the identity for the cache where a Gram matrix is kept."""

INTERVALS, LENGTHENING = "intervals", "lengthening"
"""Word of the identity for intervals that are not all alike, and what stands there."""

MACHINE = "machine"
"""Word of the identity for the kinds of the ranks."""

TOLERANCE, SINCE = "tolerance", "tolerance since"
"""Words of the identity for the tolerance, and the iteration from which it holds: neither decides a bit."""

CAP = "most iterations"
"""Word of the identity for the iterations that were asked for: a run that continues is to make as many."""

MOVED = " | from iteration "
"""What stands, in the identity, before the machine that training moved to."""

PASSES = 100
"""Passes over the samples after which training ends where nothing else is said."""

START_S = 16
"""The s on several ranks: the default, or the one that is tried first. The exchange is chosen for it."""

COUNTED = 1
"""Most ranks whose s follows from counts: a rank that waits for nobody has no latency to hide."""

ROWS_AT_ONCE = 64
"""Kernel rows formed at once where they are not kept: a product of matrices reads the data once for all."""

LARGEST_S, LARGEST_DRAWS = 256, 1024
"""Largest s, and for K-RR largest s b, where nothing else is said: below all that `safe-s` certified in
float64 on the data sets of docs/safe-s.md (1,024 for each K-SVM; s b = 867, 1,544, 1,792 for K-RR)."""

LARGEST_PANEL = 1 << 24
"""Words of the largest panel (s b m) where nothing else is said."""

WINDOWS = 4
"""Least number of the largest windows in an interval, at whose end windows are cut."""

SETTLED_ALONE = 5e6
"""Nanoseconds of a settled batch where there is one rank, and so no latency that may jump."""


def decide(
    settings: Settings,
    samples: int,
    ranks: int,
    kept: Mapping[str, Any] | None = None,
    stored: float | None = None,
) -> Settings:
    """Complete settings for m samples on P ranks.

    What they leave open is as it was in the run to continue with, whose identity is `kept`. `stored`:
    values of all samples together, for block auto and s; absent, one a sample. InputError if b > m, the
    interval is no multiple of s, or exchange and cache do not go together.
    """
    kept, block, why = kept or {}, settings.block, settings.block_reason
    stored = float(samples) if stored is None else stored
    # Of a block of 1 it is not known here whether anybody asked for it.
    why = "as given, or the default" if block == 1 else why
    if block == "auto":
        block, why = 1, "solves cost no more than the rest"
        if settings.ridge:
            from sstep_verify.costs.block_size import block_size

            block = block_size(samples, stored, ranks, settings.kernel)
    iterations = settings.iterations
    if iterations is None:
        iterations = -(-PASSES * samples // block)
    settings = replace(settings, block=block, block_reason=why, iterations=iterations)
    settings.draws_of(samples)
    counted = ranks <= COUNTED and _is_counted(settings, kept)
    if settings.s is None and not counted:
        earlier = _whole_number(kept, "s")
        why = "of the run before" if earlier else "default"
        settings = replace(settings, s=earlier or START_S, s_reason=why)
    start = settings.s if isinstance(settings.s, int) else START_S
    if counted:
        start = 1 if settings.kernel.linear else max(ROWS_AT_ONCE // block, 1)
    exchange, cache, reason = _earlier(settings, samples, kept) or _exchange(
        settings, samples, iterations, ranks, block, stored, start
    )
    whole = exchange == "allreduce" and cache >= samples * samples
    if counted:
        s, s_reason = counted_s(exchange, block, bool(cache), settings.ridge)
        settings = replace(settings, s=math.gcd(s, settings.interval or 0), s_reason=s_reason)
    exchanges: tuple[str, ...] = (exchange,)
    interval, largest, lengthening = settings.interval, settings.largest_s, settings.lengthening
    if interval is None and kept.get("s") == settings.s:
        interval = _whole_number(kept, "interval") or None
        lengthening = interval is not None and kept.get(INTERVALS) == LENGTHENING
    if interval is None:
        from sstep_verify.costs.intervals import first_interval

        assert settings.s is not None
        # Windows of any s may end there: how often is measured does not depend on s.
        s, ends = (START_S, LARGEST_S) if settings.s == "auto" else (settings.s, settings.s)
        rows = samples if whole else cache // samples
        interval = ends * -(-first_interval(samples, stored, block, s, ranks, exchange, rows) // ends)
        lengthening = True
    if settings.s == "auto":
        exchanges = _exchanges(settings, exchange, cache, ranks, kept)
        rows = cache // samples if cache and not whole else samples
        largest = largest or _largest_s(settings, samples, block, interval, rows, kept)
    return replace(
        settings,
        interval=interval,
        lengthening=lengthening,
        largest_s=largest,
        exchange=exchange,
        exchanges=exchanges,
        exchange_reason=reason,
        keep_gram=whole,
        gram_limit=max(samples * samples, Options.gram_limit) if whole else Options.gram_limit,
        cache=0 if whole else cache,
    )


def _is_counted(settings: Settings, kept: Mapping[str, Any]) -> bool:
    """Whether s is left open, up to no largest one, and no run before has one that continues."""
    if settings.s is None:
        return _whole_number(kept, "s") is None
    asked = settings.sequence is not None or settings.largest_s is not None
    return settings.s == "auto" and not asked and kept.get("s") != "auto"


def counted_s(exchange: str, block: int, kept_rows: bool, ridge: bool) -> tuple[int, str]:
    """The s of one rank by counts, and why.

    With weights (exchange gram) every further step of a window needs inner products with all before, so
    one step is the least work. Where kernel rows are kept, s changes nothing that counts. Where they are
    formed in every window, `ROWS_AT_ONCE` of them read the data once.
    """
    if exchange == "gram":
        return 1, "one rank waits for nobody, and windows of one step need the fewest inner products"
    if kept_rows:
        return START_S, "one rank waits for nobody, and rows that are kept cost no s more than another"
    most = LARGEST_DRAWS // block if ridge else LARGEST_S
    reason = f"one rank waits for nobody, and {ROWS_AT_ONCE} kernel rows formed at once read the data once"
    return max(min(ROWS_AT_ONCE // block, most), 1), reason


def identity_of(settings: Settings, ranks: int, machine: str = "") -> dict[str, str | int | None]:
    """What decides every bit of a run besides its data: a checkpoint is of it iff it says the same.

    Where s is tuned, the sequence of s does so besides it. `machine`: kinds of the ranks, which decide
    the last bits.
    """
    found: dict[str, str | int | None] = {
        "ranks": ranks,
        "kernel": repr(settings.kernel),
        "loss": repr(settings.loss),
        "block": settings.block,
        "s": settings.s,
        "seed": settings.seed,
        "interval": settings.interval,
        "exchange": OR.join(settings.exchanges),
        "cache": ALL_ROWS if settings.keep_gram else settings.cache,
        "timers": "separate" if settings.separate_timers else "joined",
        "inner loops": "compiled" if AVAILABLE else "plain Python",
        MACHINE: machine,
        "version": __version__,
    }
    if settings.lengthening:
        found[INTERVALS] = LENGTHENING
    if settings.stream != "uniform":
        found["stream"] = settings.stream
    if ranks > 1:
        found["partition"] = settings.partition
    if settings.tuned:
        found["largest s"] = settings.largest_s
    if settings.bias:
        found["bias"] = shortest(settings.bias)
    return found


def moved_to(machine: str, kept: str, iteration: int) -> str:
    """The machines of a run that continues, from an iteration, with one made on those `kept`."""
    return kept if last_of(kept) == machine else f"{kept}{MOVED}{iteration} on {machine}"


def most_iterations(settings: Settings, kept: Mapping[str, Any]) -> int | None:
    """Iterations that are asked for, or were in the run to continue with; None if in neither."""
    return _whole_number(kept, CAP) if settings.iterations is None else settings.iterations


def tolerance_since(kept: Mapping[str, Any], tolerance: float, iteration: int) -> int:
    """From which iteration a tolerance holds in a run that continues one `kept` from an iteration."""
    since = _whole_number(kept, SINCE)
    return iteration if since is None or kept.get(TOLERANCE) != tolerance else since


def last_of(machines: str) -> str:
    """Where a run was last."""
    return re.split(rf"{re.escape(MOVED)}\d+ on ", machines)[-1]


def tuner_of(
    exchanges: tuple[str, ...], largest: int, ranks: int, iterations: int, start: int = START_S
) -> Tuner:
    """The tuner of a run that is to make so many iterations."""
    from sstep_verify.costs.tuning import Tuner

    settled = {"settled": SETTLED_ALONE} if ranks == 1 else {}
    return Tuner(exchanges, largest, min(start, largest), iterations, **settled)


def schedule_of(
    settings: Settings, ranks: int, place: Place | None, given: Sequence[Segment]
) -> Schedule | None:
    """What says which s comes next, where s is tuned.

    The tuner begins with the last s and exchange of the place where an earlier run stopped. What is given
    is followed first, as far as it goes beyond that place; InputError if it has an s or an exchange that
    this run has not.
    """
    if not settings.tuned:
        return None
    largest, exchanges = settings.width, settings.exchanges
    made, begin = (place.sequence, place.iteration) if place else ((), 0)
    for segment in (*made, *given):
        if segment.s > largest or segment.exchange not in exchanges:
            raise InputError(
                f"the sequence of s has s = {segment.s} with exchange {segment.exchange}, but this run has "
                f"at most {largest} and exchange {OR.join(exchanges)}"
            )
    start = START_S
    if made:
        last = made[-1]
        start, first = last.s, last.exchange
        exchanges = (first, *(name for name in exchanges if name != first))
    assert settings.iterations is not None
    tuner = tuner_of(exchanges, largest, ranks, settings.iterations - begin, start)
    later = [segment for segment in given if segment.end > begin]
    return Schedule(tuner, ranks, (*made, *later), begin)


def _exchange(
    settings: Settings, samples: int, iterations: int, ranks: int, block: int, stored: float, s: int
) -> tuple[str, int, str]:
    """Exchange, words of kept kernel rows, and why."""
    if settings.exchange != "auto":
        return settings.exchange, settings.cache or 0, "asked for"
    return choose_exchange(
        samples=samples, s=s, block=block,
        iterations=iterations, ranks=ranks, kernel=settings.kernel,
        memory=MEMORY if settings.cache is None else settings.cache, stored=stored,
    )  # fmt: skip


def _earlier(settings: Settings, samples: int, kept: Mapping[str, Any]) -> tuple[str, int, str] | None:
    """The same of the run to continue with, if it is allowed: the iterations asked for may differ."""
    exchange, cache = _exchanges_of(kept)[0], kept.get("cache")
    words = samples * samples if cache == ALL_ROWS else _whole_number(kept, "cache")
    if exchange not in EXCHANGES or words is None or (words and exchange != "allreduce"):
        return None
    if settings.exchange != "auto":
        same = settings.exchange == exchange and settings.cache is None
        return (exchange, words, "asked for") if same else None
    allowed = max(MEMORY, words) if settings.cache is None else settings.cache
    return (exchange, words, "as in the run that is gone on with") if words <= allowed else None


def _exchanges(
    settings: Settings, exchange: str, cache: int, ranks: int, kept: Mapping[str, Any]
) -> tuple[str, ...]:
    """What may be communicated, the likeliest first; only one where it was asked for or rows are kept."""
    if settings.exchange != "auto" or cache:
        return (exchange,)
    earlier = _exchanges_of(kept)
    if kept.get("s") == "auto" and earlier[0] == exchange and set(earlier) <= set(EXCHANGES):
        return tuple(earlier)
    others = ["allreduce"]
    # A K-SVM has few support vectors; a ridge vector is soon dense, and weights take less than any panel.
    others += [] if settings.kernel.linear or settings.ridge else ["support"]
    others += ["reduce-scatter"] if ranks > 1 else []
    others += ["gram"] if settings.kernel.linear else []
    return (exchange, *(name for name in others if name != exchange))


def _exchanges_of(kept: Mapping[str, Any]) -> list[str]:
    """The exchanges of an identity, which may be nonsense."""
    return str(kept.get("exchange")).split(OR)


def _largest_s(
    settings: Settings, samples: int, block: int, interval: int, rows: int, kept: Mapping[str, Any]
) -> int:
    """Largest s that may be tried, in windows of at most so many kernel rows, unless it was asked for."""
    earlier = _whole_number(kept, "largest s") if kept.get("s") == "auto" else None
    if earlier:
        return earlier
    most = min(LARGEST_S, LARGEST_PANEL // (block * samples), interval // WINDOWS)
    if settings.ridge:
        most = min(most, LARGEST_DRAWS // block)
    if rows < samples:
        most = min(most, rows // block)
    return 1 << max(most, 1).bit_length() - 1


def _whole_number(kept: Mapping[str, Any], name: str) -> int | None:
    """A whole number of an identity; None where it is none."""
    value = kept.get(name)
    return value if type(value) is int and 0 <= value <= MOST else None
