"""Cases for the solver on several ranks, its forms, and verdicts of checks on its runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.checks.registry import checks_of, verdicts_of
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import Solver
from sstep_verify.ranks.environment import promised_size
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

MOST = promised_size() if promised_size() > 1 else 4
"""Ranks that a test may ask for."""

SAMPLES, FEATURES, ITERATIONS = 9, 3, 37
LOSSES = {"svm-l1": Hinge(1.0), "svm-l2": SquaredHinge(1.0), "krr": Ridge(0.1)}
KERNELS: dict[str, Kernel] = {
    "linear": LinearKernel(),
    "polynomial": PolynomialKernel(2, 1.0),
    "rbf": RBFKernel(0.5),
}

FORMS: dict[str, dict] = {
    "allreduce": {},
    "allreduce, timed": {"separate_timers": True},
    "allreduce, frozen": {"update": "frozen"},
    "support": {"exchange": "support"},
    "support, frozen": {"exchange": "support", "update": "frozen"},
    "reduce-scatter": {"exchange": "reduce-scatter"},
    "reduce-scatter, frozen": {"exchange": "reduce-scatter", "update": "frozen"},
    "gram": {"exchange": "gram"},
    "all rows cached": {"cache": "all"},
    "few rows cached": {"cache": "window"},
    "kept gram": {"keep_gram": True},
    "difference": {"rbf": "difference"},
    "difference, support": {"rbf": "difference", "exchange": "support"},
    "difference, reduce-scatter": {"rbf": "difference", "exchange": "reduce-scatter"},
}
"""Options by name; a cache is given in words once the sizes are known."""


def fits(form: str, kernel: Kernel) -> bool:
    """Whether a form is for a kernel: weights are carried for the linear one, distances are RBF's."""
    if form == "gram":
        return isinstance(kernel, LinearKernel)
    return "difference" not in form or isinstance(kernel, RBFKernel)


def options_of(form: str, samples: int, drawn: int) -> dict:
    """Options of a form for m samples and s * b drawn coordinates a window."""
    options = dict(FORMS[form])
    if "cache" in options:
        rows = samples if options["cache"] == "all" else min(drawn, samples)
        options["cache"] = rows * samples
    return options


def problem_of(task: str, kernel: str, *, sparse: bool = False, features: int = FEATURES) -> Problem:
    """A small problem; two of its samples are equal."""
    generator = np.random.default_rng([features, sparse])
    data = generator.standard_normal((SAMPLES, features))
    data[4] = data[1]
    targets = np.resize([1.0, -1.0, 1.0], SAMPLES)
    if task == "krr":
        targets = generator.standard_normal(SAMPLES)
    if sparse:
        data[generator.random(data.shape) < 0.4] = 0.0
    return Problem("small", sp.csr_array(data) if sparse else data, targets, KERNELS[kernel], LOSSES[task])


def case_of(problem: Problem, solver: Solver, s_values: Iterable[int] = (1, 4, 12), **changes) -> Case:
    """Its case; 37 iterations, so that the last window is short, and s = 12 draws more than m."""
    block = 1 if problem.is_svm else 2
    stream = IndexStream("uniform", problem.samples, block, ITERATIONS, seed=1)
    s_values = tuple(s_values)
    points = {s: measuring_points(ITERATIONS, s) for s in s_values}
    return Case(
        "small", problem, stream, s_values, ITERATIONS, solver.declaration, points=points, windows=3,
        diagnose=False, **changes,
    )  # fmt: skip


def verdicts(
    case: Case,
    solver: Solver,
    ids: Iterable[str],
    *,
    initial: np.ndarray | None = None,
) -> list[Verdict]:
    """Verdicts of some checks on runs made here and now; runs begin from `initial` if it is given."""
    checks = checks_of(tuple(ids))
    runs: dict[str, Trajectory] = {}
    for key, request in merge_requests(check.runs(case) for check in checks).items():
        if initial is not None:
            request = replace(request, initial=initial)
        runs[key] = solver.run(request)
    for key, request in merge_requests(check.continued(case, runs) for check in checks).items():
        runs[key] = solver.run(request)
    oracle = Oracle(case.problem)
    return [verdict for check in checks for verdict in verdicts_of(check, case, runs, oracle)]
