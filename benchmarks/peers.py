"""Seconds to a duality gap: ``sstep-verify solve`` next to scikit-learn's LinearSVC, SVC and KernelRidge.

Whole process: the interpreter, imports, reading the file, training, writing the result; the scikit-learn
program is as short as it can be. Fit: training alone, from data in memory, with warm caches; epochs: the
same with ``--stream epochs``. Each solver is asked for no more than the target: scikit-learn's tolerance is
the loosest power of ten whose result meets it, found beforehand. One thread, one process; runs take turns,
medians with quartiles. Times are processor times, which other programs on the machine change least.

What is solved: LinearSVC without intercept and KernelRidge solve our problems. SVC has a bias that is not
penalised, hence one more constraint: its gap is that of its own problem. A LinearSVC has no dual vector:
its primal value is compared with the dual value of a run of ours to a gap a hundred times smaller.
Usage: ``python benchmarks peers --data DIR``.
"""

from __future__ import annotations

import bz2
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import lookalike
import numpy as np
import peer
from grid import Report, column, spent, take_turns, timed

from sstep_verify.errors import InputError, SstepVerifyError
from sstep_verify.numerics import KernelSums
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.data import datasets
from sstep_verify.problems.kernels import identify
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.decisions import decide
from sstep_verify.solver.training.intervals import Training

TARGET = 1e-4
"""Relative duality gap (K-SVM), relative residual (K-RR)."""

PASSES = 20_000
"""Most passes over the samples."""


class Cell(NamedTuple):
    """A data set, what it is compared with, sigma (0: linear kernel), C or lambda, and b."""

    data: str
    peer: str
    sigma: float = 0.0
    parameter: float = 1.0
    block: int = 1

    @property
    def task(self) -> str:
        """What is solved."""
        return "krr" if self.peer == "KernelRidge" else "svm-l1"

    @property
    def asked(self) -> tuple[str, float, float]:
        """What scikit-learn is asked for."""
        return self.peer, self.sigma, self.parameter

    def estimator(self, tolerance: float, samples: int) -> Any:
        """The estimator that solves it."""
        return peer.estimator(*self.asked, tolerance, samples)

    def command(self, problem: Problem, file: str, out: str) -> list[str]:
        """The command line that solves it."""
        parameter = "--lambda" if self.task == "krr" else "--C"
        return [
            sys.executable, "-m", "sstep_verify", "solve", file, "--task", self.task, "--kernel",
            identify(problem.kernel), parameter, repr(self.parameter), "--block", str(self.block),
            "--tolerance", repr(TARGET), "--iterations", str(10**9), "--out", out, "--force",
        ]  # fmt: skip


CELLS = (
    Cell("colon-cancer", "LinearSVC"),
    Cell("duke", "LinearSVC"),
    Cell("diabetes_scale", "LinearSVC"),
    Cell("look-alike", "LinearSVC"),
    Cell("colon-cancer", "SVC", 5e-4),
    Cell("duke", "SVC", 1.4e-4),
    Cell("diabetes_scale", "SVC", 1.0),
    Cell("bodyfat_scale", "KernelRidge", 1.0, 1e-4, 16),
    Cell("abalone_scale", "KernelRidge", 1.0, 1e-5, 64),
)


OPTIONS: dict[str, dict[str, Any]] = {
    "--repeats": {"default": 5}, "--only": {"choices": list(dict.fromkeys(cell.data for cell in CELLS))},
}  # fmt: skip
DOCUMENT = {"schema": 1, "lines": [], "skipped": {}}
COLUMNS = (
    ("data", "<15", "{data}"), ("m", ">6", "{samples}"), ("n", ">9", "{features}"),
    ("  beside", "<14", "  {peer}"), ("fit", ">9", "{fit[0]:.4f}"), ("epochs", ">9", "{fit_epochs[0]:.4f}"),
    ("theirs", ">9", "{peer_fit[0]:.4f}"), ("ratio", ">8", "{ratios[0]:.2f}"),
    ("whole", ">9", "{whole[0]:.2f}"), ("theirs", ">9", "{peer_whole[0]:.2f}"),
    ("ratio", ">8", "{ratios[1]:.2f}"), ("gap", ">9", "{gap:.1e}"), ("theirs", ">9", "{peer_gap:.1e}"),
)  # fmt: skip
"""Ratios above 1 say that ours takes longer."""


def own_run(cell: Cell, problem: Problem, tolerance: float, stream: str = "uniform") -> Any:
    """Train in this process as the command does."""
    settings = Settings(
        kernel=problem.kernel, loss=problem.loss, block=cell.block, tolerance=tolerance,
        iterations=PASSES * problem.samples, stream=stream,
    )  # fmt: skip
    settings, samples = decide(settings, problem.samples, 1), problem.samples
    return Training(problem, settings.draws_of(samples), settings, SelfCommunicator()).to_the_end()


