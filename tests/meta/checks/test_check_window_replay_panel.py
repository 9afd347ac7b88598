"""window-replay from the solver's own panel: sees below delta_K, and what it does with a panel that is wrong."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from judged import judged, small_case
from plant import plant

from sstep_verify.checks import step_replay
from sstep_verify.checks import window_replay as check
from sstep_verify.checks.window import choose
from sstep_verify.problems import Hinge, RBFKernel, Ridge, SquaredHinge
from sstep_verify.solver import ProductionSolver, ridge_window, svm_window
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status

LONG = {"features": 2000, "scale": 0.05}
SVM = (svm_window, ("* row[places[later]] * signed", "* row[places[later]] * (signed * (1 + 3e-13))"))
# Gathered where few coordinates are touched, by one product where many are.
RIDGE = (
    ridge_window,
    (
        "product += row[touched[0, other]] * delta[touched[0, other]]",
        "product += row[touched[0, other]] * delta[touched[0, other]] * (1 + 3e-13)",
    ),
    (
        "product += np.dot(row[:reach], delta[:reach])",
        "product += np.dot(row[:reach], delta[:reach]) * (1 + 3e-13)",
    ),
)
HIDDEN = [
    (SquaredHinge(2.0), 1, "in-place", SVM),
    (SquaredHinge(2.0), 1, "frozen", SVM),
    (Ridge(0.05), 1, "frozen", RIDGE),
    (Ridge(0.05), 3, "frozen", RIDGE),
]


def _case(loss, block, update, **options):
    return small_case(loss, block=block, solver=ProductionSolver(update=update), windows=6, **options)


@pytest.mark.parametrize(("loss", "block", "update", "planted"), HIDDEN)
def test_an_error_below_delta_k_shows_from_the_panel_alone(loss, block, update, planted):
    with plant(*planted):
        verdict = judged(check, *_case(loss, block, update, **LONG))[16]
        by_steps = judged(step_replay, *_case(loss, block, update, **LONG))[16]
    assert by_steps.status is Status.PASS
    assert verdict.status is Status.FAIL
    assert verdict.evidence["from data"]["ratio"] <= 1
    assert verdict.evidence["from panel"]["ratio"] > 1
    assert "solver's own panel" in verdict.reason
    assert judged(check, *_case(loss, block, update, **LONG))[16].status is Status.PASS


def test_offset_data_hide_the_correction_from_the_data_but_not_from_the_panel():
    case, tested = _case(SquaredHinge(2.0), 1, "in-place", kernel=RBFKernel(0.5))
    problem = dataclasses.replace(case.problem, data=np.asarray(case.problem.data) + 1e5)
    verdict = judged(check, dataclasses.replace(case, problem=problem), tested)[16]
    assert verdict.status is Status.PASS
    data, panel = (verdict.evidence[f"from {source}"]["detection_limit"] for source in ("data", "panel"))
    assert panel["kernel-correction"] < 1e-12 < 1e-4 < data["kernel-correction"]
    (term,) = [term for term in verdict.terms if term.name == "kernel-correction"]
    assert term.detection_limit == min(panel["kernel-correction"], data["kernel-correction"])


@pytest.mark.parametrize(("loss", "block"), [(Hinge(0.5), 1), (Ridge(0.05), 3)])
def test_both_replays_are_reported(loss, block):
    verdict = judged(check, *_case(loss, block, "in-place"))[4]
    document = json.loads(json.dumps(verdict.as_dict()))
    for holder in (document["evidence"], *document["evidence"]["windows"]):
        for source in ("from data", "from panel"):
            assert holder[source]["bound"] >= 0
            assert holder[source]["ratio"] <= 1
    assert verdict.ratio == max(verdict.evidence[f"from {source}"]["ratio"] for source in ("data", "panel"))


def test_a_wrong_panel_fails_from_the_data():
    def disturb(trajectory):
        panels = {
            begin: Panel(panel.columns, panel.entries * 1.01) for begin, panel in trajectory.panels.items()
        }
        return dataclasses.replace(trajectory, panels=panels)

    # The run is right and the panel shown is not the one used.
    verdict = judged(check, *_case(SquaredHinge(2.0), 1, "in-place"), change=disturb)[4]
    assert verdict.status is Status.FAIL
    assert verdict.evidence["from data"]["ratio"] <= 1 < verdict.evidence["from panel"]["ratio"]


def test_a_panel_without_a_drawn_row_fails():
    def lose(trajectory):
        panels = {
            begin: Panel(panel.columns[1:], panel.entries[1:]) for begin, panel in trajectory.panels.items()
        }
        return dataclasses.replace(trajectory, panels=panels)

    verdict = judged(check, *_case(SquaredHinge(2.0), 1, "in-place"), change=lose)[4]
    assert verdict.status is Status.FAIL
    assert "holds no row of coordinate" in verdict.reason


def test_panels_are_asked_for_within_their_limit(monkeypatch):
    case, _ = _case(Ridge(0.05), 3, "in-place")
    exposed = {key: request.expose_panels for key, request in check.runs(case).items()}
    assert all(exposed.values())
    request = check.runs(case)["s=1"]
    monkeypatch.setattr(check, "PANEL_WORDS", 3 * 12 * (len(request.stops) - 1))
    limited = {key: request.expose_panels for key, request in check.runs(case).items()}
    assert limited == {"s=1": True, "s=4": False, "s=16": False}
    verdicts = judged(check, *_case(Ridge(0.05), 3, "in-place"))
    assert "from panel" in verdicts[1].evidence
    assert "from panel" not in verdicts[16].evidence


def test_beyond_the_work_limit_later_windows_are_replayed_from_the_data_alone(monkeypatch):
    monkeypatch.setattr(choose, "PANEL_WORK", 1)
    windows = judged(check, *_case(SquaredHinge(2.0), 1, "in-place"))[4].evidence["windows"]
    assert len(windows) > 2
    assert ["from panel" in window for window in windows] == [True] + [False] * (len(windows) - 1)
