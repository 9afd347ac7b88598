"""What a failed check has named, or found nothing for, no later check of the case looks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.execute import _told, execute_group
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.checks.registry import CHECKS
from sstep_verify.specification import specification
from sstep_verify.verdict import Status, Verdict

PART = next(one.number for one in specification().sentences if one.signs)
WHOLE = next(one.number for one in specification().sentences if not one.signs)

CAMPAIGN = """
[campaign]
name = "small"
title = "Small"
description = "A few iterations."

[[family]]
data = ["{data}"]
task = ["svm-l1"]
kernel = [{{ name = "linear" }}]
s = [4]
iterations = 12
checks = ["contract", "step-replay", "window-replay", "trajectory", "metamorphic-exact", "box"]
"""


def said(check: str, status: Status = Status.FAIL, *sentences: str, s: int = 4) -> Verdict:
    return Verdict(
        check, "one", "p", s, 1, status, 2.0, 2.0, 1.0, "u", 3, 3, requirement="".join(sentences[:1])
    )


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], False),
        ([said("step-replay", Status.PASS, PART), said("window-replay", Status.INCONCLUSIVE)], False),
        ([said("window-replay")], True),
        ([said("step-replay", Status.FAIL, PART, WHOLE)], True),
        ([said("step-replay", Status.FAIL, WHOLE, PART)], False),
        ([said("step-replay")], False),
        ([said("metamorphic-exact", Status.FAIL, PART)], False),
        ([said("box"), said("trajectory", Status.FAIL, PART)], True),
    ],
)
def test_a_named_part_and_the_check_that_knows_all_mistakes_tell_enough(verdicts, expected):
    assert _told(verdicts) is expected


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Which checks of a case were asked for a diagnosis, once one of them failed."""
    points = [f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8}" for k in range(12)]
    (tmp_path / "points.svm").write_text("\n".join(points) + "\n", encoding="ascii")
    path = tmp_path / "small.toml"
    path.write_text(CAMPAIGN.format(data=tmp_path / "points.svm"), encoding="utf-8")
    definition = read_definition(str(path))

    def run(failed: str, *sentences: str) -> dict[str, bool]:
        found: dict[str, bool] = {}

        def judge_of(check):
            def judge(case, trajectories, oracle):
                found[check] = case.diagnose
                status = Status.FAIL if check == failed else Status.PASS
                return [said(check, status, *sentences, s=s) for s in case.s_values]

            return judge

        for name, check in CHECKS.items():
            monkeypatch.setitem(CHECKS, name, replace(check, judge=judge_of(name)))
        for unit in expand(definition, ""):
            (message,) = execute_group(unit, Plan(definition))
            assert not message.error
        return found

    return run


@pytest.mark.parametrize(
    ("failed", "sentences", "still"),
    [
        ("box", (), 6),
        ("contract", (WHOLE,), 6),
        ("contract", (PART,), 1),
        ("step-replay", (PART,), 2),
        ("window-replay", (), 3),
        ("metamorphic-exact", (PART,), 6),
    ],
)
def test_later_checks_look_for_no_mistake_once_one_reported(asked, failed, sentences, still):
    found = asked(failed, *sentences)
    ids = ("contract", "step-replay", "window-replay", "trajectory", "metamorphic-exact", "box")
    assert tuple(one for one in found if one in ids) == ids
    assert [one for one in ids if found[one]] == list(ids[:still])
