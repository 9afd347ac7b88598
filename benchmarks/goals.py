"""Every goal of speed in one table: what we take next to what it is compared with, in turns within one run.

A row compares two works, or one work with a number. Works that are processes count the processor time of
the process and of its children; a row that says `clock` takes the wall clock instead. Ratios are taken
within a round, so that other processes on the machine touch both sides; told are medians with quartiles,
and the load of the machine when the row began.
Usage: ``python benchmarks goals --data DIR``; ``--only`` measures one group of rows.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import judgement
import lookalike
import numpy as np
import peer
import peers
import tuning
from grid import ROOT, Report, column, spent, take_turns, timed

from sstep_verify.errors import SstepVerifyError
from sstep_verify.problems import Hinge, Kernel, LinearKernel, Problem, RBFKernel
from sstep_verify.problems.data import datasets
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.decisions import decide
from sstep_verify.solver.training.intervals import Training
from sstep_verify.timing.measure import quartiles

SMALL_LOOPS = {"colon-cancer": LinearKernel(), "duke": RBFKernel(1.4e-4), "diabetes_scale": RBFKernel(1.0)}
"""Data sets whose whole run takes well under a second."""

MOST = 10_000_000
"""Iterations that none of them makes before it reaches the default tolerance."""


class Row(NamedTuple):
    """What a row compares, the largest value that meets its goal, and its works.

    `works` holds "ours", and "theirs" unless the goal is a number of seconds. A row that is long, or that
    repeats its works itself, is made `once`.
    """

    name: str
    compared: str
    goal: float
    works: Mapping[str, Callable[[], float]]
    once: bool = False


def command(*words: str) -> list[str]:
    """A command of ours."""
    return [sys.executable, "-m", "sstep_verify", *words]


def solve_rows(report: Report, folder: Path) -> Iterator[Row]:
    """Whole processes to a relative gap of 1e-4, with our defaults, next to LinearSVC."""
    file, cell = lookalike.made(report), peers.Cell("look-alike", "LinearSVC")
    loaded = datasets.load(str(file))
    problem = Problem(cell.data, loaded.data, loaded.targets, LinearKernel(), Hinge(cell.parameter))
    lower = float(peers.own_run(cell, problem, peers.TARGET / 100).values.dual)
    tolerance, _ = peers.loosest(cell, problem, lower)
    theirs = [sys.executable, peer.__file__, json.dumps([*cell.asked, tolerance, str(file)])]
    del loaded
    yield Row(
        "solve look-alike", "LinearSVC to the same gap", 1.0,
        {
            "ours": lambda: spent(cell.command(problem, str(file), f"{folder}/out.npz")).processor,
            "theirs": lambda: spent(theirs).processor,
        },
    )  # fmt: skip


READ = """
import sys
from pathlib import Path
by, file = sys.argv[1:]
from sklearn.datasets import load_svmlight_file
from sstep_verify.problems.data import datasets
if by == "ours":
    datasets.load(file)
elif by == "theirs":
    load_svmlight_file(file)
