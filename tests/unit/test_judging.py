"""The call that judges a solver from Python."""

from __future__ import annotations

import builtins
import inspect
import math
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    InputError,
    LinearKernel,
    Problem,
    ReferenceSolver,
    Ridge,
    judge,
    verify,
)
from sstep_verify.checks import window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.window.choose import screenable
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status, Why

DATA = np.random.Generator(np.random.PCG64(1)).standard_normal((12, 3))
PROBLEM = Problem("small", DATA, DATA[:, 0].copy(), LinearKernel(), Ridge(0.5))
STREAM = IndexStream("uniform", samples=12, block=2, length=12, seed=0)
SHOWN = ("window-replay", "residual-gap")
"""Checks that begin from recorded weights."""


def classical(problem, blocks, s, a0, factor=1.0):
    """BDCD; the same iterates for every s."""
    samples = problem.samples
    matrix = problem.data @ problem.data.T / problem.loss.penalty + samples * np.eye(samples)
    alpha = a0.copy()
    for block in blocks:
        residual = problem.targets[block] - matrix[block] @ alpha
        alpha[block] += factor * np.linalg.solve(matrix[np.ix_(block, block)], residual)
    return alpha


def solver_of(function):
    return CallableSolver(function, Declaration(name="mine", factorisation="lu"))


def test_a_solver_that_logs_is_judged_by_its_steps():
    verdicts = judge(ReferenceSolver(), PROBLEM, STREAM, s=4)
    assert [verdict.check for verdict in verdicts] == ["contract", "step-replay"]
    assert {verdict.status for verdict in verdicts} == {"PASS"}


def test_one_that_does_not_is_judged_by_its_windows():
    contract, windows = judge(solver_of(classical), PROBLEM, STREAM, s=4)
    assert (contract.check, windows.check) == ("contract", "window-replay")
    assert windows.status == "PASS"
    assert windows.s == 4


class Maintaining(ProductionSolver):
    """K-RR from maintained weights, of which the last that are recorded are off by a number."""

    def __init__(self, off=0.0, log=True):
        super().__init__(exchange="gram")
        self.declaration = replace(self.declaration, log=log)
        self._off = off

    def run(self, request, observe=None):
        made = super().run(request, observe)
        weights = made.weights.copy()
        weights[-1] += self._off
        return replace(made, weights=weights)


@pytest.mark.parametrize(("log", "steps"), [(True, "step-replay"), (False, "window-replay")])
def test_weights_that_are_recorded_are_judged_next_to_the_steps(log, steps):
    correct = judge(Maintaining(log=log), PROBLEM, STREAM, s=4)
    assert [one.check for one in correct] == ["contract", steps, "residual-gap"]
    assert {one.status for one in correct} == {"PASS"}
    wrong = judge(Maintaining(1e-6, log=log), PROBLEM, STREAM, s=4)
    assert {one.check: one.status for one in wrong}["residual-gap"] == "FAIL"


def test_weights_that_no_run_records_are_not_judged():
    def logging(problem, blocks, s, a0, log):
        for step, block in enumerate(blocks):
            a0 = classical(problem, [block], s, a0)
            log[step] = a0[block]
        return a0

    declared = Declaration(name="mine", weights=0, factorisation="lu", log=True)
    verdicts = judge(CallableSolver(logging, declared), PROBLEM, STREAM, s=4)
    assert [one.check for one in verdicts] == ["contract", "step-replay"]
    asked = judge(CallableSolver(logging, declared), PROBLEM, STREAM, s=4, checks=SHOWN)
    assert {one.status for one in asked[1:]} == {Status.VACUOUS}
    unlogged = CallableSolver(classical, replace(declared, log=False))
    verdicts = judge(unlogged, PROBLEM, STREAM, s=4)
    assert [(one.check, one.status) for one in verdicts[1:]] == [("trajectory", Status.PASS)]


