"""One window of a problem, and a correct solver for it, drawn by a seed.

A solver is drawn: how sums are ordered, whether products come first, where the division by lambda stands,
how the new value is stored, whether products are formed from kernel entries or from the samples. Problems
are drawn over the whole exponent range of the type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.checks.shared.case import Case
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
from sstep_verify.problems.losses import LEAST_C, MOST_C
from sstep_verify.solver import Declaration
from studies.legal.arithmetic import ORDERS
from studies.legal.solver import LegalSolver


def draw(seed: int) -> tuple[LegalSolver, Case]:
    """Solver of a seed, and a case of one window."""
    rng = np.random.default_rng(seed)
    precision = str(rng.choice(["float32", "float64"]))
    task = str(rng.choice(["svm-l1", "svm-l2", "krr"]))
    m, n, s = int(rng.integers(1, 7)), int(rng.integers(1, 5)), int(rng.integers(1, 9))
    wide = rng.random() < 0.5
    data = rng.standard_normal((m, n))
    if rng.random() < 0.3:
        data = data[0] + data * 10.0 ** -rng.integers(0, 6)
    if rng.random() < 0.3:
        data = data * (rng.random((m, n)) < 0.6)
    if rng.random() < 0.2:
        data = data * 2.0 ** rng.integers(-40, 40, size=(m, 1))
    if rng.random() < 0.2:
        data[-1] = data[0]
    data = _held(data * _scale(rng, precision, wide, 2), precision, rng)
    kernels: tuple[Kernel, ...] = (
        LinearKernel(),
        PolynomialKernel(int(rng.integers(2, 5)), float(rng.choice([0.0, 0.5, 1.0]))),
        RBFKernel(_parameter(rng, precision, wide)),
    )
    kernel = kernels[int(rng.choice([0, 0, 1, 2]))]
    parameter = _parameter(rng, precision, wide)
    if task == "krr":
        targets = _held(rng.standard_normal(m) * _scale(rng, precision, wide, 1), precision, rng)
        start = rng.standard_normal(m) * _scale(rng, precision, wide, 1) * (rng.random(m) < 0.6)
        loss: Any = Ridge(parameter)
    else:
        targets = rng.choice([-1.0, 1.0], size=m)
        start = parameter * rng.choice([0.0, 1.0, 0.37, rng.random()], size=m)
        within = float(np.clip(parameter, LEAST_C, MOST_C))  # beyond, 1/(2C) is no normal number
        loss = Hinge(parameter) if task == "svm-l1" else SquaredHinge(within)
    block = int(rng.integers(1, min(m, 4) + 1)) if task == "krr" else 1
    kind: Any = np.dtype(precision).type
    start = _finite(start.astype(kind), kind(parameter))
    factored = isinstance(kernel, LinearKernel) and rng.random() < 0.5
    freedoms: dict[str, Any] = {
        "precision": precision,
        "products": "any" if factored else "rows",
        "update": str(rng.choice(["in-place", "added", "frozen"])),
        "increments": str(rng.choice(["summed", "separate"])),
        "rbf": str(rng.choice(["norm-expansion", "difference"])),
        "clamped": bool(rng.random() < 0.5),
        "factorisation": str(rng.choice(["cholesky", "ldl", "lu"])),
    }
    declaration = Declaration("drawn", power="multiplication", log=True, probes=True, **freedoms)
    reciprocal, divided = rng.random() < 0.3, str(rng.choice(["sum", "product"]))
    stream = IndexStream("uniform", samples=m, block=block, length=s, seed=int(rng.integers(1 << 30)))
    problem = Problem(f"drawn {seed}", data, targets, kernel, loss)
    order, first = str(rng.choice(ORDERS)), rng.random() < 0.5
    solver = LegalSolver(declaration, order, factored, reciprocal, divided, first)
    return solver, Case("drawn", problem, stream, (s,), s, declaration, initial=start)


def _scale(rng: np.random.Generator, precision: str, wide: bool, power: int) -> float:
    """A power of two: of the whole range of the type's `power`-th roots, or near 1."""
    low, high = (-149, 127) if precision == "float32" else (-1074, 1023)
    return (
        2.0 ** int(rng.integers(low // power, high // power)) if wide else 2.0 ** int(rng.integers(-6, 7))
    )


def _parameter(rng: np.random.Generator, precision: str, wide: bool) -> float:
    value = (1.0 + rng.random()) * _scale(rng, precision, wide, 1)
    return float(np.clip(value, np.finfo(np.float64).smallest_subnormal, np.finfo(np.float64).max))


def _held(values: np.ndarray, precision: str, rng: np.random.Generator) -> np.ndarray:
    """Values that the type holds, or that the solver is to round."""
    if precision == "float64" or rng.random() < 0.5:
        return values
    with np.errstate(all="ignore"):
        return _finite(values.astype(np.float32), np.float32(1))


def _finite(values: np.ndarray, most: Any) -> np.ndarray:
    return np.where(np.isfinite(values), values, most if np.isfinite(most) else 1).astype(np.float64)
