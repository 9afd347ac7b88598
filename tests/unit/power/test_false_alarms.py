"""The study of false alarms: no correct run fails, a wrong solver and a bound made too small are counted."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import msgspec
import numpy as np
import pytest

from sstep_verify.checks.steps import judged as judged_steps
from sstep_verify.declaration import Declaration
from sstep_verify.files.records import convert, decode, strict
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.verdict import Status
from studies.admissible.arithmetic import added
from studies.corpus.mistakes import WRONG
from studies.coverage.freedoms import CORE
from studies.false_positives import groups, study
from studies.false_positives.groups import decided, judged_run
from studies.false_positives.solvers import LOGGING, Variant
from studies.false_positives.study import tightness_row
from studies.report.sensitivity.false_positives import AlarmsDocument, AlarmUnit

SMALL = {"steps": 50, "legal orders": 15, "BLAS threads": 1, "design": 9}
TOO_SMALL = 1000.0


@pytest.fixture(autouse=True)
def no_stated_processor(monkeypatch):
    """A run is made in this process, where what a test changes is changed, unless a processor is stated."""
    monkeypatch.delenv(CORE, raising=False)


@pytest.fixture(scope="module")
def outcomes():
    return [study.run(AlarmUnit(name, 3, 0, runs)) for name, runs in SMALL.items()]


@pytest.fixture(scope="module")
def document(outcomes):
    return study.summary(outcomes)


@pytest.mark.nightly
def test_no_correct_run_fails_and_what_was_judged_is_counted(document):
    assert document.made == sum(SMALL.values())
    assert document.failed == 0 == len(document.alarms)
    assert 0.5 * document.made <= document.judged <= document.made
    assert sum(one.judged for one in document.variants) == document.judged
    rows = {(row.check, row.task, row.precision): row for row in document.tightness}
    assert {check for check, _, _ in rows} >= {"step-replay", "window-replay"}
    assert all(row.acted <= row.runs and row.most <= 1.0 for row in document.tightness)
    assert any(row.dominates for row in document.tightness)


def test_a_run_can_be_made_again_by_its_number_alone():
    first, again = (study.again(AlarmUnit("steps", 3, 41, 1)) for _ in range(2))
    assert (again.problem, again.row, again.shares) == (first.problem, first.row, first.shares)
    assert [(one.check, one.ratio) for one in again.verdicts] == [
        (one.check, one.ratio) for one in first.verdicts
    ]
    assert study.again(AlarmUnit("steps", 4, 41, 1)).problem != first.problem


def test_the_pieces_hold_every_run_once():
    found = study.units(1000, 5, 300)
    assert {one.group for one in found} == set(groups.GROUPS)
    assert sum(group.share for group in groups.GROUPS.values()) == pytest.approx(1.0)
    assert sum(one.runs for one in found if one.group.startswith("design")) == 27 * 12
    runs = sorted(
        (one.group, one.first + place) for one in study.units(30_000, 5) for place in range(one.runs)
    )
    assert len(runs) == len(set(runs)) == 30_000


def test_every_form_of_the_solver_is_among_the_variants():
    names = " ".join(one.name for one in LOGGING)
    for part in (
        *("in-place", "frozen", "dense", "csr", "kept Gram", "column cache", "differences", "support"),
        *("reduce-scatter", "gram", "reference float32", "reference float64 classical", "compensated"),
        *("extended", "pairwise", "lu"),
    ):
        assert part in names, part


def test_a_cache_holds_the_rows_of_a_window():
    cached = [one for one in LOGGING if one.cached]
    assert len(cached) == 4
    scenario = Scenario(samples=9, features=2, s=4, iterations=20, seed=3)
    for one in cached:
        assert one.solver(scenario).declaration.exchange.words == 4 * 9
        made = judged_run(one, scenario, ("step-replay",))
        assert [decided(verdict) for verdict in made.verdicts] == [True]


@pytest.mark.nightly
def test_a_wrong_solver_among_the_correct_ones_is_counted(monkeypatch):
    (wrong,) = (one for one in WRONG if one.id == "CorrectionOff")
    planted = Variant("planted", wrong.make, ("svm-l2",), ("linear",))
    monkeypatch.setattr(groups, "LOGGING", (LOGGING[0], planted))
    document = study.summary([study.run(AlarmUnit("steps", 1, 0, 20))])
    counts = {one.variant: one for one in document.variants}
    assert counts["planted"].failed > 0 == counts[LOGGING[0].name].failed
    assert document.failed == counts["planted"].failed == len({one.unit for one in document.alarms})
    alarm = document.alarms[0]
    assert alarm.variant == "planted"
    again = study.again(alarm.unit)
    assert (again.problem, again.verdicts[0].reason) == (alarm.problem, alarm.reason)


@pytest.mark.nightly
def test_a_bound_that_is_too_small_is_found(monkeypatch, outcomes):
    assert outcomes[0].alarms == []
    for name in ("clip_constants", "solve_constants"):
        monkeypatch.setattr(judged_steps, name, smaller_constants(getattr(judged_steps, name)))
    derived = judged_steps.kernel_entries

    def smaller_entries(*arguments):
        made = derived(*arguments)
        return replace(
            made, judge_error=made.judge_error / TOO_SMALL, solver_error=made.solver_error / TOO_SMALL
        )

    monkeypatch.setattr(judged_steps, "kernel_entries", smaller_entries)
    alarms = study.run(AlarmUnit("steps", 3, 0, 40)).alarms
    assert {one.problem[:3] for one in alarms} == {"svm", "krr"}


def smaller_constants(derived):
    """The constants of a step's bound, a factor too small."""

    def made(*arguments, **more):
        found = derived(*arguments, **more)
        parts = {"curvature", "quotient", "system", "solve", "backward", "judge"} & set(found._fields)
        smaller = {part: getattr(found, part) / TOO_SMALL for part in parts}
        roundoffs = {part: getattr(found.sums, part) / TOO_SMALL for part in ("longest", "u", "judge_u")}
        return found._replace(sums=found.sums._replace(**roundoffs), **smaller)

    return made


