"""The short form of ``explain``: every status has its sentence, and lines fit."""

from __future__ import annotations

import pytest
from report.test_reporting_documents import verdict

from sstep_verify.cli.verdicts import CONTRADICTED, MEANS, UNUSABLE, WIDTH, WORDS, glossary, in_short
from sstep_verify.report.verdicts import ratio_of
from sstep_verify.report.words import compared_in_words
from sstep_verify.verdict import Place, RunError, Status


@pytest.mark.parametrize("status", Status)
def test_every_status_is_said_in_words_and_lines_fit(status):
    lines = "\n".join(in_short(verdict("a/b", status).as_dict(), "The claim. " * 30)).splitlines()
    assert lines[0] == f"{status}: window-replay on a/b, s = 2"
    assert MEANS[status][:20] in lines[1]
    assert max(map(len, lines)) <= WIDTH
    shown = next(line for line in lines if "overlap: " in line)
    assert (
        "none: no certain effect" if status is Status.VACUOUS else "errors of +3e-13 and -3e-13 were tried"
    ) in shown


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        ((RunError("s=1", "ValueError", "no"),), "ended with an error or without a usable result"),
        ((), "is not what was asked for"),
    ],
)
def test_of_a_broken_contract_no_rounding_is_reported(raised, words):
    told = verdict("a/b", Status.FAIL, check="contract", raised=raised).as_dict()
    lines = "\n".join(in_short(told, "A run is what was asked for."))
    assert words in lines
    assert "than any correct implementation" not in lines
    assert "relative errors" not in lines


def test_the_glossary_has_every_word_that_occurs_once():
    said = " ".join([*WORDS, "relative errors down to 1e-9"])
    text = "\n".join(glossary(said))
    assert all(text.count(f"    {word}: ") == 1 for word in WORDS)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("6 of 31 windows were compared; ratio 2, bound 1", {"window", "bound", "ratio"}),
        ("overlap-correction: none", {"overlap"}),
        ("clipped, eclipse: bounded", set()),
        ("errors of +3e-13 and -3e-13 were tried", {"detection_limit"}),
        ("curvature: relative errors from 1e-15 on", {"detection_limit"}),
    ],
)
def test_the_glossary_has_no_word_that_does_not_occur(said, words):
    lines = list(glossary(said))
    assert {word for word in WORDS if any(line.startswith(f"    {word}: ") for line in lines)} == words
    assert bool(lines) == bool(words)


def test_a_quantity_that_is_there_or_not_would_have_shown_and_was_not_left_out():
    told = verdict("a/b").as_dict()
    told["terms"][0] |= {"detection_limit": None, "seen": 195, "decided": 205}
    name = told["terms"][0]["name"]
    lines = "\n".join(in_short(told, "")).splitlines()
    assert f"    {name}: would show if left out, in 195 of 205 comparisons" in lines


def test_an_injected_defect_would_have_shown_and_is_not_left_out():
    told = verdict("a/b").as_dict()
    told["terms"][0] |= {"name": "clip dropped", "detection_limit": None, "seen": 3, "decided": 205}
    lines = "\n".join(in_short(told, "")).splitlines()
    assert "    clip dropped: would show, in 3 of 205 comparisons" in lines


@pytest.mark.parametrize(("planned", "executed"), [(12, 12), (12, 7), (900, 2)])
def test_comparisons_made_are_reported_of_those_planned(planned, executed):
    for check, words in (("window-replay", "windows were compared"), ("box", "comparisons were made")):
        told = verdict("a/b", check=check, planned=planned, executed=executed).as_dict()
        said = " ".join("\n".join(in_short(told, "")).split())
        assert f"{executed} of {planned} {words}" in said
        assert "measured" in said
        assert compared_in_words(told) in said


def test_where_nothing_was_compared_nothing_is_said_to_be_measured():
    told = verdict("a/b", Status.FAIL, check="step-replay", planned=52, executed=0).as_dict()
    said = " ".join("\n".join(in_short(told, "")).split())
    assert "Found 0 of 52 comparisons were made" in said
    assert "measured" not in said
    assert ratio_of(verdict("a/b", Status.VACUOUS, executed=0).as_dict()) is None


@pytest.mark.parametrize(
    ("item", "expected", "leads_elsewhere"),
    [
        ("log", 0.25, True),
        ("log", None, False),
        ("log missing", None, False),
        ("log shape", None, False),
        ("weights", None, False),
    ],
)
def test_only_a_log_that_leads_to_another_number_contradicts_what_was_recorded(
    item, expected, leads_elsewhere
):
    place = Place(item=item, end=3, coordinate=1, found=0.5, expected=expected)
    told = verdict("a/b", Status.FAIL, check="step-replay", planned=9, executed=0, place=place).as_dict()
    said = " ".join("\n".join(in_short(told, "")).split())
    assert (CONTRADICTED in said, UNUSABLE in said) == (leads_elsewhere, not leads_elsewhere)
