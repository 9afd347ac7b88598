"""A correct solver that makes, writes down and reports whatever it declares.

A correct solver and one window of a problem, drawn by a seed.

A solver is drawn by how it declares to work and what that leaves open, a problem over the whole exponent
range of its type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.adapters.callable import kept, record, start_vector
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration, Precision
from sstep_verify.errors import InputError
from sstep_verify.problems import (
    IndexStream,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
)
from sstep_verify.problems.losses import LEAST_C, MOST_C, TASKS, loss_from
from sstep_verify.problems.problem import fingerprint
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.scenarios.draws import one_of
from sstep_verify.trajectory import Claim, Panel, Trajectory
from studies.admissible.arithmetic import ORDERS
from studies.admissible.choices import Choices
from studies.admissible.steps import Carried, Steps
from studies.admissible.undeclared import Undeclared


def draw(seed: int) -> tuple[AdmissibleSolver, Case]:
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
        rbf=one_of(rng, ("norm-expansion", "difference")),
        factorisation=one_of(rng, ("cholesky", "ldl", "lu", "orthogonal")),
        log=True,
    )
    reciprocal, divided = rng.random() < 0.3, one_of(rng, ("sum", "product"))
    stream = IndexStream("uniform", samples=m, block=block, length=s, seed=int(rng.integers(1 << 30)))
    order, first = one_of(rng, ORDERS), rng.random() < 0.5
    undeclared = Undeclared(
        increments=one_of(rng, ("summed", "separate")),
        clamped=rng.random() < 0.5,
        power=one_of(rng, ("multiplication", "pow")),
        functions=one_of(rng, ("rounded", "library")),
    )
    solver = AdmissibleSolver(
        declaration, order, factored, reciprocal, divided, first, undeclared=undeclared
    )
    problem = Problem(f"drawn {seed}", data, targets, kernel, loss)
    initial = _finite(start.astype(kind), kind(penalty))
    return solver, Case("drawn", problem, stream, (s,), s, declaration, initial=initial)


def _finite(values: np.ndarray, most: Any) -> np.ndarray:
    """The values, another one in place of those that are beyond their type."""
    return np.where(np.isfinite(values), values, most if np.isfinite(most) else 1).astype(np.float64)


DECIMALS = 6
"""Of a run that is written down in decimals."""


class AdmissibleSolver(Choices):
    """A correct solver that works as its `Choices` say."""

    @np.errstate(all="ignore")  # Numbers of the whole range of a type overflow, also in what is claimed.
    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; InputError if a factorisation fails."""
        own, declared, scale = Steps(self, request.problem), self.declaration, self.scale
        initial, steps = start_vector(request, declared.precision), list[list[Any]]()
        carried = Carried(own, initial.astype(own.kind)) if self.maintained else None
        again = declared.weights or 0
        shown = [carried.values] if carried else []

        def advance(alpha: np.ndarray, begin: int, end: int) -> np.ndarray:
            draws = request.blocks(begin, end)
            for first in range(0, len(draws), request.s):
                blocks = draws[first : first + request.s]
                alpha, made = own.window(alpha, blocks, carried)
                if len(made) < len(blocks):
                    raise InputError(f"{request.problem.name}: a factorisation failed")
                steps.extend(made)
                ended = (begin + first) // request.s + 1
                if carried and again and not ended % again:
                    carried.form(alpha.astype(own.kind))
            shown.extend([carried.values] if carried else [])
            return alpha

        made = record(request, initial / scale if scale != 1 else initial, advance, observe)
        if declared.weights is not None:
            made = replace(made, weights=kept(np.array(shown[: len(made.alphas)])))
        if scale != 1 or self.decimals:
            made = _written(made, initial, scale, self.decimals)
        blocks = request.blocks(0, made.length)
        if request.expose_panels and declared.panels:
            made = replace(
                made, panels=dict(_panels(made, blocks, kept(own.matrix), self.undeclared.shown == "rows"))
            )
        if steps and request.log:
            made = replace(made, log=kept(np.array(steps)))
        made = replace(made, **self._told_of_ranks(request, made, blocks))
        return replace(made, **self._claimed(own, made))

    def _told_of_ranks(self, request: RunRequest, made: Trajectory, blocks: np.ndarray) -> dict[str, Any]:
        """Counts of exchange allreduce, and the digest of every rank."""
        declared, problem = self.declaration, request.problem
        norms = problem.kernel.of_distance and declared.rbf == "norm-expansion"
        ends = range(0, made.length, request.s)
        columns = sum(np.unique(blocks[first : first + request.s]).size for first in ends)
        collectives = len(ends) + norms
        counts = {"windows": len(ends), "panel columns": columns, "collectives": collectives}
        trailer = declared.exchange.trailer if declared.exchange else 0
        words = problem.samples * (columns + norms) + trailer * collectives
        digests = [(fingerprint(alpha),) * declared.ranks for alpha in made.alphas]
        return {
            "counters": counts | {"words": words},
            "fingerprints": dict(zip(made.iterations.tolist(), digests, strict=True)),
        }

    def _claimed(self, own: Steps, made: Trajectory) -> dict[str, Any]:
        """What the solver says of its last a, each value from sums of its own."""
        problem, kind, sums, C = own.problem, own.kind, own.sums, own.penalty
        alpha = made.final.astype(kind)
        products = np.array([sums.dot(row, alpha) for row in own.matrix], dtype=kind)
        if problem.is_svm:
            products = np.array([sums.dot(row, own.signs * alpha) for row in own.matrix], dtype=kind)
            products = products * own.signs
            loss, half = problem.hinge, sums.dot(alpha, products) / kind(2)
            lost = np.maximum(kind(1) - products, kind(0))
            primal = half + C * sums.add(lost if loss.power == 1 else lost * lost)
            shifted = sums.dot(alpha / (kind(4) * C), alpha) if loss.shift else kind(0)
            dual = sums.add(alpha) - half - shifted
            found = {"primal": primal, "dual": dual, "gap": primal - dual, "objective": -dual}
        else:
            residual = own.targets - products / own.penalty - kind(problem.samples) * alpha
            found = {"residual": np.sqrt(sums.dot(residual, residual))}
        reached = float(found["gap" if problem.is_svm else "residual"]) <= self.tolerance
        claims = {name: Claim(float(value)) for name, value in found.items()}
        return {
            "claims": claims | {"iterations": Claim(made.length)},
            "stopped": "tolerance" if reached and made.stopped == "iterations" else made.stopped,
        }


def _panels(
    made: Trajectory, blocks: np.ndarray, matrix: np.ndarray, whole: bool
) -> Iterator[tuple[int, Panel]]:
    """The kernel rows of every recorded window, or their entries among its own coordinates."""
    for begin, end in made.windows():
        columns = np.unique(blocks[begin:end])
        if whole:
            yield begin, Panel(columns, matrix[columns])
        else:
            yield begin, Panel(columns, matrix[np.ix_(columns, columns)], columns)


def _written(made: Trajectory, initial: np.ndarray, scale: int, decimals: bool) -> Trajectory:
    """A run whose a is a product with a scale, or printed, and how far it may be off by that."""
    exact = made.alphas.astype(np.longdouble) * scale  # a longdouble holds the products of both types
    values = exact.astype(made.alphas.dtype)
    if decimals:
        values = np.array(
            [[float(f"{value:.{DECIMALS}f}") for value in row] for row in values], values.dtype
        )
    values[0] = initial
    errors = np.spacing(np.abs(values.astype(np.float64))) + decimals * 0.5 * 10.0**-DECIMALS
    errors[0] = 0.0
    return replace(made, alphas=values, rounding=errors)
