"""The check determinism: one bit is seen, the same bits pass, a run in which nothing moves is vacuous."""

from __future__ import annotations

import dataclasses
from itertools import count

import numpy as np
import pytest
from judged import assert_teaches, judged, small_case

from sstep_verify.adapters.training import TrainingSolver
from sstep_verify.checks import determinism as check
from sstep_verify.problems import Hinge, Ridge
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Claim
from sstep_verify.verdict import Status, Why


class NoisySolver(ProductionSolver):
    """Every run ends one unit in the last place away from the run before it."""

    def __init__(self):
        super().__init__()
        self._runs = count()

    def run(self, request, observe=None):
        trajectory = super().run(request, observe)
        alphas = trajectory.alphas.copy()
        if next(self._runs) % 2:
            place = int(np.argmax(np.abs(alphas[-1])))
            alphas[-1, place] = np.nextafter(alphas[-1, place], np.inf)
        return dataclasses.replace(trajectory, alphas=alphas)


@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)], ids=str)
def test_two_equal_runs_pass(loss):
    for verdict in judged(check, *small_case(loss)).values():
        assert verdict.status is Status.PASS
        assert verdict.measured == verdict.bound == 0
        assert verdict.executed == verdict.planned > 0


def spoiled(run):
    """The run with its last a one unit in the last place away, where that is not 0."""
    alphas = run.alphas.copy()
    place = int(np.argmax(np.abs(alphas[-1])))
    alphas[-1, place] = np.nextafter(alphas[-1, place], np.inf)
    return dataclasses.replace(run, alphas=alphas)


class Unlike(ProductionSolver):
    """A solver whose runs end otherwise where a condition on the request holds; claims the sum of a."""

    def __init__(self, wrong, change=spoiled):
        super().__init__()
        self._wrong, self._change = wrong, change

    def run(self, request, observe=None):
        made = super().run(request, observe)
        made = dataclasses.replace(made, claims={"objective": Claim(float(made.final.sum()))})
        return self._change(made) if self._wrong(request) else made


def made_again(tested, loss):
    """Verdicts on a solver whose plain run, logged, is made again as a user makes it."""
    case, _ = small_case(loss, solver=tested, s_values=(1, 4))
    case = dataclasses.replace(case, variants={"as-used": tested.declaration})
    asked = check.runs(case)
    logged = {key: dataclasses.replace(one, log=key.startswith("s=")) for key, one in asked.items()}
    runs = {key: tested.run(request) for key, request in logged.items()}
    runs |= {key: tested.run(request) for key, request in check.continued(case, runs).items()}
    return check.judge(case, runs, None)


@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)], ids=str)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda request: not request.log,
        lambda request: request.log,
        lambda request: len(request.stops) == 2,
        lambda request: len(request.stops) > 3,
        lambda request: request.variant,
    ],
    ids=["without a log", "with a log", "without records", "with records", "as a user has it"],
)
def test_a_run_that_ends_otherwise_as_a_user_makes_it_fails(loss, wrong):
    for verdict in made_again(Unlike(lambda request: False), loss):
        assert verdict.status is Status.PASS
        assert check.AGAIN_OF["as-used"] in verdict.evidence["compared"]
    # Short runs are alike: it is the plain one that is made again.
    for verdict in made_again(Unlike(lambda request: request.iterations == 75 and wrong(request)), loss):
        assert verdict.status is Status.FAIL
        assert_teaches(verdict)


def test_a_claim_that_is_another_as_a_user_makes_the_run_fails():
    claims = lambda run: dataclasses.replace(run, claims={"objective": Claim(0.0)})  # noqa: E731
    for verdict in made_again(Unlike(lambda request: request.variant, claims), Hinge(0.5)):
        assert verdict.status is Status.FAIL
        assert (verdict.place.item, verdict.place.run) == ("claimed objective", check.AGAIN_OF["as-used"])


def test_a_solver_without_windows_makes_no_short_runs_where_its_plain_ones_are_made_again():
    tested = TrainingSolver(interval=2)
    case, _ = small_case(Hinge(0.5), solver=tested)
    assert len(check.runs(case)) == 6
    case = dataclasses.replace(case, variants={"as-used": tested.declaration})
    assert set(check.runs(case)) == {"s=1", "s=4", "s=16"}


def test_noise_of_one_bit_fails():
    verdicts = judged(check, *small_case(Hinge(0.5), solver=NoisySolver()))
    assert sorted(verdicts) == [1, 4, 16]
    for verdict in verdicts.values():
        assert verdict.status is Status.FAIL
        assert verdict.measured == 1
        assert verdict.place.end == 75
        assert verdict.place.found == np.nextafter(verdict.place.expected, np.inf)
        assert_teaches(verdict)


def test_negative_zero_is_another_value_and_so_is_another_type():
    case, tested = small_case(Ridge(0.05), s_values=(1,))
    one, other = (tested.run(request) for request in check.runs(case).values())
    flipped = dataclasses.replace(other, alphas=np.where(other.alphas == 0, -0.0, other.alphas))
    narrow = dataclasses.replace(other, alphas=other.alphas.astype(np.float32))
    for changed in (flipped, narrow):
        pair = dict(zip(check.keys(1), (one, changed), strict=True))
        assert check.judge(case, pair, None)[0].status is Status.FAIL


def test_a_run_in_which_nothing_moves_is_vacuous():
    still = lambda run: dataclasses.replace(run, alphas=np.zeros_like(run.alphas))  # noqa: E731
    for verdict in judged(check, *small_case(Hinge(0.5)), change=still).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.why is Why.NO_EFFECT


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_run_that_ends_with_no_numbers_is_vacuous(value):
    class Overflown(ProductionSolver):
        def run(self, request, observe=None):
            made = super().run(request, observe)
            return dataclasses.replace(made, alphas=np.where(made.alphas == made.alphas[0], 0.0, value))

    for verdict in judged(check, *small_case(Ridge(0.05), solver=Overflown())).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.why is Why.NO_EFFECT


def test_runs_are_short_and_equal():
    case, _ = small_case(Hinge(0.5), short=10)
    requests = check.runs(case)
    assert {request.iterations for request in requests.values()} == {10}
    assert all(requests[one] is requests[other] for one, other in map(check.keys, case.s_values))


def test_what_moved_is_reported_from_where_each_run_began():
    """A plain run that begins elsewhere says nothing of short runs, which begin at 0 and stay there."""
    case, tested = small_case(Hinge(0.5), s_values=(4,))
    begin = np.full(case.problem.samples, 0.25)
    case = dataclasses.replace(case, initial=begin, variants={"as-used": tested.declaration})
    asked = check.runs(case)
    runs = {key: tested.run(request) for key, request in asked.items()}
    runs |= {key: tested.run(request) for key, request in check.continued(case, runs).items()}
    still = {
        key: dataclasses.replace(run, alphas=np.repeat(run.alphas[:1], len(run.alphas), axis=0))
        for key, run in runs.items()
    }
    (verdict,) = check.judge(case, still, None)
    assert verdict.status is Status.VACUOUS
    assert verdict.evidence["values_moved"] == 0
