"""Detection limits of a K-SVM's windows to first order in u: a bound on each error over a term's effect.

Made apart from what it is compared with: in plain NumPy, from the formulas of bounds/window/svm.py and
rounding/kernel/entries.py with ``k u`` for gamma_k, products of errors left out, and steps and effects in
float64. All of that matters by 2^-20 or less of a limit.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sstep_reference import Gram
from sstep_reference.arithmetic import Float

from sstep_verify.declaration import LIBRARY_ULPS, Declaration
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem
from sstep_verify.recurrence.mutants import run_mutant
from sstep_verify.recurrence.mutation import off_by
from sstep_verify.recurrence.steps import finisher_of, mutable_window
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.scenarios.descent import design_kernel
from sstep_verify.scenarios.scenario import Scenario

U = unit_roundoff("float64")

CHANGE = Fraction(1, 2**20)
"""Relative change of a term, either way, whose effect is looked at."""

FIRST_ORDER = 2.0**-10
"""Relative difference allowed for what first order leaves out, a thousand times as much as that."""


def smallest_limit(scenario: Scenario, declaration: Declaration, term: str) -> float:
    """The smallest error of a term, relative, whose effect is as large as the bound in a window of a run."""
    problem, stream, arithmetic = scenario.problem(), scenario.stream(), Float("float64")
    values, finisher = design_kernel(problem), finisher_of(problem, arithmetic)
    blocks, initial, smallest = stream.blocks(0, stream.length), scenario.initial(), np.inf
    begun = np.zeros(problem.samples) if initial is None else initial
    of_run = Gram(arithmetic, values), problem.targets, finisher, begun, blocks.tolist(), scenario.s
    for number, run in enumerate(run_mutant(*of_run)):
        window, draws = run.window, blocks[number * scenario.s :][: scenario.s, 0]
        assert window is not None
        effects = [
            np.abs(np.subtract(mutable_window(arithmetic, window, finisher, mutation), run.reached))
            for change in (-CHANGE, CHANGE)
            if (mutation := off_by(term, change))
        ]
        effect = np.minimum(*effects) / float(CHANGE)
        bound = window_bound(problem, declaration, values, begun, draws)[window.coordinates]
        seen = effect > 0.0
        smallest = min(smallest, np.min(bound[seen] / effect[seen], initial=np.inf))
        begun = begun.copy()
        begun[window.coordinates] = run.reached
    return smallest


def window_bound(
    problem: Problem, declaration: Declaration, values: np.ndarray, begun: np.ndarray, draws: np.ndarray
) -> np.ndarray:
    """Bound the error of each coordinate, shape (m,), at the end of a window; 0 where it must be exact."""
    dual, frozen, samples = problem.dual, declaration.update == "frozen", begun.size
    shift, upper, alpha, labels = dual.shift, dual.upper, begun.astype(np.float64), problem.targets
    errors, more, sizes = entry_errors(problem, declaration, values)
    # Errors are combinations of symbols, one a column: what a step makes, what it stores, what ends it.
    errors_of, column = np.zeros((samples, 2 * draws.size + samples)), 0
    moved, drawn, made = np.zeros(samples), np.zeros(samples), 0
    for i in draws:
        reach = np.abs(begun) + moved
        curvature = values[i, i] + shift
        unclipped = (
            alpha[i] - (labels[i] * (values[i] @ (labels * alpha)) - 1 + shift * alpha[i]) / curvature
        )
        # Terms of the gradient: products, corrections, 1 and the shift's, each increment of i by itself.
        roundings = more + np.count_nonzero(begun) + made + 6 + (max(drawn[i] - 1, 0) if shift else 0)
        gradient = roundings * U * (sizes[i] @ reach + 1 + shift * reach[i]) + errors[i] @ reach
        quotient = abs(alpha[i]) + abs(unclipped)
        curved = errors[i, i] + 3 * U * curvature
        local = (gradient + quotient * curved) / curvature + 2 * U * (quotient + abs(unclipped))
        others = np.where(np.arange(samples) == i, 0.0, values[i] * labels[i] * labels)
        handed = -(others @ errors_of) / curvature
        apart, updated = np.abs(handed).sum() + local, min(max(unclipped, 0.0), upper)
        free = apart <= unclipped <= upper - apart
        theta, alpha[i] = abs(updated - alpha[i]), updated
        kept = handed if free else np.zeros_like(handed)
        certain = unclipped + apart <= 0.0 or unclipped - apart >= upper
        kept[column] = 0.0 if certain else local if free else min(apart, upper)
        if frozen:
            kept[column + 1] = (drawn[i] + 2) * U * (abs(begun[i]) + moved[i]) + U * theta
        # A step moves its coordinate, or may have.
        made += bool(theta > 0 or errors_of[i].any() or kept.any())
        errors_of[i], column = kept, column + 2
        moved[i], drawn[i] = moved[i] + theta, drawn[i] + 1
    bound = np.abs(errors_of).sum(axis=1)
    stored = (drawn + 3) * U * (np.abs(begun) + moved)
    return bound + np.where(drawn > 0, stored, 0.0) if frozen else bound


def entry_errors(
    problem: Problem, declaration: Declaration, values: np.ndarray
) -> tuple[np.ndarray, int, np.ndarray]:
    """Errors of kernel entries, (m, m); roundings of a product besides, and sizes of the products' factors.

    With the linear kernel products may be formed from the samples.
    """
    data, kernel = problem.dense, problem.kernel
    features, absolute = data.shape[1], np.abs(data) @ np.abs(data).T
    library = 2 * LIBRARY_ULPS * U
    if isinstance(kernel, LinearKernel):
        factored = declaration.products == "any"
        return features * U * absolute, features * factored, absolute if factored else np.abs(values)
    if isinstance(kernel, PolynomialKernel):
        base, size = absolute + kernel.offset, np.abs(data @ data.T + kernel.offset)
        argument = (features + 1) * U * base
        relative = max(kernel.degree - 1, 2 * LIBRARY_ULPS) * U
        errors = kernel.degree * argument * size ** (kernel.degree - 1) + relative * size**kernel.degree
        return errors, 0, np.abs(values)
    norms = (data**2).sum(axis=1)
    reach = norms[:, None] + norms + 2 * absolute
    if declaration.rbf == "difference":
        reach = ((data[:, None] - data) ** 2).sum(axis=-1)
    return values * (kernel.sigma * (features + 6) * U * reach + library), 0, np.abs(values)
