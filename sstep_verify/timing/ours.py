"""The production solver on ranks that carry the interposer, and its collective alone."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sstep_verify.ranks import run
from sstep_verify.ranks.interposer import build_interposer
from sstep_verify.timing import ranks as on_ranks
from sstep_verify.timing.measure import Delay, Sample

LIMIT = 3600.0
"""Seconds that one call of the ranks may take."""

PILOT = 256
"""Iterations, at least, of the first stretch of an s, from which the length of the others follows."""

FEWEST, MOST = 2, 1 << 16
"""Windows of a stretch."""

CALLS = 20
"""Collectives alone, at least."""


class OurSolver:
    """The production solver with an exchange; rows are formed anew in every window, none is kept.

    Raises
    ------
    MissingExtraError
        If the interposer cannot be built.
    """

    def __init__(self, wanted: on_ranks.Wanted, exchange: str = "allreduce"):
        self.name, self._wanted, self._exchange = f"our solver, exchange {exchange}", wanted, exchange
        self._room = tempfile.TemporaryDirectory(prefix="sstep-verify-timing-")
        self._variables = {"LD_PRELOAD": str(build_interposer(Path(self._room.name)))}
        self._about: dict[int, dict[str, Any]] = {}
        self._seconds: dict[tuple[int, int, str], float] = {}

    def _run(self, ranks: int, function: Callable[..., Any], *given: Any) -> list[Any]:
        return run(ranks, function, *given, limit=LIMIT, variables=self._variables)

    def about(self, ranks: int) -> dict[str, Any]:
        """Samples, features, and the MPI; the ranks hold the data from now on."""
        if ranks not in self._about:
            self._about[ranks] = self._run(ranks, on_ranks.load, self._wanted)[0]
        return self._about[ranks]

    def sample(
        self, s: int, ranks: int, delay: Delay, seconds: float, exchange: str | None = None
    ) -> Sample:
        """One stretch of about so many seconds, as far as whole windows allow."""
        self.about(ranks)
        chosen = exchange or self._exchange
        key = (s, ranks, chosen)
        if key not in self._seconds:
            windows = max(FEWEST, PILOT // s)
            self._stretch(*key, windows, Delay())  # compiles
            self._seconds[key] = self._stretch(*key, windows, Delay()).seconds * s
        one = self._seconds[key] + delay.microseconds * 1e-6 * (ranks > 1)
        return self._stretch(*key, min(max(math.ceil(seconds / one), FEWEST), MOST), delay)

    def _stretch(self, s: int, ranks: int, exchange: str, windows: int, delay: Delay) -> Sample:
        of_ranks = self._run(ranks, on_ranks.stretch, s, exchange, windows, delay)
        return Sample(*(max(one) / (windows * s) for one in zip(*of_ranks, strict=True)))

    def collective(self, ranks: int, delay: Delay, seconds: float) -> float:
        """Seconds of a collective of one word, nothing else being done."""
        calls = max(CALLS, math.ceil(seconds / (delay.microseconds * 1e-6 + 1e-4)))
        return max(self._run(ranks, on_ranks.alone, delay, calls))
