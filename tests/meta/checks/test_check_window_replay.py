"""The check window-replay: red where a defect is planted, green on the same input without it, vacuous
where the input could not have shown one, and always an end."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from plant import plant

from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.checks import window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.window import screen
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import BOUNDARY, TAIL, quantities_of, required_quantities
from sstep_verify.recurrence.mutation import off_by
from sstep_verify.solver import ProductionSolver, ridge_window, svm_window
from sstep_verify.solver import windows as windows_module
from sstep_verify.verdict import PLACE, Hint, HintKind, Status, Why

S_VALUES = (1, 4, 16)


def _case(loss, block=1, kernel=None, update="in-place", iterations=75, samples=12):
    generator = np.random.Generator(np.random.PCG64(3))
    data = generator.standard_normal((samples, 4))
    targets = np.where(np.arange(samples) % 3 == 0, 1.0, -1.0)
    if isinstance(loss, Ridge):
        targets = generator.standard_normal(samples)
    problem = Problem("drawn", data, targets, kernel or LinearKernel(), loss)
    stream = IndexStream("uniform", samples, block, iterations, seed=1)
    tested = ProductionSolver(update=update)
    case = Case(
        "drawn",
        problem,
        stream,
        S_VALUES,
        iterations,
        tested.declaration,
        points={s: measuring_points(iterations, s) for s in S_VALUES},
        windows=6,
        replay_command="again",
    )
    return case, tested


def _judge(case, tested, change=None):
    trajectories = {key: tested.run(request) for key, request in window_replay.runs(case).items()}
    if change is not None:
        trajectories = {key: change(trajectory) for key, trajectory in trajectories.items()}
    return {verdict.s: verdict for verdict in window_replay.judge(case, trajectories, Oracle(case.problem))}


LOSSES = [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 1), (Ridge(0.05), 3)]


@pytest.mark.parametrize(
    ("loss", "block", "update"),
    [
        pytest.param(*loss, update, marks=[pytest.mark.nightly] * ((row + column) % 2))
        for row, loss in enumerate(LOSSES)
        for column, update in enumerate(("in-place", "frozen"))
    ],
)
def test_a_correct_run_passes_and_says_what_it_could_have_seen(loss, block, update):
    verdicts = _judge(*_case(loss, block, update=update))
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}
    for s, verdict in verdicts.items():
        assert 0 < verdict.executed <= verdict.planned
        assert verdict.ratio <= 1
        assert verdict.replay == "again"
        names = [term.name for term in verdict.terms]
        assert names == [one.name for one in quantities_of(loss.task, update, s, block)]
        assert set(required_quantities(s)) <= {term.name for term in verdict.terms if term.seen}
        for term in verdict.terms:
            assert (term.why is None) == bool(term.seen)
        for term in verdict.terms:
            # What is there or not, or is stored, is left out; of all else small errors are tried.
            tried = off_by(term.name, Fraction(0)) is not None
            assert (term.detection_limit < 1) == bool(term.seen and tried), term


@pytest.mark.parametrize("iterations", [16, 32, 75])
@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)], ids=["svm", "krr"])
def test_a_run_without_a_short_window_or_with_one_window_has_no_tail_and_no_boundary(loss, iterations):
    for s, verdict in _judge(*_case(loss, iterations=iterations)).items():
        names = {term.name for term in verdict.terms}
        assert (TAIL in names) == (iterations % s > 0)
        assert (BOUNDARY in names) == (s < iterations)


@pytest.mark.parametrize(
    ("loss", "block", "update", "module", "old", "new"),
    [
        (Hinge(0.5), 1, "in-place", svm_window, "* row[places[later]] * signed", "* row[places[later]] * 0.0"),
        (Hinge(0.5), 1, "frozen", svm_window, "value += delta[coordinate]", "value += 0.0"),
        (SquaredHinge(2.0), 1, "in-place", svm_window, "gradient[place] + shift * value", "gradient[place]"),
        (Ridge(0.05), 3, "frozen", ridge_window, "value += delta[places[draw]]", "value += 0.0"),
        (Hinge(0.5), 1, "in-place", windows_module, "(1, slice(full, None))", "(1, slice(0, 0))"),
        (Ridge(0.05), 3, "in-place", windows_module, "(1, slice(full, None))", "(1, slice(0, 0))"),
    ],
)  # fmt: skip
def test_a_planted_defect_fails_with_a_reason(loss, block, update, module, old, new):
    with plant(module, (old, new)):
        case, tested = _case(loss, block, update=update)
        verdicts = _judge(case, tested)
    red = [verdict for verdict in verdicts.values() if verdict.status is Status.FAIL]
    assert red
    for verdict in red:
        assert verdict.ratio > 1
        assert (verdict.place.begin, verdict.place.end) == tuple(verdict.evidence[PLACE])
        assert verdict.bound_origin.startswith("bounds/window/")


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_a_large_error_is_not_replayed_at_ever_more_bits(loss, block, monkeypatch):
    case, tested = _case(loss, block)
    bits, replay = [], Oracle.replay

    def counted(self, problem, start, end, draws, precision, *rest):
        bits.append(precision)
        return replay(self, problem, start, end, draws, precision, *rest)

    monkeypatch.setattr(Oracle, "replay", counted)
    far = _judge(
        case, tested, lambda run: dataclasses.replace(run, alphas=run.alphas + 1e3 * (run.alphas != 0))
    )
    assert {verdict.status for verdict in far.values()} == {Status.FAIL}
    assert max(bits) <= 2 * min(bits), (
        "float64 tells an error of a thousand no better than twice 192 bits do"
    )


def test_a_diagonal_kernel_is_vacuous_not_right():
    verdicts = _judge(*_case(Hinge(1.0), kernel=RBFKernel(1e4)))
    for s in S_VALUES:
        assert verdicts[s].status is Status.VACUOUS
        # a goes to C in its first step, and beyond where its old product is left out.
        unseen = {term.name for term in verdicts[s].terms if term.why is Why.NO_EFFECT}
        assert verdicts[s].why is Why.NO_EFFECT
        assert "stale-product" in unseen
        assert ("kernel-correction" in unseen) == (s > 1)


def test_exact_ties_end_in_a_verdict():
    # K_ii = C = 1: the unclipped value of a lone coordinate is exactly the upper end of the box.
    case, tested = _case(Hinge(1.0), kernel=RBFKernel(1e4))
    verdicts = _judge(case, tested)
    assert Status.INCONCLUSIVE not in {verdict.status for verdict in verdicts.values()}
    assert max(window["bits"] for v in verdicts.values() for window in v.evidence["windows"]) <= 384


def test_a_coordinate_that_was_not_drawn_must_not_move():
    case, tested = _case(Hinge(0.5), samples=40)

    def disturb(trajectory):
        alphas = trajectory.alphas.copy()
        drawn = set(case.stream.blocks(0, int(trajectory.iterations[1])).ravel().tolist())
        untouched = next(i for i in range(40) if i not in drawn)
        alphas[1, untouched] = 0.25
        return dataclasses.replace(trajectory, alphas=alphas)

    verdict = _judge(case, tested, change=disturb)[4]
    assert verdict.status is Status.FAIL
    assert Hint(HintKind.UNDRAWN_MOVED) in verdict.hints
    assert verdict.requirement == "S-3.12"
    assert (verdict.place.found, verdict.place.expected) == (0.25, 0.0)


def test_a_value_that_is_not_finite_fails():
    case, tested = _case(Hinge(0.5))

    def spoil(trajectory):
        alphas = trajectory.alphas.copy()
        alphas[1:] = np.nan
        return dataclasses.replace(trajectory, alphas=alphas)

    assert {v.status for v in _judge(case, tested, change=spoil).values()} == {Status.FAIL}


def test_where_one_window_is_undecided_the_reason_is_about_that_one():
    case, tested = _case(Hinge(0.5))
    case = dataclasses.replace(case, s_values=(4,), points={4: (4, 72)}, replay_limit=100)

    def spoil(trajectory):
        alphas = trajectory.alphas.copy()
        alphas[trajectory.iterations > 4] = np.nan
        return dataclasses.replace(trajectory, alphas=alphas)

    verdict = _judge(case, tested, change=spoil)[4]
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.evidence["windows"][0]["status"] == "PASS"
    assert verdict.measured == verdict.bound == np.inf
    assert verdict.why is Why.TOO_LARGE
    assert (verdict.place.begin, verdict.place.end) == (4, 68)  # where a ceased to be finite


def test_where_no_window_was_replayed_the_reason_is_about_those_screened():
    case, tested = _case(Ridge(0.05))
    declared = dataclasses.replace(case.declaration, log=False)
    case = dataclasses.replace(case, s_values=(4,), points={}, declaration=declared)
    runs = {"s=4": tested.run(RunRequest(case.problem, case.stream, 4, case.iterations))}
    runs |= {key: tested.run(request) for key, request in screen.requests(case, runs).items()}
    (verdict,) = window_replay.judge(case, runs, Oracle(case.problem))
    assert verdict.status is Status.VACUOUS
    assert verdict.executed == verdict.planned
    assert 0 < verdict.ratio < 1
    assert verdict.why is Why.NO_STEPS
    assert verdict.bound_origin == "bounds/screen"


def test_an_error_of_one_part_in_1e11_in_the_correction_is_seen():
    with plant(
        svm_window, ("* row[places[later]] * signed", "* row[places[later]] * (signed * (1 + 1e-11))")
    ):
        verdicts = _judge(*_case(Hinge(0.5)))
    assert verdicts[16].status is Status.FAIL


def test_a_window_above_the_replay_limit_gets_no_verdict():
    case, tested = _case(Ridge(0.05), 3)
    verdicts = _judge(dataclasses.replace(case, replay_limit=12 * 12 - 1), tested)
    assert sorted(verdicts) == [1]
