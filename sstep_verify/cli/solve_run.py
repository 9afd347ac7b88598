"""What ``sstep-verify solve`` does on every rank, from the options to the files."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np
import scipy.sparse as sp

from sstep_verify.cli.solve_steps import prediction_seconds, reading_seconds, training_seconds
from sstep_verify.cli.solve_summary import history_line, summary_lines
from sstep_verify.cli.spaced_lines import SpacedLines
from sstep_verify.errors import InputError
from sstep_verify.launch.watchdog import Unwatched
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.reading import LocalData, load_local, with_bias
from sstep_verify.parallel.shares import Failure, failure_of
from sstep_verify.problems import Problem, kernel_from, loss_from
from sstep_verify.problems.bias import with_constant_feature
from sstep_verify.provenance import THREAD_VARIABLES
from sstep_verify.solvers.production import checkpoint as files
from sstep_verify.solvers.production import prediction
from sstep_verify.solvers.production.checkpoint import Checkpoint, on_first_rank
from sstep_verify.solvers.production.monitor import Values
from sstep_verify.solvers.production.training import Measured, Place, Trained, train
from sstep_verify.solvers.production.training_options import Decided, Settings, decide

Value = TypeVar("Value")


class Paths(NamedTuple):
    """Files of a run: result, checkpoint, samples to predict, predictions."""

    out: Path
    checkpoint: Path
    test: Path | None
    predictions: Path | None


def solve(communicator: Communicator, given: Mapping[str, Any], watchdog: Unwatched) -> None:
    """Train as asked, write the files, say on rank 0 what was done; called by all ranks together.

    Parameters
    ----------
    communicator : Communicator
        The ranks.
    given : mapping of str to object
        Options of the command line.
    watchdog : Unwatched
        Told what is to come, and every step of training.

    Raises
    ------
    InputError, MissingExtraError
        If something given cannot be used; on all ranks.
    WindowError, IncoherenceError
        If a rank failed, or holds another dual vector than the others; on all ranks.
    """
    settings = on_all_ranks(communicator, lambda: _settings(given))
    paths = on_all_ranks(communicator, lambda: _paths(given))
    on_first_rank(communicator, lambda: _check_files(paths, given["resume"], given["force"]))
    task = "regression" if given["task"] == "krr" else "classification"
    watchdog.expect(on_first_rank(communicator, lambda: reading_seconds(given)))
    local = load_local(given["data"], communicator, directory=given["directory"], task=task)
    new = prediction.read_new_samples(paths.test, local.partition, communicator) if paths.test else None
    local, new = _with_bias(local, new, settings.bias, communicator)
    name = os.path.basename(given["data"])
    problem = on_all_ranks(communicator, lambda: _problem(name, local, settings))
    decided = on_all_ranks(communicator, lambda: decide(settings, problem.samples, communicator.size))
    watchdog.expect(training_seconds(local, decided.plan.s * decided.stream.block))
    digest = files.data_digest(problem, communicator)
    place = _place(communicator, paths, decided, digest) if given["resume"] else None
    with _one_thread(communicator):
        trained = _train(communicator, problem, decided, paths, digest, place, watchdog)
        on_first_rank(communicator, lambda: _write_result(paths.out, trained, decided, digest))
        scored = ""
        if new is not None:
            watchdog.expect(prediction_seconds(local, new.targets.size))
            data = _padded(new.data)
            values = prediction.predict(
                problem, trained.trajectory.final, data, decided.options.rbf, communicator
            )
            scored = prediction.score(problem, values, new.targets, local.classes)
            text = prediction.as_text(problem, values, local.classes)
            on_first_rank(
                communicator,
                lambda: files.write_whole(paths.predictions, lambda handle: handle.write(text)),  # type: ignore[arg-type]
            )
    timers = communicator.allgather(trained.trajectory.timers)
    if communicator.rank == 0:
        for line in summary_lines(problem, local, decided, trained, timers):
            click.echo(line)
        if scored:
            click.echo(f"predictions: {scored}, in {paths.predictions}")
        click.echo(f"result: {paths.out}")


def on_all_ranks(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function that does not communicate on all ranks; what one of them raises, all raise.

    Raises
    ------
    InputError, MissingExtraError, ReadingError
        What the first rank that failed met, on all ranks.
    """
    value, failure, cause = None, None, None
    try:
        value = function()
    except Exception as error:
        failure, cause = failure_of(error), error
    failures: list[Failure | None] = communicator.allgather(failure)
    for rank, found in enumerate(failures):
        if found is not None:
            everywhere = all(other == found for other in failures)
            raise found.error(prefix="" if everywhere else f"rank {rank}: ") from cause
    return value  # type: ignore[return-value]


def _settings(given: Mapping[str, Any]) -> Settings:
    kernel = kernel_from(
        given["kernel"], degree=given["degree"], offset=given["offset"], sigma=given["sigma"]
    )
    loss = loss_from(given["task"], C=given["penalty_c"], penalty=given["penalty"])
    if given["task"] != "krr" and given["block"] != 1:
        raise InputError(f"--block {given['block']}: a K-SVM steps one coordinate at a time; drop --block")
    names = ("block", "s", "iterations", "interval", "tolerance", "seed", "exchange", "cache", "bias")
    return Settings(
        kernel, loss, **{name: given[name] for name in names}, separate_timers=given["timers"] == "separate"
    )


