"""The production solver on ranks that carry the interposer, and its collective alone."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from sstep_verify.laboratory import ranks as on_ranks
from sstep_verify.laboratory.ranks import Stretch, Wanted
from sstep_verify.laboratory.samples import Delay, Sample
from sstep_verify.launch import run
from sstep_verify.launch.interposer import build_interposer

LIMIT = 3600.0
"""Seconds that one call of the ranks may take."""

PILOT = 256
"""Iterations, at least, of the first stretch of an s, from which the length of the others follows."""

FEWEST, MOST = 2, 1 << 16
"""Windows of a stretch."""

CALLS = 20
"""Collectives alone, at least."""


class OurSolver:
    """The production solver; rows are formed anew in every window, none is kept.

    Parameters
    ----------
    wanted : Wanted
        What is solved.
    exchange : str
        What is communicated in a window, see `solvers.production.options.Options`.

    Raises
    ------
    MissingExtraError
        If the interposer cannot be built.
    """

    def __init__(self, wanted: Wanted, exchange: str = "allreduce"):
        self.name, self._wanted, self._exchange = f"our solver, exchange {exchange}", wanted, exchange
        self._room = tempfile.TemporaryDirectory(prefix="sstep-verify-laboratory-")
        self._variables = {"LD_PRELOAD": str(build_interposer(Path(self._room.name)))}
        self._about: dict[int, dict[str, Any]] = {}
        self._seconds: dict[tuple[int, int, str], float] = {}

    def about(self, ranks: int) -> dict[str, Any]:
        """Samples, features, and the MPI; the ranks hold the data from now on."""
        if ranks not in self._about:
            found = run(ranks, on_ranks.load, self._wanted, limit=LIMIT, variables=self._variables)
            self._about[ranks] = found[0]
        return self._about[ranks]

    def sample(
        self, s: int, ranks: int, delay: Delay, seconds: float, exchange: str | None = None
    ) -> Sample:
        """One stretch of about so many seconds.

        Parameters
        ----------
        s, ranks : int
            Iterations of a window, P.
        delay : Delay
            What every collective is late by.
        seconds : float
            How long it is to take, as far as whole windows allow.
        exchange : str, optional
            Another than the solver's own.
        """
        self.about(ranks)
        chosen = exchange or self._exchange
        key = (s, ranks, chosen)
        if key not in self._seconds:
            windows = max(FEWEST, PILOT // s)
            self._stretch(Stretch(s, chosen, windows, Delay()), ranks)  # compiles
            self._seconds[key] = self._stretch(Stretch(s, chosen, windows, Delay()), ranks).seconds * s
        one = self._seconds[key] + delay.microseconds * 1e-6 * (ranks > 1)
        windows = min(max(math.ceil(seconds / one), FEWEST), MOST)
        return self._stretch(Stretch(s, chosen, windows, delay), ranks)

    def _stretch(self, wanted: Stretch, ranks: int) -> Sample:
        found = run(ranks, on_ranks.stretch, wanted, limit=LIMIT, variables=self._variables)
        seconds, calls, words = (max(one) for one in zip(*found, strict=True))
        iterations = wanted.windows * wanted.s
        return Sample(seconds / iterations, calls / iterations, words / iterations)

    def collective(self, ranks: int, delay: Delay, seconds: float) -> float:
        """Seconds of a collective of one word, nothing else being done."""
        calls = max(CALLS, math.ceil(seconds / (delay.microseconds * 1e-6 + 1e-4)))
        return max(run(ranks, on_ranks.alone, delay, calls, limit=LIMIT, variables=self._variables))
