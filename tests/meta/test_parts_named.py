"""Wrong parts of a step are named, each by itself: what is planted, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from daily import some
from judged import named
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.specification import broken_by
from sstep_verify.verdict import Status

GENERATOR = np.random.Generator(np.random.PCG64(17))
DATA, TARGETS = GENERATOR.standard_normal((24, 4)), GENERATOR.standard_normal(24)
LABELS = np.where(TARGETS < 0, -1.0, 1.0)
PENALTY = 0.05


def svm(
    label=lambda one: one, of_alpha=lambda one: one, in_correction=lambda one: one, increments=lambda one: one,
    shift=1.0, own=1.0, upper=1.0, sides=False, row=lambda place, drawn: drawn[place], forgets=False,
    omega=None, boxed=True, width=None, held=np.float64,
):  # fmt: skip
    """A K-SVM with something wrong in each step."""

    def solve(problem, blocks, s, a0, log):
        y, alpha, loss = problem.targets, a0.copy(), problem.hinge
        kernel, end, known = kernel_matrix(problem), loss.upper * upper, np.zeros(y.size, dtype=bool)
        kernel = kernel if width is None else kernel ** (width / problem.kernel.sigma)
        added = loss.shift if omega is None else omega
        for begin in range(0, len(blocks), s):
            drawn, start, thetas = blocks[begin : begin + s, 0], alpha.copy(), np.zeros(0)
            for place, i in enumerate(drawn):
                taken = row(place, drawn)
                past = drawn[:place]
                visible = (thetas * ~known[past] if forgets else thetas).astype(held)
                gradient = label(y)[i] * (kernel[taken] @ (of_alpha(y) * start)) - 1.0
                gradient += in_correction(y)[i] * (kernel[taken, past] @ (increments(y)[past] * visible))
                gradient += added * alpha[i]
                new = alpha[i] - gradient / (own * kernel[i, i] + shift * added)
                new = min(max(new, 0.0), end) if boxed else new
                if sides and alpha[i] == 0.0 and new == end:
                    new = 0.0
                thetas = np.append(thetas, new - alpha[i])
                alpha[i] = log[begin + place, 0] = new
            known[drawn] = True
        return alpha

    return CallableSolver(solve, Declaration("parts", rbf="difference", log=True))


def ridge(
    system=lambda kernel, block, m: kernel[np.ix_(block, block)] / PENALTY + m * np.eye(block.size),
    side=1.0, own=1.0, newest=PENALTY, correction=PENALTY, frozen=False, forgets=False, overlap=1.0,
    targets=1.0, stale=1.0, held=np.float64, residual=False,
):  # fmt: skip
    """A K-RR with something wrong in each step."""

    def solve(problem, blocks, s, a0, log):
        y, alpha, m = problem.targets, a0.copy(), problem.samples
        kernel, known = kernel_matrix(problem), np.zeros(m, dtype=bool)
        for begin in range(0, len(blocks), s):
            drawn, start, deltas = blocks[begin : begin + s], alpha.copy(), []
            for place, block in enumerate(drawn):
                product = kernel[block] @ start / (PENALTY * side)
                for t, delta in enumerate([] if frozen else deltas):
                    over = newest if t == place - 1 and newest != PENALTY else correction
                    seen = (delta * ~known[drawn[t]] if forgets else delta).astype(held)
                    product += kernel[np.ix_(block, drawn[t])] @ seen / (over * side)
                value = start if frozen else stale * start + overlap * (alpha - start)
                if residual:
                    value = start.copy()
                    for past, delta in zip(drawn, deltas, strict=False):
                        value[past] += delta.astype(held)
                rest = targets * y[block] - own * m * value[block] - product
                deltas.append(np.linalg.solve(system(kernel, block, m), rest))
                alpha[block] += deltas[-1]
                log[begin + place] = alpha[block]
            known[drawn] = True
        return alpha

    declared = Declaration("parts", rbf="difference", log=True, factorisation="lu")
    return CallableSolver(solve, declared)


def ones(labels):
    return np.ones_like(labels)


def diagonal(factor):
    def system(kernel, block, m):
        whole = kernel[np.ix_(block, block)] / PENALTY + m * np.eye(block.size)
        return whole + (factor - 1.0) * np.diag(np.diag(whole))

    return system


def newest_row(place, drawn):
    again = drawn[place] in drawn[:place]
    return drawn[place - 1] if again else drawn[place]


L1, L2, KRR = Hinge(1.0), SquaredHinge(1.0), Ridge(PENALTY)
LINEAR, RBF = LinearKernel(), RBFKernel(0.3)
OFF = " off by a factor"
PLANTED = [
    (L2, LINEAR, 1, 1, "omega in the curvature" + OFF, svm(shift=0.0)),
    (L2, LINEAR, 1, 4, "omega in the curvature" + OFF, svm(shift=1.0 + 1e-9)),
    (L2, LINEAR, 1, 4, "kernel entry in the curvature" + OFF, svm(own=1.0 + 1e-9)),
    (L1, LINEAR, 1, 8, "upper-end" + OFF, svm(upper=1.0 - 1e-12)),
    (L1, RBF, 1, 8, "upper-end" + OFF, svm(upper=1.0 + 1e-6)),
    (Hinge(0.3), LINEAR, 1, 8, "steps from one limit of the box to the other left out", svm(sides=True)),
    (L2, RBF, 1, 8, "label left out of the stale product", svm(label=ones)),
    (L2, LINEAR, 1, 8, "labels of alpha left out of the stale product", svm(of_alpha=ones)),
    (L2, RBF, 1, 8, "labels left out of the stale product", svm(label=ones, of_alpha=ones)),
    (L1, LINEAR, 1, 8, "labels left out of the correction", svm(in_correction=ones, increments=ones)),
    (L2, RBF, 1, 8, "label left out of the correction", svm(in_correction=ones)),
    (L2, RBF, 1, 8, "labels of increments left out of the correction", svm(increments=ones)),
    (L2, RBF, 1, 8, "label left out of the correction", svm(in_correction=np.square)),
    (L2, RBF, 1, 8, "labels of increments left out of the correction", svm(increments=np.square)),
    (L2, RBF, 1, 8, "labels left out of the stale product", svm(label=np.square, of_alpha=np.square)),
    (L2, RBF, 1, 8, "increments of coordinates of earlier windows left out", svm(forgets=True)),
    (L1, LINEAR, 1, 8, "increments of the correction rounded to float32", svm(held=np.float32)),
    (L2, RBF, 1, 8, "increments of the correction rounded to float32", svm(held=np.float32)),
    (KRR, RBF, 1, 8, "increments of the correction rounded to float32", ridge(held=np.float32)),
    (KRR, LINEAR, 3, 8, "increments of the correction rounded to float32", ridge(held=np.float32)),
    (KRR, LINEAR, 3, 8, "increments of the correction rounded to float32",
     ridge(held=np.float32, residual=True)),
    (L2, RBF, 1, 8, "kernel row of another coordinate", svm(row=newest_row)),
    (KRR, LINEAR, 3, 4, "diagonal of the block system" + OFF, ridge(diagonal(1.0 + 1e-9))),
    (KRR, LINEAR, 3, 1, "diagonal of the block system" + OFF, ridge(diagonal(1.0 + 1e-9))),
    (KRR, LINEAR, 3, 4, "m in every entry of a block system",
     ridge(lambda kernel, block, m: kernel[np.ix_(block, block)] / PENALTY + m)),
    (KRR, RBF, 4, 8, "lambda in the block system" + OFF,
     ridge(lambda kernel, block, m: kernel[np.ix_(block, block)] + m * np.eye(block.size))),
    (KRR, LINEAR, 3, 4, "lambda in the block system" + OFF,
     ridge(lambda kernel, block, m: m * np.eye(block.size) - 2 * kernel[np.ix_(block, block)] / PENALTY)),
    (KRR, LINEAR, 3, 4, "kernel entries left out of the block system",
     ridge(lambda kernel, block, m: m * np.eye(block.size))),
    (KRR, RBF, 1, 8, "kernel entries left out of the right-hand side", ridge(side=np.inf)),
    (KRR, RBF, 3, 8, "kernel entries left out",
     ridge(lambda kernel, block, m: m * np.eye(block.size), side=np.inf)),
    (KRR, RBF, 4, 8, "lambda in the right-hand side" + OFF, ridge(side=1.0 + 1e-9)),
    (KRR, RBF, 4, 8, "m in the right-hand side" + OFF, ridge(own=1.0 + 1e-9)),
    (KRR, RBF, 4, 8, "lambda left out of the newest correction", ridge(newest=1.0)),
    (KRR, RBF, 4, 8, "lambda left out of the correction", ridge(correction=1.0)),
    (KRR, LINEAR, 3, 8, "overlap" + OFF, ridge(overlap=-1.0)),
    (KRR, RBF, 3, 8, "targets" + OFF, ridge(targets=-1.0)),
    (KRR, LINEAR, 1, 1, "targets" + OFF, ridge(targets=0.5)),
    (KRR, RBF, 3, 8, "m in the stale residual" + OFF, ridge(stale=0.0)),
    (KRR, LINEAR, 3, 8, "m in the stale residual" + OFF, ridge(stale=2.0)),
    (KRR, RBF, 3, 8, "lambda in the block system and the correction" + OFF, ridge(
        lambda kernel, block, m: kernel[np.ix_(block, block)] + m * np.eye(block.size),
        newest=1.0, correction=1.0,
    )),
    (KRR, LINEAR, 3, 8, "kernel entries left out of the block system and the correction", ridge(
        lambda kernel, block, m: m * np.eye(block.size), newest=np.inf, correction=np.inf,
    )),
    (KRR, RBF, 3, 8, "m in the block system and the overlap" + OFF, ridge(
        lambda kernel, block, m: kernel[np.ix_(block, block)] / PENALTY + PENALTY * m * np.eye(block.size),
        overlap=PENALTY,
    )),
    (KRR, LINEAR, 3, 8, "samples" + OFF, ridge(
        lambda kernel, block, m: kernel[np.ix_(block, block)] / PENALTY + (m - 1) * np.eye(block.size),
        own=23 / 24,
    )),
    (KRR, LINEAR, 3, 8, "m taken as 1", ridge(
        lambda kernel, block, m: kernel[np.ix_(block, block)] / PENALTY + np.eye(block.size), own=1 / 24
    )),
    (KRR, LINEAR, 3, 8, "alpha scaled by 1/lambda", ridge(targets=1.0 / PENALTY)),
    (L1, LINEAR, 1, 8, "upper-end" + OFF, svm(upper=1.5)),
    (L2, LINEAR, 1, 8, "omega taken as 0", svm(omega=0.0)),
    (SquaredHinge(3.0), LINEAR, 1, 8, "omega taken as C/2", svm(omega=1.5)),
    (SquaredHinge(3.0), LINEAR, 1, 8, "omega in the curvature and the gradient" + OFF, svm(omega=9.0)),
    (SquaredHinge(3.0), RBF, 1, 1, "omega in the curvature and the gradient" + OFF, svm(omega=1 / 18)),
    (SquaredHinge(0.4), RBF, 1, 8, "omega in the curvature and the gradient" + OFF, svm(omega=1.25 + 1e-9)),
    (L2, RBF, 1, 8, "sigma taken as a width", svm(width=1 / (2 * 0.3**2))),
    (KRR, RBF, 1, 8, "overlap-dropped", ridge(overlap=0.0)),
    (KRR, RBF, 1, 8, "stale-alpha", ridge(frozen=True)),
    (KRR, LINEAR, 1, 8, "increments of coordinates of earlier windows left out", ridge(forgets=True)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("loss", "kernel", "block", "s", "name", "solver"), some(PLANTED, of=2), ids=[one[4] for one in PLANTED]
)
def test_the_part_that_is_wrong_is_named_and_no_other(loss, kernel, block, s, name, solver):
    problem = Problem("parts", DATA, TARGETS if loss is KRR else LABELS, kernel, loss)
    verdict = judge(solver, problem, IndexStream("uniform", 24, block, 160, seed=2), s)[-1]
    assert (verdict.check, verdict.status) == ("step-replay", Status.FAIL)
    assert named(verdict) == [name]
    (number,) = broken_by(name.removesuffix(OFF))
    assert verdict.requirement == number
    assert not any(one.shared for one in verdict.defects)


@pytest.mark.parametrize("s", [1, 4])
def test_a_factor_that_nobody_fits_is_named_without_fitted_ones(s):
    # Every K_ii is 1, so that with b = 1 fitted factors on the curvature and on m make the same steps.
    solver = ridge(lambda kernel, block, m: kernel[np.ix_(block, block)] + m * np.eye(block.size))
    problem = Problem("parts", DATA, TARGETS, RBF, KRR)
    verdict = judge(solver, problem, IndexStream("uniform", 24, 1, 160, seed=2), s)[-1]
    (defect,) = verdict.defects
    assert (defect.names, defect.symbol) == (("lambda in the block system" + OFF,), "1/lambda")


@pytest.mark.parametrize("s", [1, 4])
def test_factors_that_are_all_fitted_are_all_named(s):
    solver = ridge(lambda kernel, block, m: kernel[np.ix_(block, block)] / 0.043 + m * np.eye(block.size))
    problem = Problem("parts", DATA, TARGETS, RBF, KRR)
    verdict = judge(solver, problem, IndexStream("uniform", 24, 1, 160, seed=2), s)[-1]
    assert named(verdict) == ["curvature" + OFF, "m faulty only on the diagonal"]
    assert not any(one.symbol for one in verdict.defects)


@pytest.mark.parametrize(("overlap", "symbol"), [(1 / 24, "1/m"), (-1.0, "")])
def test_a_factor_on_the_overlap_is_named_without_one_fitted_to_what_has_its_effect(overlap, symbol):
    # Every K_ii is 1, so that own increments by m and by the kernel entry are proportional.
    problem = Problem("parts", DATA, TARGETS, RBF, KRR)
    verdict = judge(ridge(overlap=overlap), problem, IndexStream("uniform", 24, 3, 160, seed=2), 8)[-1]
    (defect,) = verdict.defects
    assert (defect.names, defect.symbol) == (("overlap" + OFF,), symbol)
    assert defect.factor == pytest.approx(overlap, abs=1e-9)
    assert verdict.requirement == "S-3.6"


def test_a_box_without_limits_is_the_pair_of_both():
    problem = Problem("parts", DATA, LABELS, LINEAR, Hinge(0.1))
    verdict = judge(svm(boxed=False), problem, IndexStream("uniform", 24, 1, 160, seed=2), 8)[-1]
    (defect,) = verdict.defects
    assert defect.names == ("upper-end left out", "lower-end left out")
    assert {*verdict.requirements} == {"S-3.8", "S-3.9"}


def test_right_solvers_pass():
    for loss, block, solver in ((L1, 1, svm()), (L2, 1, svm()), (KRR, 3, ridge())):
        problem = Problem("parts", DATA, TARGETS if loss is KRR else LABELS, RBF, loss)
        verdict = judge(solver, problem, IndexStream("uniform", 24, block, 160, seed=2), 8)[-1]
        assert verdict.status is Status.PASS, verdict.reason


def test_where_no_step_moves_the_fact_decides_and_every_defect_is_in_doubt():
    problem = Problem("parts", DATA, LABELS, RBF, Hinge(0.3))
    verdict = judge(svm(sides=True), problem, IndexStream("uniform", 24, 1, 160, seed=2), 1)[-1]
    assert verdict.status is Status.FAIL
    assert "steps from one limit of the box to the other left out" in named(verdict)
    assert all(one.shared for one in verdict.defects)
    assert verdict.requirement == "S-3.11"
