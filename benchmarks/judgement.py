"""Cost of a whole call of judge(), next to the bare run that it judges.

A call holds the run itself with its log, the run continued from it, the kernel rows of the judge, the steps
in float64 and those replayed exactly. Every case is called once before it is timed: what is compiled, or
read from disk, is no part of it. Runs and calls take turns in one process. Times are processor times of one
thread. Memory is the most that a process of its own ever held, with a run, and with two calls.
Usage: ``python benchmarks judgement --data DIR``.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import process_time
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from grid import SEED, Report, column, take_turns, timed

from sstep_verify.errors import SstepVerifyError
from sstep_verify.judging import judge
from sstep_verify.problems import Hinge, IndexStream, Kernel, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.data import datasets
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.timing.measure import quartiles

ROWS, GRAM = 3.0, 10.0
"""Most of a call over the run that is aimed at: where kernel rows are formed or kept, and without."""

MEMORY = 4.0
"""The same of memory."""


class Called(NamedTuple):
    """What is run and judged: samples by name or size, stored entries of a sample (0: dense), and how."""

    data: str | tuple[int, int, int]
    kernel: Kernel
    block: int = 1
    s: int = 16
    steps: int = 2000
    options: Mapping[str, Any] = MappingProxyType({})
    aim: float = ROWS


IN_GRAM, KEPT = {"exchange": "gram"}, {"keep_gram": True, "gram_limit": 1 << 30}
CASES = {
    "duke, linear": Called("duke", LinearKernel()),
    "duke, RBF": Called("duke", RBFKernel(1.0)),
    "abalone, K-RR, b = 4": Called("abalone", RBFKernel(1.0), block=4),
    "abalone, K-RR, b = 4, kept": Called("abalone", RBFKernel(1.0), block=4, options=KEPT),
    "dense 5,000 x 20, RBF": Called((5000, 20, 0), RBFKernel(1.0)),
    "sparse 20,000 x 123, RBF": Called((20000, 123, 14), RBFKernel(1.0)),
    "sparse 2,000 x 2,000, RBF": Called((2000, 2000, 50), RBFKernel(1.0)),
    "sparse 20,000 x 20,000, RBF": Called((20000, 20000, 50), RBFKernel(1.0)),
    "duke, linear, gram": Called("duke", LinearKernel(), options=IN_GRAM, aim=GRAM),
    "sparse 2,000 x 2,000, gram": Called((2000, 2000, 50), LinearKernel(), options=IN_GRAM, aim=GRAM),
    "sparse 4,000 x 4,000, gram": Called(
        (4000, 4000, 50), LinearKernel(), s=8, steps=20_000, options=IN_GRAM, aim=GRAM
    ),
}  # fmt: skip

OPTIONS: dict[str, dict[str, Any]] = {"--repeats": {"default": 5}, "--only": {"choices": CASES}}
DOCUMENT = {
    "format": "sstep-verify judgement 1", "units": "seconds of processor time", "blas threads": 1,
    "skipped": {}, "cases": [],
}  # fmt: skip
COLUMNS = (
    ("case", "<29", "{case}"), ("s", ">3", "{s}"), ("steps", ">7", "{steps}"),
    ("run", ">10", "{run:.4f}"), ("call", ">9", "{call:.3f}"),
    ("call / run", ">22", "{ratio:.1f} [{ratio_low:.1f}, {ratio_high:.1f}]"), ("aim", ">5", "{aim:g}"),
    ("run, MB", ">9", "{run_memory:.1f}"), ("call, MB", ">9", "{call_memory:.1f}"),
    ("ratio", ">7", "{memory:.1f}"), ("", "<8", "  {mark}"),
)  # fmt: skip


def problem_of(case: Called, name: str, directory: str | None) -> Problem:
    """The problem of a case; samples of random numbers are drawn."""
    if isinstance(case.data, str):
        found = datasets.load(case.data, directory=directory)
        loss = Ridge(1.0) if found.task == "regression" else Hinge(1.0)
        return Problem(name, found.data, found.targets, case.kernel, loss)
    (samples, features, stored), generator = case.data, np.random.Generator(np.random.PCG64(SEED))
    labels = np.where(generator.random(samples) < 0.5, -1.0, 1.0)
    if not stored:
        return Problem(name, generator.random((samples, features)), labels, case.kernel, Hinge(1.0))
    places = generator.integers(features, size=(samples, stored))
    values = generator.random(samples * stored)
    starts = np.arange(0, samples * stored + 1, stored)
    data = sp.csr_array((values, places.ravel(), starts), shape=(samples, features))
    data.sum_duplicates()
    return Problem(name, data, labels, case.kernel, Hinge(1.0))


def works_of(case: Called, problem: Problem) -> dict[str, partial[Any]]:
    """The run of a case, and the call that judges it."""
    stream = IndexStream("uniform", problem.samples, case.block, case.steps, SEED)
    solver = ProductionSolver(**case.options)
    run = partial(solver.run, RunRequest(problem, stream, case.s, case.steps))
    return {"run": run, "call": partial(judge, solver, problem, stream, case.s)}


def most_held(name: str, directory: str | None, work: str) -> float:
    """Most megabytes that this process ever held, after a work of a case that was done twice."""
    wanted = works_of(CASES[name], problem_of(CASES[name], name, directory))[work]
    for _ in range(2):
        wanted()
    (line,) = (one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def memory(name: str, directory: str | None, work: str) -> float:
    """The same of a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        return processes.submit(most_held, name, directory, work).result()


def measured(name: str, problem: Problem, directory: str | None, repeats: int) -> dict[str, Any]:
    """Times and memory of the run and the call of one case, each called once before."""
    case, works = CASES[name], works_of(CASES[name], problem)
    works["run"]()
    assert all(verdict.status in ("PASS", "VACUOUS") for verdict in works["call"]())
    rounds = take_turns({key: partial(timed, work, process_time) for key, work in works.items()}, repeats)
    low, ratio, high = quartiles(column(rounds, "call") / column(rounds, "run"))
    used = {f"{key}_memory": memory(name, directory, key) for key in works}
    more = used["call_memory"] / used["run_memory"]
    return {
        "case": name, "s": case.s, "steps": case.steps, "run": float(np.median(column(rounds, "run"))),
        "call": float(np.median(column(rounds, "call"))), "ratio": ratio, "ratio_low": low,
        "ratio_high": high, "aim": case.aim, **used, "memory": more, "repeats": rounds,
        "mark": "met" if ratio <= case.aim and more <= MEMORY else "MISSED",
    }  # fmt: skip


def measure(report: Report) -> None:
    report.say(f"{report.document['units']}, medians; one BLAS thread")
    report.head()
    for name in report.chosen.only or CASES:
        try:
            problem = problem_of(CASES[name], name, report.chosen.data)
        except SstepVerifyError as error:
            report.skip(name, error)
            continue
        report.add("cases", measured(name, problem, report.chosen.data, report.chosen.repeats))
        gc.collect()
    report.count_met([case["mark"] == "met" for case in report.document["cases"]])
