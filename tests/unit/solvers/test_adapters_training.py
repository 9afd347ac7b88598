"""Training as a solver under test: what it leaves, what it declares, and the checks that judge it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.adapters.training import TrainingSolver
from sstep_verify.checks import step_replay
from sstep_verify.checks.recorded import claim_honesty
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.checks.shared.case import Case, plain_request
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.problems.streams import IndexStream
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.training.intervals import Training
from sstep_verify.solver.training.monitor import Values
from sstep_verify.verdict import Status

SAMPLES, LENGTH, INTERVAL = 14, 215, 5
FORMS = {
    "allreduce": {},
    "support": {"exchange": "support"},
    "reduce-scatter": {"exchange": "reduce-scatter"},
    "gram": {"exchange": "gram"},
    "all rows kept": {"keep_gram": True},
    "some rows kept": {"cache": 10 * SAMPLES},
}


def problem_of(loss, kernel=None) -> Problem:
    generator = np.random.Generator(np.random.PCG64(8))
    data = generator.standard_normal((SAMPLES, 6))
    targets = np.where(np.arange(SAMPLES) % 3, 1.0, -1.0)
    if isinstance(loss, Ridge):
        targets = generator.standard_normal(SAMPLES)
    return Problem("drawn", data, targets, kernel or LinearKernel(), loss)


def request_of(loss=None, s=4, **options) -> RunRequest:
    loss = loss or Hinge(0.3)
    stream = IndexStream("uniform", SAMPLES, 2 if isinstance(loss, Ridge) else 1, LENGTH, seed=3)
    iterations = options.pop("iterations", LENGTH)
    return RunRequest(problem_of(loss), stream, s, iterations, **options)


def judged(check, request: RunRequest, solver: TrainingSolver):
    from sstep_verify.oracle.facade import Oracle

    case = Case(
        "drawn", request.problem, request.stream, (request.s,), request.iterations, solver.declaration,
        start=request.start, initial=request.initial, replay_command="again",
    )  # fmt: skip
    made = {f"s={request.s}": solver.run(replace(plain_request(case, request.s), log=True))}
    (verdict,) = verdicts_of(check.CHECK, case, made, Oracle(request.problem))
    return verdict


@pytest.mark.parametrize("form", FORMS)
def test_the_log_is_that_of_all_intervals_and_leads_to_every_a_that_training_kept(form):
    recorded = (4, 20, 40, 44, 212)
    made = TrainingSolver(interval=INTERVAL, **FORMS[form]).run(request_of(record=recorded, log=True))
    assert made.iterations.tolist() == [0, 20, 40, LENGTH]
    assert made.log.shape == (LENGTH, 1)
    draws, alpha, position = request_of().stream.blocks(0, LENGTH).ravel(), np.zeros(SAMPLES), 0
    for iteration, kept in zip(made.iterations.tolist(), made.alphas, strict=True):
        for step in range(position, iteration):
            alpha[draws[step]] = made.log[step, 0]
        position = iteration
        np.testing.assert_array_equal(alpha, kept)


def test_without_anything_carried_training_makes_the_steps_of_an_uncut_run():
    request = request_of(log=True)
    made = TrainingSolver(interval=INTERVAL).run(request)
    np.testing.assert_array_equal(made.log, ProductionSolver().run(request).log)


def test_training_goes_on_from_a_start_as_if_nothing_had_happened():
    solver = TrainingSolver(interval=INTERVAL, exchange="gram")
    whole = solver.run(request_of(record=(40,), log=True))
    rest = request_of(start=40, initial=whole.at(40), iterations=LENGTH - 40, log=True)
    again = solver.run(rest)
    np.testing.assert_array_equal(again.log, whole.log[40:])
    assert again.claims["gap"] == whole.claims["gap"]
    assert (again.start, again.claims["iterations"].value) == (40, LENGTH - 40)
    with pytest.raises(InputError, match="cannot continue from iteration 41"):
        solver.run(replace(rest, start=41, iterations=LENGTH - 41))


def test_training_ends_by_its_own_rule_and_says_so():
    solver = TrainingSolver(interval=INTERVAL, tolerance=1e-1)
    made = solver.run(request_of(SquaredHinge(0.3)))
    assert made.stopped == "tolerance"
    assert made.length < LENGTH
    assert made.length % (4 * INTERVAL) == 0
    assert made.claims["gap"].value <= 0.1 * made.claims["dual"].value


def test_an_observer_ends_training_where_it_looks():
    seen = []

    def observe(iteration, alpha):
        seen.append(iteration)
        return iteration == 40

    made = TrainingSolver(interval=INTERVAL).run(request_of(record=(20, 40, 60), log=True), observe)
    assert seen == [0, 20, 40]
    assert (made.stopped, made.length, made.claims["iterations"].value) == ("observer", 40, 40)
    assert made.log.shape == (40, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"interval": 0}, "interval = 0"),
        ({"interval": 5, "exchange": "gram", "recompute": 5}, "drop recompute"),
        ({"interval": 5, "exchange": "smoke"}, "exchange = 'smoke'"),
    ],
)
def test_what_cannot_be_trained_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        TrainingSolver(**options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", [Hinge(0.3), SquaredHinge(0.3), Ridge(0.1)], ids=str)
def test_steps_and_claims_of_training_pass(loss, form):
    solver = TrainingSolver(interval=INTERVAL, **FORMS[form])
    for check in (step_replay, claim_honesty):
        verdict = judged(check, request_of(loss), solver)
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.executed == verdict.planned
    assert judged(step_replay, request_of(loss), solver).executed == LENGTH


def test_a_claim_that_is_half_the_gap_fails(monkeypatch):
    def halved(values, iterations, own=Values.claims):
        return own(values._replace(gap=values.gap / 2), iterations)

    monkeypatch.setattr(Values, "claims", halved)
    verdict = judged(claim_honesty, request_of(), TrainingSolver(interval=INTERVAL))
    assert verdict.status is Status.FAIL
    assert verdict.place.item == "gap"


def test_an_interval_that_begins_from_a_coordinate_lost_fails(monkeypatch):
    def losing(self, end, own=Training.advance):
        if self.reached == 100:
            self.alpha = self.alpha.copy()
            self.alpha[np.argmax(self.alpha)] *= 1 - 1e-9
        return own(self, end)

    monkeypatch.setattr(Training, "advance", losing)
    solver = TrainingSolver(interval=INTERVAL)
    assert judged(step_replay, request_of(Hinge(100.0)), solver).status is Status.FAIL


def test_weights_not_formed_again_from_a_fail(monkeypatch):
    from sstep_verify.solver.exchanges.gram import GramExchange

    monkeypatch.setattr(GramExchange, "restart", lambda self, vector: None)
    solver = TrainingSolver(interval=INTERVAL, exchange="gram")
    assert solver.declaration.weights == INTERVAL
    assert judged(step_replay, request_of(), solver).status is Status.FAIL


def test_two_ranks_train_alike():
    pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
    request = replace(request_of(log=True, record=(20,)), problem=problem_of(Hinge(5.0), RBFKernel(0.2)))
    solver = TrainingSolver(2, interval=INTERVAL, separate_timers=True)
    verdict = judged(step_replay, request, solver)
    assert (verdict.status, verdict.executed) == (Status.PASS, LENGTH), verdict.reason
    assert judged(claim_honesty, request, solver).status is Status.PASS
