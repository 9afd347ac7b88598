"""Problems that are solved in the place of the right one: mistakes in what is solved, not in the steps."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.checks.panel.defects import LABELS, LOST, NORMS, SPLIT, panel_defects
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, Problem, Ridge, SquaredHinge
from sstep_verify.problems.kernels import LARGEST_DEGREE, PolynomialKernel, RBFKernel
from sstep_verify.problems.losses import LEAST_C, MOST_C
from sstep_verify.trajectory import Panel

BOTH = "labels inside the kernel and outside"
EVERYWHERE = "m in every entry"
TIMES_M, OVER_LAMBDA = "a scaled by m", "a scaled by 1/lambda"
M_LOST, LAMBDA_LOST = "m taken as 1", "lambda taken as 1"
OMEGA = "omega doubled or halved"
SIGMA, DEGREE, OFFSET = "sigma doubled or halved", "degree off by one", "offset taken as 0"

UPPER = "upper-end-lost"

SOLVED_INSTEAD = (
    LABELS, BOTH, EVERYWHERE, TIMES_M, OVER_LAMBDA, M_LOST, LAMBDA_LOST, OMEGA, SIGMA, DEGREE, OFFSET,
    NORMS, LOST, SPLIT,
)  # fmt: skip
"""Other matrices than Q or M: labels inside the kernel stand there in the place of those outside."""

FROM_DATA = (*SOLVED_INSTEAD, UPPER)
"""Mistakes that are tried from the data alone, not from a panel that the solver shows."""

MOST_WORDS = 1 << 24
"""Largest data (m n) of which copies with other labels are made: 128 MiB each."""

FAR = 2.0**500
"""A C that no step reaches; it stands for none."""


def mistaken_problems(problem: Problem) -> dict[str, list[Problem]]:
    """Problems that a solver may solve by mistake, by the name of the mistake: one problem or another."""
    changes = {**_of_loss(problem), **_of_kernel(problem)}
    found = {name: _changed(problem, tried) for name, tried in changes.items()}
    if problem.samples * problem.features <= MOST_WORDS:
        found |= _of_data(problem)
    return found


def _changed(problem: Problem, changes: list[dict[str, Any]]) -> list[Problem]:
    """The problem with each of some changes that are possible and change it."""
    found = []
    for change in changes:
        with suppress(InputError):  # A number beyond its range: nobody solves that problem.
            other = replace(problem, **change)
            found += [other] if other.digest != problem.digest else []
    return found


def _of_loss(problem: Problem) -> dict[str, list[dict[str, Any]]]:
    """Another box, shift or diagonal; of a K-RR also another scale of a."""
    loss = problem.loss
    if isinstance(loss, Hinge):
        # In the recurrence that is a mutation, but the bound on a step that should be clipped is 0.
        return {UPPER: [{"loss": Hinge(FAR)}]}
    if isinstance(loss, SquaredHinge):
        return {OMEGA: [{"loss": SquaredHinge(C)} for C in _scaled(loss.C) if LEAST_C <= C <= MOST_C]}
    m, y, penalty = float(problem.samples), problem.targets, loss.penalty
    with np.errstate(over="ignore"):
        # M a = y has the steps of M (f a) = f y; with lambda/m, M is m times the matrix that has 1 for m.
        found: dict[str, list[dict[str, Any]]] = {
            TIMES_M: [{"targets": y * m}],
            OVER_LAMBDA: [{"targets": y / penalty}],
            LAMBDA_LOST: [{"loss": Ridge(1.0)}],
        }
        if penalty / m > 0:
            found[M_LOST] = [{"targets": y * m, "loss": Ridge(penalty / m)}]
    return found


def _of_kernel(problem: Problem) -> dict[str, list[dict[str, Any]]]:
    """Another parameter of the kernel."""
    kernel = problem.kernel
    if isinstance(kernel, RBFKernel):
        return {SIGMA: [{"kernel": RBFKernel(sigma)} for sigma in _scaled(kernel.sigma)]}
    if isinstance(kernel, PolynomialKernel):
        degrees = (kernel.degree - 1, kernel.degree + 1)
        return {
            DEGREE: [{"kernel": replace(kernel, degree=d)} for d in degrees if 2 <= d <= LARGEST_DEGREE],
            OFFSET: [{"kernel": replace(kernel, offset=0.0)}],
        }
    return {}


def _scaled(parameter: float) -> list[float]:
    """Half and double a parameter, where these are numbers that a problem may have."""
    return [one for one in (parameter / 2, parameter * 2) if 0 < one < np.inf]


def _of_data(problem: Problem) -> dict[str, list[Problem]]:
    """Labels inside the kernel, features of a rank lost."""
    found, data, n = {}, problem.dense, problem.features
    if problem.is_svm and not problem.kernel.linear:
        # With the linear kernel labels inside are right, and with those outside they cancel.
        both = replace(problem, data=problem.targets[:, None] * data)
        found = {LABELS: [replace(both, targets=np.ones(problem.samples))], BOTH: [both]}
    lost = (slice(n // 2, n), slice(0, n // 2), slice(n - 1, n), slice(0, 1)) if n > 1 else ()
    kept = [np.where(np.isin(np.arange(n), np.arange(n)[part]), 0.0, data) for part in lost]
    return found | {LOST: [replace(problem, data=one) for one in kept if (one != data).any()]}


def mistaken_panels(case: Case, draws: np.ndarray) -> dict[str, Panel]:
    """Kernel rows by which right steps are those of a mistake, by its name.

    Parameters
    ----------
    case : Case
        The case.
    draws : ndarray of int, shape (s, b)
        Blocks of the window.
    """
    problem, columns = case.problem, np.unique(draws)
    found = {}
    if problem.samples * problem.features <= MOST_WORDS:
        planted = panel_defects(problem, case.declaration, columns)
        found = {name: planted[name].values for name in (NORMS, SPLIT) if name in planted}
    if isinstance(problem.loss, Ridge):
        rows = kernel_entries(problem, case.declaration, columns).values
        # Erratum 8: m in every entry is what K + lambda m off the diagonal makes of K/lambda + m I.
        with np.errstate(over="ignore"):
            entries = rows + problem.ridge.penalty * problem.samples
        entries[np.arange(columns.size), columns] = rows[np.arange(columns.size), columns]
        found[EVERYWHERE] = entries
    return {name: Panel(columns, rows) for name, rows in found.items() if np.isfinite(rows).all()}
