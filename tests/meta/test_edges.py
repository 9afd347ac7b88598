"""At the edges of the number range, and for every way of forming a product or a sum, correct solvers pass.

Each case also shows the other side: what the declaration rules out, or the bound without the term that is
tested, fails.
"""

from __future__ import annotations

import numpy as np
import pytest
from judged import by_s

from sstep_verify.adapters import CallableSolver, ReferenceSolver
from sstep_verify.checks import box, trajectory, window_replay
from sstep_verify.checks.recorded import kernel_entries
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Window
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
)
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import HintKind, Status


def judged(problem, solver, s_values, iterations, checks=(window_replay,), block=1, seed=0):
    """Verdicts of checks on a solver's runs, by (check, s)."""
    stream = IndexStream("uniform", samples=problem.samples, block=block, length=iterations, seed=seed)
    ends = {s: tuple(range(s, iterations, s)) for s in s_values}
    case = Case(
        "edge", problem, stream, s_values, iterations, solver.declaration, points=ends, short=60,
        diagnose=False,
    )  # fmt: skip
    oracle, found = Oracle(problem), {}
    for check in checks:
        runs = {key: solver.run(request) for key, request in check.CHECK.runs(case).items()}
        judged_by = by_s(
            verdicts_of(check.CHECK, case, runs, oracle),
            [s for s in s_values if check.CHECK.applies(case, s)],
        )
        found.update({(check.ID, s): verdict for s, verdict in judged_by.items()})
    return found


# --- the linear kernel by way of A'v -------------------------------------------------------------------


def weights_solver(carried: bool):
    """DCD for the linear kernel from w = A'(y a), formed in every window or carried through the run."""

    def solve(problem, blocks, s, start):
        data, labels, upper, a = problem.data, problem.targets, problem.hinge.C, start.copy()
        norms, weights = np.einsum("ij,ij->i", data, data), data.T @ (labels * start)
        for begin in range(0, len(blocks), s):
            if not carried:
                weights = np.zeros(data.shape[1])
                for j in np.flatnonzero(a):
                    weights += labels[j] * a[j] * data[j]
            for (i,) in blocks[begin : begin + s]:
                gradient = labels[i] * (data[i] @ weights) - 1
                new = min(max(a[i] - gradient / norms[i], 0), upper)
                weights += labels[i] * (new - a[i]) * data[i]
                a[i] = new
        return a

    return solve


def orthogonal_groups(seed: int, many: int) -> tuple[Problem, np.ndarray]:
    """Many samples that are orthogonal to the few drawn, but that w is nearly the sum of."""
    rng = np.random.default_rng(seed)
    few, (p, q), C = 8, (np.cos(0.7), np.sin(0.7)), 3e5
    size = 1e-5 * (1 + rng.random(many))
    rows = size[:, None] * np.array([p, q]), (1 + rng.random(few))[:, None] * np.array([q, -p])
    problem = Problem("groups", np.vstack(rows), np.ones(many + few), LinearKernel(), Hinge(C))
    return problem, np.concatenate([C * rng.random(many), np.zeros(few)])


class LastSamples(IndexStream):
    """Draws the four samples before the last four, in order."""

    def blocks(self, begin: int, end: int) -> np.ndarray:
        return np.arange(self.samples - 8, self.samples - 4)[begin:end, None]


@pytest.mark.parametrize(("products", "exceeded"), [("any", False), ("rows", True)])
def test_products_formed_from_the_samples_pass_unless_rows_are_declared(products, exceeded):
    ratios = []
    for seed in range(6):
        problem, start = orthogonal_groups(seed, 1000)
        stream = LastSamples("uniform", samples=problem.samples, block=1, length=4, seed=0)
        declaration = Declaration("from the samples", products=products)
        case = Case("groups", problem, stream, (4,), 4, declaration)
        end = weights_solver(carried=False)(problem, stream.blocks(0, 4), 4, start)
        states = Trajectory(4, 0, np.array([0, 4]), np.array([start, end]))
        ratios.append(
            WindowReplays(case, Oracle(problem)).replay_and_compare(states, Window(0, 4, ())).ratio
        )
    assert (max(ratios) > 1) == exceeded


