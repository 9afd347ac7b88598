"""Seconds to a duality gap: ``sstep-verify solve`` beside scikit-learn's LinearSVC, SVC and KernelRidge.

Whole process: the interpreter, imports, reading the file, training, writing the result; the scikit-learn
program is as short as it can be. Fit: training alone, from data in memory, with warm caches; epochs: the
same with ``--stream epochs``. Each solver is asked for no more than the target: scikit-learn's tolerance is
the loosest power of ten whose result meets it, found beforehand. One thread, one process; runs take turns,
medians with quartiles.

What is solved: LinearSVC without intercept and KernelRidge solve our problems. SVC has a bias that is not
penalised, hence one more constraint: its gap is that of its own problem. A LinearSVC has no dual vector:
its primal value is compared with the dual value of a run of ours to a gap a hundred times smaller.
Usage: ``python benchmarks peers --data DIR``.
"""

from __future__ import annotations

import bz2
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from grid import Report, column, take_turns, timed

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
    """A data set, beside what it is solved, sigma (0: linear kernel), C or lambda, and b."""

    data: str
    peer: str
    sigma: float = 0.0
    parameter: float = 1.0
    block: int = 1

    @property
    def task(self) -> str:
        """What is solved."""
        return "krr" if self.peer == "KernelRidge" else "svm-l1"

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
    "--lookalike": {"type": Path, "help": "file made by benchmarks/lookalike.py"},
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


def estimator(cell: Cell, tolerance: float, samples: int) -> Any:
    """The scikit-learn estimator of a cell."""
    if cell.peer == "KernelRidge":
        from sklearn.kernel_ridge import KernelRidge

        # (K + alpha I) c = y is ours with alpha = lambda m, a = lambda c.
        return KernelRidge(alpha=cell.parameter * samples, kernel="rbf", gamma=cell.sigma)
    if cell.peer == "SVC":
        from sklearn.svm import SVC

        return SVC(C=cell.parameter, kernel="rbf", gamma=cell.sigma, tol=tolerance, cache_size=512)
    from sklearn.svm import LinearSVC

    return LinearSVC(
        loss="hinge", dual=True, fit_intercept=False, C=cell.parameter, tol=tolerance, max_iter=10**7,
        random_state=0,
    )  # fmt: skip


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
        model = estimator(cell, 10.0**-exponent, problem.samples).fit(problem.data, problem.targets)
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
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def whole(words: list[str]) -> float:
        run = partial(subprocess.run, words, check=True, env=environment, stdout=subprocess.DEVNULL)
        return timed(run)

    def peer_fit() -> float:
        model = estimator(cell, tolerance, problem.samples)
        return timed(lambda: model.fit(problem.data, problem.targets))

    with tempfile.TemporaryDirectory() as folder:
        theirs = [sys.executable, __file__, json.dumps([cell, str(file), tolerance])]
        works = {
            "fit": lambda: timed(lambda: own_run(cell, problem, TARGET)),
            "fit_epochs": lambda: timed(lambda: own_run(cell, problem, TARGET, "epochs")),
            "peer_fit": peer_fit,
            "whole": partial(whole, cell.command(problem, str(file), f"{folder}/out.npz")),
            "peer_whole": partial(whole, theirs),
        }
        rounds = take_turns(works, repeats)
    seconds = {name: np.percentile(column(rounds, name), [50, 25, 75]).tolist() for name in works}
    return {
        **cell._asdict(), "samples": problem.samples, "features": problem.features, "target": TARGET,
        "gap": float(own.values.relative), "iterations": own.iteration,
        "iterations_epochs": permuted.iteration, "peer_gap": gap,
        "peer_tolerance": tolerance, **seconds,
    }  # fmt: skip


def fit_once(text: str) -> None:
    """The whole process of scikit-learn: read, fit, write."""
    from sklearn.datasets import load_svmlight_file

    given, file, tolerance = json.loads(text)
    cell = Cell(*given)
    data, targets = load_svmlight_file(file)
    if data.nnz * 3 >= data.shape[0] * data.shape[1]:
        data = data.toarray()
    else:
        # Its reader gives 64 bits where its estimators take 32.
        data.indices, data.indptr = data.indices.astype(np.int32), data.indptr.astype(np.int32)
    model = estimator(cell, tolerance, data.shape[0]).fit(data, targets)
    kept = model.coef_ if cell.peer == "LinearSVC" else model.dual_coef_
    with tempfile.TemporaryFile() as out:
        np.savez(out, kept)


def plain_file(cell: Cell, report: Report, folder: str) -> Path | None:
    """The LIBSVM file of a cell, unpacked, so that both sides read the same; None where there is none."""
    if cell.data == "look-alike":
        file = report.chosen.lookalike
    else:
        file = report.chosen.data and Path(report.chosen.data) / cell.data
    if file is None or file.exists():
        return file
    packed, plain = file.with_name(f"{file.name}.bz2"), Path(folder) / file.name
    if not packed.exists():
        return None
    plain.write_bytes(bz2.decompress(packed.read_bytes()))
    return plain


def measure(report: Report) -> None:
    given = report.chosen
    report.say(
        f"seconds to a relative gap or residual of {TARGET:g}, medians of {given.repeats}; one thread"
    )
    report.head()
    with tempfile.TemporaryDirectory() as folder:
        for cell in (cell for cell in CELLS if cell.data in (given.only or [cell.data])):
            file = plain_file(cell, report, folder)
            if file is None:
                report.skip(cell.data, "no such file: see --data and --lookalike")
                continue
            try:
                line = line_of(cell, file, given.repeats)
            except SstepVerifyError as error:
                report.skip(f"{cell.data} {cell.peer}", error)
                continue
            ratios = [line[name][0] / line[f"peer_{name}"][0] for name in ("fit", "whole")]
            report.add("lines", line, ratios=ratios)


if __name__ == "__main__":
    fit_once(sys.argv[1])
