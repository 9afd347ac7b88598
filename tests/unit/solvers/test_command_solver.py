"""The command as a solver under test: its files say what training in this process says."""

from __future__ import annotations

import io
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.adapters import command
from sstep_verify.adapters.command import CommandSolver
from sstep_verify.adapters.training import TrainingSolver
from sstep_verify.checks import contract
from sstep_verify.checks.recorded import message_count
from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.costs.messages import COUNTED
from sstep_verify.errors import RunError
from sstep_verify.exchange import write_samples
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
)
from sstep_verify.problems.data.datasets import load
from sstep_verify.protocol import RunRequest
from sstep_verify.runs import make_run
from sstep_verify.verdict import Status


def drawn(kernel, loss, *, sparse=False, samples=9, features=4):
    """A problem whose numbers have all their digits."""
    generator = np.random.Generator(np.random.PCG64(samples))
    data = generator.standard_normal((samples, features)) * np.ldexp(
        1.0, generator.integers(-9, 9, features)
    )
    if sparse:
        data[generator.random(data.shape) < 0.7] = 0.0
        data[0, -1], data[1] = 1 / 3, 0.0
    targets = generator.standard_normal(samples)
    if not isinstance(loss, Ridge):
        targets = np.where(np.arange(samples) % 3 == 0, 1.0, -1.0)
    return Problem("drawn", sp.csr_array(data) if sparse else data, targets, kernel, loss)


def asked(problem, block=1, s=3, iterations=60, kind="uniform"):
    return RunRequest(problem, IndexStream(kind, problem.samples, block, iterations, 7), s, iterations)


@pytest.mark.parametrize("sparse", [False, True])
def test_samples_are_written_to_the_last_bit(tmp_path, sparse):
    problem = drawn(LinearKernel(), Ridge(0.1), sparse=sparse)
    write_samples(tmp_path / "samples", sp.csr_array(problem.data), problem.targets)
    read = load(tmp_path / "samples")
    assert sp.issparse(read.data) is sparse
    np.testing.assert_array_equal(read.targets, problem.targets)
    np.testing.assert_array_equal(sp.csr_array(read.data).toarray(), problem.dense)


@pytest.mark.parametrize(
    ("kernel", "loss", "request_", "options"),
    [
        (RBFKernel(0.3), Hinge(0.7), {}, {}),
        (PolynomialKernel(3, 0.5), Ridge(0.2), {"block": 2, "kind": "epochs"}, {"cache": 60}),
    ],
    ids=["svm", "krr"],
)
def test_the_command_ends_as_training_in_this_process_also_gone_on_with(kernel, loss, request_, options):
    request = asked(drawn(kernel, loss), **request_)
    whole = TrainingSolver(interval=4, **options).run(request)
    for resumed in (False, True):
        made = CommandSolver(interval=4, resumed=resumed, **options).run(request)
        np.testing.assert_array_equal(made.final, whole.final)
        assert made.stopped == whole.stopped
        assert {name: made.claims[name] for name in whole.claims} == dict(whole.claims)
        assert sum(name.startswith("prediction") for name in made.claims) == 9


CUT = [(7, 3, 0), (8, 3, 0), (16, 8, 0)]


@pytest.mark.parametrize(
    ("told", "made", "same"),
    [
        (CUT, 16, True),
        (CUT[:2], 8, True),
        ([(7, 3, 0), (8, 1, 0), (16, 8, 0)], 16, True),
        ([(8, 3, 0), (16, 8, 0)], 16, False),
        (CUT[:2], 16, False),
        ([*CUT[:2], (16, 4, 0)], 16, False),
        ([*CUT[:2], (16, 8, 1)], 16, False),
    ],
    ids=["alike", "ended early", "written otherwise", "joined", "the last is missing", "s", "exchange"],
)
def test_a_result_that_tells_of_other_windows_than_it_was_given_is_refused(told, made, same):
    given, result = io.BytesIO(), io.BytesIO()
    np.savez(given, sequence=np.array(CUT), iterations=16)
    np.savez(result, sequence=np.array(told), iterations=made)
    with nullcontext() if same else pytest.raises(RunError, match="made were, by those that it was given"):
        command._require_same_windows(given.getvalue(), result.getvalue())
    # Nothing given: the windows that it tells of end where its iterations do.
    whole = told[-1][0] == made
    with nullcontext() if whole else pytest.raises(RunError, match="until iteration 8; made were"):
        command._require_same_windows(None, result.getvalue())


