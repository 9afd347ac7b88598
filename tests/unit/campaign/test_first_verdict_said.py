"""While functions are compiled, the first check that decides on a case is said at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sstep_verify.campaign.model import Said, heard_by
from sstep_verify.campaign.verdicts.execute import _say_first
from sstep_verify.verdict import Status

PASS, FAIL, VACUOUS, INCONCLUSIVE = Status.PASS, Status.FAIL, Status.VACUOUS, Status.INCONCLUSIVE


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ([PASS, PASS], "PASS"),
        ([PASS, FAIL, VACUOUS], "FAIL"),
        ([PASS, VACUOUS], None),
        ([INCONCLUSIVE, PASS], None),
        ([], None),
    ],
)
def test_only_what_decides_is_a_first_verdict(statuses, status):
    heard: list[Any] = []
    found = [SimpleNamespace(status=one) for one in statuses]
    with heard_by(heard.append):
        _say_first(
            cast(Any, SimpleNamespace(id="contract")),
            cast(Any, SimpleNamespace(id="a case")),
            cast(Any, found),
        )
    lines = [Said(f"{status}: check contract of a case", "the first verdict")]
    assert heard == (lines if status else [])