@pytest.mark.parametrize("log", [True, False])
def test_a_function_that_maintains_weights_passes_a_profile(log):
    """No run of a function records its weights, so no check may ask for them."""

    def solve(problem, blocks, s, a0, log=None):
        alpha, data = a0.copy(), problem.dense
        weights = data.T @ alpha
        for step, block in enumerate(blocks):
            rows, m, penalty = data[block], problem.samples, problem.loss.penalty
            matrix = rows @ rows.T / penalty + m * np.eye(len(block))
            change = np.linalg.solve(
                matrix, problem.targets[block] - m * alpha[block] - rows @ weights / penalty
            )
            alpha[block] += change
            for row, one in zip(rows, change, strict=True):
                weights += row * one
            if log is not None:
                log[step] = alpha[block]
        return alpha

    function = solve if log else lambda problem, blocks, s, a0: solve(problem, blocks, s, a0)
    declared = Declaration("mine", weights=0, factorisation="lu", log=log)
    report = verify(CallableSolver(function, declared), "smoke", tasks=["krr"], kernels=["linear"])
    assert report.passed, report
    assert not {one["check"] for one in report.results.verdicts} & set(SHOWN)


def test_a_defect_fails():
    wrong = solver_of(lambda *given: classical(*given, factor=1 + 1e-9))
    assert judge(wrong, PROBLEM, STREAM, s=4)[-1].status == "FAIL"


def test_a_run_that_is_not_what_was_asked_for_is_judged_by_the_contract_alone():
    (verdict,) = judge(solver_of(lambda *given: classical(*given) * np.nan), PROBLEM, STREAM, s=4)
    assert (verdict.check, verdict.status) == ("contract", "FAIL")


def raising(*_given, **_named):
    raise ValueError("not what it was")


def replacing(module, name):
    def run(*given):
        made = classical(*given)
        setattr(module, name, raising)
        return made

    return run


def deleting(module, name):
    def run(*given):
        made = classical(*given)
        delattr(module, name)
        return made

    return run


def lowering(by):
    def run(*given):
        made = classical(*given)
        depth = len(inspect.stack())
        sys.setrecursionlimit(depth + by)
        return made

    return run


SHARED = [(np, "isfinite"), (np, "abs"), (np, "asarray"), (np.linalg, "norm"), (math, "fsum"), (math, "isfinite"),
          (os, "getcwd"), (scipy.linalg, "solve_triangular"), (builtins, "sorted"), (builtins, "float")]  # fmt: skip


@pytest.mark.parametrize("way", [replacing, deleting])
@pytest.mark.parametrize(("module", "name"), SHARED)
def test_what_all_code_shares_is_put_back_and_a_solver_that_replaced_it_fails(way, module, name):
    genuine = getattr(module, name)
    (verdict,) = judge(solver_of(way(module, name)), PROBLEM, STREAM, s=4)
    assert (verdict.check, verdict.status) == ("contract", "FAIL")
    changed = ("inputs", f"{module.__name__}.{name}")
    assert changed in [(one.item, one.found) for one in verdict.violations]
    assert getattr(module, name) is genuine


@pytest.mark.parametrize("by", [8, 12, 40])
def test_a_lowered_recursion_limit_is_put_back_and_reported(by):
    before = sys.getrecursionlimit()
    (verdict,) = judge(solver_of(lowering(by)), PROBLEM, STREAM, s=4)
    assert (verdict.check, verdict.status) == ("contract", "FAIL")
    # Where the limit is below the depth of the call, Python itself raises.
    changed = ("inputs", "the recursion limit") in [(one.item, one.found) for one in verdict.violations]
    assert changed or [one.kind for one in verdict.raised] == ["RecursionError"]
    assert sys.getrecursionlimit() == before
    raised = solver_of(lambda *given: sys.setrecursionlimit(before + 100) or classical(*given))
    assert {one.status for one in judge(raised, PROBLEM, STREAM, s=4)} == {"PASS"}
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("shorter", ["raises", "has another shape"])
def test_a_run_that_is_made_later_is_held_to_the_contract_too(shorter):
    """Without a log windows are known by shorter runs, asked for once the first two are there."""

    def solve(problem, blocks, s, start):
        if len(blocks) < STREAM.length - 1 and shorter == "raises":
            raise ValueError("planted")
        alpha = classical(problem, blocks, s, start)
        return alpha if len(blocks) >= STREAM.length - 1 else alpha[:3]

    (verdict,) = judge(solver_of(solve), PROBLEM, STREAM, s=1)
    assert (verdict.check, verdict.status) == ("contract", "FAIL")
    assert [one.message for one in verdict.raised if one.message == "planted" or one.quoted]
    assert verdict.requirement == ("S-2.7" if shorter == "raises" else "S-5.1")


def test_a_check_that_judges_nothing_says_so():
    contract, gap = judge(solver_of(classical), PROBLEM, STREAM, s=4, checks=["residual-gap"])
    assert (contract.status, gap.status) == ("PASS", "VACUOUS")
    assert gap.why is Why.NOT_APPLICABLE