def peer_gap(cell: Cell, problem: Problem, model: Any, lower: float) -> float:
    """Relative gap or residual of what scikit-learn returned."""
    if cell.peer == "KernelRidge":
        alpha = cell.parameter * model.dual_coef_
        rest = problem.targets - KernelSums(problem).product(alpha) / cell.parameter
        rest -= problem.samples * alpha
        return float(np.linalg.norm(rest) / np.linalg.norm(problem.targets))
    if cell.peer == "LinearSVC":
        weights = model.coef_[0]
        products, quadratic = problem.data @ weights, 0.5 * weights @ weights
    else:
        signed = np.zeros(problem.samples)
        signed[model.support_] = model.dual_coef_[0]
        products = KernelSums(problem).product(signed)
        quadratic = 0.5 * signed @ products
        lower, products = np.abs(signed).sum() - quadratic, products + model.intercept_[0]
    primal = quadratic + cell.parameter * np.maximum(0.0, 1.0 - problem.targets * products).sum()
    return float((primal - lower) / primal)


def loosest(cell: Cell, problem: Problem, lower: float) -> tuple[float, float]:
    """The loosest tolerance, a power of ten, whose result meets the target, and its gap."""
    for exponent in range(0, 13):
        model = cell.estimator(10.0**-exponent, problem.samples).fit(problem.data, problem.targets)
        gap = peer_gap(cell, problem, model, lower)
        if gap <= TARGET:
            return 10.0**-exponent, gap
    raise InputError(f"{cell.peer} does not reach a gap of {TARGET:g} on {cell.data}")


def line_of(cell: Cell, file: Path, repeats: int) -> dict[str, Any]:
    """One line: seconds of fit and of whole processes, ours and scikit-learn's."""
    found = datasets.load(str(file), task="regression" if cell.task == "krr" else "classification")
    loss = Ridge(cell.parameter) if cell.task == "krr" else Hinge(cell.parameter)
    kernel = RBFKernel(cell.sigma) if cell.sigma else LinearKernel()
    problem = Problem(cell.data, found.data, found.targets, kernel, loss)
    lower = 0.0
    if cell.peer == "LinearSVC":
        lower = float(own_run(cell, problem, TARGET / 100).values.dual)
    tolerance, gap = loosest(cell, problem, lower)
    own, permuted = own_run(cell, problem, TARGET), own_run(cell, problem, TARGET, "epochs")

    def fit(stream: str) -> float:
        return timed(partial(own_run, cell, problem, TARGET, stream), process_time)

    def peer_fit() -> float:
        model = cell.estimator(tolerance, problem.samples)
        return timed(lambda: model.fit(problem.data, problem.targets), process_time)

    with tempfile.TemporaryDirectory() as folder:
        theirs = [sys.executable, peer.__file__, json.dumps([*cell.asked, tolerance, str(file)])]
        works = {
            "fit": partial(fit, "uniform"),
            "fit_epochs": partial(fit, "epochs"),
            "peer_fit": peer_fit,
            "whole": lambda: spent(cell.command(problem, str(file), f"{folder}/out.npz")).processor,
            "peer_whole": lambda: spent(theirs).processor,
        }
        rounds = take_turns(works, repeats)
    seconds = {name: np.percentile(column(rounds, name), [50, 25, 75]).tolist() for name in works}
    return {
        **cell._asdict(), "samples": problem.samples, "features": problem.features, "target": TARGET,
        "gap": float(own.values.relative), "iterations": own.iteration,
        "iterations_epochs": permuted.iteration, "peer_gap": gap,
        "peer_tolerance": tolerance, **seconds,
    }  # fmt: skip


def plain_file(cell: Cell, report: Report, folder: str) -> Path:
    """The LIBSVM file of a cell, unpacked, so that both sides read the same; InputError without one."""
    if cell.data == "look-alike":
        return lookalike.made(report)
    file = Path(report.chosen.data or ".") / cell.data
    if file.exists():
        return file
    packed, plain = file.with_name(f"{file.name}.bz2"), Path(folder) / file.name
    if not packed.exists():
        raise InputError(f"there is no {file}, nor {packed.name}: see --data")
    plain.write_bytes(bz2.decompress(packed.read_bytes()))
    return plain


def measure(report: Report) -> None:
    given = report.chosen
    report.say(
        f"seconds of processor time to a relative gap or residual of {TARGET:g}, medians of "
        f"{given.repeats}; one thread"
    )
    report.head()
    with tempfile.TemporaryDirectory() as folder:
        for cell in (cell for cell in CELLS if cell.data in (given.only or [cell.data])):
            try:
                line = line_of(cell, plain_file(cell, report, folder), given.repeats)
            except SstepVerifyError as error:
                report.skip(f"{cell.data} {cell.peer}", error)
                continue
            ratios = [line[name][0] / line[f"peer_{name}"][0] for name in ("fit", "whole")]
            report.add("lines", line, ratios=ratios)