print(next(line.split()[1] for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
"""
"""A process that imports both readers, and reads a file by one or by none; it prints its peak in KiB."""


def reader_rows(report: Report, folder: Path) -> Iterator[Row]:
    """Reading alone: time next to scikit-learn's, and peak memory over that of the arrays."""
    del folder
    file = lookalike.made(report)

    def words(by: str) -> list[str]:
        return [sys.executable, "-c", READ, by, str(file)]

    def seconds(by: str) -> float:
        return spent(words(by)).processor - spent(words("neither")).processor

    def peak(by: str) -> float:
        return 1024.0 * int(subprocess.check_output(words(by), cwd=ROOT))

    yield Row(
        "read look-alike", "load_svmlight_file", 1.0,
        {"ours": partial(seconds, "ours"), "theirs": partial(seconds, "theirs")},
    )  # fmt: skip
    data = datasets.load(str(file)).data
    arrays = float(data.data.nbytes + data.indices.nbytes + data.indptr.nbytes)
    yield Row(
        "memory of reading look-alike", "bytes of its arrays", 1.3,
        {"ours": lambda: peak("ours") - peak("neither"), "theirs": lambda: arrays},
    )  # fmt: skip


def interval_rows(report: Report, folder: Path) -> Iterator[Row]:
    """Small loops with the default interval, next to those that are measured at their end alone."""
    del folder
    for name, kernel in SMALL_LOOPS.items():
        yield interval_row(datasets.load(name, directory=report.chosen.data), name, kernel)


def interval_row(loaded: Any, name: str, kernel: Kernel) -> Row:
    """One small loop, in this process."""
    problem = Problem(name, loaded.data, loaded.targets, kernel, Hinge(1.0))

    def loop(**ends: int) -> tuple[float, int]:
        settings = Settings(kernel=kernel, loss=problem.loss, **({"iterations": MOST} | ends))
        settings = decide(settings, problem.samples, 1)
        stream = settings.draws_of(problem.samples)
        training = Training(problem, stream, settings, SelfCommunicator())
        return timed(training.to_the_end, process_time), training.reached

    _, reached = loop()
    works = {"ours": lambda: loop()[0], "theirs": lambda: loop(iterations=reached, interval=reached)[0]}
    return Row(f"loop of {name}, default interval", "measured at its end alone", 1.03, works)


def thread_rows(report: Report, folder: Path) -> Iterator[Row]:
    """A run with the threads that BLAS takes by itself, next to one with a single thread."""
    file = Path(report.chosen.data or ".") / "diabetes_scale"
    words = command(
        "solve", str(file), "--task", "svm-l1", "--kernel", "rbf,sigma=1", "--tolerance", "1e-6",
        "--iterations", "1000000", "--out", f"{folder}/threads.npz", "--force",
    )  # fmt: skip
    yield Row(
        "solve, threads of BLAS not set", "one thread", 1.05,
        {"ours": lambda: spent(words, threads=None).processor, "theirs": lambda: spent(words).processor},
    )  # fmt: skip


def tuning_rows(report: Report, folder: Path) -> Iterator[Row]:
    """One cell in four of those that `tuning` measures."""
    del folder
    yield from (tuned_row(report, cell) for cell in tuning.cells()[::4])


def tuned_row(report: Report, cell: tuning.Cell) -> Row:
    """`--s auto` next to the best fixed s of one sweep."""
    found: dict[str, float] = {}

    def ours() -> float:
        given = cell, report.chosen.data, report.chosen.repeats, report.chosen.seconds
        found.update(tuning.summarise(cell, tuning.on_ranks(cell.P, tuning.compare, *given)[0]))
        return found["auto us"]

    name = f"--s auto, {cell.data} {cell.kernel} {cell.exchange}, P = {cell.P}"
    return Row(name, "best fixed s", 1.10 if cell.P == 1 else tuning.WORST,
               {"ours": ours, "theirs": lambda: found["fixed us"]}, once=True)  # fmt: skip


def judge_rows(report: Report, folder: Path) -> Iterator[Row]:
    """A second call of judge() next to the run that it judges."""
    del folder
    for name, case in judgement.CASES.items():
        works = judgement.works_of(case, judgement.problem_of(case, name, report.chosen.data))
        works["run"]()
        works["call"]()
        timed_works = {
            "ours": partial(timed, works["call"], process_time),
            "theirs": partial(timed, works["run"], process_time),
        }
        yield Row(f"judge, {name}", "the run", case.aim, timed_works)


def oracle_rows(report: Report, folder: Path) -> Iterator[Row]:
    """Seconds to certify the optimum of K-RR on abalone."""
    del folder
    words = command(
        "oracle", str(Path(report.chosen.data or ".") / "abalone_scale"), "--task", "krr", "--kernel",
        "rbf,sigma=1", "--lambda", "1e-3",
    )  # fmt: skip
    works = {"ours": lambda: spent(words).processor}
    yield Row("oracle, K-RR on abalone", "seconds", 10.0, works, once=True)


def check_rows(report: Report, folder: Path) -> Iterator[Row]:
    """Seconds by the clock of `check` ci of the README's solver, compiled code at hand."""
    del report
    text = (ROOT / "README.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)\ngenerator =", text, re.DOTALL)
    assert code is not None, "README.md has no solver before its generator"
    more = '\nsolver = CallableSolver(my_solver, Declaration("mine", log=True))\n'
    (folder / "readme_solver.py").write_text(code[1] + more, "utf-8")
    words = command("check", "readme_solver:solver", "--kernel", "linear", "--task", "svm-l1", "--out",
                    f"{folder}/check", "--force")  # fmt: skip
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    works = {"ours": lambda: spent(words, PYTHONPATH=path).clock}
    yield Row("check of README's solver (clock)", "seconds", 10.0, works)


def run_rows(report: Report, folder: Path) -> Iterator[Row]:
    """Seconds by the clock of `run` with nothing compiled, and with all compiled."""
    del report
    words = command("run", "--out", f"{folder}/run", "--force")

    def cold() -> float:
        with tempfile.TemporaryDirectory() as empty:
            return spent(words, NUMBA_CACHE_DIR=empty).clock

    yield Row("run, nothing compiled (clock)", "seconds", 90.0, {"ours": cold}, once=True)
    warm = {"ours": lambda: spent(words).clock}
    yield Row("run, all compiled (clock)", "seconds", 45.0, warm, once=True)


GROUPS: dict[str, Callable[[Report, Path], Iterator[Row]]] = {
    "solve": solve_rows, "reader": reader_rows, "interval": interval_rows, "threads": thread_rows,
    "judge": judge_rows, "tuning": tuning_rows, "oracle": oracle_rows, "check": check_rows, "run": run_rows,
}  # fmt: skip
"""Rows by what they are about, the longest last."""

OPTIONS: dict[str, dict[str, Any]] = {
    "--repeats": {"default": 5}, "--seconds": {"default": 0.4}, "--only": {"choices": GROUPS},
}  # fmt: skip
DOCUMENT: dict[str, Any] = {"schema": 1, "rows": [], "skipped": {}}
COLUMNS = (
    ("what", "<50", "{name}"), ("ours", ">10", "{ours:.4g}"), ("compared with", "<28", "  {compared}"),
    ("theirs", ">10", "{beside}"), ("ratio or value", ">24", "{value:.3g} [{low:.3g}, {high:.3g}]"),
    ("goal", ">7", "{goal:g}"), ("  ", "<9", "  {mark}"), ("load", ">6", "{load:.1f}"),
)  # fmt: skip


def measured(row: Row, repeats: int) -> dict[str, Any]:
    """The entry of one row."""
    load = os.getloadavg()[0]
    rounds = take_turns(row.works, 1 if row.once else repeats)
    ours = column(rounds, "ours")
    theirs = column(rounds, "theirs") if "theirs" in row.works else None
    low, value, high = quartiles(ours if theirs is None else ours / theirs)
    return {
        "name": row.name, "compared": row.compared, "goal": row.goal, "ours": float(np.median(ours)),
        "theirs": None if theirs is None else float(np.median(theirs)), "value": value, "low": low,
        "high": high, "rounds": rounds, "load": load, "mark": "met" if value <= row.goal else "MISSED",
    }  # fmt: skip


def measure(report: Report) -> None:
    chosen = report.chosen
    report.say(f"processor time unless a row says clock; medians of {chosen.repeats} rounds")
    report.head()
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.only or GROUPS:
            try:
                for row in GROUPS[name](report, Path(folder)):
                    entry = measured(row, chosen.repeats)
                    told = "" if entry["theirs"] is None else f"{entry['theirs']:.4g}"
                    report.add("rows", entry, beside=told)
            except SstepVerifyError as error:
                report.skip(name, error)
    report.count_met([entry["mark"] == "met" for entry in report.document["rows"]])
