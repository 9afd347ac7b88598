"""The worked example of a loss of one's own: right steps pass with every quantity seen, wrong ones fail."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from judged import judged as judged_by
from stateful import StatefulSolver

from sstep_verify import (
    CallableSolver,
    Declaration,
    IndexStream,
    InputError,
    LinearKernel,
    Problem,
    ProductionSolver,
    RBFKernel,
    RunRequest,
    judge,
)
from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import OracleDisagreementError

FOLDER = Path(__file__).parents[2] / "examples" / "own_loss"
NAMES = "contract", "step-replay", "window-replay", "trajectory"
MOST_FILES, MOST_LINES = 4, 300
S, SAMPLES, LENGTH = 5, 14, 83


@pytest.fixture(scope="module")
def example():
    """Names of the solver's file, which imports the loss next to it."""
    sys.path.insert(0, str(FOLDER))
    yield runpy.run_path(str(FOLDER / "solver.py"))
    sys.path.remove(str(FOLDER))


def test_the_example_is_small():
    files = list(FOLDER.glob("*.py"))
    assert len(files) <= MOST_FILES
    assert sum(len(file.read_text("utf-8").splitlines()) for file in files) <= MOST_LINES


@pytest.mark.nightly
def test_the_example_runs_as_its_user_runs_it(example):
    made = subprocess.run(
        [sys.executable, FOLDER / "solver.py"], capture_output=True, text=True, check=True, timeout=300
    )
    said = [line.split(",")[0] for line in made.stdout.splitlines()]
    wrong = [f"{name}: {check}" for name in example["DEFECTS"] for check in NAMES]
    assert said[:4] == [f"correct: {check} PASS" for check in NAMES]
    assert said[4:] == [f"{name} {'PASS' if name.endswith(NAMES[0]) else 'FAIL'}" for name in wrong]


def test_every_quantity_of_a_step_is_seen_and_none_that_it_has_not(example):
    _, steps, *_ = example["verdicts"]()
    assert {term.name: term.status for term in steps.terms} == dict.fromkeys(
        ("stale-product", "curvature", "kernel-correction", "same-coordinate", "upper-end", "lower-end",
         "write-back", "window-boundary", "tail", "index-stream"),
        "PASS",
    )  # fmt: skip


def test_a_wrong_curvature_is_named_by_its_factor(example):
    _, steps, *_ = example["verdicts"](curvature=1 + 1e-9)
    (defect,) = steps.defects
    assert defect.factor == pytest.approx(1 + 1e-9, rel=1e-12)
    assert defect.names == ("curvature off by a factor",)


def judged(check, case, tested):
    """Verdicts of a check on the problem as the solver's precision holds it, as a user gets them."""
    return judged_by(SimpleNamespace(CHECK=CHECKS[check.ID], ID=check.ID), case, tested)


def solver(form: str, dtype):
    """Any right solver: in place, added to the value, or from an alpha that is frozen over the window."""

    def solve(problem, blocks, s, a0, log):
        data, y = problem.data.astype(dtype), problem.targets.astype(dtype)
        C, epsilon, one = dtype(problem.loss.C), dtype(problem.loss.epsilon), dtype(1)
        if problem.kernel.linear:
            K = data @ data.T
        else:
            K = np.exp(
                -dtype(problem.kernel.sigma) * ((data[:, None] - data) ** 2).sum(axis=2, dtype=dtype)
            )
        alpha = a0.astype(dtype)
        for begin in range(0, len(blocks), s):
            drawn, start, increments = blocks[begin : begin + s, 0], alpha.copy(), []
            for place, i in enumerate(drawn):
                gradient = K[i] @ start - y[i]
                value = start[i]
                for other, increment in zip(drawn, increments, strict=False):
                    gradient += K[i, other] * increment
                    value = value + increment * (other == i)
                value = value if form == "frozen" else alpha[i]
                if K[i, i]:
                    below, above = (
                        value - (gradient + epsilon) / K[i, i],
                        value - (gradient - epsilon) / K[i, i],
                    )
                    updated = min(max(below, 0 * one), C) + max(min(above, 0 * one), -C)
                else:
                    updated = C * np.sign(y[i]) if abs(y[i]) > epsilon else 0 * one
                increments.append(updated - value)
                stored = {"in-place": updated, "added": alpha[i] + increments[-1]}
                total = start[i] + sum(
                    (d for j, d in zip(drawn, increments, strict=False) if j == i), 0 * one
                )
                alpha[i] = log[begin + place, 0] = stored.get(form, total)
        return alpha

    return solve


