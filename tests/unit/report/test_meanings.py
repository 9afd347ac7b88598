"""Every defect that a reason may name has a meaning, which stands in one place."""

from __future__ import annotations

import pytest

from sstep_verify.diagnosis.factors import MOST, PARTS, ROWS, ROWS_OR_ONE
from sstep_verify.meanings import MEANINGS, MISSING, MULTIPLIED, meaning_of
from sstep_verify.quantities import QUANTITIES
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.report.words import cause
from sstep_verify.specification import LEFT_OUT, OFF, specification
from sstep_verify.verdict import Defect

NAMED = [name for sentence in specification().sentences for name in sentence.mistakes]
SCALED = [name for name in NAMED if name.endswith(OFF)]
FACTORS = {*(part.name for part in PARTS.values()), ROWS[0], ROWS_OR_ONE[0]}


def test_every_name_of_the_specification_has_a_meaning_and_no_other_has_one():
    assert {*MEANINGS} == {*NAMED} - {*SCALED}
    assert all(name.removesuffix(OFF) in MULTIPLIED for name in SCALED)
    assert {defect.name for defect in CATALOGUE} <= {*MEANINGS}


def test_every_quantity_has_a_meaning_where_it_is_left_out():
    assert {*MISSING} == {quantity.name for quantity in QUANTITIES}
    assert all(meaning_of(name + LEFT_OUT) == meaning for name, meaning in MISSING.items())


def test_every_part_of_a_step_says_what_a_factor_multiplies():
    assert {*FACTORS} <= {*MULTIPLIED, *MEANINGS}
    assert meaning_of("sigma" + OFF, 0.5) == "sigma is multiplied by 0.5"
    assert meaning_of("sigma" + OFF) == "sigma is multiplied by a factor"


@pytest.mark.parametrize("name", [*NAMED, *(name + LEFT_OUT for name in MISSING)])
def test_a_meaning_is_short_and_differs_from_the_name(name):
    meaning = meaning_of(name)
    assert len(meaning.split()) <= 16
    assert meaning != name or name in FACTORS


@pytest.mark.parametrize("count", [1, 2, MOST, 5])
def test_each_name_before_the_evidence_stands_beside_its_meaning(count):
    defects = tuple(Defect((name,), None, ("S-3.5",)) for name in list(MEANINGS)[:count])
    words = cause(defects)
    shown = defects[: min(count, 3)]
    assert all(f"{MEANINGS[one.names[0]]} ({one.names[0]})" in words for one in shown)