def test_weights_carried_undeclared_pass_or_are_asked_to_be_declared():
    rng = np.random.default_rng(0)
    u = rng.standard_normal(40)
    data = np.stack([u, -4 / 3 * u], 1) + 1e-4 * rng.standard_normal((40, 2))
    data[0] = (4 / 3, 1.0)  # nearly orthogonal to all others
    problem = Problem("line", data, np.where(rng.random(40) < 0.5, -1.0, 1.0), LinearKernel(), Hinge(1.0))
    fresh = CallableSolver(weights_solver(carried=False), Declaration("fresh"))
    assert judged(problem, fresh, (4,), 400)["window-replay", 4].status is Status.PASS

    def drifting(problem, blocks, s, start):
        a = weights_solver(carried=True)(problem, blocks, s, start)
        drawn = blocks[-1, 0] if len(blocks) else 0
        a[drawn] *= 1 + 2.0**-30 * (len(blocks) > 200)
        return a

    verdict = judged(problem, CallableSolver(drifting, Declaration("carried")), (4,), 400)
    assert verdict["window-replay", 4].status is Status.FAIL
    kinds = [hint.kind for hint in verdict["window-replay", 4].hints]
    assert HintKind.DECLARE_WEIGHTS in kinds


# --- underflow and overflow ----------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize(
    ("solver", "exponent", "penalty"),
    [
        pytest.param(ProductionSolver(), -520, 2.0**-20, marks=pytest.mark.nightly),
        (ProductionSolver(), -960, 2.0**-40),
        (ProductionSolver(), -1020, 1.0),
        pytest.param(ReferenceSolver("float32"), -100, 2.0**-20, marks=pytest.mark.nightly),
        (ReferenceSolver("float32"), -120, 2.0**-20),
        (ReferenceSolver("float32"), -120, 1.0),
    ],
)
def test_tiny_targets_of_ridge_regression_are_not_failed(solver, exponent, penalty, block):
    rng = np.random.default_rng(3)
    data = np.float64(np.float32(rng.standard_normal((12, 4))))
    targets = np.float64(np.float32(rng.standard_normal(12))) * 2.0**exponent
    problem = Problem("tiny", data, targets, LinearKernel(), Ridge(penalty))
    found = judged(problem, solver, (1, 4), 40, (window_replay, trajectory), block)
    assert {verdict.status for verdict in found.values()} <= {Status.PASS, Status.VACUOUS}


def test_an_increment_dropped_at_the_scale_of_underflow_still_fails():
    def solve(problem, blocks, s, start):
        return start  # no step is ever made

    rng = np.random.default_rng(3)
    targets = rng.standard_normal(12) * 2.0**-960
    problem = Problem("tiny", rng.standard_normal((12, 4)), targets, LinearKernel(), Ridge(2.0**-20))
    verdict = judged(problem, CallableSolver(solve, Declaration("idle")), (1,), 40)["window-replay", 1]
    assert verdict.status is Status.FAIL


def plain_float32(problem, blocks, s, start):
    """Classical DCD in float32 for a polynomial kernel of degree 3."""
    single = np.float32
    data, labels, C = problem.data.astype(single), problem.targets.astype(single), single(problem.hinge.C)
    a = start.astype(single)
    with np.errstate(all="ignore"):
        for (i,) in blocks:
            products = data @ data[i]
            row = products * products * products * labels * labels[i]
            a[i] = np.minimum(np.maximum(a[i] - (row @ a - single(1)) / row[i], single(0)), C)
    return a


@pytest.mark.parametrize("exponent", [20, 21, 30])
def test_what_overflows_is_vacuous_and_so_is_what_follows(exponent):
    rng = np.random.default_rng(3)
    data = np.float64(np.float32(rng.standard_normal((16, 4)))) * 2.0**exponent
    labels = np.where(rng.random(16) < 0.5, -1.0, 1.0)
    problem = Problem("big", data, labels, PolynomialKernel(3), Hinge(1.0))
    solver = CallableSolver(plain_float32, Declaration("single", precision="float32"))
    found = judged(problem, solver, (1,), 40, (window_replay, trajectory, box))
    assert {verdict.status for verdict in found.values()} <= {Status.PASS, Status.VACUOUS}
    points = [point["status"] for point in found["trajectory", 1].evidence["points"]]
    assert points[-1] == Status.VACUOUS
    assert points == sorted(points)  # PASS of what was drawn before, then VACUOUS
    assert found["box", 1].status is Status.VACUOUS


@pytest.mark.parametrize("scale", [1e40, 1e51, 1e60])
@pytest.mark.parametrize("loss", [Hinge(1.0), Ridge(1.0)], ids=["svm", "ridge"])
def test_float64_overflow_is_not_failed(loss, scale):
    rng = np.random.default_rng(3)
    data, values = rng.standard_normal((16, 4)) * scale, rng.standard_normal(16)
    targets = values if isinstance(loss, Ridge) else np.sign(values)
    problem = Problem("big", data, targets, PolynomialKernel(3), loss)
    found = judged(problem, ProductionSolver(), (1, 4), 40, (window_replay, trajectory, box))
    assert {verdict.status for verdict in found.values()} <= {Status.PASS, Status.VACUOUS}


