"""Products of the kernel with vectors in float64, with what the exact and a solver's may differ by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem, Ridge
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    rounded_problem,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import KernelEntries, some_rows


@dataclass(frozen=True)
class KernelProducts:
    """``K v`` in float64 with two error bounds.

    Parameters
    ----------
    values : ndarray, shape (m,)
        The products.
    magnitude : ndarray, shape (m,)
        Bound on ``sum_j |K_ij| |v_j|``, for the exact and the solver's entries.
    judge_error : ndarray, shape (m,)
        Bound on ``|values - exact|``.
    solver_error : ndarray, shape (m,)
        Bound on ``|product formed by the solver, in any order - exact|``.
    """

    values: np.ndarray
    magnitude: np.ndarray
    judge_error: np.ndarray
    solver_error: np.ndarray


def kernel_products(problem: Problem, declaration: Declaration, vector: np.ndarray) -> KernelProducts:
    """Products of all kernel rows with a float64 vector of shape (m,).

    A sum of m products errs by ``gamma_m sum |K_ij v_j|`` in any order, and its entries by delta_K
    (rounding/kernel/entries.py). With the linear kernel a solver may form ``A (A' v)`` instead: m products
    and sums for each feature, then n, so ``gamma_{m+n} |A| (|A|' |v|)``; the larger of the two holds.

    The problem is the given one. A solver that rounds its input computes the entries of the held problem,
    ``x~ = fl(x)`` with other parameters (rounding/arithmetic.py), so by the triangle inequality

        |K^ - K(x, z)| <= |K^ - K~(x~, z~)| + |K~(x~, z~) - K(x, z)|.

    The first term is the bound for the held problem; the second, which is at most ``((1+u)^2 - 1) |x|.|z|``
    for the linear kernel, is evaluated in float64 with the error of doing so.
    """
    samples, absolute, rounded = problem.samples, np.abs(vector), _rounded_samples(problem, declaration)
    parts = np.zeros((4, samples))
    for rows in some_rows(samples):
        entries = _used_entries(problem, rounded, declaration, rows)
        # An entry that is not finite is reported by an infinite bound.
        with np.errstate(over="ignore", invalid="ignore"):
            parts[0, rows] = entries.values @ vector
            parts[1, rows] = entries.magnitude @ absolute
            parts[2, rows] = entries.judge_error @ absolute
            parts[3, rows] = entries.solver_error @ absolute
    values, magnitude, judge_error, solver_error = parts
    u, u64 = unit_roundoff(declaration.precision), unit_roundoff("float64")
    with np.errstate(over="ignore", invalid="ignore"):
        judge_error = (
            judge_error + gamma(samples, u64) * magnitude + samples * smallest_subnormal("float64")
        )
        formed = (
            solver_error
            + gamma(samples, u) * magnitude
            + samples * smallest_subnormal(declaration.precision)
        )
        solver_error = np.maximum(formed, solver_error + _factored(problem, rounded, declaration, absolute))
    return KernelProducts(
        values,
        np.nan_to_num(magnitude * ROUND_UP, nan=np.inf, posinf=np.inf),
        np.nan_to_num(judge_error * ROUND_UP, nan=np.inf, posinf=np.inf),
        np.nan_to_num(solver_error * ROUND_UP, nan=np.inf, posinf=np.inf),
    )


def _rounded_samples(problem: Problem, declaration: Declaration) -> Problem | None:
    """The problem with the samples and kernel that a solver holds, whatever it makes of the rest."""
    if declaration.precision != "float32":
        return problem
    samples = replace(problem, targets=np.zeros(problem.samples), loss=Ridge())
    rounded = rounded_problem(samples, declaration)
    if rounded is None or rounded is samples:
        return None if rounded is None else problem
    return replace(problem, data=rounded.data, kernel=rounded.kernel)


def _used_entries(
    problem: Problem, rounded: Problem | None, declaration: Declaration, rows: np.ndarray
) -> KernelEntries:
    """Kernel rows of the given problem, and what those of a solver that holds another one are off by."""
    entries = kernel_entries(problem, declaration, rows)
    if rounded is problem:
        return entries
    if rounded is None:
        return replace(entries, solver_error=np.full_like(entries.values, np.inf))
    used = kernel_entries(rounded, declaration, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        error = used.solver_error + np.abs(used.values - entries.values) + used.judge_error
        error = (error + entries.judge_error) * ROUND_UP
        return replace(entries, solver_error=np.nan_to_num(error, nan=np.inf, posinf=np.inf))


def _factored(
    problem: Problem, rounded: Problem | None, declaration: Declaration, absolute: np.ndarray
) -> np.ndarray | float:
    """Bound on the rounding of ``A (A' v)`` where the kernel is linear, shape (m,); 0 for the others."""
    if not problem.kernel.linear:
        return 0.0
    samples, features = problem.samples, problem.features
    data = np.abs(problem.dense)
    if rounded is not None:
        data = np.maximum(data, np.abs(rounded.dense))
    subnormal = smallest_subnormal(declaration.precision)
    underflow = subnormal * (samples * data.sum(axis=1) + features)
    return (
        gamma(samples + features, unit_roundoff(declaration.precision)) * (data @ (data.T @ absolute))
        + underflow
    )
