"""Summary of a training run: what was done, what it took, and why it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sstep_verify.compiled import compile_seconds
from sstep_verify.parallel.clock import PANEL, PHASES
from sstep_verify.parallel.partition import Partition
from sstep_verify.problems import Problem
from sstep_verify.solvers.production.training_plan import Measured, Trained
from sstep_verify.training.pipeline import Outcome


def history_line(problem: Problem, found: Measured) -> str:
    """A measurement in few words."""
    return f"{measure_of(problem)} {found.values.relative:.3g}"


def measure_of(problem: Problem) -> str:
    """What is measured relative to something, in words."""
    return "relative gap" if problem.is_svm else "relative residual"


def summary_lines(outcome: Outcome) -> Iterator[str]:
    """Say what was done, what it took, and how it ended."""
    problem, local, decided, trained = outcome.problem, outcome.local, outcome.decided, outcome.trained
    trajectory, options, timers = trained.trajectory, decided.options, outcome.timers
    yield f"{problem.label}: {problem.samples} samples, {local.features} features, {len(timers)} rank(s)"
    yield from _shares(local.partition, timers)
    yield from local.notes
    kept = "; all kernel rows kept" if options.keep_gram else ""
    kept = f"; {options.cached_rows(problem.samples)} kernel rows kept" if options.cache else kept
    yield f"exchange {options.exchange}{kept}: {decided.reason}"
    made = trajectory.counters
    if made:
        yield (
            f"windows: {made['windows']} of {trajectory.s} iterations, {made['panel columns']} kernel rows"
            f", {made['collectives']} collectives, {made['words']} words handed over by a rank "
            "(set-up of every interval included)"
        )
    seen = trained.monitoring
    yield (
        f"monitoring: every {decided.plan.interval} iterations, {seen['panel columns']} kernel rows, "
        f"{seen['collectives']} collectives, {seen['words']} words"
    )
    yield f"{'seconds':<16}{'max':>10}{'mean':>10}{'min':>10}   over ranks"
    for phase in PHASES:
        seconds = [one[phase] for one in timers]
        if any(seconds):
            figures = (max(seconds), sum(seconds) / len(seconds), min(seconds))
            yield f"{phase:<16}" + "".join(f"{value:>10.4f}" for value in figures)
    yield from _compiling()
    yield _ending(problem, trained)


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
    seconds = compile_seconds()
    if seconds:
        yield (
            f"{seconds:.1f} s of this run went into compiling inner loops (rank 0): later runs find them "
            "in the compiler's cache"
        )


def _ending(problem: Problem, trained: Trained) -> str:
    values = trained.values
    reason = "tolerance reached" if trained.trajectory.stopped == "tolerance" else "cap reached"
    told = f"{measure_of(problem)} = {values.relative:.6g}, gap = {values.gap:.6g}"
    if not problem.is_svm:
        told += f", residual = {values.residual:.6g}"
    return f"{reason}, {told}, after {trained.iteration} iterations"
