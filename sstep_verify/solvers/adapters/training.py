"""Training, as `sstep-verify solve` runs it, as a solver under test: intervals, measurements, claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.launch.environment import refuse_too_many
from sstep_verify.launch.run import LIMIT
from sstep_verify.parallel.communicator import SelfCommunicator
from sstep_verify.solver import Declaration, Observer, RunRequest
from sstep_verify.solvers.adapters.distributed import whole_run
from sstep_verify.solvers.adapters.recording import observed
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.rank import train_on_rank, train_request
from sstep_verify.solvers.production.training_plan import Plan
from sstep_verify.trajectory import Trajectory


class TrainingSolver:
    """Runs `sstep_verify.solvers.production.training.train` over intervals of equally many windows.

    A trajectory holds what training keeps: the first and the last a, those of the recorded iterations that
    end an interval, and the step log of all intervals, if asked for; nothing inside an interval. Its claims
    are those of the last measurement. Carried weights are formed anew at every interval, which is what the
    declaration says. It is of level 0: it takes an index stream and a start, but has no window to show, and
    its carried state is not recorded.

    Parameters
    ----------
    ranks : int
        Number of ranks (P); 1 runs it in this process.
    interval : int
        Windows between two measurements.
    tolerance : float
        Relative gap (K-SVM) or residual (K-RR), as training measures it, at which it ends; 0 for never.
    tuned : bool
        Make windows of several s, which divide the one asked for, as `tuned_sequence` says.
    limit : float
        Seconds that a run on several ranks may take before it counts as hanging.
    **options
        See `sstep_verify.solvers.production.options.Options`; `columns` is always "local".

    Raises
    ------
    InputError
        If an option is unusable, or weights are to be formed anew at other places.
    """

    def __init__(
        self,
        ranks: int = 1,
        *,
        interval: int,
        tolerance: float = 0.0,
        tuned: bool = False,
        limit: float = LIMIT,
        **options: Any,
    ):
        if interval < 1:
            raise InputError(f"interval = {interval}, but training measures after at least one window")
        refuse_too_many(ranks)
        self._ranks, self._interval, self._tolerance, self._limit = ranks, interval, tolerance, limit
        self._tuned = tuned
        self._options = Options(**options, columns="local")
        if self._options.recompute:
            raise InputError(
                f"recompute = {self._options.recompute}: training forms its weights anew at every interval "
                f"of {interval} windows; drop recompute"
            )
        self.declaration = self.declared("training")

    def declared(self, name: str, log: bool = True) -> Declaration:
        """What training with these options is, under a name."""
        declared, gram = self._options.declaration(self._ranks), self._options.exchange == "gram"
        # With another exchange each interval has a set-up or rows of its own; of several ranks the MPI
        # library would see the measurements too.
        return replace(
            declared,
            name=name,
            panels=False,
            blocks=False,
            log=log,
            exchange="gram" if gram and self._ranks == 1 and not self._tuned else "",
            level=0,
            recompute=self._interval if gram else 0,
            options={**declared.options, "interval": self._interval, "s tuned": self._tuned},
        )

    def plan(self, request: RunRequest) -> Plan:
        """How long, for a request."""
        last = request.start + request.iterations
        return Plan(request.s, last, self._interval * request.s, self._tolerance, self._tuned)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Train to the tolerance or the last iteration; then `observe` looks at what was kept.

        Raises
        ------
        InputError
            If the request's start is no end of an interval.
        RunError, RankError, RankLostError, HangError
            As of `DistributedSolver.run`.
        """
        plan = self.plan(request)
        if self._ranks == 1:
            whole = train_request(SelfCommunicator(), request, plan, self._options)
        else:
            whole = whole_run(self._ranks, train_on_rank, request, plan, self._options, limit=self._limit)
        return observed(whole, request, observe, self.run)
