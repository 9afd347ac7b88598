"""The headline on runs of one program on several numbers of ranks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sstep_verify.campaign.summary.headline import headline


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("svm/mine-P=2", "krr/mine-P=4"), "2 of these right on fewer ranks"),
        (("svm/mine-P=2", "svm/mine"), ""),
        (("svm/mine",), ""),
        (("svm/mine", "svm/mine-P=2", "krr/mine-P=4"), "1 of these right on fewer ranks"),
        (("krr/P=4-gram",), "1 of these right on fewer ranks"),
    ],
)
def test_what_is_right_on_fewer_ranks_is_told(wrong, told):
    names = [f"{task}/mine{ranks}" for task in ("svm", "krr") for ranks in ("", "-P=2", "-P=4")]
    names += ["krr/gram", "krr/P=4-gram"]
    cases = [
        SimpleNamespace(id=name, status="FAIL" if name in wrong else "PASS", s=(), task="")
        for name in names
    ]
    sentence = headline(cases, [])
    assert f"wrong on {len(wrong)}" in sentence
    assert told in sentence
    assert ("fewer ranks" in sentence) == bool(told)
