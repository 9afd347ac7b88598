"""Training, as `sstep-verify solve` runs it, as a solver under test: intervals, measurements, claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.adapters.callable import observed
from sstep_verify.adapters.ours import whole_run
from sstep_verify.adapters.scheduled import (
    Watched,
    due_windows,
    require_counts,
    require_windows,
)
from sstep_verify.adapters.shares import require_shares
from sstep_verify.costs.tuning import Tuner
from sstep_verify.declaration import Exchange
from sstep_verify.errors import ConductError, InputError
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.ranks import LIMIT
from sstep_verify.ranks.environment import refuse_too_many
from sstep_verify.solver.communicator import SelfCommunicator, communicator_of
from sstep_verify.solver.data.partition import column_nonzeros, local_columns, padded, partition_of
from sstep_verify.solver.packet import TRAILER
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.intervals import Place, Training
from sstep_verify.solver.training.schedule import Schedule, Segment
from sstep_verify.trajectory import RELATIVE, Claim, Trajectory


class TrainingSolver:
    """Iterates a `Training` of intervals of equally many windows, on P ranks, of which 1 is this process.

    A trajectory holds what training keeps: the first and the last a, those of the recorded iterations that
    end an interval, and the step log of all intervals, if asked for; nothing inside an interval. Its claims
    are those of the last measurement. Carried weights are formed again at every interval, which is what the
    declaration says. It is of level 0: it takes an index stream and a start, but has no window to show, and
    its weights are not recorded.

    There are `interval` windows between two measurements; it ends at a relative gap (K-SVM) or residual
    (K-RR) of `tolerance`, as training measures it, 0 for never. `tuned` makes windows of several s,
    which divide the one asked for, as `tuned_sequence` says. A run whose ranks, of several, live
    `limit` seconds without progress hangs; the options are those of `Settings`. InputError if one is
    unusable, or weights are to be formed again at other places.
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
        self._ranks, self._interval, self._limit = ranks, interval, limit
        self._settings = Settings(
            **{"exchange": "allreduce", **options}, tolerance=tolerance, s="auto" if tuned else 1
        )
        if self._settings.recompute:
            raise InputError(
                f"recompute = {self._settings.recompute}: training forms its weights again at every "
                f"interval of {interval} windows; drop recompute"
            )
        self.declaration = self.declared("training")

    def declared(self, name: str, log: bool = True) -> Declaration:
        """What training with these options is, under a name."""
        declared, gram = self._settings.declaration(self._ranks), self._settings.exchange == "gram"
        tuned = self._settings.tuned
        # With another exchange each interval has a set-up or rows of its own; of several ranks the MPI
        # library would see the measurements too.
        return replace(
            declared,
            name=name,
            panels=False,
            log=log,
            exchange=Exchange("gram", trailer=TRAILER) if gram and self._ranks == 1 and not tuned else None,
            level=0,
            weights=self._interval if gram else None,
            options={**declared.options, "interval": self._interval, "s tuned": tuned},
        )

    def settings(self, request: RunRequest) -> Settings:
        """How to train, for a request."""
        last, s = request.start + request.iterations, request.s
        width: dict[str, Any] = {"largest_s": s} if self._settings.tuned else {"s": s}
        return replace(self._settings, iterations=last, interval=self._interval * s, **width)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Train to the tolerance or the last iteration; then `observe` looks at what was kept.

        InputError if the request's start is no end of an interval; ConductError if it made other windows
        than those of its schedule; other errors are those of `DistributedSolver.run`.
        """
        whole = self.trained(request, self.settings(request))
        return observed(whole, request, observe, self.run)

    def trained(
        self, request: RunRequest, settings: Settings, sequence: Sequence[Segment] = ()
    ) -> Trajectory:
        """The whole run by some settings, where s is tuned with the windows of a sequence.

        That of `tuned_sequence` if none is given. Errors are those of `run`.
        """
        if self._ranks > 1:
            given = request, settings, sequence
            return whole_run(self._ranks, train_on_rank, *given, limit=self._limit)
        whole = train_on_rank(SelfCommunicator(), request, settings, sequence)
        if settings.tuned:
            again = train_on_rank(SelfCommunicator(), request, settings, sequence, watched=True)
            if again.final.tobytes() != whole.final.tobytes():
                raise ConductError("training ends in other bits where somebody notes what it sends")
        return whole


def train_on_rank(
    comm: Any,
    request: RunRequest,
    settings: Settings,
    sequence: Sequence[Segment] = (),
    watched: bool = False,
) -> Trajectory:
    """Train on an mpi4py communicator as a request says.

    Each rank takes its share of the features. Iterations are counted from the beginning of the stream. The
    trajectory has the first and the last dual vector, those of the recorded iterations that end an
    interval, and the solver's claims.

    Where s is tuned, windows are those of a sequence, that of `tuned_sequence` if none is given. Counts,
    and on several ranks or if `watched` each reduction, are compared with these: ConductError where they
    differ, or the ranks' shares are less even than promised.
    """
    communicator, problem, begin = communicator_of(comm), request.problem, request.start
    ranks = communicator.size
    partition = partition_of(column_nonzeros(problem.data), ranks, settings.partition)
    columns = partition.columns(communicator.rank)
    require_shares(problem.data, communicator.allgather(columns), settings.partition)
    problem = replace(problem, data=padded(local_columns(problem.data, columns)))
    place = None
    if begin or request.initial is not None:
        place = Place(begin, np.array(request.first))
    sequence, schedule = sequence or (tuned_sequence(settings) if settings.tuned else ()), None
    if settings.tuned:
        exchange, width = settings.exchange, settings.width
        tuner = Tuner((exchange,), width, width, begin + request.iterations)
        schedule = Schedule(tuner, ranks, sequence, begin)
    given: dict[str, Any] = {"place": place, "schedule": schedule, "log": request.log}
    told = problem, request.stream, settings
    noting = Watched(communicator) if settings.tuned and (watched or ranks > 1) else None
    if noting is None:
        training = Training(*told, communicator, **given)
    else:
        training = Training(*told, noting, mark=noting.mark, **given)
    kept = {}
    for measured in training:
        if measured and training.iteration - begin in request.stops:
            kept[training.iteration - begin] = training.alpha
    made = training.trajectory
    if settings.tuned:
        due = due_windows(sequence, request, settings, ranks, training.iteration)
        require_counts(due, made.counters, settings)
        if noting is not None and not (settings.keep_gram or settings.cache):
            require_windows(due, noting.intervals, settings, ranks, problem.samples)
    kept |= dict(zip(made.iterations.tolist(), made.alphas, strict=True))
    iterations = sorted(kept)
    history = {found.iteration - begin: found.values.relative for found in training.history}
    passed = {RELATIVE.format(k): Claim(history[k]) for k in iterations}
    return replace(
        made,
        claims={**made.claims, **passed},
        iterations=np.array(iterations, dtype=np.int64),
        alphas=np.array([kept[iteration] for iteration in iterations]),
    )


def tuned_sequence(settings: Settings) -> list[Segment]:
    """Windows of several s, the same for every run: some of each width that divides the largest s, in turn.

    Every other width communicates what "allreduce" does, unless the exchange carries a state. Each lies
    within one window of the largest s, whose bounds hold for it: what a window corrects for later steps, a
    shorter one that begins within it takes from the a that it finds. Before the last step of each that is
    whole, one segment ends and another, alike, begins: a window is cut there, in an interval.
    """
    most, last = settings.width, settings.iterations
    assert last is not None
    widths = [width for width in range(1, most + 1) if most % width == 0]
    exchanges = (settings.exchange, settings.exchange if settings.exchange == "gram" else "allreduce")
    made: list[Segment] = []
    for place, end in enumerate(range(most, last + most, most)):
        width, exchange = widths[-1 - place % len(widths)], exchanges[place % 2]
        ends = (end - 1, end) if width > 1 and end <= last else (min(end, last),)
        made += [Segment(cut, width, exchange) for cut in ends]
    return made