def test_tightness_leaves_out_runs_in_which_nothing_acted():
    kind = "step-replay krr rbf float64"
    ratios = [(0.1, 10, True), (0.2, 20, True), (0.0003, 30, True), (0.0, 10, False), (0.9, 10, False)]
    row = tightness_row(kind, ratios, {"sums": (0.7, 0.9), "judge": (0.3, 0.1)})
    assert (row.runs, row.acted, row.least, row.median, row.most) == (5, 3, 0.0003, 0.1, 0.9)
    assert (row.length, row.product, row.wanted) == (20.0, pytest.approx(1.0), False)
    assert row.dominates == "sums, 80%"
    assert tightness_row(kind, [(0.0003, 30, True)] * 20, {}).wanted
    assert not tightness_row(kind, [(0.0003, 30, True)] * 19, {}).wanted  # too few
    row = tightness_row(kind, [(0.5, 0, False)], {})
    assert (row.median, row.length, row.product, row.wanted, row.most) == (None, None, None, False, 0.5)


@pytest.mark.nightly
def test_records_are_read_back_as_they_were_written(outcomes, document):
    for outcome in outcomes:
        kept = json.dumps(asdict(outcome), default=float)  # as an interrupted campaign keeps it
        assert convert(decode(kept.encode(), "kept"), study.AlarmOutcome, "kept") == outcome
    values = decode(msgspec.json.encode(document), "record")
    convert(values, strict(AlarmsDocument, {}), "record")
    assert convert(values, AlarmsDocument, "record") == document


def test_ranks_that_are_threads_add_in_the_order_asked_for():
    parts = [np.array([value]) for value in (1.0, 2.0**-53, 2.0**-53)]
    assert added("forward", parts) == 1.0
    assert added("reversed", parts) == 1.0 + 2.0**-52
    assert added("forward", [*parts, parts[1]]) == 1.0
    assert added("pairwise", [*parts, parts[1]]) == 1.0 + 2.0**-52


class BreakingDown:
    """A solver of K-RR whose factorisation breaks down."""

    declaration = Declaration("breaks down", log=True)

    def run(self, request, observe=None):
        raise np.linalg.LinAlgError("singular")


def test_a_factorisation_that_breaks_down_is_a_run_that_was_not_made(monkeypatch):
    monkeypatch.setattr(groups, "LOGGING", (Variant("breaks down", BreakingDown),))
    broken = study.again(AlarmUnit("steps", 0, 0, 1))
    assert broken.verdicts == ()
    assert study._field(broken) == "absent"


ONCE_FAILED = {
    ("legal orders", 5593): "a distance below 0 by rounding, times sigma",
    ("legal orders", 60619): "an entry of a block system that is no number",
}
"""Correct runs that a check once failed."""


@pytest.mark.parametrize(("group", "number"), ONCE_FAILED)
def test_correct_runs_that_were_once_failed_are_not(group, number):
    judged = study.again(AlarmUnit(group, 0, number, 1))
    assert judged.verdicts
    assert not any(one.status is Status.FAIL for one in judged.verdicts), ONCE_FAILED[group, number]