def test_checks_are_chosen_by_id():
    verdicts = judge(ReferenceSolver(), PROBLEM, STREAM, 2, 8, checks=["determinism", "window-replay"])
    assert {verdict.check for verdict in verdicts} == {"contract", "determinism", "window-replay"}
    with pytest.raises(InputError, match="'determinsm' is unknown"):
        judge(ReferenceSolver(), PROBLEM, STREAM, 2, checks=["determinsm"])


def raises(problem, blocks, s, a0):
    raise KeyError("planted")


@pytest.mark.parametrize(
    ("function", "kind"),
    [(raises, "KeyError"), (lambda *given: np.zeros(3), "ResultError")],
    ids=["an error", "another shape"],
)
def test_a_solver_that_raises_fails_its_contract(function, kind):
    (verdict,) = judge(solver_of(function), PROBLEM, STREAM, s=4)
    assert (verdict.check, verdict.status) == ("contract", "FAIL")
    assert {one.kind for one in verdict.raised} == {kind}
    assert all(one.quoted == (kind == "ResultError") for one in verdict.raised)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"s": 0}, "s = 0, but .* such as s = 4"),
        ({"s": 1.5}, "s = 1.5, but a window holds a whole number"),
        ({"s": True}, "s = True"),
        ({"s": 4, "iterations": 2.5}, "iterations = 2.5, but .* up to the 12 blocks"),
        ({"s": 4, "iterations": -1}, "iterations = -1"),
        ({"s": 4, "iterations": 13}, "needs 13 drawn blocks, but the index stream has 12"),
        ({"s": 4, "checks": "window-replay"}, "checks = 'window-replay', but it must be a list"),
        ({"s": 4, "checks": 3}, "checks = 3, but it must be a list"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused(asked, words):
    with pytest.raises(InputError, match=words):
        judge(ReferenceSolver(), PROBLEM, STREAM, **asked)


def test_a_number_of_numpy_is_a_whole_number():
    assert {one.status for one in judge(ReferenceSolver(), PROBLEM, STREAM, np.int64(4))} == {"PASS"}


class Undeclared(ReferenceSolver):
    """A solver whose declaration is none."""

    def __init__(self):
        self.declaration = "mine"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((DATA, STREAM), r"problem = array\(\[\[ .* of type ndarray; it must be a Problem"),
        ((PROBLEM, DATA), r"stream = array\(\[\[ .* of type ndarray; it must be an IndexStream, such as"),
        ((STREAM, PROBLEM), r"problem = IndexStream\(kind='uniform', .* of type IndexStream; it must be a"),
    ],
    ids=["an array for the problem", "an array for the stream", "one for the other"],
)
def test_what_is_no_problem_or_stream_is_refused_in_one_line(given, words):
    with pytest.raises(InputError, match=words) as caught:
        judge(ReferenceSolver(), *given, s=4)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("solver", "what"),
    [
        (classical, "is of type function"),
        (ReferenceSolver, "is the class ReferenceSolver"),
        (Undeclared(), "is of type Undeclared"),
    ],
    ids=["a function", "a class", "no declaration"],
)
def test_what_is_no_solver_is_refused_with_the_way_out(solver, what):
    words = rf"solver {what}; it must be .*CallableSolver\(function, Declaration\(\.\.\.\)\)"
    with pytest.raises(InputError, match=words):
        judge(solver, PROBLEM, STREAM, s=4)
    with pytest.raises(InputError, match=words):
        verify(solver, "smoke")


@pytest.mark.parametrize(
    ("declared", "form"),
    [
        ({"update": "added"}, "adds its increments"),
        ({"weights": 0}, "maintained weights"),
    ],
)
def test_forms_of_which_no_window_is_judged_in_float64_are_named(declared, form):
    signs = np.where(PROBLEM.targets < 0, -1.0, 1.0)
    problem = Problem("signs", DATA, signs, LinearKernel(), Hinge(1.0))
    stream = IndexStream("uniform", samples=12, block=1, length=12, seed=0)
    plain, told = (
        Case("signs", problem, stream, (3,), 12, Declaration("any", level=2, **more))
        for more in ({}, declared)
    )
    assert screenable(plain)
    assert not screenable(told)
    pages = window_replay.__doc__, (Path(__file__).parents[2] / "docs/checks.md").read_text("utf-8")
    assert all(form in " ".join(page.split()) for page in pages)
