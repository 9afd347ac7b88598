"""Seconds to a duality gap: ``sstep-verify solve`` beside scikit-learn's LinearSVC, SVC and KernelRidge.

Whole process: the interpreter, imports, reading the file, training, writing the result; the scikit-learn
program is as short as it can be. Fit: training alone, from data in memory, with warm caches; epochs: the
same with ``--stream epochs``. Each solver is asked for no more than the target: scikit-learn's tolerance is
the loosest power of ten whose result meets it, found beforehand. One thread, one process; runs take turns,
medians with quartiles.

What is solved: LinearSVC without intercept and KernelRidge solve our problems. SVC has a bias that is not
penalised, hence one more constraint: its gap is that of its own problem. A LinearSVC has no dual vector:
its primal value is compared with the dual value of a run of ours to a gap a hundred times smaller.
Usage: ``python benchmarks/peers.py --data DIR``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from grid import Report, column, parser, take_turns, timed
from threadpoolctl import threadpool_limits

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


@dataclass(frozen=True)
class Cell:
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

    @property
    def kernel(self) -> LinearKernel | RBFKernel:
        """The kernel."""
        return RBFKernel(self.sigma) if self.sigma else LinearKernel()

    @property
    def loss(self) -> Ridge | Hinge:
        """The loss with its parameter."""
        return Ridge(self.parameter) if self.task == "krr" else Hinge(self.parameter)

    def command(self, file: str, out: str) -> list[str]:
        """The command line that solves it."""
        parameter = "--lambda" if self.task == "krr" else "--C"
        return [
            sys.executable, "-m", "sstep_verify", "solve", file, "--task", self.task, "--kernel",
            identify(self.kernel), parameter, repr(self.parameter), "--block", str(self.block),
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
        kernel=cell.kernel, loss=cell.loss, block=cell.block, tolerance=tolerance,
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
        margins = problem.targets * (problem.data @ weights)
        primal = 0.5 * weights @ weights + cell.parameter * np.maximum(0.0, 1.0 - margins).sum()
        return float((primal - lower) / primal)
    signed = np.zeros(problem.samples)
    signed[model.support_] = model.dual_coef_[0]
    products = KernelSums(problem).product(signed)
    margins = problem.targets * (products + model.intercept_[0])
    quadratic = 0.5 * signed @ products
    primal = quadratic + cell.parameter * np.maximum(0.0, 1.0 - margins).sum()
    return float((primal - (np.abs(signed).sum() - quadratic)) / primal)


def loosest(cell: Cell, problem: Problem, lower: float) -> tuple[float, float]:
    """The loosest tolerance, a power of ten, whose result meets the target, and its gap."""
    for exponent in range(0, 13):
        model = estimator(cell, 10.0**-exponent, problem.samples).fit(problem.data, problem.targets)
        gap = peer_gap(cell, problem, model, lower)
        if gap <= TARGET:
            return 10.0**-exponent, gap
    raise InputError(f"{cell.peer} does not reach a gap of {TARGET:g} on {cell.data}")


def measure(cell: Cell, file: Path, repeats: int) -> dict[str, Any]:
    """One line: seconds of fit and of whole processes, ours and scikit-learn's."""
    found = datasets.load(str(file), task="regression" if cell.task == "krr" else "classification")
    problem = Problem(cell.data, found.data, found.targets, cell.kernel, cell.loss)
    lower = own_run(cell, problem, TARGET / 100) if cell.peer == "LinearSVC" else None
    floor = 0.0 if lower is None else float(lower.values.dual)
    tolerance, gap = loosest(cell, problem, floor)
    own, permuted = own_run(cell, problem, TARGET), own_run(cell, problem, TARGET, "epochs")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def whole(words: list[str]) -> float:
        run = partial(subprocess.run, words, check=True, env=environment, stdout=subprocess.DEVNULL)
        return timed(run)

    def peer_fit() -> float:
        model = estimator(cell, tolerance, problem.samples)
        return timed(lambda: model.fit(problem.data, problem.targets))

    with tempfile.TemporaryDirectory() as folder:
        theirs = [sys.executable, __file__, "--fit", json.dumps([asdict(cell), str(file), tolerance])]
        works = {
            "fit": lambda: timed(lambda: own_run(cell, problem, TARGET)),
            "fit_epochs": lambda: timed(lambda: own_run(cell, problem, TARGET, "epochs")),
            "peer_fit": peer_fit,
            "whole": partial(whole, cell.command(str(file), f"{folder}/out.npz")),
            "peer_whole": partial(whole, theirs),
        }
        rounds = take_turns(works, repeats)
    seconds = {name: np.percentile(column(rounds, name), [50, 25, 75]).tolist() for name in works}
    return {
        **asdict(cell), "samples": problem.samples, "features": problem.features, "target": TARGET,
        "gap": float(own.values.relative), "iterations": own.iteration,
        "iterations_epochs": permuted.iteration, "peer_gap": gap,
        "peer_tolerance": tolerance, **seconds,
    }  # fmt: skip


