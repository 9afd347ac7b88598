"""A level restricts what is judged, is said in the headline, and never hides what it holds."""

from __future__ import annotations

import pytest

from sstep_verify import CallableSolver, Declaration, ReferenceSolver, verify
from sstep_verify.checks.registry import CHECKS
from sstep_verify.specification import level_of

ASKED = {"tasks": ["krr"], "s": [1, 7]}


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.id)
def test_a_check_judges_from_the_level_of_the_sentences_that_it_claims(check):
    assert check.level in (None, level_of(check.id))


def judged(level, solver=None):
    report = verify(solver or ReferenceSolver("float64"), "smoke", level=level, **ASKED)
    return report, {one["check"] for one in report.results.verdicts}


@pytest.mark.parametrize("level", [0, 1])
def test_no_check_above_the_level_judges(level):
    report, checks = judged(level)
    assert report.passed
    assert {level_of(one) for one in checks} == set(range(level + 1))
    assert f"judged up to level L{level} (" in repr(report)
    assert ("judged by the ends of runs alone" in repr(report)) == (level == 0)


def test_a_wrong_end_fails_at_the_lowest_level():
    wrong = CallableSolver(lambda problem, blocks, s, a0: a0, Declaration("stays"))
    report, _ = judged(0, wrong)
    assert not report.passed
    assert {one["check"] for one in report.failures} == {"trajectory"}
