"""Windows that would take too much exact arithmetic are compared by their first steps, and stay sharp."""

from __future__ import annotations

import pytest
from metamorphic_runs import judged, make_case, make_runs
from plant import plant

from sstep_verify.checks import metamorphic_bounded
from sstep_verify.checks.metamorphic.relations import metamorphic_key
from sstep_verify.checks.metamorphic_bounded import affordable_steps
from sstep_verify.problems import Hinge, RBFKernel, Ridge
from sstep_verify.solver import ridge_window
from sstep_verify.verdict import Status

SAMPLES = 12
LIMIT = 7 * (SAMPLES + 7)
"""Work of seven drawn coordinates."""


@pytest.fixture
def limited(monkeypatch):
    monkeypatch.setattr(metamorphic_bounded, "WINDOW_WORK", LIMIT)


def test_the_limit_is_the_largest_number_of_steps_within_the_work():
    for block in (1, 2, 3, 12):
        case = make_case(Ridge(0.05) if block > 1 else Hinge(0.5), block=block)
        for work in (LIMIT, SAMPLES * SAMPLES, 10 * SAMPLES * SAMPLES):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(metamorphic_bounded, "WINDOW_WORK", work)
                steps = affordable_steps(case)

            def needed(count, b=block):
                return min(count * b, SAMPLES) * (SAMPLES + count * b)

            assert steps == 2 or needed(steps) <= work
            assert needed(steps + 1) > work


@pytest.mark.parametrize(("loss", "block", "steps"), [(Hinge(0.5), 1, 7), (Ridge(0.05), 3, 2)])
def test_longer_windows_are_compared_by_their_first_steps(limited, loss, block, steps):
    case = make_case(loss, RBFKernel(0.13), block)
    runs = make_runs(metamorphic_bounded, case)
    wide = runs[metamorphic_key(16, "relabelling", 0)]
    narrow = runs[metamorphic_key(4, "relabelling", 0)]
    assert (wide.length, narrow.length) == (steps, min(4, steps))
    verdicts = judged(metamorphic_bounded, case)
    for verdict in verdicts.values():
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.executed == verdict.planned > 0
    assert verdicts[16].evidence["steps of a window"] == f"{steps} of 16"
    assert verdicts[1].evidence["steps of a window"] == "1 of 1"


def test_a_planted_defect_is_seen_in_the_first_steps(limited):
    case = make_case(Ridge(0.05), block=3)
    edit = ("targets[block[place]], alpha", "targets[place % targets.size], alpha")
    with plant(ridge_window, edit):
        verdict = judged(metamorphic_bounded, case)[16]
    assert verdict.status is Status.FAIL
    assert "relabelling" in verdict.evidence["failed"]
