"""What reasons say of solvers whose mistake no catalogue holds: nothing that a window or a run contradicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from judged import hinted, named

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.checks.shared.signs import APART
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.factors import ROWS_OR_ONE
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.specification import OFF
from sstep_verify.verdict import PLACE, Hint, HintKind, Status

GENERATOR = np.random.Generator(np.random.PCG64(11))
SAMPLES, S = 16, 5
LABELS = np.where(GENERATOR.random(SAMPLES) < 0.5, -1.0, 1.0)
PROBLEM = Problem("odd", GENERATOR.standard_normal((SAMPLES, 4)), LABELS, LinearKernel(), Hinge(2.0))
STREAM = IndexStream("uniform", SAMPLES, 1, 73, seed=3)


def solver_of(*, log, last=1.0, shifted=False, labels=1.0, precision=np.float64, end=2.0):
    """A K-SVM-L1 whose correction is times `last` in the last window of a run, and whose C is `end`.

    Its entries are those of the place before in the window where `shifted`. The product of a row is with a
    times `labels` where the label is -1.
    """

    def solve(problem, blocks, s, a0, steps=None):
        data, y = problem.dense.astype(precision), problem.targets.astype(precision)
        matrix, alpha = (data @ data.T) * y * y[:, None], a0.astype(precision)
        for begin in range(0, len(blocks), s):
            drawn, increments = blocks[begin : begin + s, 0], []
            factor = last if begin + s >= len(blocks) else 1.0
            seen = np.where(y < 0, labels * alpha, alpha)
            for place, i in enumerate(drawn):
                gradient = matrix[i] @ seen - 1
                for t, increment in enumerate(increments):
                    other = drawn[max(t - shifted, 0)]
                    gradient += factor * matrix[i, other] * increment
                new = min(max(alpha[i] - gradient / matrix[i, i], precision(0)), precision(end))
                increments.append(new - alpha[i])
                alpha[i] = new
                if steps is not None:
                    steps[begin + place, 0] = new
        return alpha

    return CallableSolver(solve, Declaration("odd", log=log))


def test_no_mistake_in_steps_explains_what_moved_undrawn():
    verdict = judge(solver_of(log=False, last=-1.0), PROBLEM, STREAM, S)[-1]
    assert verdict.status is Status.FAIL
    # The window is between the results of two runs, whose steps before it are at fault.
    assert Hint(HintKind.UNDRAWN_MOVED, (APART,)) in verdict.hints
    assert verdict.place.coordinate not in STREAM.blocks(verdict.place.begin, verdict.place.end)
    assert verdict.requirement == ""


@pytest.mark.parametrize(("length", "s"), [(2, 1), (73, S)])
def test_draws_in_reverse_order_without_a_log_violate_no_formula_of_a_step(length, s):
    right = solver_of(log=False)

    def solve(problem, blocks, s, a0):
        return right._function(problem, blocks[::-1], s, a0)

    solver = CallableSolver(solve, right.declaration)
    verdict = judge(solver, PROBLEM, replace(STREAM, length=length), s)[-1]
    assert (verdict.check, verdict.status) == ("window-replay", Status.FAIL)
    assert HintKind.UNDRAWN_MOVED in hinted(verdict)
    assert (named(verdict), verdict.requirements) == ([], ())


def test_windows_that_were_not_replayed_are_not_reported_as_replayed():
    verdict = judge(solver_of(log=False, last=-1.0), PROBLEM, STREAM, S)[-1]
    windows, told = verdict.evidence["windows"], verdict.evidence["screen"]["replayed"]
    assert told <= sum(window["bits"] > 0 for window in windows)
    assert verdict.coverage.replayed == told


def test_steps_are_judged_though_a_shorter_run_ends_in_other_values_than_the_log_leads_to():
    verdict = judge(solver_of(log=True, last=-1.0), PROBLEM, STREAM, S)[-1]
    assert (verdict.status, verdict.executed) == (Status.FAIL, 73)
    assert verdict.evidence[PLACE][0] >= 70


@pytest.mark.parametrize(("log", "check"), [(True, "step-replay"), (False, "window-replay")])
def test_a_run_that_may_not_have_started_from_its_a0_is_reported_as_such(log, check):
    right = solver_of(log=log)

    def solve(problem, blocks, s, a0, *steps):
        return right._function(problem, blocks, s, np.full_like(a0, 0.25), *steps)

    solver, short = CallableSolver(solve, right.declaration), replace(STREAM, length=12)
    verdict = judge(solver, PROBLEM, short, S, checks=[check])[-1]
    assert (verdict.check, verdict.status) == (check, Status.FAIL)
    assert HintKind.STARTED_ELSEWHERE in hinted(verdict)


def test_what_the_bound_tells_apart_from_late_small_increments_is_not_named():
    generator = np.random.Generator(np.random.PCG64(4711))
    data, labels = generator.standard_normal((33, 5)), np.where(generator.random(33) < 0.5, -1.0, 1.0)
    problem = Problem("late", data, labels, RBFKernel(0.3), SquaredHinge(4.0))

    def solve(problem, blocks, s, a0):
        labels, alpha, shift = problem.targets, a0.copy(), problem.dual.shift
        products = problem.dense @ problem.dense.T
        squares = np.diag(products) + np.diag(products)[:, None] - 2 * products
        matrix = np.exp(-problem.kernel.sigma * np.maximum(squares, 0)) * labels * labels[:, None]
        for begin in range(0, len(blocks), s):
            drawn, change = blocks[begin : begin + s, 0], np.zeros_like(alpha)
            for place, i in enumerate(drawn, begin):
                value = alpha[i] + change[i]
                slope = matrix[i] @ alpha - 1 + matrix[i] @ change + shift * value
                slope *= 1 + 1e-9 * (place > 650)
                change[i] += max(value - slope / (matrix[i, i] + shift), 0.0) - value
            alpha += change
        return alpha

    solver = CallableSolver(solve, Declaration("late", update="frozen"))
    verdict = judge(solver, problem, IndexStream("uniform", 33, 1, 700, seed=5), 8)[-1]
    assert verdict.status is Status.FAIL
    assert (verdict.defects, verdict.requirement) == ((), "S-3.1")


UNKNOWN = [{"log": True, "shifted": True}, {"log": False, "shifted": True}, {"log": False, "labels": 0.5}]


@pytest.mark.parametrize("defect", UNKNOWN)
def test_an_unknown_defect_is_not_named(defect):
    verdict = judge(solver_of(**defect), PROBLEM, STREAM, S)[-1]
    assert verdict.status is Status.FAIL
    assert verdict.diagnosed
    assert (verdict.defects, verdict.requirement) == ((), "S-3.1")


def test_a_longdouble_that_a_log_cannot_hold_is_reported_as_such():
    if np.finfo(np.longdouble).nmant == np.finfo(np.float64).nmant:
        pytest.skip("longdouble is float64 here, and a log holds it")
    verdict = judge(solver_of(log=True, precision=np.longdouble), PROBLEM, STREAM, S)[-1]
    assert verdict.status is Status.FAIL
    assert hinted(verdict) == {HintKind.LOG_IN_FLOAT64}
    assert verdict.requirement == "S-5.2"


@pytest.mark.parametrize(
    ("log", "check"), [(True, "step-replay"), (False, "window-replay"), (False, "trajectory")]
)
def test_what_right_steps_would_explain_as_well_names_no_mistake(log, check):
    solver = solver_of(log=log, end=2.0 + 2.0**-51)
    verdict = judge(solver, PROBLEM, STREAM, S, checks=[check])[-1]
    assert (verdict.check, verdict.status) == (check, Status.FAIL)
    assert verdict.defects == ()
    assert verdict.requirement in ("S-3.1", "S-4.1")  # of no part of a step


def classical(change):
    """A K-SVM, one step after the other, of which `change` makes row, curvature and the 1 of the gradient."""

    def solve(problem, blocks, s, a0, steps):
        labels, alpha, shift = problem.targets, a0.copy(), problem.dual.shift
        matrix = (problem.dense @ problem.dense.T) * labels * labels[:, None]
        for place, (i,) in enumerate(blocks):
            row, one = change(matrix[i], 1.0)
            slope = row @ alpha - one + shift * alpha[i]
            alpha[i] = steps[place, 0] = min(
                max(alpha[i] - slope / (row[i] + shift), 0.0), problem.dual.upper
            )
        return alpha

    return CallableSolver(solve, Declaration("own", log=True))


def ending_at(upper):
    """A K-SVM-L1, one step after the other, whose upper end in a step is C times what `upper` makes of it."""

    def solve(problem, blocks, s, a0, steps):
        labels, alpha, C = problem.targets, a0.copy(), problem.hinge.C
        entries = problem.dense @ problem.dense.T
        if isinstance(problem.kernel, RBFKernel):
            squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
            entries = np.exp(-problem.kernel.sigma * squares)
        matrix = entries * labels * labels[:, None]
        for place, (i,) in enumerate(blocks):
            free = alpha[i] - (matrix[i] @ alpha - 1.0) / matrix[i, i]
            alpha[i] = steps[place, 0] = min(max(free, 0.0), C * upper(place, s))
        return alpha

    return CallableSolver(solve, Declaration("own", rbf="difference", log=True))


def test_values_that_are_all_clipped_to_a_wrong_end_are_not_of_another_stream():
    problem, solver = (
        replace(PROBLEM, loss=Hinge(0.05)),
        ending_at(lambda step, s: 1.0 + 0.01 * (step >= 20)),
    )
    verdict = judge(solver, problem, STREAM, 8, checks=["step-replay"])[-1]
    assert verdict.status is Status.FAIL
    assert "index-stream left out" not in named(verdict)
    assert "S-2.2" not in verdict.requirements, verdict.reason


@pytest.mark.parametrize("check", ["trajectory", "sstep-equals-classical"])
def test_short_runs_that_start_elsewhere_are_reported_as_such_and_equal_each_other(check):
    right = solver_of(log=False)

    def solve(problem, blocks, s, a0):
        return right._function(problem, blocks, s, a0 + 0.25)

    short = replace(STREAM, length=12)
    found = judge(CallableSolver(solve, right.declaration), PROBLEM, short, S, checks=[check])[-1]
    if check == "sstep-equals-classical":
        assert found.check == "sstep-equals-classical"
        assert found.status is not Status.FAIL
    else:
        assert (found.check, found.status) == (check, Status.FAIL)
        assert HintKind.STARTED_ELSEWHERE in hinted(found)


@pytest.mark.parametrize("wrong", ["late", "rounded", "increments"])
def test_a_log_that_is_not_of_its_right_run_may_break_what_it_declares(wrong):
    right = solver_of(log=True)

    def solve(problem, blocks, s, a0, steps):
        alpha = right._function(problem, blocks, s, a0, steps)
        made, before, now = steps[:, 0].copy(), [], a0.copy()
        for i, value in zip(blocks[:, 0], made, strict=True):
            before.append(now[i])
            now[i] = value
        steps[:, 0] = {
            "late": np.roll(made, 1),
            "rounded": np.round(made, 12),
            "increments": made - before,
        }[wrong]
        return alpha

    # At s = 1 a single step that adds nothing may be the first that contradicts the log.
    s = 1 if wrong == "increments" else S
    solver = CallableSolver(solve, right.declaration)
    verdict = judge(solver, PROBLEM, STREAM, s, checks=["step-replay"])[-1]
    assert verdict.status is Status.FAIL
    # Where nothing tells which of the two is wrong, what both break is named.
    assert verdict.requirement == ("S-5.2" if wrong == "increments" else "S-3.12")
    assert (HintKind.LOG_OF_INCREMENTS in hinted(verdict)) == (wrong == "increments")


FACTORS = [
    (Hinge(2.0), lambda row, one: (3 * row, one), 2.0, "S-3.1"),
    (Hinge(2.0), lambda row, one: (row, one / 3), 2.0, "S-3.1"),
    (Hinge(2.0), lambda row, one: (row / 4, one), -0.75, "S-3.1"),
    (SquaredHinge(2.0), lambda row, one: (3 * row, one), 2.0, "S-1.8"),
]


@pytest.mark.parametrize(("loss", "change", "delta", "sentence"), FACTORS)
def test_a_factor_on_kernel_rows_has_its_size_and_is_distinguished_from_no_other_that_makes_its_steps(
    loss, change, delta, sentence
):
    problem = replace(PROBLEM, loss=loss)
    verdict = judge(classical(change), problem, STREAM, 1)[-1]
    assert verdict.status is Status.FAIL
    (defect,) = verdict.defects
    assert defect.factor == pytest.approx(1 + delta, rel=1e-9)
    assert (defect.names[0] == ROWS_OR_ONE[0] + OFF) == (loss.task == "svm-l1")
    assert verdict.requirement == sentence


@pytest.mark.parametrize("skips", ["a coordinate drawn again", "a coordinate at an end, late in the run"])
def test_what_would_change_right_windows_too_is_not_reported(skips):
    generator = np.random.Generator(np.random.PCG64(7))
    data, labels = generator.standard_normal((14, 5)), np.where(generator.random(14) < 0.5, -1.0, 1.0)

    def solve(problem, blocks, s, a0):
        labels, alpha, C = problem.targets, a0.copy(), problem.hinge.C
        matrix = (problem.dense @ problem.dense.T) * labels * labels[:, None]
        for place, i in enumerate(blocks.ravel()):
            begin = place - place % s
            skipped = i in blocks[begin:place, 0]
            if skips != "a coordinate drawn again":
                skipped = alpha[i] in (0.0, C) and begin > len(blocks) // 2
            if not skipped:
                alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0.0), C)
        return alpha

    problem = Problem("skips", data, labels, LinearKernel(), Hinge(0.7))
    solver = CallableSolver(solve, Declaration("skips"))
    verdict = judge(solver, problem, IndexStream("uniform", 14, 1, 97, seed=1), 8)[-1]
    assert verdict.status is Status.FAIL
    assert not {"S-3.3", "S-3.5", "S-3.6"} & set(verdict.requirements), verdict.reason
    assert bool(verdict.defects) == (HintKind.PART_OF_RUN in hinted(verdict))


@pytest.mark.parametrize("s", [1, 7])
@pytest.mark.parametrize("loss", [Ridge(0.3), Hinge(0.5), SquaredHinge(0.5)], ids=str)
def test_a_log_that_leads_to_an_alpha_that_never_moves_refutes_that_values_are_not_stored(loss, s):
    def stays(problem, blocks, s, a0, log):
        alpha = a0.copy()
        for place, block in enumerate(blocks):
            alpha[block] = log[place] = 5e-315 * problem.is_svm
        return alpha

    targets = LABELS if loss.task != "krr" else GENERATOR.standard_normal(SAMPLES)
    problem = Problem("stays", PROBLEM.dense, targets, LinearKernel(), loss)
    stream = IndexStream("uniform", SAMPLES, 1 if problem.is_svm else 3, 60, seed=2)
    declared = Declaration("stays", log=True, factorisation="lu")
    verdict = judge(CallableSolver(stays, declared), problem, stream, s)[-1]
    assert (verdict.check, verdict.status) == ("step-replay", Status.FAIL)
    assert verdict.defects == ()
    assert verdict.requirement == ("S-3.1" if problem.is_svm else "S-3.2")


@pytest.mark.parametrize("seed", range(4))
def test_what_right_steps_of_the_log_contradict_is_in_a_part_of_the_run_at_most(seed):
    """A coordinate that never leaves C, late in the run, looks like steps of several other mistakes."""
    generator = np.random.Generator(np.random.PCG64(seed))
    data, labels = generator.standard_normal((28, 5)), np.where(generator.random(28) < 0.5, -1.0, 1.0)

    def solve(problem, blocks, s, a0, log):
        labels, alpha, C = problem.targets, a0.copy(), problem.hinge.C
        matrix = (problem.dense @ problem.dense.T) * labels * labels[:, None]
        for place, i in enumerate(blocks.ravel()):
            if not (place > 40 and alpha[i] == C):
                alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0.0), C)
            log[place] = alpha[i]
        return alpha

    problem = Problem("stays", data, labels, LinearKernel(), Hinge(0.3))
    stream = IndexStream("uniform", 28, 1, 203, seed=seed)
    verdict = judge(CallableSolver(solve, Declaration("stays", log=True)), problem, stream, 1)[-1]
    assert verdict.status is Status.FAIL
    assert bool(verdict.defects) == (HintKind.PART_OF_RUN in hinted(verdict)), verdict.reason