def test_a_tuned_command_follows_windows_that_are_cut_and_is_judged_step_by_step():
    request = replace(asked(drawn(LinearKernel(), Hinge(0.7)), s=4, iterations=42), log=True)
    tested = CommandSolver(interval=2, tuned=True)
    assert tested.declaration.log
    made = tested.run(request)
    whole = TrainingSolver(interval=2, tuned=True).run(request)
    np.testing.assert_array_equal(made.final, whole.final)
    np.testing.assert_array_equal(made.log, whole.log)
    assert len(tested.sequences) == 1


def test_counts_of_training_are_judged_where_every_window_sends_what_it_says():
    problem = drawn(LinearKernel(), Hinge(0.7))
    request = asked(problem, iterations=59)
    for kind in (CommandSolver, TrainingSolver):
        tested = kind(interval=4, exchange="gram")
        assert kind(interval=4, exchange="gram", tuned=True).declaration.exchange is None
        assert kind(interval=4).declaration.exchange is None
        case = Case("drawn", problem, request.stream, (3,), 59, tested.declaration)
        run = tested.run(request)
        assert set(run.counters) == set(COUNTED)
        for name, status in {"": Status.PASS, **dict.fromkeys(COUNTED, Status.FAIL)}.items():
            counters = {**run.counters, **({name: run.counters[name] - 1} if name else {})}
            (verdict,) = message_count.CHECK.judge(
                case, {run_key(3): replace(run, counters=counters)}, None
            )
            assert (verdict.status, verdict.executed) == (status, 4), verdict.reason


def test_a_command_that_ends_with_an_error_fails_its_run(monkeypatch):
    problem = drawn(LinearKernel(), Hinge(0.5))
    tested = CommandSolver(interval=4)
    monkeypatch.setattr(command.sys, "executable", "/bin/false")
    case = Case("drawn", problem, asked(problem).stream, (3,), 60, tested.declaration)
    run = make_run(tested, plain_request(case, 3))
    (verdict,) = contract.judge(case, {run_key(3): run}, None)
    assert verdict.status is Status.FAIL
    assert "exit code 1" in verdict.raised[0].message


def test_a_class_must_be_the_sign_of_its_value(tmp_path):
    problem = drawn(LinearKernel(), Hinge(0.5))
    (tmp_path / "predictions").write_text("+1 0.5\n-1 -0.25\n")
    assert command._predictions(problem, tmp_path) == [0.5, -0.25]
    (tmp_path / "predictions").write_text("+1 0.5\n+1 -0.25\n")
    with pytest.raises(RunError, match="prediction 1 has the class"):
        command._predictions(problem, tmp_path)


@pytest.mark.parametrize("name", ["measured_iterations", "measured_relative"])
def test_a_result_must_have_all_measurements(tmp_path, name):
    request = asked(drawn(LinearKernel(), Ridge(0.2)), block=2)
    (tmp_path / "predictions").write_text("0.5\n" * 9)
    parts = {f"last_{name}": 0.5 for name in command.VALUES} | {
        "alpha": np.ones(9), "iterations": 30, "stopped": "tolerance", "last_relative": 0.1,
        "measured_iterations": np.array([0, 12, 24, 30]), "measured_relative": np.array([1.0, 0.4, 0.2, 0.1]),
    }  # fmt: skip
    with (tmp_path / "result").open("wb") as file:
        np.savez(file, **parts)
    assert command._trajectory(request, tmp_path, 12, "").length == 30
    parts[name] = parts[name][1:] if name == "measured_iterations" else parts[name] / 2
    with (tmp_path / "result").open("wb") as file:
        np.savez(file, **parts)
    with pytest.raises(RunError, match="the result has measurements at"):
        command._trajectory(request, tmp_path, 12, "")


def test_the_share_of_right_predictions_is_told(tmp_path):
    request = asked(drawn(LinearKernel(), Hinge(0.2)))
    signs = ["+1" if target > 0 else "-1" for target in request.problem.targets]
    (tmp_path / "predictions").write_text("".join(f"{sign} {sign}\n" for sign in signs))
    with (tmp_path / "result").open("wb") as file:
        np.savez(
            file, alpha=np.ones(9), iterations=0, stopped="tolerance", last_relative=0.1, measured_relative=[0.1],
            measured_iterations=[0], **{f"last_{name}": 0.5 for name in command.VALUES},
        )  # fmt: skip
    assert command._trajectory(request, tmp_path, 12, "accuracy 100.00% (9 of 9)").length == 0
    with pytest.raises(RunError, match="does not say so"):
        command._trajectory(request, tmp_path, 12, "accuracy 88.89% (8 of 9)")
