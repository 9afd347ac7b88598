"""Iterations and processor time to a tolerance: draws of `--stream uniform` next to those of `epochs`.

A cell is a data set, task and kernel; each seed makes one run of each stream to the smaller tolerance, in
turns, measured every half pass. Iterations are those of the first measurement at or below a
tolerance, and their processor time is the run's in the same proportion. Ratios are epochs over uniform,
medians over the seeds; a stream that does not get there in the most passes has no number.
Usage: ``python benchmarks streams --data DIR``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from grid import SEED, Report, timed

from sstep_verify.errors import SstepVerifyError
from sstep_verify.problems import Problem, kernel_from, loss_from
from sstep_verify.problems.data import datasets
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.decisions import decide
from sstep_verify.solver.training.intervals import Training

TOLERANCES = (1e-4, 1e-6)
PASSES, LONGEST = 1000, 2_000_000
"""Most passes over the samples, and most coordinates that a run draws."""

STREAMS = ("uniform", "epochs")
OPTIONS: dict[str, dict[str, Any]] = {"--repeats": {"default": 5}, "--only": {}}
DOCUMENT = {"schema": 1, "lines": [], "skipped": {}}
COLUMNS = (
    ("data", "<22", "{data}"), ("task", "<7", "{task}"), ("kernel", "<11", "{kernel}"), ("b", ">3", "{b}"),
    ("uniform", ">9", "{iterations[0]:.0f}"), ("epochs", ">9", "{iterations[1]:.0f}"),
    ("ratio", ">7", "{ratios[0]:.2f}"), ("time", ">7", "{times[0]:.2f}"),
    ("uniform", ">10", "{iterations[2]:.0f}"), ("epochs", ">9", "{iterations[3]:.0f}"),
    ("ratio", ">7", "{ratios[1]:.2f}"), ("time", ">7", "{times[1]:.2f}"),
)  # fmt: skip
"""Two blocks: to the larger tolerance, then to the smaller."""


class Cell(NamedTuple):
    """What is solved."""

    data: str
    task: str
    kernel: str
    parameter: float
    sigma: float = 1.0
    block: int = 1


def cells() -> Iterator[Cell]:
    """What is measured."""
    classified = (
        ("duke", 1.4e-4), ("colon-cancer", 5e-4), ("diabetes_scale", 1.0), ("breast_cancer_scale", 0.1),
        ("breast_cancer", 1e-3), ("diabetes", 1e-3), ("tall", 1.0), ("wide", 0.01),
        ("drawn dense 2000x50", 0.02), ("drawn sparse 2000x4000", 0.05), ("drawn separable 1000x200", 0.01),
        ("drawn repeated 600x20", 0.05),
    )  # fmt: skip
    for data, sigma in classified:
        for task in ("svm-l1", "svm-l2"):
            yield Cell(data, task, "linear", 1.0)
            yield Cell(data, task, "rbf", 1.0, sigma)
    for data, sigma, block in (
        ("bodyfat_scale", 1.0, 16), ("abalone_scale", 1.0, 64), ("abalone_scale", 1.0, 1),
        ("bodyfat", 1e-3, 4), ("diabetes_regression_scale", 0.1, 8), ("tall_regression", 1.0, 4),
        ("wide_regression", 0.01, 4), ("drawn dense 2000x50 r", 0.02, 32),
        ("drawn sparse 2000x4000 r", 0.05, 32),
    ):  # fmt: skip
        for penalty in (1e-2, 1e-4):
            yield Cell(data, "krr", "linear", penalty, 1.0, block)
            yield Cell(data, "krr", "rbf", penalty, sigma, block)


def drawn(name: str) -> tuple[Any, np.ndarray]:
    """Data and targets by a name that says how they are drawn."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    _, how, shape, *regression = name.split()
    samples, features = map(int, shape.split("x"))
    if how == "sparse":
        weights = generator.pareto(1.0, features) + 0.01
        density = np.minimum(20 * weights / weights.sum(), 0.5)
        values = generator.exponential(size=(samples, features))
        data = sp.csr_array(np.where(generator.random(values.shape) < density, values, 0.0))
    else:
        data = generator.standard_normal((samples, features))
        if how == "repeated":
            data[samples // 2 :] = data[: samples - samples // 2]
    truth = data @ generator.standard_normal(features)
    noise = 0.0 if how == "separable" else 0.5 * np.std(truth)
    targets = truth + noise * generator.standard_normal(samples)
    return data, targets if regression else np.where(targets > np.median(targets), 1.0, -1.0)


def problem_of(cell: Cell, directory: str | None) -> Problem:
    if cell.data.startswith("drawn"):
        data, targets = drawn(cell.data)
    else:
        task = "regression" if cell.task == "krr" else "classification"
        loaded = datasets.load(cell.data, directory=directory, task=task)
        data, targets = loaded.data, loaded.targets
    kernel = kernel_from(cell.kernel, **({"sigma": cell.sigma} if cell.kernel == "rbf" else {}))
    return Problem(cell.data, data, targets, kernel, loss_from(cell.task, cell.parameter))


def training_of(problem: Problem, cell: Cell, stream: str, seed: int) -> Training:
    """A run to the smaller tolerance, not made yet."""
    samples, block = problem.samples, min(cell.block, problem.samples)
    most = min(PASSES, LONGEST // samples) * samples
    half = max(samples // (2 * block), 16) // 16 * 16
    settings = Settings(
        kernel=problem.kernel, loss=problem.loss, block=block, tolerance=TOLERANCES[-1], stream=stream,
        seed=seed, iterations=most // block, interval=half, s=16,
    )  # fmt: skip
    settings = decide(settings, samples, 1)
    return Training(problem, settings.draws_of(samples), settings, SelfCommunicator())


def line_of(cell: Cell, problem: Problem, seeds: int) -> dict[str, Any]:
    found: dict[str, list[list[float]]] = {stream: [] for stream in STREAMS}
    for seed in range(-1, seeds):
        made = {stream: training_of(problem, cell, stream, max(seed, 0)) for stream in STREAMS}
        taken = {one: timed(run.to_the_end, time.process_time) for one, run in made.items()}
        if seed < 0:
            continue  # Compiles.
        for stream, run in made.items():
            first = [
                next((m.iteration for m in run.history if m.values.relative <= tolerance), np.nan)
                for tolerance in TOLERANCES
            ]
            found[stream].append([*first, *(taken[stream] * one / run.iteration for one in first)])
    both = {stream: np.array(rows) for stream, rows in found.items()}
    middles = {stream: np.median(rows, axis=0) for stream, rows in both.items()}
    ratios = np.median(both["epochs"] / both["uniform"], axis=0)
    return {
        "data": cell.data, "task": cell.task, "kernel": cell.kernel, "b": cell.block,
        "parameter": cell.parameter, "samples": problem.samples, "features": problem.features,
        "iterations": [float(middles[stream][k]) for k in (0, 1) for stream in STREAMS],
        "ratios": ratios[:2].tolist(), "times": ratios[2:].tolist(),
        "worst": (both["epochs"] / both["uniform"])[:, :2].max(axis=0).tolist(),
    }  # fmt: skip


def measure(report: Report) -> None:
    report.say(f"to a relative gap or residual of {TOLERANCES[0]:g}, then {TOLERANCES[1]:g}")
    report.head()
    for cell in (cell for cell in cells() if cell.data in (report.chosen.only or [cell.data])):
        try:
            line = line_of(cell, problem_of(cell, report.chosen.data), report.chosen.repeats)
        except SstepVerifyError as error:
            report.skip(f"{cell.data} {cell.task} {cell.kernel}", error)
            continue
        report.add("lines", line)
    for k, tolerance in enumerate(TOLERANCES):
        ratios = np.array([line["ratios"][k] for line in report.document["lines"]])
        known = ratios[~np.isnan(ratios)]
        report.say(
            f"{tolerance:g}: epochs over uniform, iterations: median {np.median(known):.2f}, most "
            f"{known.max():.2f}; above 1: {sum(known > 1)} of {known.size}; none {ratios.size - known.size}"
        )
