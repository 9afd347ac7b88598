"""Kernel rows as named mistakes would form them: those that checks plant, those that explain a failure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.declaration import LIBRARY_ULPS, Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.problems import Problem, RBFKernel
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries

LOST, SPLIT = "features lost in the reduction", "kernel applied before the reduction"
LABELS, NORMS = "labels inside the kernel", "norms dropped"
EVERYWHERE, BIAS = "m in every entry", "1 added to every kernel entry"

MOST_WORDS = 1 << 24
"""Largest data (m n) of which copies with other labels are made: 128 MiB each."""

LARGEST_EXPONENT = 710.0
"""Above log(2**1024) = 709.78..., so exp of more is infinite in float64."""


def panel_defects(problem: Problem, declaration: Declaration, rows: np.ndarray) -> dict[str, KernelEntries]:
    """Kernel rows of some samples, shape (c,), as defective solvers would form them, with their errors.

    By defect; the first stands for every kernel: without it the entries say nothing of the data.
    """
    names = [*mistaken(problem), *([NORMS] if isinstance(problem.kernel, RBFKernel) else [])]
    return {name: rows_of(problem, declaration, rows, name) for name in names}


def mistaken_rows(problem: Problem) -> list[str]:
    """Names of mistakes by which right steps are made from kernel rows that are no problem's own."""
    names = [NORMS] if isinstance(problem.kernel, RBFKernel) else []
    names += [] if problem.kernel.linear else [SPLIT]
    affordable = problem.samples * problem.features <= MOST_WORDS
    return [*(names if affordable else []), *([] if problem.is_svm else [EVERYWHERE]), BIAS]


def rows_of(
    problem: Problem, declaration: Declaration, rows: np.ndarray, mistake: str = ""
) -> KernelEntries:
    """Kernel rows of a problem, right or by a mistake, with the error of forming them.

    The mistake is one of its `panel_defects` or `mistaken_rows`; empty for the right rows.
    """
    if mistake == NORMS:
        return _norms_dropped(problem, declaration, rows)
    problems = mistaken(problem)[mistake] if mistake in (LOST, SPLIT, LABELS) else [problem]
    first, *rest = (kernel_entries(one, declaration, rows) for one in problems)
    for second in rest:
        first = _moved(first, second.values, declaration, second.judge_error, second.solver_error)
    if mistake == BIAS:
        return _moved(first, 1.0, declaration)
    if mistake == EVERYWHERE:
        # Erratum 8: m in every entry is what K + lambda m off the diagonal makes of K/lambda + m I.
        added = np.full(first.values.shape, problem.ridge.penalty * problem.samples)
        added[np.arange(rows.size), rows] = 0.0
        return _moved(first, added, declaration)
    return first


@np.errstate(over="ignore", invalid="ignore")
def _moved(
    rows: KernelEntries,
    added: np.ndarray | float,
    declaration: Declaration,
    judge_error: np.ndarray | float = 0.0,
    solver_error: np.ndarray | float = 0.0,
) -> KernelEntries:
    """Rows to which numbers with errors were added, in float64 here and in the solver's precision there."""
    values = rows.values + added
    here, there = (unit_roundoff(one) * np.abs(values) for one in ("float64", declaration.precision))
    return replace(
        rows,
        values=values,
        judge_error=(rows.judge_error + judge_error + here) * ROUND_UP,
        solver_error=(rows.solver_error + solver_error + there) * ROUND_UP,
    )


def mistaken(problem: Problem) -> dict[str, list[Problem]]:
    """Problems whose kernels, added up, a defect puts instead of the right one."""
    data, half = problem.dense, problem.features // 2
    first, second = np.zeros_like(data), np.zeros_like(data)
    first[:, :half], second[:, half:] = data[:, :half], data[:, half:]
    kept = replace(problem, data=first)
    problems = {LOST: [kept]}
    if not problem.kernel.linear:
        problems[SPLIT] = [kept, replace(problem, data=second)]
    if problem.loss.labelled:
        problems[LABELS] = [replace(problem, data=problem.targets[:, None] * data)]
    return problems


def shown(right: KernelEntries, mutant: KernelEntries) -> np.ndarray:
    """What a defect changes for certain in each entry, over the bound on that entry, shape (c, m)."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        effect = np.abs(mutant.values - right.values) - mutant.judge_error - right.judge_error
        effect = np.nan_to_num(np.maximum(effect, 0.0), nan=0.0, posinf=np.inf)
        return np.where(effect > 0, effect / right.solver_error, 0.0)


def differs(problem: Problem, name: str, rows: np.ndarray, oracle: Oracle) -> bool:
    """Whether a defect changes some entry of these rows, shape (c,), exactly, as far as balls can tell.

    Rows are looked at until an entry certainly differs.
    """
    if name == NORMS:
        return bool(problem.dense[rows].any() or problem.dense.any())
    right = oracle.kernel(FIRST_BITS)
    kernels = [exact_kernel(one, right.arithmetic) for one in mistaken(problem)[name]]
    with right.arithmetic.working():
        for i in rows.tolist():
            columns = [kernel.column(i) for kernel in kernels]
            for place, exact in enumerate(right.column(i)):
                if not exact.overlaps(sum((column[place] for column in columns[1:]), columns[0][place])):
                    return True
    return False


def _norms_dropped(problem: Problem, declaration: Declaration, rows: np.ndarray) -> KernelEntries:
    """``exp(2 sigma <x, z>)``, in which the exponent's own error is relative to its size.

    Where the exponent is certain to be beyond the range of exp, as it is far from the origin, the defect
    gives infinity without an error.
    """
    data, sigma = problem.dense, parameters_of(problem.kernel)["sigma"]
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = 2 * sigma * (data[rows] @ data.T)
        size = 2 * sigma * (np.abs(data[rows]) @ np.abs(data).T) * ROUND_UP
        values = np.exp(exponent)
        least = exponent - gamma(problem.features + 6, unit_roundoff("float64")) * size
        infinite = least > LARGEST_EXPONENT
        errors = []
        for name in ("float64", declaration.precision):
            u = unit_roundoff(name)
            moved = gamma(problem.features + 6, u) * size
            errors.append(
                values * (np.expm1(moved) + 2 * (1 + LIBRARY_ULPS) * u * np.exp(moved)) * ROUND_UP
            )
        errors = [np.where(infinite, 0.0, np.nan_to_num(e, nan=np.inf, posinf=np.inf)) for e in errors]
        return KernelEntries(values, *errors)
