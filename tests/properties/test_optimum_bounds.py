"""No correct evaluation leaves bound D, and what a gap or a residual proves of a is true.

Gaps, objectives and residuals are evaluated in float32, float64 and longdouble with shuffled, sequential
and pairwise sums, and compared with balls at the same a. Each bound is also shown to be tight enough to be
exceeded by an evaluation in a smaller precision than declared.
"""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sstep_verify.bounds.optimum import ridge as optimum_ridge
from sstep_verify.bounds.optimum import svm as optimum_svm
from sstep_verify.bounds.residual_gap import DriftBound, Segment
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.objectives import exact_drift, exact_values
from sstep_verify.oracle.certificate.optimum import ridge_optimum, svm_optimum
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff
from sstep_verify.rounding.formulas import Formulas

TYPES = {"float32": np.float32, "float64": np.float64, "longdouble": np.longdouble}


@st.composite
def problems(draw, losses=("svm-l1", "svm-l2", "krr")):
    """A problem with an a that may leave the box, from few drawn numbers."""
    m, n = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data = generator.standard_normal((m, n)) * 2.0 ** draw(st.integers(-4, 4))
    if draw(st.booleans()):
        data[generator.integers(m)] = data[0]
    kernel = draw(
        st.sampled_from([LinearKernel(), PolynomialKernel(2, 0.5), PolynomialKernel(3), RBFKernel(0.25)])
    )
    task, parameter = (
        draw(st.sampled_from(losses)),
        2.0 ** draw(st.integers(-6, 6)) * draw(st.sampled_from([1, 0.1])),
    )
    loss = {"svm-l1": Hinge, "svm-l2": SquaredHinge, "krr": Ridge}[task](parameter)
    targets = generator.standard_normal(m) if task == "krr" else generator.choice([-1.0, 1.0], m)
    alpha = generator.standard_normal(m) * 2.0 ** draw(st.integers(-8, 4))
    if task != "krr":
        alpha = np.clip(alpha, 0, loss.upper)
        if draw(st.booleans()):
            alpha[generator.integers(m)] -= 2.0**-40
    return Problem("drawn", data, targets, kernel, loss), alpha, generator


def _total(values, order, generator):
    """Sum in one of several orders; the type of `values` throughout."""
    values = list(values)
    if order == "shuffled":
        generator.shuffle(values)
    if order == "pairwise":
        while len(values) > 1:
            values = [a + b for a, b in zip(values[::2], [*values[1::2], values[0] * 0], strict=False)]
        return values[0]
    total = values[0] * 0
    for value in values:
        total = total + value
    return total


def _computed(problem, alpha, dtype, order, generator):
    """Values as a solver of a precision would report them."""

    def dot(one, other):
        return _total([a * b for a, b in zip(one, other, strict=True)], order, generator)

    data, a = problem.dense.astype(dtype), alpha.astype(dtype)
    targets = problem.targets.astype(dtype)
    kernel, m = problem.kernel, problem.samples
    gram = np.array([[dot(x, z) for z in data] for x in data], dtype=dtype)
    if isinstance(kernel, RBFKernel):
        norms = gram.diagonal()
        gram = np.exp(-dtype(kernel.sigma) * np.maximum(norms[:, None] + norms - dtype(2) * gram, dtype(0)))
    elif isinstance(kernel, PolynomialKernel):
        base = gram + dtype(kernel.offset)
        gram = base.copy()
        for _ in range(kernel.degree - 1):
            gram = gram * base
    if not problem.is_svm:
        penalty = dtype(problem.ridge.penalty)
        misfit = np.array([y - dot(row, a) / penalty for y, row in zip(targets, gram, strict=True)])
        residual = misfit - dtype(m) * a
        square = dot(residual, residual)
        products = np.array([dot(row, a) for row in gram])
        half = dot(a, products) / (dtype(2) * penalty)
        dual = dot(targets, a) - half - dtype(m) * dot(a, a) / dtype(2)
        primal = half + dot(misfit, misfit) / (dtype(2) * dtype(m))
        return {"residual": np.sqrt(square), "gap": square / dtype(2 * m), "primal": primal, "dual": dual}
    C = dtype(problem.hinge.C)
    shift = dtype(1) / (dtype(2) * C) if problem.hinge.shift else dtype(0)
    margins = targets * np.array([dot(row, targets * a) for row in gram])
    short = np.maximum(dtype(1) - margins, dtype(0))
    half = dot(a, margins) / dtype(2)
    losses = [h if problem.hinge.power == 1 else h * h for h in short]
    primal = half + C * _total(losses, order, generator)
    dual = _total(list(a), order, generator) - half - shift * dot(a, a) / dtype(2)
    return {"primal": primal, "dual": dual, "gap": primal - dual}


def _bounded(problem, declaration, alpha):
    if problem.is_svm:
        values = optimum_svm.svm_values(problem, declaration, alpha)
        return {"gap": values.gap, "primal": values.primal, "dual": values.dual}
    values = optimum_ridge.ridge_values(problem, declaration, alpha)
    return {"gap": values.gap, "primal": values.primal, "dual": values.dual, "residual": values.residual}