def _paths(given: Mapping[str, Any]) -> Paths:
    if (given["test"] is None) != (given["predictions"] is None):
        raise InputError("--test and --predictions go together: give both, or neither")
    out = Path(given["out"])
    return Paths(
        out,
        out.with_name(f"{out.name}.checkpoint"),
        Path(given["test"]) if given["test"] else None,
        Path(given["predictions"]) if given["predictions"] else None,
    )


def _check_files(paths: Paths, resume: bool, force: bool) -> None:
    """See, before hours of work, that the files can be written and nothing is lost by it."""
    if not resume and not force and paths.checkpoint.exists():
        raise InputError(
            f"{paths.checkpoint} is there: pass --resume to go on from it, or --force to begin anew"
        )
    for path, free in ((paths.out, resume or force), (paths.predictions, resume or force)):
        if path is None:
            continue
        if path.exists() and not free:
            raise InputError(f"{path} is there: name another file, or pass --force to replace it")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(f"{path} cannot be written: {path.parent} is no folder to write in")


def _problem(name: str, local: LocalData, settings: Settings) -> Problem:
    return Problem(name, _padded(local.data), local.targets, settings.kernel, settings.loss)


def _with_bias(
    local: LocalData, new: prediction.NewSamples | None, bias: float, communicator: Communicator
) -> tuple[LocalData, prediction.NewSamples | None]:
    """The same data, and new samples, with a constant feature on the last rank."""
    last = communicator.rank == communicator.size - 1
    if new is not None and last:
        new = new._replace(data=with_constant_feature(new.data, bias))
    return with_bias(local, bias, communicator), new


def _padded(data: Any) -> Any:
    """Columns of this rank; one of zeros, which changes nothing, where it has none."""
    if data.shape[1]:
        return data
    empty = (data.shape[0], 1)
    return sp.csr_array(empty) if sp.issparse(data) else np.zeros(empty)


def _place(communicator: Communicator, paths: Paths, decided: Decided, digest: str) -> Place | None:
    """Where the checkpoint stands; None if there is none yet."""

    def read() -> Checkpoint | None:
        if not paths.checkpoint.exists():
            click.echo(f"no {paths.checkpoint}: training begins at iteration 0", err=True)
            return None
        found = files.read_checkpoint(paths.checkpoint)
        files.refuse_other_run(paths.checkpoint, found, decided.identity, digest)
        return found

    found = on_first_rank(communicator, read)
    if found is None:
        return None
    if communicator.rank == 0:
        click.echo(f"goes on from iteration {found.iteration}", err=True)
    return Place(Measured(found.iteration, Values(*found.values)), found.alpha)


def _train(
    communicator: Communicator,
    problem: Problem,
    decided: Decided,
    paths: Paths,
    digest: str,
    place: Place | None,
    watchdog: Unwatched,
) -> Trained:
    from tqdm import tqdm

    kept = begin = place.found.iteration if place else 0

    def keep(reached: Place) -> None:
        nonlocal kept
        iteration, values = reached.found
        checkpoint = Checkpoint(reached.alpha, iteration, tuple(values), decided.identity, digest)
        on_first_rank(communicator, lambda: files.write_checkpoint(paths.checkpoint, checkpoint))
        kept = iteration

    def show(found: Measured) -> None:
        bar.set_postfix_str(history_line(problem, found))
        lines.say(f"iteration {found.iteration}: {history_line(problem, found)}")

    def step(iteration: int) -> None:
        watchdog.beat()
        bar.update(iteration - bar.n)

    # Nothing is shown by the other ranks, nor where nobody looks.
    silent = True if communicator.rank else None
    with tqdm(total=decided.plan.iterations, initial=begin, unit="it", disable=silent, leave=False) as bar:
        lines = SpacedLines(bar.disable and communicator.rank == 0)
        try:
            return train(
                problem, decided.stream, decided.plan, decided.options, communicator, place=place,
                keep=keep, progress=step, measured=show,
            )  # fmt: skip
        except KeyboardInterrupt:
            if communicator.rank == 0:
                where = f"goes on from iteration {kept}" if kept else "has nothing to go on from yet"
                click.echo(f"interrupted: --resume {where} ({paths.checkpoint})", err=True)
            raise


def _write_result(path: Path, trained: Trained, decided: Decided, digest: str) -> None:
    files.write_arrays(
        path,
        alpha=trained.trajectory.final,
        iterations=trained.iteration,
        stopped=trained.trajectory.stopped,
        **trained.values._asdict(),
        measured_iterations=np.array([found.iteration for found in trained.history]),
        measured_relative=np.array([found.values.relative for found in trained.history]),
        options=json.dumps(decided.identity),
        data_digest=digest,
    )


@contextlib.contextmanager
def _one_thread(communicator: Communicator) -> Iterator[None]:
    """Several ranks on a machine share its cores: one BLAS thread each, unless the user said otherwise."""
    if communicator.size == 1 or any(name in os.environ for name in THREAD_VARIABLES):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
