"""Problems that are solved in the place of the right one: mistakes in what is solved, not in the steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.checks.panel.defects import LABELS
from sstep_verify.checks.shared.case import Case
from sstep_verify.problems import Hinge, Problem
from sstep_verify.trajectory import Panel

BOTH = "labels inside the kernel and outside"
EVERYWHERE = "m in every entry"

UPPER = "upper-end-lost"

SOLVED_INSTEAD = (LABELS, BOTH, EVERYWHERE)
"""Other matrices than Q or M: labels inside the kernel stand there in the place of those outside."""

FROM_DATA = (*SOLVED_INSTEAD, UPPER)
"""Mistakes that are tried from the data alone, not from a panel that the solver shows."""

MOST_WORDS = 1 << 24
"""Largest data (m n) of which copies with other labels are made: 128 MiB each."""

FAR = 2.0**500
"""A C that no step reaches; it stands for none."""


def mistaken_problems(problem: Problem) -> dict[str, Problem]:
    """Problems that a K-SVM solver may solve by mistake, by the name of the mistake."""
    found: dict[str, Problem] = {}
    if not problem.is_svm:
        return found
    words = problem.samples * problem.features
    if (
        words <= MOST_WORDS and not problem.kernel.linear
    ):  # There labels inside are right, and with those outside they cancel.
        both = replace(problem, data=problem.targets[:, None] * problem.dense)
        found |= {LABELS: replace(both, targets=np.ones(problem.samples)), BOTH: both}
    if np.isfinite(problem.hinge.upper):
        # In the recurrence that is a mutation, but the bound on a step that should be clipped is 0.
        found[UPPER] = replace(problem, loss=Hinge(FAR))
    return found


def mistaken_panels(case: Case, draws: np.ndarray) -> dict[str, Panel]:
    """Kernel rows by which right steps of a K-RR are those of a mistake, by its name.

    Parameters
    ----------
    case : Case
        The case.
    draws : ndarray of int, shape (s, b)
        Blocks of the window.
    """
    if case.problem.is_svm:
        return {}
    columns = np.unique(draws)
    rows = kernel_entries(case.problem, case.declaration, columns).values
    # Erratum 8: K/lambda + m in every entry is what K + lambda m off the diagonal makes of K/lambda + m I.
    with np.errstate(over="ignore"):
        entries = rows + case.problem.ridge.penalty * case.problem.samples
    entries[np.arange(columns.size), columns] = rows[np.arange(columns.size), columns]
    return {EVERYWHERE: Panel(columns, entries)} if np.isfinite(entries).all() else {}
