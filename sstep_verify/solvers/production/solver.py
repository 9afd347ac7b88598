"""The production solver: s iterations per communication, over any communicator."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.parallel.clock import PHASES
from sstep_verify.parallel.communicator import Communicator, SelfCommunicator
from sstep_verify.solver import Observer, RunRequest
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.run import Run
from sstep_verify.trajectory import Panel, Trajectory


class ProductionSolver:
    """s-step DCD (K-SVM-L1, K-SVM-L2) and s-step BDCD (K-RR), float64; s = 1 is the classical method.

    Parameters
    ----------
    communicator : Communicator, optional
        The ranks, all of which make the same calls; one process if absent.
    **options
        See `sstep_verify.solvers.production.options.Options`.

    Raises
    ------
    InputError
        If an option is unusable.
    """

    def __init__(self, communicator: Communicator | None = None, **options: Any):
        self._communicator = communicator or SelfCommunicator()
        self._options = Options(**options)
        self._gram: tuple[str, np.ndarray] | None = None
        self._room: np.ndarray | None = None
        self.declaration = self._options.declaration(self._communicator.size)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it.

        On several ranks it is called on each, and the run ends where any of them says so.

        Raises
        ------
        InputError
            If the problem does not go with the options.
        WindowError
            If a rank failed: on all ranks, in the same window.
        IncoherenceError
            If the ranks no longer hold the same dual vector.
        """
        self._options.refuse(request.problem)
        # The largest memory of a run is kept for the next: the system takes as long to give out new memory
        # as a window takes to fill it.
        room, self._room = self._room, None
        run = Run(self._options, self._communicator, request, self._kept_gram(request), room=room)
        if self._options.keep_gram:
            assert run.gram is not None
            self._gram = (request.problem.digest, run.gram)
        record = _Record(request)
        stopped = "iterations"
        stops = request.stops
        for place, stop in enumerate(stops):
            if place:
                run.advance(stops[place - 1], stop)
            if record.add(run, stops[place - 1] if place else stop, stop, observe):
                stopped = "observer"
                break
        self._room = run.packet.room
        return record.trajectory(run, stopped)

    def _kept_gram(self, request: RunRequest) -> np.ndarray | None:
        if self._gram is not None and self._gram[0] == request.problem.digest:
            return self._gram[1]
        return None


class _Record:
    """Records of a run."""

    def __init__(self, request: RunRequest):
        self._request = request
        self._alphas = np.empty((len(request.stops), request.problem.samples))
        self._made = 0
        self._panels: dict[int, Panel] = {}
        self._digests: dict[int, tuple[str, ...]] = {}
        self._states: list[dict[str, np.ndarray]] = []

    def add(self, run: Run, begin: int, end: int, observe: Observer | None) -> bool:
        """Keep what the run has at iteration `end`; whether it is to stop there."""
        request = self._request
        if request.expose_panels and _is_window(request, begin, end):
            self._panels[begin] = run.used_panel(begin, end)
        alpha = self._alphas[self._made]
        alpha[:] = run.alpha
        self._made += 1
        stop = observe is not None and observe(end, alpha)
        digests, stop = run.settle(stop)
        if digests:
            self._digests[end] = digests
        self._states.append(run.state())
        return stop

    def trajectory(self, run: Run, stopped: str) -> Trajectory:
        """The trajectory of what was kept."""
        stops = self._request.stops[: self._made]
        return Trajectory(
            s=self._request.s,
            start=self._request.start,
            iterations=np.array(stops, dtype=np.int64),
            alphas=self._alphas[: self._made],
            counters=run.counters,
            timers=dict(zip(PHASES, run.clock.seconds, strict=True)),
            stopped=stopped,
            panels=self._panels,
            state={name: np.array([one[name] for one in self._states]) for name in self._states[0]},
            fingerprints=self._digests,
            log=None if run.log is None else run.log[: stops[-1]],
        )


def _is_window(request: RunRequest, begin: int, end: int) -> bool:
    """Whether iterations begin..end-1 are one whole window."""
    s = request.s
    return (
        end > begin
        and begin % s == 0
        and (end - begin == s or (end - begin < s and end == request.iterations))
    )