def test_not_a_number_without_an_overflow_fails():
    def solve(problem, blocks, s, start):
        return start + (np.nan if len(blocks) > 20 else 0.0)

    problem = Problem("plain", np.eye(6), np.ones(6), LinearKernel(), Hinge(1.0))
    found = judged(problem, CallableSolver(solve, Declaration("spoiled")), (1,), 40, (window_replay, box))
    assert {verdict.status for verdict in found.values()} == {Status.FAIL}


# --- RBF without a clamp -------------------------------------------------------------------------------


class UnclampedSolver:
    """DCD over panels formed by norm expansion, negative distances kept."""

    def __init__(self, rbf: str):
        self.declaration = Declaration("unclamped", panels=True, rbf=rbf)

    def run(self, request, observe=None):
        problem, a, states, panels = request.problem, np.zeros(request.problem.samples), [], {}
        labels, norms = problem.targets, np.einsum("ij,ij->i", problem.data, problem.data)
        for begin, end in zip(request.stops[:-1], request.stops[1:], strict=True):
            states.append(a.copy())
            draws = request.stream.blocks(begin, end)[:, 0]
            columns, places = np.unique(draws, return_inverse=True)
            rows = norms[columns, None] + norms - 2 * (problem.data[columns] @ problem.data.T)
            panels[begin] = Panel(columns, np.exp(-problem.kernel.sigma * rows))
            signed = panels[begin].entries[places.ravel()] * labels * labels[draws, None]
            for step, i in enumerate(draws):
                a[i] = min(max(a[i] - (signed[step] @ a - 1) / signed[step, i], 0), problem.hinge.C)
        states.append(a)
        stops = np.array(request.stops)
        panels = panels if request.expose_panels else {}
        return Trajectory(request.s, 0, stops, np.array(states), panels=panels)


@pytest.mark.parametrize("rbf", ["norm-expansion", "difference"])
def test_entries_above_one_fail_only_where_differences_are_declared(rbf):
    rng = np.random.default_rng(1)
    data = rng.standard_normal((20, 3)) * 0.5 + 1e8
    labels = np.where(rng.random(20) < 0.5, -1.0, 1.0)
    problem = Problem("far", data, labels, RBFKernel(1.0), Hinge(1.0))
    found = judged(problem, UnclampedSolver(rbf), (4,), 64, (kernel_entries,))
    statuses = {verdict.status for verdict in found.values()}
    assert (Status.FAIL in statuses) == (rbf == "difference")


# --- Algorithm 1 as printed ----------------------------------------------------------------------------


def adding(problem, blocks, s, start):
    """s-step DCD that adds its increments to a within the window, ``a_i += theta``."""
    data, labels, upper, a = problem.data, problem.targets, problem.hinge.C, start.copy()
    norms = np.einsum("ij,ij->i", data, data)
    for begin in range(0, len(blocks), s):
        draws = blocks[begin : begin + s, 0]
        distances = np.maximum(norms[draws, None] + norms - 2 * data[draws] @ data.T, 0)
        panel = np.exp(-problem.kernel.sigma * distances) * labels * labels[draws, None]
        gradient = panel @ a - 1
        for step, i in enumerate(draws):
            theta = min(max(a[i] - gradient[step] / panel[step, i], 0), upper) - a[i]
            a[i] += theta
            gradient[step + 1 :] += panel[step, draws[step + 1 :]] * theta
    return a


@pytest.mark.usefixtures("unexplained")
def test_increments_that_are_added_pass_as_added_and_fail_as_in_place():
    found: dict[str, set[Status]] = {"added": set(), "in-place": set()}
    for seed in (9, 10):
        rng = np.random.default_rng(seed)
        data, labels = rng.standard_normal((24, 3)), np.where(rng.random(24) < 0.5, -1.0, 1.0)
        problem = Problem("as printed", data, labels, RBFKernel(0.5), Hinge(1.7))
        for update, statuses in found.items():
            solver = CallableSolver(adding, Declaration("as printed", update=update))
            verdicts = judged(problem, solver, (1, 8), 80, (window_replay, trajectory, box), seed=seed)
            statuses |= {verdict.status for verdict in verdicts.values()}
    assert found["added"] <= {Status.PASS, Status.VACUOUS}
    assert Status.FAIL in found["in-place"]


def test_added_increments_leave_the_box_by_no_more_than_their_bound():
    rng = np.random.default_rng(4)
    beyond = []
    for upper in (0.7, 1.7, 3.1):
        problem = Problem("one", np.ones((1, 1)), np.ones(1), LinearKernel(), Hinge(upper))
        low, high = box.box_bounds(problem, Declaration("added", update="added"), 8, 8, 8)
        assert low == 0.0
        starts = rng.uniform(0, upper, 2000)
        assert (starts + (0.0 - starts) == 0.0).all()
        landed = starts + (upper - starts)
        beyond.append(landed.max() - upper)
        assert beyond[-1] <= high
    assert max(beyond) > 0.0