@pytest.mark.parametrize(
    ("form", "precision", "check"),
    [
        pytest.param(form, precision, check, marks=[pytest.mark.nightly] * ((one + two + three) % 3 != 0))
        for one, form in enumerate(("in-place", "added", "frozen"))
        for two, precision in enumerate(("float64", "float32"))
        for three, check in enumerate((step_replay, window_replay, trajectory))
    ],
    ids=lambda value: getattr(value, "ID", None),
)
def test_no_right_form_is_refused(example, form, precision, check):
    loss_of = example["EpsilonInsensitive"]
    declared = Declaration("any", precision, update=form, rbf="difference", log=True)
    for seed in range(4):
        generator = np.random.Generator(np.random.PCG64(seed))
        data, y = generator.standard_normal((SAMPLES, 3)), generator.standard_normal(SAMPLES)
        data[seed] *= seed % 2  # a row of zeros has no curvature
        kernel = RBFKernel(0.3) if seed > 1 else LinearKernel()
        # Of targets and a threshold that are large and cancel, what rounding does is relative to their sizes.
        scale, width = (1.0, 1.0, 1e6, 1.0)[seed], (0.0, 0.1, 1.0 - 1e-7, 1.0)[seed]
        y = np.where(np.arange(SAMPLES) % 2, scale, y * scale)
        problem = Problem("drawn", data, y, kernel, loss_of(10.0 ** (seed - 2), width * scale))
        stream = IndexStream("uniform", SAMPLES, 1, LENGTH, seed=seed)
        points = {s: tuple(sorted({*range(s, LENGTH, s), LENGTH})) for s in (1, S)}
        tested = CallableSolver(solver(form, np.dtype(precision).type), declared)
        case = Case(
            "drawn", problem, stream, (1, S), LENGTH, declared, points=points, replay_command="again"
        )
        for verdict in judged(check, case, tested).values():
            assert verdict.status in ("PASS", "VACUOUS"), verdict.reason
            assert verdict.ratio <= 1 or verdict.status == "VACUOUS"


def test_windows_together_show_every_quantity(example):
    problem, stream = example["problem_and_stream"]()
    declared = Declaration("svr", rbf="difference", log=True)
    tested = CallableSolver(example["solver"](), declared)
    points = {8: (*range(8, stream.length, 8), stream.length)}
    case = Case(
        "sine", problem, stream, (8,), stream.length, declared, points=points, replay_command="again"
    )
    (verdict,) = judged(window_replay, case, tested).values()
    assert {term.name for term in verdict.terms if term.status != "PASS"} == set()


def test_a_classical_step_that_contradicts_the_description_is_refused(example, monkeypatch):
    loss = example["EpsilonInsensitive"]
    monkeypatch.setattr(loss, "threshold", property(lambda self: 2 * self.epsilon))
    with pytest.raises(OracleDisagreementError, match="by the classical reference but at"):
        example["verdicts"]()


def test_what_is_known_of_the_shipped_losses_alone_is_refused_with_a_reason(example):
    problem, stream = example["problem_and_stream"]()
    tested = CallableSolver(example["solver"](), Declaration("svr", rbf="difference", log=True))
    with pytest.raises(InputError, match="only of svm-l1 and svm-l2 is known"):
        judge(tested, problem, stream, 8, checks=["box"])
    with pytest.raises(InputError, match="only of svm-l1 and svm-l2 is known"):
        ProductionSolver().run(RunRequest(problem, stream, 8, 8))


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "check"), [("gradient", window_replay), ("weights", trajectory)])
def test_what_is_maintained_is_that_of_the_loss(example, name, check, precision):
    generator = np.random.Generator(np.random.PCG64(3))
    data, y = generator.integers(-4, 5, (SAMPLES, 3)) / 4.0, generator.integers(-9, 9, SAMPLES) / 8.0
    problem = Problem("drawn", data, y, LinearKernel(), example["EpsilonInsensitive"](0.5, 0.125))
    stream = IndexStream("uniform", SAMPLES, 1, LENGTH, seed=1)
    points = {s: tuple(sorted({*range(s, LENGTH, s), LENGTH})) for s in (1, S)}

    def statuses(leak):
        tested = StatefulSolver(problem, name, leak=leak, dtype=precision)
        case = Case(
            "drawn",
            problem,
            stream,
            (1, S),
            LENGTH,
            tested.declaration,
            points=points,
            replay_command="again",
        )
        return {verdict.status for verdict in judged(check, case, tested).values()}

    assert statuses(0.0) <= {"PASS", "VACUOUS"}
    if precision is np.float64:
        assert statuses(0.0) == {"PASS"}
        assert "FAIL" in statuses(1e-3)