def fit_once(text: str) -> None:
    """The whole process of scikit-learn: read, fit, write."""
    from sklearn.datasets import load_svmlight_file

    given, file, tolerance = json.loads(text)
    cell = Cell(**given)
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


COLUMNS = (
    ("data", "<15", "{data}"), ("m", ">6", "{samples}"), ("n", ">9", "{features}"),
    ("  beside", "<14", "  {peer}"), ("fit", ">9", "{fit[0]:.4f}"), ("epochs", ">9", "{fit_epochs[0]:.4f}"),
    ("theirs", ">9", "{peer_fit[0]:.4f}"), ("ratio", ">8", "{ratios[0]:.2f}"),
    ("whole", ">9", "{whole[0]:.2f}"), ("theirs", ">9", "{peer_whole[0]:.2f}"),
    ("ratio", ">8", "{ratios[1]:.2f}"), ("gap", ">9", "{gap:.1e}"), ("theirs", ">9", "{peer_gap:.1e}"),
)  # fmt: skip
"""Ratios above 1 say that ours takes longer."""


def main() -> None:
    arguments = parser(__doc__, "peers", 5, only=dict.fromkeys(cell.data for cell in CELLS))
    arguments.add_argument("--lookalike", type=Path, help="file made by benchmarks/lookalike.py")
    arguments.add_argument("--fit", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.fit:
        fit_once(given.fit)
        return
    report = Report(given.out, COLUMNS, schema=1, lines=[], skipped={})
    report.say(
        f"seconds to a relative gap or residual of {TARGET:g}, medians of {given.repeats}; one thread"
    )
    report.head()
    skipped = report.document["skipped"]
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        for cell in (cell for cell in CELLS if cell.data in (given.only or [cell.data])):
            file = given.lookalike if cell.data == "look-alike" else plain_file(cell, given.data, folder)
            if file is None or not file.exists():
                skipped[cell.data] = "no such file: see --data and --lookalike"
                continue
            try:
                line = measure(cell, file, given.repeats)
            except SstepVerifyError as error:
                skipped[f"{cell.data} {cell.peer}"] = str(error)
                continue
            ratios = [line[name][0] / line[f"peer_{name}"][0] for name in ("fit", "whole")]
            report.add("lines", line, ratios=ratios)
        for name, reason in skipped.items():
            report.say(f"skipped: {name}: {reason}")
    report.done()


def plain_file(cell: Cell, directory: str | None, folder: str) -> Path | None:
    """The LIBSVM file of a cell, unpacked, so that both sides read the same."""
    import bz2

    if directory is None:
        return None
    file, packed = Path(directory) / cell.data, Path(directory) / f"{cell.data}.bz2"
    if file.exists() or not packed.exists():
        return file
    plain = Path(folder) / cell.data
    plain.write_bytes(bz2.decompress(packed.read_bytes()))
    return plain


if __name__ == "__main__":
    main()
