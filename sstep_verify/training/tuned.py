"""What is decided where s is tuned: the largest s, the exchanges that may be tried, and the tuner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sstep_verify.costs.tuning import Tuner
from sstep_verify.problems import Ridge
from sstep_verify.solvers.production.options import EXCHANGES
from sstep_verify.solvers.production.schedule import OR
from sstep_verify.training.request import MOST, TrainingRequest

START_S = 16
"""The s that is tried first, and for which the exchange is chosen."""

LARGEST_S, LARGEST_DRAWS = 256, 1024
"""Largest s, and for K-RR largest s b, where nothing else is said: below all that `safe-s` certified in
float64 on the data sets of docs/safe-s.md (1,024 for each K-SVM; s b = 868, 1,552, 1,792 for K-RR)."""

LARGEST_PANEL = 1 << 24
"""Words of the largest panel (s b m) where nothing else is said."""

WINDOWS = 4
"""Least number of the largest windows in an interval, at whose end windows are cut."""

SETTLED_ALONE = 5e6
"""Nanoseconds of a settled batch where there is one rank, and so no latency that may jump."""


def largest_s(
    request: TrainingRequest, samples: int, block: int, interval: int, rows: int, kept: Mapping[str, Any]
) -> int:
    """Largest s that may be tried.

    Parameters
    ----------
    request : TrainingRequest
        What was asked for.
    samples, block, interval : int
        Number of samples (m), coordinates per block (b), iterations of an interval.
    rows : int
        Kernel rows that a window may need at most.
    kept : mapping of str to object
        Identity of the run to go on with.
    """
    earlier = whole_number(kept, "largest s") if kept.get("s") == "auto" else None
    asked = request.largest_s or earlier
    if asked:
        return asked
    most = min(LARGEST_S, LARGEST_PANEL // (block * samples), interval // WINDOWS)
    if isinstance(request.loss, Ridge):
        most = min(most, LARGEST_DRAWS // block)
    if rows < samples:
        most = min(most, rows // block)
    return 1 << max(most, 1).bit_length() - 1


def exchanges_of(
    request: TrainingRequest, exchange: str, cache: int, ranks: int, kept: Mapping[str, Any]
) -> tuple[str, ...]:
    """What may be communicated, the likeliest first; only one where it was asked for or rows are kept."""
    if request.exchange != "auto" or cache:
        return (exchange,)
    earlier = str(kept.get("exchange")).split(OR)
    if kept.get("s") == "auto" and earlier[0] == exchange and set(earlier) <= set(EXCHANGES):
        return tuple(earlier)
    others = ["allreduce"]
    others += ["reduce-scatter"] if ranks > 1 else []
    others += ["gram"] if request.kernel.linear else []
    return (exchange, *(name for name in others if name != exchange))


def first_of(exchange: Any) -> Any:
    """The first exchange of an identity."""
    return exchange.split(OR)[0] if isinstance(exchange, str) else exchange


def tuner_of(
    exchanges: tuple[str, ...], largest: int, ranks: int, iterations: int, start: int = START_S
) -> Tuner:
    """The tuner of a run that is to make so many iterations."""
    settled = {"settled": SETTLED_ALONE} if ranks == 1 else {}
    return Tuner(exchanges, largest, min(start, largest), iterations, **settled)


def up_to(value: int, multiple: int) -> int:
    """The least multiple that is not less."""
    return -(-value // multiple) * multiple


def whole_number(kept: Mapping[str, Any], name: str) -> int | None:
    """A whole number of an identity; None where it is none."""
    value = kept.get(name)
    return value if type(value) is int and 0 <= value <= MOST else None
