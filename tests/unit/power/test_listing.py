"""The corpus as one list: large enough, of every part, and labelled in words that there are."""

from __future__ import annotations

import pytest

from sstep_verify.specification import specification
from studies.corpus.grading import PLACES
from studies.corpus.listing import FUNCTIONS, PROGRAMS, corpus, edits

ENTRIES = tuple(corpus().values())


def test_there_are_enough_solvers_of_every_kind():
    assert len(ENTRIES) >= 120
    assert sum(one.right for one in ENTRIES) >= 40
    assert {(one.kind, one.right) for one in ENTRIES} == {
        (kind, right) for kind in ("python", "program", "production") for right in (True, False)
    }


def test_names_are_used_once():
    unedited = {one.case for one in edits()}
    assert len(ENTRIES) == len(FUNCTIONS) + len(PROGRAMS) + len(edits()) + len(unedited)


def test_a_mistake_has_sentences_and_a_place_that_there_are_and_a_right_one_none():
    numbers = {sentence.number for sentence in specification().sentences}
    for one in ENTRIES:
        assert set(one.breaks) <= numbers, one.id
        assert len(set(one.breaks)) == len(one.breaks), one.id
        assert (one.acts in PLACES) != one.right, one.id
        assert not (one.right and (one.acts or one.equivalent)), one.id
        assert one.where, one.id


@pytest.mark.parametrize(
    "part", ["serial", "csr", "kept", "cache", "ranks", "external", "gram", "resume", "training", "timers"]
)
def test_every_part_of_the_system_has_mistakes(part):
    assert sum(part in one.where and not one.right for one in ENTRIES) >= 2


def test_equivalent_mistakes_are_few_and_explained():
    told = [one.equivalent for one in ENTRIES if one.equivalent]
    assert 2 <= len(told) <= sum(not one.right for one in ENTRIES) / 10


def test_every_place_is_used():
    assert {one.acts for one in ENTRIES if not one.right} == set(PLACES)
