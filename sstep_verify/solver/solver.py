"""The production solver: s iterations per communication, over any communicator."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.solver.communicator import Communicator, SelfCommunicator
from sstep_verify.solver.packet import PHASES
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import Panel, Trajectory


class ProductionSolver:
    """s-step DCD (K-SVM-L1, K-SVM-L2) and s-step BDCD (K-RR), float64; s = 1 is the classical method.

    Parameters
    ----------
    communicator : Communicator, optional
        The ranks, all of which make the same calls; one process if absent.
    **options
        See `sstep_verify.solver.settings.Options`.

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
        kept = self._gram is not None and self._gram[0] == request.problem.digest
        gram = self._gram[1] if self._gram is not None and kept else None
        run = Run(self._options, self._communicator, request, gram, room=room)
        if run.gram is not None:
            self._gram = (request.problem.digest, run.gram)
        stops, stopped = request.stops, "iterations"
        alphas = np.empty((len(stops), request.problem.samples))
        panels: dict[int, Panel] = {}
        digests: dict[int, tuple[str, ...]] = {}
        states: list[dict[str, np.ndarray]] = []
        for place, stop in enumerate(stops):
            if place:
                begin = stops[place - 1]
                run.advance(begin, stop)
                if request.expose_panels and _is_window(request, begin, stop):
                    panels[begin] = run.used_panel(begin, stop)
            alphas[place] = run.alpha
            found, ended = run.settle(observe is not None and observe(stop, alphas[place]))
            if found:
                digests[stop] = found
            states.append(run.state())
            if ended:
                stopped = "observer"
                break
        self._room = run.packet.room
        made = stops[: len(states)]
        return Trajectory(
            s=request.s,
            start=request.start,
            iterations=np.array(made, dtype=np.int64),
            alphas=alphas[: len(made)],
            counters=run.counters,
            timers=dict(zip(PHASES, run.clock.seconds, strict=True)),
            stopped=stopped,
            panels=panels,
            state={name: np.array([one[name] for one in states]) for name in states[0]},
            fingerprints=digests,
            log=None if run.log is None else run.log[: made[-1]],
        )


def _is_window(request: RunRequest, begin: int, end: int) -> bool:
    """Whether iterations begin..end-1 are one whole window."""
    s = request.s
    return begin % s == 0 and (end - begin == s or (end - begin < s and end == request.iterations))
