"""The sentences of the specification: whole, numbered, tied to what exists; their page is up to date."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import make_spec
import pytest

from sstep_verify.checks.contract import ITEMS, OF_ERROR
from sstep_verify.checks.recorded.claim_honesty import CONVERGENCE
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.continued import CONTINUED
from sstep_verify.checks.short.causes import ONE_FEWER, ONE_MORE
from sstep_verify.checks.steps.causes import SIDES
from sstep_verify.checks.steps.formulas import FORMULAS
from sstep_verify.checks.steps.other_draws import PLACES, REVERSED
from sstep_verify.costs.messages import COUNTED
from sstep_verify.diagnosis import exponents, other_problems
from sstep_verify.diagnosis import kernel_rows as panel
from sstep_verify.diagnosis.candidates import (
    CAPPED,
    OWN_OMEGA,
    PARTIAL,
    SELDOM,
    SIGN_OF_CORRECTION,
    SOLVED_ONCE,
    SUBTRACTED,
)
from sstep_verify.diagnosis.factors import M_ON_DIAGONAL, NO_ENTRIES, PARTS, ROWS
from sstep_verify.quantities import QUANTITIES
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.recurrence.mutation import TERMS, left_out
from sstep_verify.specification import decided_by, of_verdict, specification, text_of, violated_by
from sstep_verify.verdict import Defect

ROOT = Path(__file__).parents[2]
SENTENCES = specification().sentences
TASKS = ("svm-l1", "svm-l2", "krr")
PANEL_MISTAKES = (panel.LOST, panel.SPLIT, panel.LABELS, panel.NORMS)
EXPONENTS = (exponents.OTHER_SIGMA, exponents.ONE_NORM, exponents.OTHER_NORMS)
RELATIONS = ("data-up", "data-down", "targets-up", "targets-down")
LOG = ("step log", "no step log", CONTINUED)
CLAIMS = ("gap", "iterations")


def numbers(check, task, *signs):
    return [one.number for one in of_verdict(check, task, signs)]


def test_numbers_ascend_in_each_group():
    for place, group in enumerate(specification().groups, 1):
        parts = [one.number.removeprefix("S-").split(".") for one in group.sentences]
        assert {of for of, _ in parts} == {str(place)}
        numbers = [int(number) for _, number in parts]
        assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.number)
def test_a_sentence_is_one_and_is_decided_or_says_why_not(sentence):
    assert re.fullmatch(r"\S[^\n]{20,130}\.", sentence.text)
    assert set(sentence.checks) <= set(CHECKS)
    assert bool(sentence.checks) != bool(sentence.undecided)
    assert sentence.checks or not sentence.where
    assert set(sentence.claimed_by) <= set(sentence.checks)
    assert set(sentence.tasks) <= set(TASKS)
    assert sentence.level in (0, 1, 2, 3)
    for check in sentence.checks[:1]:
        assert sentence.level >= (CHECKS[check].level or 0)


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.id)
def test_a_check_judges_from_the_level_of_the_sentences_that_it_claims(check):
    claimed = (sentence.level for sentence in SENTENCES if check.id in sentence.claimed_by)
    assert check.level in (None, min(claimed))


def test_errata_are_those_of_the_reference():
    text = (ROOT / "reference" / "ERRATA.md").read_text("utf-8")
    known = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    named = {number for one in SENTENCES for number in one.errata}
    assert {4, 7, 8, 9, 11, 13, 15, 16, 17} <= named <= known


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("task", TASKS)
def test_every_check_decides_sentences_and_claims_one(check, task):
    assert decided_by(check)
    if (check, task) != ("box", "krr"):
        assert numbers(check, task)


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda one: one.name)
def test_every_quantity_left_out_breaks_one_sentence_where_a_step_has_it(quantity):
    for task in quantity.tasks:
        for check in ("step-replay", "window-replay"):
            (named,) = numbers(check, task, quantity.name)
            assert numbers(check, task, left_out(quantity.name).name) == [named]
            assert named not in numbers(check, task)


def test_every_named_mistake_breaks_one_sentence():
    for defect in CATALOGUE:
        for task in defect.tasks:
            (named,) = numbers("window-replay", task, defect.name)
            assert named not in numbers("window-replay", task), defect.name
    for name in PANEL_MISTAKES:
        (named,) = numbers("kernel-entries", "svm-l1", name)
        assert name in next(one for one in SENTENCES if one.number == named).mistakes
    for name in other_problems.SOLVED_INSTEAD:
        (owner,) = [one for one in SENTENCES if name in one.signs]
        for task in owner.tasks:
            assert numbers("window-replay", task, name) == [owner.number]


@pytest.mark.parametrize(
    ("check", "items"),
    [
        ("contract", (*ITEMS, *filter(None, OF_ERROR.values()))),
        ("message-count", COUNTED),
        ("metamorphic-exact", RELATIONS),
        ("step-replay", LOG),
        ("claim-honesty", (*CLAIMS, CONVERGENCE)),
    ],
)
def test_every_part_of_a_check_has_its_sentence(check, items):
    for item in items:
        (named,) = of_verdict(check, "krr", (item,))
        assert item in named.items


def test_no_sentence_names_what_does_not_exist():
    known = {
        *TERMS,
        *(defect.name for defect in CATALOGUE),
        *(mutation.name for mutation in (*PARTIAL, *SELDOM)),
        M_ON_DIAGONAL,
        SOLVED_ONCE,
        OWN_OMEGA.name,
        CAPPED.name,
        SIGN_OF_CORRECTION.name,
        SUBTRACTED.name,
        ROWS[0],
        *(part.name for part in PARTS.values()),
        *NO_ENTRIES.values(),
        *FORMULAS,
        *PLACES,
        REVERSED,
        SIDES,
        *PANEL_MISTAKES,
        *EXPONENTS,
        ONE_FEWER,
        ONE_MORE,
        *other_problems.SOLVED_INSTEAD,
        *(*ITEMS, *OF_ERROR.values(), *COUNTED, *RELATIONS, *LOG, *CLAIMS, CONVERGENCE),
    }
    signs = [sign for one in SENTENCES for sign in {*one.quantities, *one.items, *one.mistakes}]
    assert set(signs) <= known
    assert [sign for sign, count in Counter(signs).items() if count > 1] == []


def test_the_order_is_that_of_the_signs_and_a_sentence_of_another_task_is_not_named():
    signs = ("overlap left out", "overlap-dropped", "kernel-correction left out")
    assert numbers("window-replay", "krr", *signs) == ["S-3.6", "S-3.5"]
    assert numbers("window-replay", "krr", "upper-end left out", "nothing known") == ["S-3.2"]
    assert of_verdict("no-such-check", "krr") == ()
    assert text_of("S-2.3") == "H iterations are H updates; the last window may be short."
    assert text_of("S-9.9") == ""


@pytest.mark.parametrize("order", [1, -1])
def test_defects_that_violate_different_requirements_name_none(order):
    def found(*defects, signs=(), **known):
        return violated_by("step-replay", "krr", defects[::order], signs, **known)

    one, again, other = (Defect((name,), None, (name,)) for name in ("S-3.6", "S-3.6", "S-3.5"))
    both = Defect(("both",), None, ("S-3.5", "S-3.6"))
    assert found(one) == found(one, again) == "S-3.6"
    assert found(one, other) == found(one, other, again) == found(both) == ""
    # Signs decide where defects do not, and then what the check claims.
    signs = ("kernel-correction left out",)
    assert found(one, other, signs=signs) == ""
    assert found(one, signs=signs, certain=False) == "S-3.5"
    assert found(one, certain=False) == "S-3.2"
    assert found(one, certain=False, claimed=False) == ""


def test_the_page_is_what_the_sentences_say():
    assert (ROOT / "docs" / "spec.md").read_text("utf-8") == make_spec.page()
