"""What ``sstep-verify solve`` says at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sstep_verify.parallel.clock import PHASES
from sstep_verify.parallel.reading import LocalData
from sstep_verify.problems import Problem
from sstep_verify.solvers.adapters.distributed import over_ranks
from sstep_verify.solvers.production.training import Measured, Trained
from sstep_verify.solvers.production.training_options import Decided


def history_line(problem: Problem, found: Measured) -> str:
    """A measurement in few words."""
    return f"{measure_of(problem)} {found.values.relative:.3g}"


def measure_of(problem: Problem) -> str:
    """What is measured relative to something, in words."""
    return "relative gap" if problem.is_svm else "relative residual"


def summary_lines(
    problem: Problem,
    local: LocalData,
    decided: Decided,
    trained: Trained,
    timers: Sequence[dict[str, float]],
) -> Iterator[str]:
    """Say what was done, what it took, and how it ended.

    Parameters
    ----------
    problem : Problem
        What was solved.
    local : LocalData
        Data of a rank, for the partition.
    decided : Decided
        What was decided on.
    trained : Trained
        What came of it.
    timers : sequence of dict
        Seconds per phase, by rank.

    Yields
    ------
    str
        Lines.
    """
    trajectory, options = trained.trajectory, decided.options
    loads = local.partition.loads
    yield (
        f"{problem.label}: {problem.samples} samples, {local.features} features, {len(timers)} rank(s), "
        f"largest over mean nonzeros of a rank {local.partition.imbalance:.3f} "
        f"({loads.max()} over {loads.mean():.6g})"
    )
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
    seconds = over_ranks(timers)
    yield f"{'seconds':<16}{'max':>10}{'mean':>10}{'min':>10}   over ranks"
    for phase in PHASES:
        if seconds[phase]:
            figures = (seconds[phase], seconds[f"{phase}, mean"], seconds[f"{phase}, min"])
            yield f"{phase:<16}" + "".join(f"{value:>10.4f}" for value in figures)
    yield _ending(problem, trained)


def _ending(problem: Problem, trained: Trained) -> str:
    values = trained.values
    reason = "tolerance reached" if trained.trajectory.stopped == "tolerance" else "cap reached"
    told = f"{measure_of(problem)} = {values.relative:.6g}, gap = {values.gap:.6g}"
    if not problem.is_svm:
        told += f", residual = {values.residual:.6g}"
    return f"{reason}, {told}, after {trained.iteration} iterations"