@settings(max_examples=60)
@given(problems(), st.sampled_from(sorted(TYPES)), st.sampled_from(["sequential", "shuffled", "pairwise"]))
def test_no_correct_evaluation_exceeds_the_bound(drawn, precision, order):
    problem, alpha, generator = drawn
    alpha = alpha.astype(TYPES[precision]).astype(np.float64)
    exact = exact_values(problem, [alpha])[0]
    bounds = _bounded(problem, Formulas("any", precision=precision), alpha)
    computed = _computed(problem, alpha, TYPES[precision], order, generator)
    worst = 0.0
    for name, value in bounds.items():
        low, high = exact[name]
        assert value.lower <= high
        assert low <= value.upper
        distance = max(low - float(computed[name]), float(computed[name]) - high, 0.0)
        assert distance <= value.solver_error, (name, distance, value)
        if value.solver_error:
            worst = max(worst, distance / value.solver_error)
    event(f"ratio at most {10.0 ** np.ceil(np.log10(worst)) if worst else 0:g}")


@settings(max_examples=15)
@given(problems(losses=("svm-l1", "svm-l2")), st.integers(1, 6))
def test_what_a_gap_proves_of_a_is_true(drawn, closeness):
    problem, alpha, _ = drawn
    optimum = svm_optimum(problem)
    upper = problem.hinge.upper
    point = np.clip(optimum.alpha + (alpha - optimum.alpha) * 10.0**-closeness, 0.0, upper)
    values = optimum_svm.svm_values(problem, Declaration("any"), point)
    at_optimum = optimum_svm.svm_values(problem, Declaration("any"), optimum.alpha)
    assert values.dual.lower <= optimum.value_upper
    assert values.primal.upper >= optimum.value_lower
    if problem.hinge.shift:
        known = optimum_svm.distance_bound(problem, max(at_optimum.gap.upper, 0.0))
        distance = float(np.linalg.norm(point - optimum.alpha))
        assert distance - known <= optimum_svm.distance_bound(problem, values.gap.upper)


@settings(max_examples=15)
@given(problems(losses=("krr",)), st.integers(0, 8))
def test_what_a_residual_proves_of_a_is_true(drawn, closeness):
    problem, alpha, _ = drawn
    optimum = ridge_optimum(problem)
    point = optimum.alpha + (alpha - optimum.alpha) * 10.0**-closeness
    values = optimum_ridge.ridge_values(problem, Declaration("any"), point)
    distance = float(np.linalg.norm(point - optimum.alpha))
    slack = gamma(problem.samples + 8, unit_roundoff("float64")) * distance
    assert distance - optimum.error - slack <= optimum_ridge.distance_bound(problem, values.residual.upper)


def test_the_bound_of_a_larger_precision_is_exceeded_by_a_smaller_one():
    generator = np.random.default_rng(4)
    problem = Problem(
        "drawn",
        generator.standard_normal((12, 4)),
        generator.choice([-1.0, 1.0], 12),
        RBFKernel(0.25),
        Hinge(1.0),
    )
    alpha = generator.uniform(0, 1, 12).astype(np.float32).astype(np.float64)
    exact = exact_values(problem, [alpha])[0]
    computed = _computed(problem, alpha, np.float32, "sequential", generator)
    bounds = _bounded(problem, Declaration("any"), alpha)
    exceeded = [
        name
        for name, value in bounds.items()
        if abs(float(computed[name]) - exact[name][0]) > value.solver_error
    ]
    assert exceeded == ["gap", "primal", "dual"]


def _descend(problem, steps, dtype, generator):
    """Coordinate steps in place, or single-coordinate block steps, from maintained weights; s = 1."""
    data = problem.dense.astype(dtype)
    alpha, draws = (
        np.zeros(problem.samples, dtype=dtype),
        generator.integers(problem.samples, size=(steps, 1)),
    )
    weights, y = np.zeros(problem.features, dtype=dtype), problem.targets.astype(dtype)
    if problem.is_svm:
        upper, shift = dtype(problem.hinge.upper), dtype(problem.hinge.shift)
        for (i,) in draws:
            slope = y[i] * (data[i] @ weights) - dtype(1) + shift * alpha[i]
            curvature = data[i] @ data[i] + shift
            free = alpha[i] - slope / curvature if curvature else upper
            new = min(max(free, dtype(0)), upper)
            increment, alpha[i] = new - alpha[i], new
            weights += y[i] * increment * data[i]
        return alpha, weights, draws
    penalty, m = dtype(problem.ridge.penalty), dtype(problem.samples)
    for (i,) in draws:
        left = y[i] - data[i] @ weights / penalty - m * alpha[i]
        increment = left / (data[i] @ data[i] / penalty + m)
        alpha[i] += increment
        weights += increment * data[i]
    return alpha, weights, draws


@settings(max_examples=40)
@given(problems(), st.sampled_from(["float32", "float64"]), st.integers(1, 60))
def test_no_weights_kept_well_drift_beyond_their_bound(drawn, precision, steps):
    problem, _, generator = drawn
    problem = Problem("drawn", problem.dense, problem.targets, LinearKernel(), problem.loss)
    bound = DriftBound(problem, Formulas("any", precision=precision, weights=0))
    with np.errstate(over="ignore", invalid="ignore"):
        alpha, weights, draws = _descend(problem, steps, TYPES[precision], generator)
    start = np.zeros(problem.samples)
    if not (np.isfinite(alpha).all() and np.isfinite(weights).all()):
        return
    low, _ = exact_drift(problem, [alpha], [weights])[0]
    limit = bound.after(Segment(start, np.zeros(problem.features), bound.initial(start), draws))
    assert (low <= limit).all()
    event(f"bounded: {bool(np.isfinite(limit).all())}")
