"""`solve --s auto` against an exhaustive sweep of fixed s, and what it does when the latency jumps.

A cell is a data set, kernel, exchange and number of ranks. All fixed s are tried, then those within 1.5 of
the best and the tuner make the same iterations in turn, several times: at least 200 windows of the best s,
and at least `--seconds`. The ratio is the median of the tuner's time over the least median of a fixed s;
next to it stands that of the least times, which other processes on the machine touch less. Times are
processor times where P = 1, of the slowest rank and by the wall clock where P = 2.
Usage: ``python benchmarks tuning --data DIR``, ``--quick`` for a look.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import ranks_part
from grid import SEED, Report, timed

from sstep_verify.costs.known import powers_of_two
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.ranks import run
from sstep_verify.solver.communicator import Communicator, communicator_of
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.decisions import tuner_of
from sstep_verify.solver.training.intervals import Training
from sstep_verify.solver.training.schedule import Schedule, windows_of

CALLS, BEFORE, AFTER = 600, 2e-5, 1e-3
"""Reductions before the latency jumps, and seconds of it."""

MEDIAN, WORST, WITHIN = 1.05, 1.15, 20
"""Aims: median and worst ratio; windows after a jump of the latency."""

LONGEST = 4_000_000
"""Most iterations of a run."""

on_ranks = partial(run, limit=1800.0)

OPTIONS: dict[str, dict[str, Any]] = {
    "--repeats": {"default": 9}, "--seconds": {"default": 0.4},
    "--ranks": {"type": int, "choices": [1, 2], "help": "P (default: both)"},
    "--quick": {"action": "store_true", "help": "three cells"},
}  # fmt: skip
DOCUMENT = {"format": "sstep-verify tuning benchmark 1", "cells": [], "jumps": []}
COLUMNS = (
    ("data", "<16", "{data}"), ("task", "<5", "{task}"), ("kernel", "<8", "{kernel}"), ("b", ">2", "{b}"),
    (" exchange", "<16", " {exchange}"), ("P", ">2", "{P}"), ("s = 16", ">9", "{s = 16 us:.2f}"),
    ("best", ">9", "{fixed us:.2f}"), ("auto", ">9", "{auto us:.2f}"), ("ratio", ">7", "{ratio:.3f}"),
    ("least", ">7", "{least:.3f}"), ("  best s, and what the tuner found", "", "  {first}: {rest}"),
)  # fmt: skip


class Cell(NamedTuple):
    """One line of the table; exchange "auto" stands for all that the tuner may choose from."""

    data: str
    task: str
    kernel: str
    b: int
    exchange: str
    P: int

    @property
    def exchanges(self) -> tuple[str, ...]:
        """What the tuner may choose from."""
        if self.exchange != "auto":
            return (self.exchange,)
        return (*(("gram",) if self.kernel == "linear" else ()), "allreduce", "reduce-scatter")

    @property
    def largest(self) -> int:
        """Largest s."""
        return 256 if self.task == "svm" else 1024 // self.b


def cells() -> list[Cell]:
    """What is measured."""
    found = []
    for P in (1, 2):
        rbf = ("allreduce", "reduce-scatter")[:P]
        for data, task, b, linear in (
            ("duke", "svm", 1, ("allreduce", "gram")),
            ("colon-cancer", "svm", 1, ("allreduce", "gram")),
            ("diabetes_scale", "svm", 1, ("gram",)),
            ("abalone_scale", "krr", 4, ("gram",)),
        ):
            for kernel, exchanges in (("linear", linear), ("rbf", rbf)):
                found += [Cell(data, task, kernel, b, name, P) for name in exchanges]
    auto = (("linear", 2), ("rbf", 2), ("linear", 1))
    return [*found, *(Cell("duke", "svm", kernel, 1, "auto", P) for kernel, P in auto)]


def problem_of(comm, cell: Cell, directory: str | None) -> Problem:
    """The problem of a cell on this rank."""
    ranks_part.load(comm, cell.data, directory, "regression" if cell.task == "krr" else "classification")
    sigma = {"sigma": 0.01} if cell.kernel == "rbf" else {}
    return ranks_part.problem_of(cell.task, cell.kernel, 1e-3, **sigma)


def late(inner: Communicator, delay: Callable[[], float]) -> Communicator:
    """A communicator each of whose sums of all ranks is late by some seconds, asked again each time.

    Every rank spins before it enters, as long as every other: what a slower network does to a reduction.
    """
    reduced = inner.allreduce

    def allreduce(buffer: np.ndarray) -> None:
        end = time.perf_counter() + delay()
        while time.perf_counter() < end:
            pass
        reduced(buffer)

    inner.allreduce = allreduce
    return inner


def seconds_of(
    ranks: Communicator, problem, cell: Cell, exchange: str, s: int, iterations: int, tuned=None
):
    """Seconds of the slowest rank for a run of so many iterations; with a schedule, as it says.

    Processor time of one rank alone, which other processes touch less; wall-clock time of several.
    """
    stream = IndexStream("uniform", problem.samples, cell.b, iterations, SEED)
    width: dict[str, Any] = {"s": s} if tuned is None else {"s": "auto", "largest_s": s}
    settings = Settings(exchange=exchange, iterations=iterations, interval=iterations, **width)
    gc.collect()
    gc.disable()
    ranks.barrier()

    def train() -> None:
        for _ in Training(problem, stream, settings, ranks, schedule=tuned).advance(iterations):
            pass

    taken = timed(train, time.process_time if ranks.size == 1 else time.perf_counter)
    gc.enable()
    return max(ranks.allgather(taken))


def compare(comm, cell: Cell, directory: str | None, repeats: int, seconds: float) -> dict[str, Any]:
    """Sweep all fixed s, then the best of them and the tuner in turn."""
    ranks, problem, rough = communicator_of(comm), problem_of(comm, cell, directory), {}

    def each(exchange: str, s: int, iterations: int, tuned: Schedule | None = None) -> float:
        """Seconds of an iteration."""
        return seconds_of(ranks, problem, cell, exchange, s, iterations, tuned) / iterations

    for name in cell.exchanges:
        for s in powers_of_two(cell.largest):
            each(name, s, s)
            trial = each(name, s, s * max(-(-32 // s), 1))
            count = s * int(np.clip(0.02 / (trial * s), 2, 4000))
            rough[name, s] = min(each(name, s, count) for _ in range(2))
    best = min(rough, key=rough.__getitem__)
    iterations = int(min(max(200 * best[1], seconds / rough[best]), LONGEST))
    iterations -= iterations % -cell.largest  # whole windows of every s
    rounds, found = [], []
    for _ in range(repeats):
        taken = {one: each(*one, iterations) for one in rough if rough[one] <= 1.5 * rough[best]}
        tuner = tuner_of(cell.exchanges, cell.largest, comm.size, iterations)
        schedule = Schedule(tuner, comm.size)
        rounds.append((taken, each(cell.exchanges[0], cell.largest, iterations, schedule)))
        windows = sum(1 for _ in windows_of(schedule.made, iterations))
        found.append((tuner.best.exchange, tuner.best.s, windows, len(tuner.explored)))
    return {"iterations": iterations, "rough": rough, "rounds": rounds, "found": found}


def jump(comm, cell: Cell, directory: str | None) -> dict[str, Any]:
    """Let the latency jump under a tuned run, and find out from which window on s suits it again."""
    problem, iterations, calls = problem_of(comm, cell, directory), 400_000, [0]
    each = partial(seconds_of, problem=problem, cell=cell, exchange=cell.exchange)
    slow, sizes = late(communicator_of(comm), lambda: AFTER), powers_of_two(cell.largest)
    rounds = [{s: each(slow, s=s, iterations=20 * s) / (20 * s) for s in sizes} for _ in range(3)]
    times = {s: float(np.median([taken[s] for taken in rounds])) for s in sizes}

    def delay() -> float:
        calls[0] += 1
        return BEFORE if calls[0] <= CALLS else AFTER

    tuner = tuner_of((cell.exchange,), cell.largest, comm.size, iterations)
    schedule = Schedule(tuner, comm.size)
    each(late(communicator_of(comm), delay), s=cell.largest, iterations=iterations, tuned=schedule)
    made = [end - begin for begin, end, _ in windows_of(schedule.made, iterations)]
    return {"times": times, "sizes": made, "jump": CALLS - (calls[0] - len(made))}


def summarise(cell: Cell, answer: dict[str, Any]) -> dict[str, Any]:
    """One line of the table."""
    rounds, rough = answer["rounds"], answer["rough"]
    medians = {one: float(np.median([taken[one] for taken, _ in rounds])) for one in rounds[0][0]}
    best = min(medians, key=medians.__getitem__)
    auto = float(np.median([taken for _, taken in rounds]))
    least = min(taken for _, taken in rounds) / min(min(taken.values()) for taken, _ in rounds)
    return {
        **cell._asdict(), "least": least, "iterations": answer["iterations"], "best": list(best),
        "fixed us": medians[best] * 1e6, "auto us": auto * 1e6, "ratio": auto / medians[best],
        "found": answer["found"],
        "s = 16 us": min(taken for (_, s), taken in rough.items() if s == 16) * 1e6,
        "sweep us": {f"{name} {s}": seconds * 1e6 for (name, s), seconds in rough.items()},
        "final us": {f"{name} {s}": [t[name, s] * 1e6 for t, _ in rounds] for name, s in medians},
        "auto rounds us": [taken * 1e6 for _, taken in rounds],
    }  # fmt: skip


def tell_jump(report: Report, cell: Cell) -> None:
    """The experiment with the latency, and the window from which on s is within 1.15 of the best."""
    answer = on_ranks(cell.P, jump, cell, report.chosen.data)[0]
    times, sizes, at = answer["times"], answer["sizes"], answer["jump"]
    known = {s for s, each in times.items() if each <= WORST * min(times.values())}
    later = sizes[at:]
    # A cut window at the very end has another size.
    bad = [place for place, s in enumerate(later[:200]) if s not in known and s in times]
    first = next((place for place, s in enumerate(later) if s in known), len(later))
    best, rest = min(times, key=times.__getitem__), later[100:200]
    entry = {
        **cell._asdict(), "before": sizes[at - 20 : at], "after": later[:200], "unsuitable": bad,
        "first": first + 1, "times us": {s: taken * 1e6 for s, taken in times.items()},
    }  # fmt: skip
    report.add(
        "jumps",
        entry,
        f"latency {BEFORE * 1e6:.0f} -> {AFTER * 1e6:.0f} us, {cell.data}, gram, P = {cell.P}: s before "
        f"{sizes[at - 1]}, best fixed after {best}, s found {max(set(rest), key=rest.count)}; suitable "
        f"(within {WORST} of the best) first in window {first + 1}; of the windows from {WITHIN} to 200 "
        f"{sum(place >= WITHIN for place in bad)} are not\n    windows after the jump: {later[:24]}",
    )


def measure(report: Report) -> None:
    report.say("Microseconds per iteration, medians of interleaved runs; s = 16 from the sweep alone.\n")
    report.head()
    chosen = report.chosen
    wanted = [cell for cell in cells() if chosen.ranks in (None, cell.P)]
    for cell in wanted[:: 9 if chosen.quick else 1]:
        given = cell, chosen.data, chosen.repeats, chosen.seconds
        entry = summarise(cell, on_ranks(cell.P, compare, *given)[0])
        # s with its exchange, where that may be chosen.
        told = [
            f"{s} {name}" if cell.exchange == "auto" else str(s)
            for name, s, *_ in (entry["best"], *entry["found"])
        ]
        report.add("cells", entry, first=told[0], rest=", ".join(told[1:]))
    ratios, least = ([cell[name] for cell in report.document["cells"]] for name in ("ratio", "least"))
    report.say(
        f"\n{len(ratios)} cells: median ratio {np.median(ratios):.3f} (aim {MEDIAN}), worst "
        f"{max(ratios):.3f} (aim {WORST}), above {WORST}: {sum(ratio > WORST for ratio in ratios)}; of "
        f"the least times: median {np.median(least):.3f}, worst {max(least):.3f}\n"
    )
    for data in () if chosen.ranks == 1 else ("drawn 3000x4000", "drawn 3000x16000"):
        tell_jump(report, Cell(data, "svm", "linear", 1, "gram", 2))
