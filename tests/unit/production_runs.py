"""Small problems and streams for the production solver, and its forms."""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)

SAMPLES = 12
LOSSES = {"svm-l1": Hinge(1.0), "svm-l2": SquaredHinge(1.0), "krr": Ridge(0.1)}
KERNELS = [LinearKernel(), PolynomialKernel(2, 1.0), RBFKernel(0.5)]
FORMS = [
    {"update": update, "keep_gram": keep} for update in ("in-place", "frozen") for keep in (False, True)
]


def problem_of(task: str, kernel=KERNELS[2], m: int = SAMPLES) -> Problem:
    rng = np.random.default_rng(2)
    data = rng.standard_normal((m, 4))
    targets = rng.standard_normal(m) if task == "krr" else np.where(rng.random(m) < 0.5, 1.0, -1.0)
    return Problem("small", data, targets, kernel, LOSSES[task])


def stream_of(task: str, length: int = 60, m: int = SAMPLES) -> IndexStream:
    return IndexStream(
        "epochs" if task == "krr" else "uniform", m, 3 if task == "krr" else 1, length, seed=1
    )
