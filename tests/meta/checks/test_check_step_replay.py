"""The check of every logged step sees defects, however rare, and logs that do not belong to their run."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from daily import some
from judged import hinted, judged, named, named_case, small_case
from plant import plant

from sstep_verify import quantities
from sstep_verify.checks import step_replay
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import HintKind, Status, Why
from studies.corpus.listing import PRODUCTION, edits

SEEDS = some(range(4), of=2)
SVM = {"loss": SquaredHinge(1.0), "kernel": RBFKernel(0.1)}
FORMS = [
    {},
    {"update": "frozen"},
    {"keep_gram": True},
    {"exchange": "support"},
    {"exchange": "reduce-scatter"},
    {"exchange": "gram"},
    {"exchange": "gram", "recompute": 2},
    {"cache": 12 * 12},
]


class Declared:
    """A solver that says of itself what another one is."""

    def __init__(self, solver, **said):
        self._solver, self.declaration = solver, replace(solver.declaration, **said)

    def run(self, request, observe=None):
        return self._solver.run(request, observe)


def case_of(seed=1, **parts):
    """A small case whose stream has another seed."""
    case, tested = named_case(**parts)
    stream = case.stream
    return replace(
        case, stream=IndexStream("uniform", stream.samples, stream.block, stream.length, seed)
    ), tested


def planted(name, seed=1, change=None, **parts):
    """Verdicts on a small case with an edit of the catalogue planted."""
    case, tested = case_of(seed, **parts)
    (edit,) = (edit for edit in edits() if edit.id == PRODUCTION + name)
    with plant(import_module(edit.module), (edit.before, edit.after)):
        return judged(step_replay, case, tested, change)


def term(verdict, name):
    """What a verdict says of one quantity."""
    (found,) = (one for one in verdict.terms if one.name == name)
    return found


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize(("loss", "block"), [(Hinge(0.5), 1), (SquaredHinge(0.5), 1), (Ridge(0.1), 3)])
def test_every_step_of_a_right_run_is_judged_and_passes(loss, block, form):
    case, tested = named_case(loss, LinearKernel(), block=block, solver=ProductionSolver(**form))
    for verdict in judged(step_replay, case, tested).values():
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.evidence["steps"] == {"judged": 75, "of": 75}
        assert verdict.planned == verdict.executed == 75


@pytest.mark.parametrize(("loss", "kinds"), [(Hinge(0.3), 9), (SquaredHinge(0.3), 4)])
def test_steps_are_counted_by_where_they_begin_and_end_in_the_box(loss, kinds):
    case, tested = named_case(loss, LinearKernel(), solver=ProductionSolver(), s_values=(7,))
    (trajectory,) = (tested.run(request) for request in step_replay.CHECK.runs(case).values())
    events = judged(step_replay, case, tested)[7].evidence["events"]
    upper = loss.upper
    alpha, counted = trajectory.alphas[0].copy(), dict[str, list[int]]()
    for step, ((i,), (value,)) in enumerate(zip(case.stream.blocks(0, 75), trajectory.log, strict=True), 1):
        before, after = (
            "low" if one <= 0 else "high" if one >= upper else "free" for one in (alpha[i], value)
        )
        counted.setdefault(f"{before}_to_{after}", []).append(step)
        alpha[i] = value
    found = {name: one for name, one in events.items() if "_to_" in name}
    assert found == {name: {"steps": len(at), "first": at[0]} for name, at in counted.items()}
    assert len(found) >= kinds - 3, "or nothing was shown"


def test_the_transitions_that_no_step_makes_are_listed():
    for loss, possible in ((Hinge(1e-9), 9), (SquaredHinge(0.3), 4), (Ridge(0.1), 0)):
        case, tested = named_case(loss, LinearKernel(), solver=ProductionSolver(), s_values=(7,))
        evidence = judged(step_replay, case, tested)[7].evidence
        made = {name for name in evidence["events"] if "_to_" in name}
        missing = set(evidence.get("transitions_not_made", ()))
        assert len(made | missing) == len(made) + len(missing) == possible
        if loss == Hinge(1e-9):
            assert made == {"low_to_high", "high_to_high"}, "so small a C is reached at once, and kept"


# --- rare defects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_one_window_in_a_thousand_is_seen_in_every_run(seed):
    parts = {**SVM, "s_values": (4,), "iterations": 4 * 1001}
    assert planted("every 1000th window, rows 1e-9", seed, **parts)[4].status is Status.FAIL
    parts["iterations"] = 4 * 999
    assert planted("every 1000th window, rows 1e-9", seed, **parts)[4].status is Status.PASS


@pytest.mark.parametrize("seed", SEEDS)
def test_what_happens_only_after_many_iterations_is_seen(seed):
    name = "after 10,000 iterations, rows 1e-9"
    assert planted(name, seed, **SVM, s_values=(16,), iterations=10_064)[16].status is Status.FAIL
    assert planted(name, seed, **SVM, s_values=(16,), iterations=10_000)[16].status is Status.PASS


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["tail of the run, rows 1e-9"])
def test_a_defect_of_the_last_short_window_alone_is_seen(name, seed):
    verdicts = planted(name, seed, **SVM, s_values=(1, 16, 25))
    assert {s: verdict.status for s, verdict in verdicts.items()} == {
        1: Status.PASS, 16: Status.FAIL, 25: Status.PASS
    }  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_a_defect_of_thrice_repeated_coordinates_alone_is_seen(seed):
    verdicts = planted("third draw of a coordinate, 1e-6 in the gradient", seed, **SVM, s_values=(2, 16))
    assert "thrice_or_more" not in verdicts[2].evidence["events"]
    assert verdicts[2].status is Status.PASS
    assert "thrice_or_more" in verdicts[16].evidence["events"]
    assert verdicts[16].status is Status.FAIL


@pytest.mark.parametrize("seed", SEEDS)
def test_a_defect_of_one_s_alone_is_seen_there_and_nowhere_else(seed):
    verdicts = planted("s = 37 only, 1e-9 in the gradient", seed, **SVM, s_values=(1, 36, 37, 39))
    assert [s for s, verdict in verdicts.items() if verdict.status is Status.FAIL] == [37]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_upper_end_off_by_1e_6_fails_where_it_is_reached_and_is_not_seen_elsewhere(seed):
    reached = planted("upper end 1e-6", seed, loss=Hinge(0.01), kernel=RBFKernel(0.1))
    assert {verdict.status for verdict in reached.values()} == {Status.FAIL}
    for verdict in planted("upper end 1e-6", seed, loss=Hinge(1e3), kernel=RBFKernel(1.0)).values():
        assert verdict.status is Status.PASS
        assert term(verdict, "upper-end").status is Status.VACUOUS
        assert term(verdict, "upper-end").why is Why.NO_EFFECT


def test_the_first_wrong_step_is_named():
    verdict = planted("every 1000th window, rows 1e-9", **SVM, s_values=(4,), iterations=4 * 1001)[4]
    assert 4 * 999 < verdict.place.end <= 4 * 1000
    assert verdict.place.begin == verdict.place.end - 1
    assert verdict.evidence["steps_over_bound"] <= 4


def test_a_dropped_term_is_named():
    verdict = planted("omega not in the gradient", **SVM, s_values=(4,))[4]
    assert verdict.status is Status.FAIL
    assert "omega left out" in named(verdict)


# --- the log and the run ------------------------------------------------------------------------------


def with_log(change):
    """A run whose log is another one."""
    return lambda trajectory: replace(trajectory, log=change(np.array(trajectory.log)))


def changed(place, value):
    """A run with one logged value changed."""

    def change(log):
        log[place, 0] = value(log[place, 0])
        return log

    return with_log(change)


@pytest.mark.parametrize(
    ("change", "item", "shape", "requirement"),
    [
        (with_log(lambda log: None), "log missing", None, "S-5.2"),
        (with_log(lambda log: log[:-1]), "log shape", [74, 1], "S-5.2"),
        (with_log(lambda log: log[:, 0]), "log shape", [75], "S-5.2"),
        (changed(-1, lambda value: np.nextafter(value, math.inf)), "log", None, "S-3.12"),
        (changed(-1, lambda value: math.nan), "log", None, "S-5.2"),
    ],
    ids=["none", "short", "flat", "one ulp", "NaN"],
)
def test_a_log_that_does_not_lead_to_what_was_recorded_fails(change, item, shape, requirement):
    case, tested = named_case(**SVM)
    for verdict in judged(step_replay, case, tested, change).values():
        assert (verdict.status, verdict.requirement) == (Status.FAIL, requirement)
        assert verdict.place.item == item
        assert verdict.place.end == (75 if item == "log" else 0)
        assert verdict.evidence.get("log_shape") == shape


@pytest.mark.parametrize(
    ("loss", "block", "value"),
    [(SquaredHinge(1.0), 1, value) for value in (math.nan, math.inf, 1e308)]
    + [(Ridge(0.1), 3, value) for value in (math.nan, math.inf, 1e308)],
)
def test_a_value_that_no_right_step_gives_fails_in_log_and_record_alike(loss, block, value):
    def broken(trajectory):
        log, alphas = np.array(trajectory.log), np.array(trajectory.alphas)
        log[-1] = alphas[-1, case.stream.blocks(74, 75)[0]] = value
        return replace(trajectory, log=log, alphas=alphas)

    case, tested = small_case(loss, RBFKernel(0.1), block=block)
    for verdict in judged(step_replay, case, tested, broken).values():
        assert verdict.status is Status.FAIL, verdict.reason


def test_a_coordinate_that_moved_without_being_drawn_fails():
    case, tested = named_case(**SVM, iterations=5)
    (alone, *_) = set(range(12)) - set(case.stream.blocks(0, 5).ravel().tolist())

    def moved(trajectory):
        alphas = np.array(trajectory.alphas)
        alphas[-1, alone] += 1e-300
        return replace(trajectory, alphas=alphas)

    for verdict in judged(step_replay, case, tested, moved).values():
        assert verdict.status is Status.FAIL
        assert (verdict.place.coordinate, verdict.place.end) == (alone, 5)
        assert (verdict.place.found, verdict.place.expected) == (1e-300, 0.0)
        assert hinted(verdict) == {HintKind.UNDRAWN_MOVED}


@pytest.mark.parametrize("entry", range(3))
def test_a_faulty_block_is_placed_at_the_coordinate_that_is_off(entry):
    case, tested = small_case(Ridge(0.1), RBFKernel(0.1), block=3)
    drawn, made = int(case.stream.blocks(74, 75)[0, entry]), []

    def off(trajectory):
        log, alphas = np.array(trajectory.log), np.array(trajectory.alphas)
        made.append(log[-1, entry])
        log[-1, entry] = alphas[-1, drawn] = log[-1, entry] + 1e-6
        return replace(trajectory, log=log, alphas=alphas)

    for verdict in judged(step_replay, case, tested, off).values():
        assert verdict.status is Status.FAIL
        assert (verdict.place.coordinate, verdict.place.end) == (drawn, 75)
        assert verdict.place.found in [value + 1e-6 for value in made]
        assert verdict.place.expected == pytest.approx(made[0], abs=1e-9)


def test_a_value_changed_in_log_and_record_alike_fails():
    """The log leads to every recorded a; the step alone tells."""

    def off(trajectory):
        log, alphas = np.array(trajectory.log), np.array(trajectory.alphas)
        value = log[-1, 0] + 1e-9
        log[-1] = alphas[-1, case.stream.blocks(74, 75)[0, 0]] = value
        return replace(trajectory, log=log, alphas=alphas)

    case, tested = small_case(**SVM)
    for verdict in judged(step_replay, case, tested, off).values():
        assert verdict.status is Status.FAIL
        assert verdict.evidence["steps_over_bound"] == 1
        assert (verdict.place.begin, verdict.place.end) == (74, 75)
        assert 0.9e-9 < verdict.place.found - verdict.place.expected < 1.1e-9


def test_a_wrong_step_is_certain_of_no_label_in_the_increments_of_its_own_coordinate():
    """One sample: every product is made of its own increments, whose label is squared."""

    def off(trajectory):
        log, alphas = np.array(trajectory.log), np.array(trajectory.alphas)
        log[-1] = alphas[-1, 0] = log[-1, 0] * (1.0 + 1e-6)
        return replace(trajectory, log=log, alphas=alphas)

    case, tested = named_case(**SVM, samples=1, iterations=3, s_values=(4,))
    for change, status in ((None, Status.VACUOUS), (off, Status.FAIL)):
        (verdict,) = judged(step_replay, case, tested, change).values()
        assert verdict.status is status, verdict.reason
        labels = term(verdict, quantities.LABELS)
        assert math.isinf(labels.detection_limit)
        assert labels.why is Why.NO_EFFECT

    def flipped(trajectory):
        log, alphas, alpha = np.array(trajectory.log), np.array(trajectory.alphas), 0.0
        for step in range(3):
            log[step] = alpha = max(alpha - (-alpha - 1.0 + 0.5 * alpha) / 1.5, 0.0)
        alphas[-1] = alpha
        return replace(trajectory, log=log, alphas=alphas)

    (verdict,) = judged(step_replay, case, tested, flipped).values()
    assert named(verdict) == ["labels left out"]


# --- what the solver says of itself -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["weights moved 1e-9", "small window: changes handed to the weights 1e-9"])
@pytest.mark.parametrize("recompute", [0, 3])
def test_carried_weights_that_drift_from_a_fail(name, recompute):
    tested = ProductionSolver(exchange="gram", recompute=recompute)
    verdicts = planted(name, loss=SquaredHinge(1.0), solver=tested, s_values=(4, 16))
    assert {verdict.status for verdict in verdicts.values()} == {Status.FAIL}


def test_values_in_float32_declared_float64_fail():
    def rounded(trajectory):
        log, alphas = (np.float64(np.float32(values)) for values in (trajectory.log, trajectory.alphas))
        return replace(trajectory, log=log, alphas=alphas)

    case, tested = named_case(**SVM)
    for verdict in judged(step_replay, case, tested, rounded).values():
        assert verdict.status is Status.FAIL


def test_another_stream_than_the_case_s_fails():
    case, tested = small_case(Ridge(0.1), PolynomialKernel(2, 1.0), block=3)
    other = case_of(2, loss=Ridge(0.1), kernel=PolynomialKernel(2, 1.0), block=3)[0]
    trajectories = {key: tested.run(request) for key, request in step_replay.runs(other).items()}

    class Replayed(Declared):
        def run(self, request, observe=None):
            return trajectories[f"s={request.s}"]

    for verdict in judged(step_replay, case, Replayed(tested)).values():
        assert verdict.status is Status.FAIL
