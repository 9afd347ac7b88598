"""What named mistakes would put into a panel: the defects that check kernel-entries plants and names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.bounds.kernel_entries import KernelEntries, kernel_entries
from sstep_verify.bounds.rounding import OUTWARD, gamma, unit_roundoff
from sstep_verify.problems import LinearKernel, Problem, RBFKernel
from sstep_verify.solver import Declaration

LARGEST_EXPONENT = 710.0
"""Above log(2**1024) = 709.78..., so exp of more is infinite in float64."""


def panel_defects(problem: Problem, declaration: Declaration, rows: np.ndarray) -> dict[str, KernelEntries]:
    """Kernel rows as a defective solver would have them, with the error of forming them here.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision and formulas of the solver.
    rows : ndarray of int, shape (c,)
        Samples whose rows are wanted.

    Returns
    -------
    dict of str to KernelEntries
        By defect; the first stands for every kernel: without it the entries say nothing of the data.
    """
    data, half = problem.dense, problem.features // 2
    zeros = np.zeros_like(data)
    first, second = zeros.copy(), zeros.copy()
    first[:, :half], second[:, half:] = data[:, :half], data[:, half:]
    kept = kernel_entries(replace(problem, data=first), declaration, rows)
    found = {"features lost in the reduction": kept}
    if not isinstance(problem.kernel, LinearKernel):
        other = kernel_entries(replace(problem, data=second), declaration, rows)
        found["kernel applied before the reduction"] = _sum(kept, other)
    if problem.is_svm:
        signed = replace(problem, data=problem.targets[:, None] * data)
        found["labels inside the kernel"] = kernel_entries(signed, declaration, rows)
    if isinstance(problem.kernel, RBFKernel):
        found["norms dropped"] = _norms_dropped(problem, declaration, rows)
    return found


def _sum(one: KernelEntries, other: KernelEntries) -> KernelEntries:
    with np.errstate(over="ignore", invalid="ignore"):
        values = one.values + other.values
        rounding = unit_roundoff("float64") * np.abs(values)
        return KernelEntries(
            values,
            (one.own + other.own + rounding) * OUTWARD,
            (one.solver + other.solver + rounding) * OUTWARD,
        )


def _norms_dropped(problem: Problem, declaration: Declaration, rows: np.ndarray) -> KernelEntries:
    """``exp(2 sigma <x, z>)``, in which the exponent's own error is relative to its size.

    Where the exponent is certain to be beyond the range of exp, as it is far from the origin, the defect
    gives infinity without an error.
    """
    data, sigma = problem.dense, problem.kernel.sigma  # type: ignore[union-attr]
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = 2 * sigma * (data[rows] @ data.T)
        size = 2 * sigma * (np.abs(data[rows]) @ np.abs(data).T) * OUTWARD
        values = np.exp(exponent)
        least = exponent - gamma(problem.features + 6, unit_roundoff("float64")) * size
        infinite = least > LARGEST_EXPONENT
        errors = []
        for name, ulps in (("float64", 1.0), (declaration.precision, declaration.function_ulps)):
            u = unit_roundoff(name)
            moved = gamma(problem.features + 6, u) * size
            errors.append(values * (np.expm1(moved) + 2 * (1 + ulps) * u * np.exp(moved)) * OUTWARD)
        errors = [np.where(infinite, 0.0, np.nan_to_num(e, nan=np.inf, posinf=np.inf)) for e in errors]
        return KernelEntries(values, *errors)
