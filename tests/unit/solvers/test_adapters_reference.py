"""The reference as a solver: states, windows, starts, stops, precisions, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sstep_reference import bdcd_krr, dcd_ksvm, sstep_bdcd_krr, sstep_dcd_ksvm
from sstep_reference.arithmetic import Float

from sstep_verify.adapters import ReferenceSolver, reference
from sstep_verify.adapters.reference import SingularBlockError
from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
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
from sstep_verify.protocol import RunRequest, Solver

SAMPLES, LENGTH = 12, 60
LOSSES = {"svm-l1": Hinge(0.7), "svm-l2": SquaredHinge(0.7), "krr": Ridge(0.1)}
KERNELS = [LinearKernel(), PolynomialKernel(2, 0.3), RBFKernel(0.7)]
PRECISIONS = ["float32", "float64"]
FORMS = ["sstep", "classical"]


def problem_of(task: str, kernel=KERNELS[2], loss=None) -> Problem:
    rng = np.random.default_rng(2)
    data = rng.standard_normal((SAMPLES, 4))
    targets = rng.standard_normal(SAMPLES) if task == "krr" else np.resize([1.0, -1.0, -1.0], SAMPLES)
    return Problem("small", data, targets, kernel, loss or LOSSES[task])


def stream_of(task: str) -> IndexStream:
    return IndexStream("uniform", SAMPLES, 3 if task == "krr" else 1, LENGTH, seed=1)


def request_of(task: str, s: int, iterations: int = LENGTH, start=0, initial=None, record=(), kernel=None):
    problem = problem_of(task, kernel or KERNELS[2])
    return RunRequest(problem, stream_of(task), s, iterations, start, initial, tuple(record))


def direct(request: RunRequest, precision: str, form: str) -> np.ndarray:
    """The algorithm itself, called once for the whole run."""
    problem, arithmetic = request.problem, Float(precision)
    kernel = exact_kernel(problem, arithmetic)
    blocks = request.stream.blocks(request.start, request.start + request.iterations)
    initial = np.zeros(SAMPLES) if request.initial is None else request.initial
    if problem.is_svm:
        common = (arithmetic, kernel, problem.targets, initial, blocks.ravel())
        options = {"loss": problem.loss.task, "C": problem.loss.C}
        classical, sstep = dcd_ksvm, sstep_dcd_ksvm
    else:
        common, options = (arithmetic, kernel, problem.targets, initial, blocks), {"penalty": 0.1}
        classical, sstep = bdcd_krr, sstep_bdcd_krr
    if form == "classical":
        return classical(*common, **options)
    return sstep(*common, request.s, **options)


def test_it_is_a_solver_and_declares_itself():
    solver = ReferenceSolver("float32")
    assert isinstance(solver, Solver)
    declared = solver.declaration
    assert (declared.precision, declared.update) == ("float32", "frozen")
    assert (declared.rbf, declared.factorisation) == ("difference", "ldl")
    assert ReferenceSolver(form="classical").declaration.update == "in-place"
    assert ReferenceSolver().declaration.precision == "float64"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("task", LOSSES)
def test_a_run_in_pieces_is_the_algorithm_bit_by_bit(task, precision, form, kernel):
    request = request_of(task, 7, record=(7, 21, 56), kernel=kernel)
    trajectory = ReferenceSolver(precision, form).run(request)
    assert trajectory.iterations.tolist() == [0, 7, 21, 56, 60]
    assert trajectory.counters["windows"] == 9
    expected = direct(request, precision, form)
    assert np.array_equal(trajectory.final, expected)
    assert expected.any()


@pytest.mark.parametrize("task", LOSSES)
def test_states_keep_every_bit_of_their_precision(task):
    request = request_of(task, 4)
    single, double = (ReferenceSolver(precision).run(request).final for precision in PRECISIONS)
    assert single.dtype == double.dtype == np.float64
    assert np.array_equal(single, np.float32(single))
    assert not np.array_equal(double, np.float32(double))


@pytest.mark.parametrize("task", LOSSES)
def test_a_run_continues_another_at_a_window_end(task):
    solver = ReferenceSolver()
    whole = solver.run(request_of(task, 8, record=(24,)))
    rest = solver.run(request_of(task, 8, LENGTH - 24, start=24, initial=whole.at(24)))
    assert np.array_equal(rest.final, whole.final)


def test_classical_states_do_not_depend_on_s():
    solver = ReferenceSolver(form="classical")
    finals = [solver.run(request_of("svm-l1", s)).final for s in (1, 7, 60, 100)]
    assert all(np.array_equal(final, finals[0]) for final in finals)
    assert not np.array_equal(ReferenceSolver().run(request_of("svm-l1", 60)).final, finals[0])


def test_the_start_vector_is_what_the_precision_holds():
    initial = np.full(SAMPLES, 0.1)
    trajectory = ReferenceSolver("float32").run(request_of("svm-l1", 4, initial=initial))
    assert np.array_equal(trajectory.at(0), np.float64(np.float32(initial)))
    assert np.array_equal(initial, np.full(SAMPLES, 0.1))
    assert np.array_equal(ReferenceSolver().run(request_of("svm-l1", 4, initial=initial)).at(0), initial)


def test_the_observer_sees_every_state_and_may_end_the_run():
    seen = []

    def observe(iteration, alpha):
        seen.append((iteration, alpha.copy()))
        return iteration == 20

    trajectory = ReferenceSolver().run(request_of("krr", 5, record=(5, 20, 40)), observe)
    assert trajectory.stopped == "observer"
    assert trajectory.iterations.tolist() == [iteration for iteration, _ in seen] == [0, 5, 20]
    assert all(np.array_equal(trajectory.at(iteration), alpha) for iteration, alpha in seen)


def test_no_iterations():
    trajectory = ReferenceSolver().run(request_of("krr", 4, 0))
    assert trajectory.alphas.shape == (1, SAMPLES)
    assert not trajectory.final.any()


def test_the_kernel_is_made_once_a_problem(monkeypatch):
    made = []
    original = reference.Kernel
    monkeypatch.setattr(reference, "Kernel", lambda *a, **k: made.append(k) or original(*a, **k))
    solver = ReferenceSolver()
    first = solver.run(request_of("krr", 4)).final
    assert np.array_equal(solver.run(request_of("krr", 4)).final, first)
    assert len(made) == 1
    solver.run(request_of("krr", 4, kernel=RBFKernel(0.8)))
    assert len(made) == 2


def test_errors_name_what_is_known():
    with pytest.raises(InputError, match=r"precision = 'half'; known: float32, float64"):
        ReferenceSolver("half")
    with pytest.raises(InputError, match=r"form = 'blocked'; known: sstep, classical"):
        ReferenceSolver(form="blocked")
    with pytest.raises(InputError, match=r"a0 holds .*1e\+300.*beyond the range of float32"):
        ReferenceSolver("float32").run(request_of("krr", 4, initial=np.full(SAMPLES, 1e300)))


@pytest.mark.parametrize(("form", "s"), [("sstep", 1), ("sstep", 4), ("classical", 2)])
def test_a_block_system_that_breaks_down_is_an_error_that_names_it(form, s):
    """Six samples stand twice; with a tiny lambda a block with both copies of one is singular in float32."""
    problem = problem_of("krr", LinearKernel(), Ridge(1e-12))
    problem = replace(problem, data=np.vstack([problem.dense[:6]] * 2))
    stream = IndexStream("uniform", SAMPLES, 2, LENGTH, seed=2)
    request = RunRequest(problem, stream, s, 40, start=5, record=(4, 20))
    drawn = stream.blocks(5, 45)
    [first, *_] = np.flatnonzero(drawn[:, 0] % 6 == drawn[:, 1] % 6).tolist()
    assert first > 20  # In the last of three pieces of the run.
    with pytest.raises(SingularBlockError) as caught:
        ReferenceSolver("float32", form).run(request)
    assert isinstance(caught.value, InputError)
    message = str(caught.value)
    one, other = drawn[first]
    for part in (
        problem.label, f"of iteration {first + 1} (coordinates {one}, {other})", "float32: pivot 1 of 2 is",
        "larger lambda (here 1e-12)", "smaller block (here b = 2)", "float32, float64",
    ):  # fmt: skip
        assert part in message


def test_an_error_names_the_first_coordinates_of_a_large_block():
    problem = problem_of("krr", LinearKernel(), Ridge(1e-12))
    request = RunRequest(problem, IndexStream("cyclic", SAMPLES, SAMPLES, 3), 1, 3)
    with pytest.raises(
        SingularBlockError, match=r"iteration 1 \(coordinates 0, 1, 2, 3, 4, 5, 6, 7, \.\.\.\)"
    ):
        ReferenceSolver("float32").run(request)
