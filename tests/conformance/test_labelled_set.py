"""A few solvers of the corpus, judged and graded; campaign `sensitivity-edits` judges all of them."""

from __future__ import annotations

import pytest

from sstep_verify.specification import specification
from studies.corpus.grading import PLACES, every_failure
from studies.corpus.judged import judged
from studies.corpus.listing import corpus
from studies.corpus.mistakes import EQUIVALENT

OWN = (("S-3.1",), ("S-3.2",), ("S-3.12",))
"""What a FAIL names where no known defect is the mistake, and no fact tells: a whole step, or a log and a
record that differ."""

QUICK = (
    "added windows", "float32", "SigmaHalved", "CorrectionOff", "UpperOff", "TailDropped", "OtherStream",
    "TimesM", *(one.id for one in EQUIVALENT),
)  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("name", QUICK)
def test_the_verdict_is_that_of_the_label_and_so_are_sentence_and_place(name):
    found = judged(name)
    assert found.killed == found.mistaken
    assert found.mistaken or found.found == "PASS"
    assert found.mistaken == found.place_right
    whole_step = not corpus()[name].named and found.sentences in OWN
    assert found.class_right == (found.mistaken and (not whole_step or found.sentences[0] in found.breaks))
    assert found.class_right or not found.mistaken or whole_step


def test_the_corpus_is_large_enough_and_its_labels_exist():
    entries = corpus().values()
    assert len(entries) >= 120
    assert sum(one.right for one in entries) >= 40
    assert sum(bool(one.equivalent) for one in entries) <= 0.1 * sum(not one.right for one in entries)
    sentences = {one.number for one in specification().sentences}
    assert {number for one in entries for number in one.breaks} <= sentences
    assert {one.acts for one in entries if not one.right} == set(PLACES)
    parts = {part for one in entries for part in one.where}
    assert {"serial", "csr", "kept", "cache", "ranks", "external", "resume", "gram", "support"} <= parts


SELDOM = ("StaleA", "ThirdDrawMissed", "Jitter", "SmallStepsLeft")


@pytest.mark.parametrize("name", SELDOM)
def test_a_mistake_that_acts_seldom_or_by_a_factor_is_named_alone(name):
    found = every_failure([name])
    assert found
    assert all(one.alone for one in found), found


@pytest.mark.nightly
def test_the_true_mistake_is_in_the_named_class_and_mostly_alone():
    every = [one for one in every_failure() if one.solver.named]
    named = [one for one in every if one.named]
    assert len(named) >= 60
    # Draws of another stream and few wrong steps no defect explains; what is named is what was done.
    assert all(one.right for one in named)
    assert sum(one.alone for one in named) >= 0.8 * len(every)
