"""The headline on runs of one program on several numbers of ranks, and the words for a set of s."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from sstep_verify.campaign.headline import headline, right_in_words
from sstep_verify.quantities import KERNEL
from sstep_verify.report.words import MOST_GROUPS, s_in_words
from sstep_verify.verdict import Note, NoteKind, Sensitivity, Status, Verdict


def _failed(case: str, check: str) -> Verdict:
    return Verdict(check, case, "p", 7, 1, Status.FAIL, 2.0, 2.0, 1.0, "absolute", 1, 1)


def _headline(wrong, check="step-replay"):
    names = [f"{task}/mine{ranks}" for task in ("svm", "krr") for ranks in ("", "-P=2", "-P=4")]
    names += ["krr/gram", "krr/P=4-gram"]
    cases = [
        SimpleNamespace(
            id=name, problem=name, status="FAIL" if name in wrong else "PASS", s=(), task="", facts={}
        )
        for name in names
    ]
    return headline(cases, [_failed(name, check) for name in wrong])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("svm/mine-P=2", "krr/mine-P=4"), "2 of these correct on fewer ranks"),
        (("svm/mine-P=2", "svm/mine"), ""),
        (("svm/mine",), ""),
        (("svm/mine", "svm/mine-P=2", "krr/mine-P=4"), "1 of these correct on fewer ranks"),
        (("krr/P=4-gram",), "1 of these correct on fewer ranks"),
    ],
)
def test_what_is_right_on_fewer_ranks_is_reported(wrong, told):
    sentence = _headline(wrong)
    assert f"faulty on {len(wrong)} of " in sentence
    assert told in sentence
    assert ("fewer ranks" in sentence) == bool(told)


@pytest.mark.parametrize("check", ["message-count", "contract", "claim-honesty", "determinism"])
def test_where_no_value_is_wrong_nothing_that_ranks_sum_is_blamed(check):
    assert "fewer ranks" not in _headline(("svm/mine-P=2",), check)


def _named(words: str) -> set[int]:
    """The s that a text names."""
    if at_most := re.fullmatch(r"s <= (\d+)", words):
        return set(range(1, int(at_most[1]) + 1))
    return {int(one) for one in re.split(", | and ", words.removeprefix("s = "))}


@pytest.mark.parametrize("seed", range(20))
def test_the_words_name_exactly_the_set_of_s(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    for _ in range(50):
        count = int(drawn.integers(1, 7))
        values = drawn.choice(np.arange(1, 2 + int(drawn.integers(count, 70))), count, replace=False)
        words = s_in_words(values.tolist())
        assert _named(words) == set(values.tolist())
        assert ("<=" in words) == (count > 1 and values.max() == count)


@pytest.mark.parametrize("seed", range(20))
def test_the_groups_say_of_each_s_on_how_many_problems_it_is_right(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    right = {
        str(name): drawn.choice(
            [1, 2, 3, 7, 32, 64, 512], int(drawn.integers(0, 7)), replace=False
        ).tolist()
        for name in range(int(drawn.integers(1, 6)))
    }
    words = right_in_words(right)
    if not any(right.values()):
        assert words == []
        return
    first = re.fullmatch(r"correct wherever judged: (s .*) on (\d+) of \d+ problems?(?: each)?", words[0])
    told = [
        (first[1], first[2]),
        *(re.fullmatch(r"(.*) on (\d+) of \d+(?: each)?", one).groups() for one in words[1:]),
    ]
    counts = {s: int(count) for text, count in told for s in _named(text)}
    assert counts == {
        s: sum(s in values for values in right.values()) for values in right.values() for s in values
    }
    assert [int(count) for _, count in told] == sorted((int(count) for _, count in told), reverse=True)


def test_each_group_repeats_s_and_says_of_how_many_problems():
    right = {"a": [1, 8, 16], "b": [1, 11], "c": [1]}
    assert right_in_words(right, planned={1: 3, 8: 1, 16: 1, 11: 1}) == [
        "correct wherever judged: s = 1 on 3 of 3 problems",
        "s = 8, 11 and 16 on 1 of 1 each",
    ]
    assert right_in_words(right, False, "case", {1: 4, 8: 1, 16: 1, 11: 2}) == [
        "correct: s = 1 on 3 of 4 cases",
        "s = 8 and 16 on 1 of 1 each",
        "s = 11 on 1 of 2",
    ]


def test_of_no_problem_nothing_is_right_or_wrong():
    assert right_in_words({}) == ["nothing judged"]


def test_of_many_groups_the_last_are_counted():
    right = {str(name): list(range(1, name + 1)) for name in range(1, MOST_GROUPS + 4)}
    words = right_in_words(right)
    assert len(words) == MOST_GROUPS + 1
    # The values 9, 10 and 11 of s are correct on 3, 2 and 1 problems.
    assert words[-1] == "3 other values of s"


def test_no_value_of_s_without_observed_windows_is_left_out():
    right = {str(name): list(range(1, name + 1)) for name in range(1, MOST_GROUPS + 4)}
    noted = [
        Verdict(
            "window-replay", name, "p", s, 1, Status.PASS, 0.1, 0.1, 1.0, "absolute", 1, 1,
            notes=(Note(NoteKind.UNOBSERVED),),
        )
        for name, values in right.items() for s in values
    ]  # fmt: skip
    cases = [
        SimpleNamespace(id=name, problem=name, status="PASS", s=values, task="svm-l1", facts={})
        for name, values in right.items()
    ]
    assert headline(cases, noted).endswith("; 3 other values of s")


@pytest.mark.parametrize("seed", range(5))
def test_median_and_worst_detection_limit_error_are_those_of_the_runs(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    errors = (10.0 ** drawn.uniform(-15, -9, 7)).tolist()
    verdicts = [
        Verdict(
            "window-replay", f"c{k}", "p", 7, 1, Status.PASS, 0.1, 0.1, 1.0, "absolute", 1, 1,
            terms=(Sensitivity(KERNEL, Status.PASS, error, 1, 1, 1),),
        )
        for k, error in enumerate(errors)
    ]  # fmt: skip
    cases = [
        SimpleNamespace(id=one.case, problem=one.case, status="PASS", s=(7,), task="svm-l1", facts={})
        for one in verdicts
    ]
    found = re.search(r"shown: (\S+) \(median over the runs\), (\S+) \(worst\)", headline(cases, verdicts))
    for told, error in zip(map(float, found.groups()), (sorted(errors)[3], max(errors)), strict=True):
        assert error <= told <= 1.1 * error
