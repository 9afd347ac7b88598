"""Summary of a training run: what was done, what it took, and why it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sstep_verify.compiled import compile_seconds
from sstep_verify.problems import Problem
from sstep_verify.production.data.partition import Partition
from sstep_verify.production.data.reading import LocalData
from sstep_verify.production.messages.clock import PANEL, PHASES
from sstep_verify.production.schedule import Schedule
from sstep_verify.production.settings import Settings
from sstep_verify.production.training import Training


def history_line(training: Training) -> str:
    """The last measurement in few words."""
    return f"{measure_of(training.problem)} {training.values.relative:.3g}"


def measure_of(problem: Problem) -> str:
    """What is measured relative to something, in words."""
    return "relative gap" if problem.is_svm else "relative residual"


def summary_lines(
    training: Training, local: LocalData, timers: Sequence[Mapping[str, float]], machines: str
) -> Iterator[str]:
    """Say what was done, what it took, and how it ended: timers and machines are those of all ranks."""
    problem, settings, made = training.problem, training.settings, training.counters
    ranks = f"{len(timers)} rank{'s' * (len(timers) > 1)}"
    yield f"{problem.label}: {problem.samples} samples, {local.features} features, {ranks}"
    yield from _shares(local.partition, timers)
    yield from local.notes
    kept = "; all kernel rows kept" if settings.keep_gram else ""
    kept = f"; {settings.cached_rows(problem.samples)} kernel rows kept" if settings.cache else kept
    if not problem.is_svm:
        yield f"block {settings.block}: {settings.block_reason}"
    yield f"exchange {settings.exchange}{kept}: {settings.exchange_reason}"
    if made:
        most = f"{'up to ' * settings.tuned}{settings.width}"
        yield (
            f"windows: {made['windows']} of {most} iterations, {made['panel columns']} kernel "
            f"rows, {made['collectives']} collectives, {made['words']} words handed over by a rank "
            "(set-up of every interval included)"
        )
    if "broadcasts" in made:
        yield (
            f"the ranks are of different kinds: after every exchange all took rank 0's numbers, by "
            f"{made['broadcasts']} broadcasts; {machines}"
        )
    if training.schedule is not None:
        yield from _tuning(settings, training.schedule)
    seen = training.monitor.counters
    yield (
        f"monitoring: every {settings.interval} iterations, {seen['panel columns']} kernel rows, "
        f"{seen['collectives']} collectives, {seen['words']} words"
    )
    yield f"{'seconds':<16}{'max':>10}{'mean':>10}{'min':>10}   over ranks"
    for phase in PHASES:
        seconds = [one[phase] for one in timers]
        if any(seconds):
            figures = (max(seconds), sum(seconds) / len(seconds), min(seconds))
            yield f"{phase:<16}" + "".join(f"{value:>10.4f}" for value in figures)
    yield from _compiling()
    yield _ending(problem, training)


def _tuning(settings: Settings, schedule: Schedule) -> Iterator[str]:
    """What the tuner tried, and what it found."""
    tuner, best = schedule.tuner, schedule.tuner.best
    for exchange in settings.exchanges:
        found = [one for one in tuner.tried if one.candidate.exchange == exchange]
        if found:
            told = ", ".join(f"{one.candidate.s}: {one.nanoseconds / 1000:.3g}" for one in found)
            yield f"s tried with {exchange}, us an iteration when last tried: {told}"
    reasons = Counter(tuner.explored)
    why = ", ".join(f"{why} ({count})" if count > 1 else why for why, count in reasons.items())
    state = "still exploring, best so far" if tuner.exploring else "found"
    yield f"s {state}: {best.s} with {best.exchange}; explored because {why}; s at most {settings.width}"
    shares: Counter[tuple[str, int]] = Counter()
    begin = 0
    for stretch in schedule.made:
        shares[stretch.exchange, stretch.s] += stretch.end - begin
        begin = stretch.end
    most = ", ".join(f"s = {s} {exchange} {count}" for (exchange, s), count in shares.most_common(3))
    yield f"iterations by s, the most: {most}; in {len(schedule.made)} stretches, kept in the result"


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


def _ending(problem: Problem, training: Training) -> str:
    values = training.values
    reason = {"tolerance": "tolerance reached", "iterations": "cap reached"}.get(
        training.stopped,
        f"no progress any more: float64 attains a {measure_of(problem)} of about {training.attainable:.2g} "
        "here, and the tolerance is out of reach",
    )
    told = f"{measure_of(problem)} = {values.relative:.6g}, gap = {values.gap:.6g}"
    if not problem.is_svm:
        told += f", residual = {values.residual:.6g}"
    return f"{reason}, {told}, after {training.iteration} iterations"
