"""The command as a solver under test: its files say what training in this process says."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from daily import some

from sstep_verify.adapters import command
from sstep_verify.adapters.command import CommandSolver
from sstep_verify.adapters.training import TrainingSolver
from sstep_verify.adapters.written import require_agreement, require_score
from sstep_verify.checks import contract
from sstep_verify.checks.recorded import claim_honesty, message_count
from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.costs.messages import COUNTED
from sstep_verify.errors import RunError
from sstep_verify.exchange import write_samples
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
from sstep_verify.problems.data.datasets import load
from sstep_verify.protocol import RunRequest
from sstep_verify.runs import make_run
from sstep_verify.trajectory import RELATIVE, Claim
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


@pytest.mark.nightly
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


VALUES = (
    *(f"last_{name}" for name in command.VALUES), *command.VALUES, "relative",
    *(f"{name}_at_least" for name in command.STATED),
)  # fmt: skip
"""Names of numbers in a result."""

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
    parts = dict.fromkeys(VALUES, 0.5) | {
        "alpha": np.ones(9), "iterations": 30, "stopped": "tolerance", "last_relative": 0.1,
        "measured_iterations": np.array([0, 12, 24, 30]), "measured_relative": np.array([1.0, 0.4, 0.2, 0.1]),
    }  # fmt: skip
    with (tmp_path / "result").open("wb") as file:
        np.savez(file, **parts)
    assert command._trajectory(request, tmp_path, 12, "", predicts=False).length == 30
    parts[name] = parts[name][1:] if name == "measured_iterations" else parts[name] / 2
    with (tmp_path / "result").open("wb") as file:
        np.savez(file, **parts)
    with pytest.raises(RunError, match="the result has measurements at"):
        command._trajectory(request, tmp_path, 12, "", predicts=False)


def test_the_share_of_right_predictions_is_reported(tmp_path):
    request = asked(drawn(LinearKernel(), Hinge(0.2)))
    targets = request.problem.targets
    signs = ["+1" if target > 0 else "-1" for target in (*targets, *targets[:3])]
    (tmp_path / "predictions").write_text("".join(f"{sign} {sign}\n" for sign in signs))
    with (tmp_path / "result").open("wb") as file:
        np.savez(
            file, alpha=np.ones(9), iterations=0, stopped="tolerance", last_relative=0.1, measured_relative=[0.1],
            measured_iterations=[0], **dict.fromkeys(VALUES, 0.5),
        )  # fmt: skip
    said = "predictions: accuracy 100.00% (12 of 12), in p"
    assert command._trajectory(request, tmp_path, 12, said).length == 0
    over_trained = "133.33% (12 of 12)", "100.00% (9 of 9)", "133.33% (12 of 9)"
    for shown in (*over_trained, "91.67% (11 of 12)", "91.67% (12 of 12)", "99.99% (12 of 12)", "unknown"):
        with pytest.raises(RunError, match="are right, and"):
            command._trajectory(request, tmp_path, 12, f"predictions: accuracy {shown}, in p")
    (tmp_path / "predictions").write_text("+1 +1\n" * 9)
    with pytest.raises(RunError, match="12 samples were to be predicted"):
        command._trajectory(request, tmp_path, 12, said)


REAL = {
    "svm": (LinearKernel(), Hinge(0.7), {}),
    "krr": (PolynomialKernel(3, 0.5), Ridge(0.2), {"block": 2, "kind": "epochs"}),
}


@pytest.fixture(scope="module", params=REAL)
def written(request):
    """Files and lines of one run of the command, with what must be in them."""
    kernel, loss, more = REAL[request.param]
    asked_for, kept = asked(drawn(kernel, loss), **more), {}

    def keep(problem, room, given, said, code):
        files = {name: dict(np.load(room / name)) for name in ("result", "result.checkpoint")}
        kept.update(files=files, given=given, said=said, code=code, problem=problem)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "require_agreement", keep)
        CommandSolver(interval=4, tolerance=1e-14).run(asked_for)
    return kept


def rounded(values):
    """The same numbers as float32 holds them."""
    return values.astype(np.float32).astype(np.float64)


def other_option(name, value):
    def change(file):
        file["options"] = json.dumps({**json.loads(str(file["options"])), name: value})

    return change


def replaced(name, change):
    return lambda file: file.update({name: change(file[name])})


SPOILT = {
    "no file is": (None, None, None),
    "block": ("result", other_option("block", 7), "option block"),
    "seed": ("result.checkpoint", other_option("seed", 8), "option seed"),
    "cache": ("result", other_option("cache", 60), "option cache"),
    "an option that nobody gave": ("result", other_option("bias", "1"), "option bias"),
    "float32 history": ("result.checkpoint", replaced("values", rounded), "relative values"),
    "float32 alpha": ("result", replaced("alpha", rounded), "same alpha"),
    "history one place early": (
        "result", replaced("measured_relative", lambda v: np.append(v[1:], v[-1])), "relative values",
    ),
    "iterations of a checkpoint": ("result.checkpoint", replaced("iterations", lambda v: v + 1), "iterations measured"),
    "gap that is not printed": ("result", replaced("gap", lambda v: v * 1.2), "gap of at most"),
    "reason": ("result", replaced("stopped", lambda v: np.array("tolerance")), "has the reason"),
    "reason without its exit code": ("result", replaced("stopped", lambda v: np.array("precision")), "exit code"),
    "stagnation without its exit code": (
        "result", replaced("stopped", lambda v: np.array("stagnation")), "exit code",
    ),
    "length": ("result", replaced("iterations", lambda v: v + 3), "iterations, but printed"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(SPOILT, of=2))
def test_files_and_lines_of_the_command_must_agree(name, written, tmp_path):
    spoilt, change, words = SPOILT[name]
    for file, parts in written["files"].items():
        parts = dict(parts)
        if file == spoilt:
            change(parts)
        with (tmp_path / file).open("wb") as opened:
            np.savez(opened, **parts)
    told = written["problem"], tmp_path, written["given"], written["said"], written["code"]
    with pytest.raises(RunError, match=words) if words else nullcontext():
        require_agreement(*told)


def test_the_error_of_predictions_is_the_printed_one():
    generator = np.random.Generator(np.random.PCG64(5))
    for scale in np.ldexp(1.0, np.arange(-30, 30, 3)):
        values, targets = generator.standard_normal((2, 40)) * scale
        error = np.sqrt(np.mean((values - targets) ** 2))
        require_score(values, targets, f"predictions: root mean square error {error:.6g}, in p")
        for wrong in (error * (1 + 1e-5), error**2 if abs(error - 1) > 0.1 else 0.0, np.nan):
            with pytest.raises(RunError, match="printed is"):
                require_score(values, targets, f"predictions: root mean square error {wrong:.8g}, in p")


@pytest.mark.parametrize("name", REAL)
def test_what_the_command_measured_on_its_way_is_judged(name):
    kernel, loss, more = REAL[name]
    request = replace(asked(drawn(kernel, loss), **more), record=(24, 36), log=True)
    tested = CommandSolver(interval=4)
    run = tested.run(request)
    assert run.iterations.tolist() == [0, 24, 36, 60]
    case = Case(
        "drawn", request.problem, request.stream, (3,), 60, tested.declaration, points={3: (24, 36, 60)}
    )
    told = {RELATIVE.format(k): run.claims[RELATIVE.format(k)] for k in (0, 24, 36, 60)}
    early = dict(zip(told, [*told.values()][1:], strict=False))
    for claims, status in ((run.claims, "PASS"), ({**run.claims, **early}, "FAIL")):
        changed = {run_key(3): replace(run, claims=claims)}
        (verdict,) = claim_honesty.CHECK.judge(case, changed, Oracle(request.problem))
        assert verdict.status is Status(status), verdict.reason
    # Limits are compared without an allowance.
    for limit, factor in (
        ("gap at most", 1 - 1e-7),
        ("dual at least", 1 + 1e-7),
        ("relative at most", 0.5),
    ):
        lie = {limit: Claim(run.claims[limit].value * factor)}
        changed = {run_key(3): replace(run, claims={**run.claims, **lie})}
        (verdict,) = claim_honesty.CHECK.judge(case, changed, Oracle(request.problem))
        assert (verdict.status, verdict.place.item) == (Status.FAIL, limit)
