"""Solvers that are wrong in one state, size or parameter only are refused by profile ci.

One solver, correct where nothing is wrong with it; each defect acts only in some transitions between the
limits of the box, some windows, or some residues of m, n or b, or for some parameters. More of them, of a
second solver, are listed in ``state_mistakes.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from state_mistakes import MISTAKES, refusing, solver_of

from sstep_verify import CallableSolver, Declaration, verify

DEFECTS = {
    "never leaves C": ("svm-l1", "rbf"),
    "C to 0 stops half way": ("svm-l1", "linear"),
    "0 to C stops half way": ("svm-l1", "rbf"),
    "never returns from 0": ("svm-l2", "linear"),
    "third draw of a window": ("svm-l1", "rbf"),
    "equal samples": ("svm-l1", "rbf"),
    "omega = 1 / C^2": ("svm-l2", "rbf"),
    "samples beyond a multiple of 4": ("svm-l2", "rbf"),
    "last feature of an odd number": ("krr", "rbf"),
    "last entry of a CSR row": ("krr", "linear"),
    "blocks of other than 2 and 3": ("krr", "linear"),
    "last window of one step": ("krr", "linear"),
    "lambda beyond 1": ("krr", "linear"),
}
"""Defects by what they act in, with a task and a kernel in which they do."""

DAILY = ("never leaves C", "third draw of a window")
"""One that acts in a transition and one in a window."""


def _kernel(problem, wrong):
    X, kernel = problem.dense.copy(), problem.kernel
    if wrong == "last feature of an odd number":
        X[:, X.shape[1] // 2 * 2 :] = 0.0
    if wrong == "last entry of a CSR row" and sp.issparse(problem.data):
        for row in X:
            row[np.flatnonzero(row)[-1:]] = 0.0
    if kernel.name == "rbf":
        return np.exp(-kernel.sigma * np.square(X[:, None] - X[None]).sum(axis=2))
    return X @ X.T


def _window_end(wrong, problem, K, window, stale, a, log, last):
    """Make the steps of a window, which is the `last` of its run or not, in place."""
    y = problem.signs
    moved, drawn = np.zeros(problem.samples), np.zeros(problem.samples, dtype=int)
    for t, B in enumerate(window):
        counted, i = moved.copy(), int(B[0])
        drawn[B] += 1
        if wrong == "third draw of a window" and drawn[i] > 2:
            counted[i] = 0.0
        if wrong == "equal samples":
            counted[(np.arange(len(a)) != i) & (K[i] == K[i, i])] = 0.0
        product = np.array([stale[int(j)] + K[j] @ counted for j in B])
        skipped = wrong == "last window of one step" and last and len(window) == 1
        new = a[B] if skipped else _step(wrong, problem, K, B, product, a)
        moved[B] += y[B] * (new - a[B])
        a[B] = log[t] = new


def _step(wrong, problem, K, B, product, a):
    m, targets, i = problem.samples, problem.targets, B[0]
    if not problem.is_svm:
        penalty = problem.loss.penalty
        if wrong == "lambda beyond 1" and penalty > 1:
            penalty = 1 / penalty
        G = K[np.ix_(B, B)] / penalty + m * np.eye(B.size)
        if wrong == "blocks of other than 2 and 3" and B.size not in (2, 3):
            G *= 2.0
        return a[B] + np.linalg.solve(G, targets[B] - m * a[B] - product / penalty)
    C, omega, upper = problem.loss.C, 0.0, np.inf
    if problem.loss.task == "svm-l1":
        upper = C
    else:
        omega = 1 / C**2 if wrong == "omega = 1 / C^2" else 1 / (2 * C)
    eta, old = K[i, i] + omega, a[i]
    new = min(max(old - (targets[i] * product[0] - 1 + omega * old) / eta, 0.0), upper) if eta else upper
    half = {"C to 0 stops half way": (upper, 0.0), "0 to C stops half way": (0.0, upper)}.get(wrong)
    if (old, new) == half:
        new = upper / 2
    if (wrong == "never leaves C" and old == upper) or (
        wrong == "never returns from 0" and i % 2 and old == 0.0
    ):
        new = old
    return np.array([new])


def _solver(wrong):
    def solve(problem, blocks, s, a0, log):
        K, a, y = _kernel(problem, wrong), a0.copy(), problem.signs
        used = len(a) // 4 * 4 if wrong == "samples beyond a multiple of 4" else len(a)
        for begin in range(0, len(blocks), s):
            window = blocks[begin : begin + s]
            stale = {int(i): K[i, :used] @ (y * a)[:used] for i in window.ravel()}
            last = begin + s >= len(blocks) and s > 1
            _window_end(wrong, problem, K, window, stale, a, log[begin : begin + s], last)
        return a

    return CallableSolver(solve, Declaration("x", log=True, rbf="difference", factorisation="lu"))


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize(
    "wrong", [pytest.param(one, marks=[pytest.mark.nightly] * (one not in DAILY)) for one in DEFECTS]
)
def test_what_is_wrong_in_one_state_is_refused(wrong):
    task, kernel = DEFECTS[wrong]
    report = verify(_solver(wrong), "ci", tasks=[task], kernels=[kernel])
    assert report.results.summary.exit_code == 1
    assert {one["check"] for one in report.failures} >= {"step-replay"}


@pytest.mark.parametrize(
    ("task", "kernel"),
    [
        pytest.param(*pair, marks=[pytest.mark.nightly] * (place % 6 != 0))
        for place, pair in enumerate(sorted(set(DEFECTS.values())))
    ],
)
def test_without_a_defect_the_solver_passes(task, kernel):
    assert verify(_solver(""), "ci", tasks=[task], kernels=[kernel]).passed


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.nightly] * (place % 32 != 0))
        for place, one in enumerate(MISTAKES)
    ],
)
def test_a_mistake_in_one_state_is_refused(mistake):
    assert refusing(mistake)


@pytest.mark.nightly
@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_without_a_mistake_the_second_solver_passes(task):
    assert verify(solver_of("correct", {}), "ci", tasks=[task]).passed
