"""Pipeline of training on every rank: read, share out, train, measure, write, and say what was done."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from threadpoolctl import threadpool_limits

from sstep_verify.compiled import compile_seconds, compiling_in_words
from sstep_verify.errors import InputError, counted
from sstep_verify.files import claim, write_whole
from sstep_verify.problems import Problem
from sstep_verify.problems.kernels import shortest
from sstep_verify.provenance import THREAD_VARIABLES
from sstep_verify.solver.clock import PANEL, PHASES
from sstep_verify.solver.communicator import Communicator, held_by_first_rank, listed, on_first_rank
from sstep_verify.solver.data.partition import Partition
from sstep_verify.solver.data.reading import LocalData
from sstep_verify.solver.settings import LONGEST, Settings
from sstep_verify.solver.training.checkpoint import (
    Checkpoint,
    iterations_of,
    read_checkpoint,
    read_sequence,
    refuse_impossible,
    refuse_other_run,
    write_checkpoint,
)
from sstep_verify.solver.training.decisions import (
    CAP,
    MACHINE,
    SINCE,
    TOLERANCE,
    decide,
    identity_of,
    last_of,
    most_iterations,
    moved_to,
    schedule_of,
    tolerance_since,
)
from sstep_verify.solver.training.enclosure import Stated
from sstep_verify.solver.training.files import (
    Keeper,
    Samples,
    data_digest,
    input_files,
    output_files,
    prediction_seconds,
    read,
    reading_seconds,
    training_seconds,
    write_arrays,
)
from sstep_verify.solver.training.intervals import Place, Training
from sstep_verify.solver.training.model import described
from sstep_verify.solver.training.predictions import as_text, predict, score
from sstep_verify.solver.training.schedule import Segment, numbers_of


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

    def measured(self, iteration: int, line: str) -> None:
        """An interval was ended and measured."""

    def kept(self, iteration: int) -> None:
        """A checkpoint was written."""


def solve(settings: Settings, communicator: Communicator, listener: Listener) -> tuple[list[str], str]:
    """Train as asked and write the files; called by all ranks together.

    `settings` are the same on all ranks; the listener hears what is to come, and what was done. Returns
    what was done, what it took, how it ended and what was written, in lines, and why training stopped.
    Raises on all ranks InputError or MissingExtraError if something given cannot be used; ReadingError,
    WindowError or IncoherenceError if a rank failed, or holds another dual vector than the others.
    """
    # Rank 0 alone looks at paths, locks them and writes.
    inputs = on_first_rank(communicator, lambda: list(input_files(settings)))
    named = [(words, path) for words, path in inputs if path is not None]
    claimed = held_by_first_rank(communicator, lambda: claim(output_files(settings), named))
    with claimed, _one_thread():
        listener.expect(on_first_rank(communicator, lambda: reading_seconds(path for _, path in inputs)))
        samples = read(settings, communicator)
        digest = data_digest(samples.problem, communicator)
        training, identity = _begin(settings, samples, digest, communicator, listener)

        def write(reached: Place) -> None:
            write_checkpoint(settings.checkpoint, Checkpoint(reached, identity, digest))

        listener.expect(training_seconds(samples.local, training.draws))
        _train(training, Keeper(write, settings.checkpoint_seconds, listener.note), communicator, listener)
        training.stated()
        shorter = "by its tolerance this one ends after"
        on_first_rank(
            communicator, lambda: _refuse_less(settings, identity, digest, training.iteration, shorter)
        )
        on_first_rank(communicator, lambda: _write_result(Path(settings.out), training, identity, digest))
        told = [f"result: {settings.out}"]
        if samples.new is not None and settings.predictions is not None:
            problem, file, classes = samples.problem, settings.predictions, samples.local.classes
            listener.expect(prediction_seconds(samples.local, samples.new.targets.size))
            values = predict(problem, training.alpha, samples.new, settings.rbf, communicator)
            text = as_text(problem, values, classes)
            on_first_rank(communicator, lambda: write_whole(file, lambda handle: handle.write(text)))
            agreement = score(problem, values, samples.new.targets, classes)
            told.insert(0, f"predictions: {agreement}, in {file}")
    timers = communicator.allgather(training.trajectory.timers)
    lines = [*summary_lines(training, samples.local, timers, str(identity[MACHINE])), *told]
    return lines, training.stopped


def _begin(
    settings: Settings, samples: Samples, digest: str, communicator: Communicator, listener: Listener
) -> tuple[Training, dict[str, Any]]:
    """The training, from where an earlier run stopped, if one did, and its identity."""
    problem, path, ranks = samples.problem, settings.checkpoint, communicator.size

    def checkpoint() -> Checkpoint | None:
        if not settings.resume:
            return None
        if not path.exists():
            listener.note(f"no {path}: training begins at iteration 0")
            return None
        return read_checkpoint(path)

    def accept(found: Checkpoint) -> None:
        refuse_other_run(path, found, identity, digest)
        refuse_impossible(path, found, problem)
        complete.refuse_start(found.place.iteration)
        _refuse_less(settings, identity, digest, cast(int, complete.iterations), "this one is to make")
        iteration, before = found.place.iteration, last_of(str(found.options.get(MACHINE, "")))
        bits = f", not to the last bit: until iteration {iteration} on {before}, now on {machine}"
        listener.note(f"continues from iteration {iteration}{bits if before != machine else ''}")

    def sequence() -> tuple[tuple[Segment, ...], dict[str, Any] | None]:
        return read_sequence(Path(settings.sequence)) if settings.sequence else ((), None)

    found = on_first_rank(communicator, checkpoint)
    given, given_options = on_first_rank(communicator, sequence)
    kept = found.options if found else given_options
    if found:
        settings = replace(settings, iterations=most_iterations(settings, found.options))
    stored = float(np.sum(samples.local.partition.loads))
    complete = decide(settings, problem.samples, ranks, kept, stored)
    machine = listed(communicator.kinds)
    identity: dict[str, Any] = {**identity_of(complete, ranks, machine)}
    place = found.place if found else None
    identity |= {TOLERANCE: complete.tolerance, SINCE: 0, CAP: complete.iterations}
    if found is not None:
        on_first_rank(communicator, lambda: accept(found))
        machines = moved_to(machine, str(found.options.get(MACHINE, "")), found.place.iteration)
        identity[MACHINE] = machines
        identity[SINCE] = tolerance_since(found.options, complete.tolerance, found.place.iteration)
    schedule = schedule_of(complete, ranks, place, given)
    stream = complete.draws_of(problem.samples)
    training = Training(
        problem, stream, complete, communicator, place=place, schedule=schedule, since=identity[SINCE]
    )
    return training, identity


def _refuse_less(
    settings: Settings, identity: Mapping[str, Any], digest: str, iterations: int, why: str
) -> None:
    """Raise InputError where a run that continues has fewer iterations than its result that is there.

    `why` are words before the iterations.
    """
    if not settings.resume or settings.force:
        return
    earlier = iterations_of(Path(settings.out), identity, digest)
    if earlier > iterations:
        raise InputError(
            f"{settings.out}: holds {earlier} iterations of this run, but {why} {iterations}, so it is "
            "left as it is; ask for more, name another --out, or pass --force"
        )


def _train(training: Training, keeper: Keeper, communicator: Communicator, listener: Listener) -> None:
    """Make all intervals, and keep what is reached."""
    assert training.settings.iterations is not None
    ends = training.reached > 0  # Whether there is an end of an interval to continue from.
    with listener.intervals(training.reached, training.settings.iterations):
        try:
            for measured in training:
                if not measured:
                    listener.step(training.reached)
                    continue
                line = f"{measure_of(training.problem)} about {training.values.relative:.2g}"
                listener.measured(training.iteration, line)
                if training.settings.is_end(training.iteration):
                    ends = True
                    if on_first_rank(communicator, lambda: keeper.keep(training.place)):
                        listener.kept(training.iteration)
        except BaseException:
            # What was reached is kept, as far as that is possible now; why it ended is what counts.
            with contextlib.suppress(Exception):
                if communicator.rank == 0 and (reached := keeper.finish()) is not None:
                    listener.kept(reached)
            raise
        on_first_rank(communicator, keeper.finish)
        if not ends:
            # What continues begins at 0, with the options and the data of this run.
            begin = Place(0, np.zeros_like(training.alpha), tuple(training.history[:1]))
            on_first_rank(communicator, lambda: keeper.keep(begin))


def _write_result(path: Path, training: Training, identity: dict[str, Any], digest: str) -> None:
    # The sequence of s decides the bits besides the options.
    tuned = {"sequence": numbers_of(training.place.sequence)} if training.settings.tuned else {}
    write_arrays(
        path,
        alpha=training.alpha,
        iterations=training.iteration,
        stopped=training.stopped,
        **stated_values(training.stated()),
        **{f"last_{name}": value for name, value in training.values._asdict().items()},
        measured_iterations=np.array([found.iteration for found in training.history]),
        measured_relative=np.array([found.values.relative for found in training.history]),
        options=json.dumps(identity),
        data_digest=digest,
        problem=described(training.settings, training.problem, identity["ranks"], digest),
        **tuned,
    )


def stated_values(stated: Stated) -> dict[str, float]:
    """What a result file states: gap, residual and relative value are at most these, and at least those.

    The dual value is at least, the primal value at most what stands there.
    """
    at_least = {f"{name}_at_least": getattr(stated, name)[0] for name in ("gap", "residual", "relative")}
    return {
        "gap": stated.gap[1],
        "primal": stated.primal[1],
        "dual": stated.dual[0],
        "residual": stated.residual[1],
        "relative": stated.relative[1],
        **at_least,
    }


def _one_thread() -> AbstractContextManager[object]:
    """One BLAS thread unless the user asks for more: ranks share cores, and one rank gains nothing."""
    asked = any(name in os.environ for name in THREAD_VARIABLES)
    return contextlib.nullcontext() if asked else threadpool_limits(1)


def measure_of(problem: Problem) -> str:
    """What is measured relative to something, in words."""
    return "relative gap" if problem.is_svm else "relative residual"


def summary_lines(
    training: Training, local: LocalData, timers: Sequence[Mapping[str, float]], machines: str
) -> Iterator[str]:
    """Say what was done, what it took, and how it ended: timers and machines are those of all ranks."""
    problem, settings, made = training.problem, training.settings, training.counters
    shape = f"{counted(problem.samples, 'sample')}, {counted(local.features, 'feature')}"
    yield f"{problem.label}: {shape}, {counted(len(timers), 'rank')}"
    yield from _shares(local.partition, timers)
    yield from local.notes
    kept = "; all kernel rows kept" if settings.keep_gram else ""
    if settings.cache:
        kept = f"; {counted(settings.cached_rows(problem.samples), 'kernel row')} kept"
    if not problem.is_svm:
        yield f"block {settings.block}: {settings.block_reason}"
    yield f"exchange {settings.exchange}{kept}: {settings.exchange_reason}"
    if training.schedule is None:
        yield f"s {settings.s}: {settings.s_reason}"
    if made:
        yield (
            f"windows: {made['windows']} of up to {counted(settings.width, 'iteration')}, "
            f"{_moved(made, 'Gram row' if settings.exchange == 'gram' else 'kernel row')} "
            "handed over by a rank (set-up of every interval included)"
        )
    if "broadcasts" in made:
        yield (
            f"the ranks are of different kinds: after every exchange all took rank 0's numbers, by "
            f"{counted(made['broadcasts'], 'broadcast')}; {machines}"
        )
    if training.schedule is not None:
        yield from training.schedule.lines(settings.exchanges, settings.width)
        largest = max((one.s for one in training.schedule.made), default=1)
        yield certified_or_not(problem, cast(int, settings.block), largest)
    every = counted(settings.interval or 0, "iteration")
    longer = f", later in up to {LONGEST} times as many," if settings.lengthening else ""
    yield f"monitoring: first, every {every}{longer} and last, {_moved(training.monitor.counters)}"
    yield f"enclosing: {counted(training.enclosing.looks, 'time')}, {_moved(training.enclosing.counters)}"
    yield f"{'seconds':<16}{'max':>10}{'mean':>10}{'min':>10}   over ranks"
    for phase in PHASES:
        seconds = [one[phase] for one in timers]
        if any(seconds):
            figures = (max(seconds), sum(seconds) / len(seconds), min(seconds))
            yield f"{phase:<16}" + "".join(f"{value:>10.4f}" for value in figures)
    yield from _compiling()
    yield _ending(problem, training)


SAMPLES_A_DRAW = 5
"""Least m / (s b) of the largest s that `safe-s` certified for K-RR in docs/safe-s.md. A small lambda makes
it larger, so it decides nothing: it says where a certificate is needed most."""


def certified_or_not(problem: Problem, block: int, largest: int) -> str:
    """Say that an s which was tuned, or the largest that was tried, is certified by nothing."""
    way_out = "`sstep-verify safe-s` certifies an s for these data, and --s auto:S takes it"
    usual = problem.samples // (SAMPLES_A_DRAW * block)
    if problem.is_svm or largest <= usual:
        return f"s is chosen by time only; {way_out}"
    return (
        f"s = {largest} is beyond m / (5 b) = {usual}, up to which s was certified on other data; {way_out}"
    )


def _moved(counters: Mapping[str, int], row: str = "kernel row") -> str:
    """Rows, collectives and words, in words. Exchange gram forms a `row` among samples of a window only."""
    names = {"panel columns": row, "collectives": "collective", "words": "word"}
    return ", ".join(counted(counters[key], name) for key, name in names.items())


def _shares(partition: Partition, timers: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """How evenly several ranks share nonzeros, work, and the time that was really spent on it."""
    if len(timers) == 1:
        return
    panel = PHASES[PANEL]
    spent = [one[panel] for one in timers]
    mean = sum(spent) / len(spent)
    measured = f", seconds spent on panels {max(spent) / mean:.3f}" if mean else ""
    yield (
        f"largest over mean of a rank: nonzeros {partition.imbalance:.3f}, work on panels "
        f"{partition.work_imbalance:.3f}{measured}"
    )


def _compiling() -> Iterator[str]:
    """What inner loops that were compiled in this run have cost it, and no later one."""
    if seconds := compile_seconds():
        yield f"{compiling_in_words(seconds, 'on rank 0')}; the seconds above may include it"


def _ending(problem: Problem, training: Training) -> str:
    stated, measure, tolerance = training.stated(), measure_of(problem), training.settings.tolerance
    scaled = "the data" if problem.is_svm else "the data or the targets"
    # The measured value is within it; where the lower limit is not, that is known to be rounding.
    unproved = training.stopped == "precision" and stated.relative[0] <= tolerance
    short = (
        "may be reached, but float64 cannot prove it here"
        if unproved
        else "is below what float64 can show here"
    )
    reason, way_out = {
        "tolerance": ("tolerance reached, ", ""),
        "iterations": ("cap reached, ", ""),
    }.get(
        training.stopped,
        (
            f"tolerance {shortest(tolerance)} {short}: ",
            f"; scale {scaled}, or ask for a larger one",
        ),
    )
    relative = limit_in_words(stated.relative[1])
    if problem.is_svm and stated.relative[1] == math.inf > stated.gap[1]:
        relative += " (the dual value is not shown to be above 0)"
    told = f"{measure} {relative}, gap {limit_in_words(stated.gap[1])}"
    if not problem.is_svm:
        told += f", residual {limit_in_words(stated.residual[1])}"
    return f"{reason}{told}, after {counted(training.iteration, 'iteration')}{way_out}"


def limit_in_words(value: float) -> str:
    """An upper limit, ``at most 1.01``; ``unknown`` where it is infinite."""
    return "unknown" if value == math.inf else f"at most {at_most(value)}"


def at_most(value: float) -> str:
    """A finite number that is at least zero in three digits, rounded up."""
    # Of numbers that small the last digits are not those of the decimals.
    value = max(value, 1e-300) if value else value
    return f"{float(Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(value)):.3g}"
