"""Training in intervals: the library's iterates, honest claims, and resumption to the last bit, on any ranks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import solve_ranks as ranks_do
from daily import crossed, some

from sstep_verify.adapters.training import train_on_rank
from sstep_verify.oracle.balls.objectives import exact_values
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import RankError, run
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings

SAMPLES, FEATURES = 18, 7
SIZES = (1, 2, 3)
LOSSES = {"svm-l1": Hinge(0.7), "svm-l2": SquaredHinge(1.0), "krr": Ridge(0.2)}
KERNELS = {"linear": LinearKernel(), "polynomial": PolynomialKernel(2, 0.5), "rbf": RBFKernel(0.1)}
PLAN = {"s": 4, "iterations": 90, "interval": 24, "tolerance": 0.0}
FORMS = {
    "allreduce": Settings(**PLAN, exchange="allreduce"),
    "support": Settings(**PLAN, exchange="support"),
    "reduce-scatter": Settings(**PLAN, exchange="reduce-scatter"),
    "all rows kept": Settings(**PLAN, exchange="allreduce", keep_gram=True),
    "some rows kept": Settings(**PLAN, exchange="allreduce", cache=16 * SAMPLES),
    "gram": Settings(**PLAN, exchange="gram"),
}
KERNEL_OF = {"svm-l1": "rbf", "svm-l2": "polynomial", "krr": "linear"}
CASES = [
    (size, task, "linear" if form == "gram" else kernel, form)
    for size in SIZES
    for task, kernel in KERNEL_OF.items()
    for form in FORMS
]
each_case = pytest.mark.parametrize(("size", "task", "kernel", "form"), some(CASES, of=5))


def problem_of(task: str, kernel: str, sparse: bool = False) -> Problem:
    generator = np.random.default_rng(5)
    data = generator.normal(size=(SAMPLES, FEATURES))
    if sparse:
        data = sp.csr_array(np.where(generator.random(data.shape) < 0.4, data, 0.0))
    targets = (
        generator.normal(size=SAMPLES) if task == "krr" else np.where(np.arange(SAMPLES) % 3, 1.0, -1.0)
    )
    return Problem("drawn", data, targets, KERNELS[kernel], LOSSES[task])


def stream_of(task: str, length: int = 90) -> IndexStream:
    return IndexStream("uniform", SAMPLES, 3 if task == "krr" else 1, length, seed=4)


@each_case
def test_training_makes_the_librarys_iterates(size, task, kernel, form):
    problem, stream = problem_of(task, kernel, sparse=kernel == "linear"), stream_of(task)
    found = run(size, ranks_do.trained, problem, stream, FORMS[form])
    alphas = [result.trajectory.final for result, _ in found]
    expected = run(size, ranks_do.by_intervals, problem, stream, FORMS[form])[0]
    for alpha in alphas:
        np.testing.assert_array_equal(alpha, expected)
    if form in ("allreduce", "reduce-scatter", "all rows kept"):
        # Nothing is kept from interval to interval, or nothing that depends on where it begins.
        whole = run(size, ranks_do.at_once, problem, stream, FORMS[form])[0]
        np.testing.assert_array_equal(expected, whole)
    result, places = found[0]
    assert [found.iteration for found in result.history] == [0, 24, 48, 72, 90]
    assert [place.iteration for place in places] == [24, 48, 72]
    assert result.trajectory.counters["windows"] == 23


@each_case
def test_a_resumed_run_ends_with_the_same_bits(size, task, kernel, form):
    problem, stream = problem_of(task, kernel), stream_of(task)
    whole, places = run(size, ranks_do.trained, problem, stream, FORMS[form])[0]
    for place in places:
        rest, later = run(size, ranks_do.trained, problem, stream, FORMS[form], place)[0]
        np.testing.assert_array_equal(rest.trajectory.final, whole.trajectory.final)
        assert str(rest.history) == str(whole.history)  # As text, in which NaN equals NaN.
        assert rest.trajectory.start == place.iteration
        assert rest.iteration == 90
        assert len(later) == sum(other.iteration > place.iteration for other in places)


@pytest.mark.parametrize(("form", "sparse"), crossed(FORMS, [False, True], of=2))
def test_ranks_without_features_train_with_the_one_that_has_them(form, sparse):
    """None of them may end where it is given its columns: the others would wait for ever."""
    generator = np.random.default_rng(6)
    data = generator.normal(size=(SAMPLES, 1))
    labels = np.where(np.arange(SAMPLES) % 3, 1.0, -1.0)
    for task, kernel in KERNEL_OF.items():
        kernel = "linear" if form == "gram" else kernel
        targets = data[:, 0] if task == "krr" else labels
        held = sp.csr_array(data) if sparse else data
        problem = Problem("drawn", held, targets, KERNELS[kernel], LOSSES[task])
        request = RunRequest(problem, stream_of(task), 4, 90)
        alone = train_on_rank(SelfCommunicator(), request, FORMS[form])
        found = run(3, train_on_rank, request, FORMS[form])
        # Its ranks sum over their shares of the samples, in which one rank alone has them all.
        expected = found[0] if form == "reduce-scatter" else alone
        for made in found:
            np.testing.assert_array_equal(made.final, expected.final)
            assert str(made.claims) == str(expected.claims)
            assert made.length == 90


@pytest.mark.parametrize("size", SIZES)
def test_more_iterations_go_on_as_if_they_had_been_asked_for_at_once(size):
    problem = problem_of("svm-l2", "linear")
    short = run(
        size, ranks_do.trained, problem, stream_of("svm-l2", 60), replace(FORMS["gram"], iterations=60)
    )[0]
    place = short[1][-1]
    assert place.iteration == 48
    longer = (problem, stream_of("svm-l2", 90), FORMS["gram"])
    resumed = run(size, ranks_do.trained, *longer, place)[0][0]
    at_once = run(size, ranks_do.trained, *longer)[0][0]
    np.testing.assert_array_equal(resumed.trajectory.final, at_once.trajectory.final)


@pytest.mark.parametrize(
    ("size", "task", "kernel", "form"),
    crossed(SIZES, LOSSES, KERNELS, ["reduce-scatter", "all rows kept"], of=3),
)
def test_what_it_claims_of_itself_is_true(size, task, kernel, form):
    from sstep_verify.checks.recorded import claim_honesty
    from sstep_verify.checks.shared.case import Case, run_key
    from sstep_verify.oracle.facade import Oracle
    from sstep_verify.verdict import Status

    problem, stream = problem_of(task, kernel), stream_of(task)
    result, _ = run(size, ranks_do.trained, problem, stream, FORMS[form])[0]
    case = Case("drawn", problem, stream, (4,), 90, FORMS[form].declaration(size))
    (verdict,) = claim_honesty.CHECK.judge(case, {run_key(4): result.trajectory}, Oracle(problem))
    assert verdict.status is Status.PASS, verdict.reason
    assert verdict.executed == verdict.planned == (5 if task == "krr" else 4)
    if task == "krr":
        assert result.values.gap == result.values.residual * result.values.residual / (2 * SAMPLES)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("task", LOSSES)
def test_it_ends_where_the_tolerance_is_first_met(size, task):
    problem, stream = problem_of(task, "rbf"), stream_of(task)
    whole, _ = run(size, ranks_do.trained, problem, stream, FORMS["allreduce"])[0]
    third = whole.history[2].values.relative
    assert third < whole.history[1].values.relative
    # What is measured is not what is stated, which is as much more as rounding may hide.
    settings = replace(FORMS["allreduce"], tolerance=third * (1 + 1e-6))
    ended, _ = run(size, ranks_do.trained, problem, stream, settings)[0]
    assert (ended.iteration, ended.trajectory.stopped) == (48, "tolerance")
    assert ended.history == whole.history[:3] or math.isnan(ended.values.residual)
    assert whole.trajectory.stopped == "iterations"


@pytest.mark.parametrize("size", SIZES)
def test_collectives_of_measurements_are_counted_apart(size):
    alpha = np.zeros(SAMPLES)
    alpha[[2, 5, 11]] = 0.5
    words = SAMPLES + 2
    for kernel, expected in (
        ("linear", {"panel columns": 0, "collectives": 1, "words": words}),
        ("polynomial", {"panel columns": 3, "collectives": 1, "words": 3 * SAMPLES + 2}),
        ("rbf", {"panel columns": 3, "collectives": 2, "words": words + 3 * SAMPLES + 2}),
    ):
        _, counters = run(size, ranks_do.measured, problem_of("svm-l1", kernel), alpha)[0]
        assert counters == expected
    result, _ = run(size, ranks_do.trained, problem_of("krr", "linear"), stream_of("krr"), FORMS["gram"])[0]  # fmt: skip
    assert result.trajectory.counters["collectives"] == 23
    assert result.monitoring == {"panel columns": 0, "collectives": 5, "words": 5 * words}


@pytest.mark.parametrize(("size", "task", "kernel"), crossed(SIZES, LOSSES, KERNELS, of=3))
def test_ranks_state_the_same_truth_and_a_look_costs_what_is_said(size, task, kernel):
    alpha = np.zeros(SAMPLES)
    alpha[[2, 5, 11]] = 0.5
    problem = problem_of(task, kernel)
    problem = replace(problem, data=problem.data * 10.0 ** np.arange(-3, 4))  # Sums over ranks cancel.
    answers = run(size, ranks_do.enclosed, problem, alpha)
    assert len({str(answer) for answer in answers}) == 1
    (stated, once), (again, twice) = answers[0]
    assert str(stated) == str(again)
    (exact,) = exact_values(problem, [alpha])
    for name in ("gap", "dual", "primal", *(["residual"] if task == "krr" else [])):
        lower, upper = getattr(stated, name)
        assert lower <= exact[name][1]
        assert exact[name][0] <= upper
        assert upper - lower <= 1e-6 * (1 + abs(upper))
    rows, norms = 3 * SAMPLES + 2, SAMPLES + 2
    first, later = {
        "linear": ({"panel columns": 0, "collectives": 2, "words": 3 * SAMPLES + 1 + 2 * 2},) * 2,
        "polynomial": (
            {"panel columns": 3, "collectives": 2, "words": rows + norms + 1},
            {"panel columns": 3, "collectives": 1, "words": rows},
        ),
        "rbf": (
            {"panel columns": 3, "collectives": 3, "words": norms + rows + norms + 1},
            {"panel columns": 3, "collectives": 2, "words": norms + rows},
        ),
    }[kernel]
    assert once == first
    assert twice == {name: first[name] + later[name] for name in first}


@pytest.mark.parametrize("size", SIZES)
def test_ranks_end_alike_where_float64_cannot_show_the_tolerance(size):
    """Bytes to the fourth power, C = 1: the optimal alpha is of 1e-22, and its margins round by 1e-16."""
    data = np.array(
        [[227, 203, 214, 242, 148], [222, 188, 218, 213, 209], [59, 32, 22, 15, 248], [38, 81, 40, 37, 248]]
    )
    problem = Problem("bytes", data, np.array([1, 1, -1, -1]), PolynomialKernel(4, 1.0), Hinge(1.0))
    settings = replace(FORMS["all rows kept"], iterations=9_000, interval=240, tolerance=1e-6)
    stream = IndexStream("uniform", 4, 1, 9_000, seed=4)
    found = run(size, ranks_do.trained, problem, stream, settings)
    assert {result.trajectory.stopped for result, _ in found} == {"precision"}
    assert len({str((result.stated, result.iteration, result.looks)) for result, _ in found}) == 1
    assert found[0][0].values.relative <= 1e-6 < found[0][0].stated.width


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [3])
def test_a_rank_that_draws_other_coordinates_is_named(size, form):
    problem, stream = problem_of("svm-l2", "linear"), stream_of("svm-l2")
    with pytest.raises(RankError) as caught:
        run(size, ranks_do.diverging, problem, stream, FORMS[form], 1)
    assert caught.value.kind == "IncoherenceError"
    assert "most hold " in str(caught.value)


@pytest.mark.parametrize("size", [2, 3])
def test_a_rank_without_memory_for_a_measurement_is_named_on_all(size):
    with pytest.raises(RankError, match=f"rank {size - 1}: MemoryError: no room") as caught:
        run(size, ranks_do.failing_to_measure, problem_of("svm-l1", "rbf"), size - 1)
    assert caught.value.ranks == tuple(range(size))


@pytest.mark.parametrize(
    ("size", "kernel", "task", "sparse"),
    crossed(SIZES, KERNELS, ["svm-l1", "krr"], [False, True], of=3),
)
def test_predictions_are_the_kernel_with_the_new_samples(tmp_path, size, kernel, task, sparse):
    """Whole numbers of few bits: sums and products are exact in any order, and so are the distances."""
    generator = np.random.default_rng(8)
    data = generator.integers(-2, 3, size=(6, 5)).astype(float)
    new = generator.integers(-2, 3, size=(9, 5)).astype(float)
    new[0] = 0.0
    held = sp.csr_array(data) if sparse else data
    problem = Problem("whole", held, np.where(np.arange(6) % 2, 1.0, -1.0), KERNELS[kernel], LOSSES[task])
    alpha = np.zeros(6)
    alpha[[1, 4] if kernel != "rbf" else [4]] = 2.0
    path = tmp_path / "new"
    lines = [" ".join(f"{k + 1}:{value:g}" for k, value in enumerate(row) if value) for row in new]
    path.write_text("".join(f"{k} {line}\n" for k, line in enumerate(lines)), encoding="ascii")
    entries = {
        "linear": new @ data.T,
        "polynomial": (new @ data.T + 0.5) ** 2,
        "rbf": np.exp(-0.1 * ((new[:, None] - data) ** 2).sum(axis=2)),
    }[kernel]
    expected = entries @ (problem.targets * alpha if task == "svm-l1" else alpha)
    expected = expected if task == "svm-l1" else expected / 0.2
    for values, targets in run(size, ranks_do.predicted, problem, alpha, path):
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(targets, np.arange(9.0))


@pytest.mark.parametrize(("size", "kernel", "sparse"), crossed([1, 3], KERNELS, [False, True], of=2))
def test_features_that_were_not_trained_on_are_zero_there(tmp_path, size, kernel, sparse):
    """As training data widened by columns of zeros give it; 3, 4 and 5 keep every distance exact."""
    new = np.zeros((3, 2_000_000))
    new[0, [0, 7, 1_999_999]] = 1.0, 3.0, 4.0
    new[1, [2, 6]] = 1.0, 2.0
    new[2, 9] = -5.0
    path = tmp_path / "new"
    path.write_text("1 1:1 8:3 2000000:4\n2 3:1 7:2\n3 10:-5\n", encoding="ascii")
    data = np.arange(14.0).reshape(2, FEATURES) % 3
    held = sp.csr_array(data) if sparse else data
    problem = Problem("whole", held, np.array([1.0, -1.0]), KERNELS[kernel], LOSSES["svm-l1"])
    inner, squares = new[:, :FEATURES] @ data.T, (new**2).sum(axis=1)[:, None] + (data**2).sum(axis=1)
    entries = {
        "linear": inner,
        "polynomial": (inner + 0.5) ** 2,
        "rbf": np.exp(-0.1 * (squares - 2 * inner)),
    }[kernel]
    alpha = np.array([0.0, 2.0])
    for values, targets in run(size, ranks_do.predicted, problem, alpha, path):
        np.testing.assert_array_equal(values, entries @ (problem.targets * alpha))
        np.testing.assert_array_equal(targets, [1.0, 2.0, 3.0])
