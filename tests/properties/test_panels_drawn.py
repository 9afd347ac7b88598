"""Drawn solvers that expose kernel rows, and take some or all of K from elsewhere: each is judged by itself.

A correct one passes whatever it takes from the rows. Rows that are wrong fail `kernel-entries` only, and
what is wrong next to them fails the windows.
"""

from __future__ import annotations

import numpy as np
import pytest
from small_solvers import drawn, kernel_of

from sstep_verify import Declaration, IndexStream, PolynomialKernel, Problem, Trajectory, judge
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import UNSETTLED, Status

CHECKS = ("kernel-entries", "window-replay", "trajectory")

USES = ("products", "corrections", "block")
"""What a step takes of K: its stale product, the corrections in its window, and what it divides by."""


class Exposes:
    """Makes windows whose rows it exposes; `apart` are the uses of K that it has formed in another order.

    The rows that are exposed, and those that are used of `USES`, are wrong by a factor each.
    """

    def __init__(self, apart=(), exposed=1.0, wrong=None):
        self.apart, self.exposed, self.wrong = apart, exposed, wrong or {}
        self.declaration = Declaration(
            "exposes", panels=True, update="added", rbf="difference", factorisation="lu"
        )
        self.differ = False

    def matrices(self, problem: Problem) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The kernel that the rows hold, and that of each use."""
        shown = kernel_of(problem)
        turned = Problem(
            problem.name, problem.dense[:, ::-1].copy(), problem.targets, problem.kernel, problem.loss
        )
        other = kernel_of(turned)
        self.differ |= bool(self.apart) and bool((other != shown).any())
        used = {use: (other if use in self.apart else shown) * self.wrong.get(use, 1.0) for use in USES}
        return shown * self.exposed, used

    def run(self, request, observe=None):
        problem, stops = request.problem, set(request.stops)
        shown, used = self.matrices(problem)
        signs = problem.targets if problem.is_svm else np.ones(problem.samples)
        scale = 1.0 if problem.is_svm else 1.0 / problem.ridge.penalty
        own = 0.0 if problem.is_svm else float(problem.samples)
        goal = np.ones(problem.samples) if problem.is_svm else problem.targets
        used = {use: np.outer(signs, signs) * one * scale for use, one in used.items()}
        a = np.array(request.first, dtype=float)
        iterations, alphas, panels = [0], [a.copy()], {}
        for begin in range(0, request.iterations, request.s):
            end = min(begin + request.s, request.iterations)
            window = request.blocks(begin, end)
            if request.expose_panels and {begin, end} <= stops:
                columns = np.unique(window)
                panels[begin] = Panel(columns, shown[columns])
            stale = [used["products"][block] @ a + own * a[block] - goal[block] for block in window]
            made: list[tuple[np.ndarray, np.ndarray]] = []
            for gradient, block in zip(stale, window, strict=True):
                for earlier, increment in made:
                    gradient += used["corrections"][np.ix_(block, earlier)] @ increment
                    gradient += own * (block[:, None] == earlier) @ increment
                system = used["block"][np.ix_(block, block)] + own * np.eye(block.size)
                new = a[block] - np.linalg.solve(system, gradient)
                new = np.clip(new, 0.0, problem.hinge.C) if problem.is_svm else new
                made.append((block, new - a[block]))
                a[block] = a[block] + made[-1][1]
            if end in stops:
                iterations.append(end)
                alphas.append(a.copy())
        return Trajectory(request.s, request.start, np.array(iterations), np.array(alphas), panels=panels)


def case(seed: int) -> tuple[Problem, IndexStream, int, np.random.Generator]:
    """A problem of many features, so that orders of summation differ, its stream, and s."""
    generator = np.random.Generator(np.random.PCG64([seed, 46]))
    task = ("svm-l1", "krr")[seed % 2]
    problem, stream = drawn(seed, task, length=int(generator.integers(15, 30)))
    if generator.random() < 0.3:
        kernel = PolynomialKernel(
            degree=int(generator.integers(2, 4)), offset=float(generator.integers(1, 3))
        )
        problem = Problem(problem.name, problem.data, problem.targets, kernel, problem.loss)
    wide = generator.standard_normal((problem.samples, int(generator.integers(20, 200))))
    wide *= 1.0 / np.sqrt(wide.shape[1])
    problem = Problem(problem.name, wide, problem.targets, problem.kernel, problem.loss)
    return problem, stream, int(generator.integers(2, 8)), generator


def statuses(solver, problem, stream, s) -> dict[str, set[Status]]:
    found: dict[str, set[Status]] = {}
    for one in judge(solver, problem, stream, s=s, checks=CHECKS):
        if one.check in CHECKS:
            found.setdefault(one.check, set()).add(one.status)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_correct_solver_passes_whatever_it_takes_from_its_rows(seed):
    problem, stream, s, generator = case(seed)
    apart = [use for use in USES if generator.random() < 0.5] or [USES[seed % 3]]
    solver = Exposes(apart)
    found = statuses(solver, problem, stream, s)
    assert found["kernel-entries"] == found["trajectory"] == {Status.PASS}
    assert found["window-replay"].isdisjoint(UNSETTLED)
    assert solver.differ


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("seed", range(12, 20))
def test_wrong_rows_fail_the_entries_and_no_window(seed):
    problem, stream, s, generator = case(seed)
    exposed = 1.0 + 10.0 ** generator.uniform(-9, -2) * generator.choice([-1, 1])
    found = statuses(Exposes(USES, exposed), problem, stream, s)
    assert found["kernel-entries"] == {Status.FAIL}
    assert found["trajectory"] == {Status.PASS}
    assert found["window-replay"].isdisjoint(UNSETTLED)


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("seed", range(20, 32))
def test_what_is_wrong_next_to_the_rows_fails_the_windows_and_no_entries(seed):
    problem, stream, s, generator = case(seed)
    use = USES[seed % 3]
    factor = 1.0 + 10.0 ** generator.uniform(-7, -2) * generator.choice([-1, 1])
    found = statuses(Exposes((use,), wrong={use: factor}), problem, stream, s)
    assert found["kernel-entries"] == {Status.PASS}
    assert found["trajectory"] == {Status.FAIL}
    # A sampled window that could not have shown it says so.
    assert found["window-replay"] <= {Status.FAIL, Status.VACUOUS}
