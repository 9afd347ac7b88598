"""Pipeline of training: read -> share out -> train -> measure -> write, on every rank."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sstep_verify.outputs import claim, write_whole
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.data.reading import LocalData
from sstep_verify.parallel.kinds import listed
from sstep_verify.problems import Problem
from sstep_verify.provenance import THREAD_VARIABLES
from sstep_verify.solvers.production.schedule import Schedule, numbers_of
from sstep_verify.solvers.production.training import train
from sstep_verify.solvers.production.training_plan import Measured, Place, Stretch, Trained, refuse_start
from sstep_verify.training import prediction
from sstep_verify.training.agreement import held_by_first_rank, on_first_rank
from sstep_verify.training.checkpoint import (
    MACHINE,
    Checkpoint,
    data_digest,
    read_checkpoint,
    read_sequence,
    refuse_impossible,
    refuse_other_run,
    write_arrays,
    write_checkpoint,
)
from sstep_verify.training.decisions import Decided, decide, last_of, moved_to, schedule_of
from sstep_verify.training.durations import prediction_seconds, reading_seconds, training_seconds
from sstep_verify.training.keeping import Keeper
from sstep_verify.training.request import TrainingRequest
from sstep_verify.training.samples import Samples, input_files, read


class Listener(Protocol):
    """Told how far training is, on every rank."""

    def expect(self, seconds: float) -> None:
        """A step may take so long."""

    def note(self, line: str) -> None:
        """Something the user must read; on rank 0."""

    def intervals(self, first: int, last: int) -> AbstractContextManager[object]:
        """Held while iterations first..last are made."""
        ...

    def step(self, iteration: int) -> None:
        """Some windows were made."""

    def measured(self, problem: Problem, found: Measured) -> None:
        """An interval was ended and measured."""

    def kept(self, iteration: int) -> None:
        """A checkpoint was written."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a finished run leaves to be told.

    Parameters
    ----------
    problem : Problem
        What was solved; its data are this rank's columns.
    local : LocalData
        Data of this rank, for the partition.
    decided : Decided
        What was decided on.
    trained : Trained
        What came of it.
    schedule : Schedule or None
        Where s is tuned: what was tried and found.
    timers : tuple of dict
        Seconds per phase, by rank.
    predicted : str
        How well the predictions agree with the targets; empty if there are none.
    """

    problem: Problem
    local: LocalData
    decided: Decided
    trained: Trained
    schedule: Schedule | None
    timers: tuple[dict[str, float], ...]
    predicted: str


def solve(request: TrainingRequest, communicator: Communicator, listener: Listener) -> Outcome:
    """Train as asked and write the files; called by all ranks together.

    Parameters
    ----------
    request : TrainingRequest
        What to do; the same on all ranks.
    communicator : Communicator
        The ranks.
    listener : Listener
        Told what is to come, and what was done.

    Raises
    ------
    InputError, MissingExtraError
        If something given cannot be used; on all ranks.
    ReadingError, WindowError, IncoherenceError
        If a rank failed, or holds another dual vector than the others; on all ranks.
    """
    # Rank 0 alone looks at paths, locks them and writes.
    inputs = on_first_rank(communicator, lambda: list(input_files(request)))
    named = [(words, path) for words, path in inputs if path is not None]
    with held_by_first_rank(communicator, lambda: claim(request.outputs, named)), _one_thread(communicator):
        listener.expect(on_first_rank(communicator, lambda: reading_seconds(path for _, path in inputs)))
        samples = read(request, communicator)
        digest = data_digest(samples.problem, communicator)
        decided, place, schedule = _begin(request, samples, digest, communicator, listener)
        trained = _train(request, samples, decided, place, schedule, digest, communicator, listener)
        on_first_rank(communicator, lambda: _write_result(Path(request.out), trained, decided, digest))
        predicted = _predict(request, samples, trained, decided, communicator, listener)
    timers = tuple(communicator.allgather(trained.trajectory.timers))
    return Outcome(samples.problem, samples.local, decided, trained, schedule, timers, predicted)


def _begin(
    request: TrainingRequest, samples: Samples, digest: str, communicator: Communicator, listener: Listener
) -> tuple[Decided, Place | None, Schedule | None]:
    """What is decided on, where an earlier run stopped, if one did, and, if s is tuned, its schedule."""
    problem = samples.problem

    def checkpoint() -> Checkpoint | None:
        if not request.resume:
            return None
        if not request.checkpoint.exists():
            listener.note(f"no {request.checkpoint}: training begins at iteration 0")
            return None
        return read_checkpoint(request.checkpoint)

    def accept(found: Checkpoint) -> None:
        refuse_other_run(request.checkpoint, found, decided.identity, digest)
        refuse_impossible(request.checkpoint, found, problem)
        refuse_start(found.place.iteration, decided.plan)
        iteration, before = found.place.iteration, last_of(str(found.options.get(MACHINE, "")))
        bits = f", not to the last bit: until iteration {iteration} on {before}, now on {machine}"
        listener.note(f"goes on from iteration {iteration}{bits if before != machine else ''}")

    def sequence() -> tuple[tuple[Stretch, ...], dict[str, Any] | None]:
        return read_sequence(Path(request.sequence)) if request.sequence else ((), None)

    found = on_first_rank(communicator, checkpoint)
    given, given_options = on_first_rank(communicator, sequence)
    kept = found.options if found else given_options
    stored = float(np.sum(samples.local.partition.loads))
    machine = listed(communicator.kinds)
    decided = decide(request, problem.samples, communicator.size, kept, stored, machine)
    place = found.place if found else None
    if found is not None:
        on_first_rank(communicator, lambda: accept(found))
        machines = moved_to(machine, str(found.options.get(MACHINE, "")), found.place.iteration)
        decided.identity[MACHINE] = machines
    return decided, place, schedule_of(decided, communicator.size, place, given)


def _train(
    request: TrainingRequest,
    samples: Samples,
    decided: Decided,
    place: Place | None,
    schedule: Schedule | None,
    digest: str,
    communicator: Communicator,
    listener: Listener,
) -> Trained:
    problem = samples.problem
    listener.expect(training_seconds(samples.local, decided.plan.s * decided.stream.block))

    def write(reached: Place) -> None:
        write_checkpoint(request.checkpoint, Checkpoint(reached, decided.identity, digest))

    keeper = Keeper(write, request.checkpoint_seconds, listener.note)

    def keep(reached: Place) -> None:
        if on_first_rank(communicator, lambda: keeper.keep(reached)):
            listener.kept(reached.iteration)

    with listener.intervals(place.iteration if place else 0, decided.plan.iterations):
        try:
            trained = train(
                problem, decided.stream, decided.plan, decided.options, communicator, place=place,
                schedule=schedule, keep=keep, progress=listener.step,
                measured=lambda found: listener.measured(problem, found),
            )  # fmt: skip
        except BaseException:
            # What was reached is kept, as far as that is possible now; why it ended is what counts.
            with contextlib.suppress(Exception):
                if communicator.rank == 0 and (reached := keeper.finish()) is not None:
                    listener.kept(reached)
            raise
        on_first_rank(communicator, keeper.finish)
        return trained


def _write_result(path: Path, trained: Trained, decided: Decided, digest: str) -> None:
    # The sequence of s decides the bits beside the options.
    tuned = {"sequence": numbers_of(trained.sequence)} if decided.plan.tuned else {}
    write_arrays(
        path,
        alpha=trained.trajectory.final,
        iterations=trained.iteration,
        stopped=trained.trajectory.stopped,
        **trained.values._asdict(),
        measured_iterations=np.array([found.iteration for found in trained.history]),
        measured_relative=np.array([found.values.relative for found in trained.history]),
        options=json.dumps(decided.identity),
        data_digest=digest,
        **tuned,
    )


def _predict(
    request: TrainingRequest,
    samples: Samples,
    trained: Trained,
    decided: Decided,
    communicator: Communicator,
    listener: Listener,
) -> str:
    """Write the predictions, if there are to be any; how well they agree with the targets."""
    problem, new, file = samples.problem, samples.new, request.predictions
    if new is None or file is None:
        return ""
    listener.expect(prediction_seconds(samples.local, new.targets.size))
    alpha, classes = trained.trajectory.final, samples.local.classes
    values = prediction.predict(problem, alpha, new, decided.options.rbf, communicator)
    text = prediction.as_text(problem, values, classes)
    on_first_rank(communicator, lambda: write_whole(file, lambda handle: handle.write(text)))
    return prediction.score(problem, values, new.targets, classes)


@contextlib.contextmanager
def _one_thread(communicator: Communicator) -> Iterator[None]:
    """Several ranks on a machine share its cores: one BLAS thread each, unless the user said otherwise."""
    if communicator.size == 1 or any(name in os.environ for name in THREAD_VARIABLES):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
