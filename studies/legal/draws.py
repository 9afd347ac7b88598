"""A correct solver and one window of a problem, drawn by a seed.

A solver is drawn by how it declares to work and what that leaves open, a problem over the whole exponent
range of its type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration, Precision
from sstep_verify.problems import (
    IndexStream,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
)
from sstep_verify.problems.losses import LEAST_C, MOST_C, TASKS, loss_from
from sstep_verify.scenarios.draws import one_of
from studies.legal.arithmetic import ORDERS
from studies.legal.solver import LegalSolver


def draw(seed: int) -> tuple[LegalSolver, Case]:
    """Solver of a seed, and a case of one window."""
    rng = np.random.default_rng(seed)
    precision: Precision = one_of(rng, ("float32", "float64"))
    task = one_of(rng, TASKS)
    single, kind = precision == "float32", np.dtype(precision).type
    m, n, s = int(rng.integers(1, 7)), int(rng.integers(1, 5)), int(rng.integers(1, 9))
    wide = rng.random() < 0.5

    def scale(power: int = 1) -> float:
        """A power of two: of the whole range of the type's `power`-th roots, or near 1."""
        low, high = (-149, 127) if single else (-1074, 1023)
        return 2.0 ** int(rng.integers(low // power, high // power) if wide else rng.integers(-6, 7))

    def parameter() -> float:
        limits = np.finfo(np.float64)
        return float(np.clip((1.0 + rng.random()) * scale(), limits.smallest_subnormal, limits.max))

    def held(values: np.ndarray) -> np.ndarray:
        """Values that the type holds, or that the solver is to round."""
        return _finite(values.astype(kind), 1) if single and rng.random() >= 0.5 else values

    data = rng.standard_normal((m, n))
    if rng.random() < 0.3:
        data = data[0] + data * 10.0 ** -rng.integers(0, 6)
    if rng.random() < 0.3:
        data = data * (rng.random((m, n)) < 0.6)
    if rng.random() < 0.2:
        data = data * 2.0 ** rng.integers(-40, 40, size=(m, 1))
    if rng.random() < 0.2:
        data[-1] = data[0]
    data = held(data * scale(2))
    linear = LinearKernel()
    curved = PolynomialKernel(int(rng.integers(2, 5)), one_of(rng, (0.0, 0.5, 1.0))), RBFKernel(parameter())
    kernel: Kernel = one_of(rng, (linear, linear, *curved))
    penalty, block = parameter(), 1
    if task == "krr":
        targets = held(rng.standard_normal(m) * scale())
        start = rng.standard_normal(m) * scale() * (rng.random(m) < 0.6)
        block = int(rng.integers(1, min(m, 4) + 1))
    else:
        targets = rng.choice([-1.0, 1.0], size=m)
        start = penalty * rng.choice([0.0, 1.0, 0.37, rng.random()], size=m)
    # Beyond these 1/(2C) is no normal number.
    loss = loss_from(task, float(np.clip(penalty, LEAST_C, MOST_C)) if task == "svm-l2" else penalty)
    factored = kernel.linear and rng.random() < 0.5
    declaration = Declaration(
        "drawn",
        precision=precision,
        products="any" if factored else "rows",
        update=one_of(rng, ("in-place", "added", "frozen")),
        increments=one_of(rng, ("summed", "separate")),
        rbf=one_of(rng, ("norm-expansion", "difference")),
        clamped=rng.random() < 0.5,
        factorisation=one_of(rng, ("cholesky", "ldl", "lu")),
        power="multiplication",
        log=True,
        probes=True,
    )
    reciprocal, divided = rng.random() < 0.3, one_of(rng, ("sum", "product"))
    stream = IndexStream("uniform", samples=m, block=block, length=s, seed=int(rng.integers(1 << 30)))
    order, first = one_of(rng, ORDERS), rng.random() < 0.5
    solver = LegalSolver(declaration, order, factored, reciprocal, divided, first)
    problem = Problem(f"drawn {seed}", data, targets, kernel, loss)
    initial = _finite(start.astype(kind), kind(penalty))
    return solver, Case("drawn", problem, stream, (s,), s, declaration, initial=initial)


def _finite(values: np.ndarray, most: Any) -> np.ndarray:
    """The values, another one in the place of those that are beyond their type."""
    return np.where(np.isfinite(values), values, most if np.isfinite(most) else 1).astype(np.float64)
