"""Every defect that a reason may name has a meaning, which stands in one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.diagnosis.factors import MOST, PARTS, ROWS, ROWS_OR_ONE
from sstep_verify.meanings import MEANINGS, MISSING, MULTIPLIED, meaning_of, number_of
from sstep_verify.quantities import PENALTY, QUANTITIES
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
def test_each_name_before_the_evidence_is_next_to_its_meaning(count):
    defects = tuple(Defect((name,), None, ("S-3.5",)) for name in list(MEANINGS)[:count])
    words = cause(defects)
    shown = defects[: min(count, 3)]
    assert all(f"{MEANINGS[one.names[0]]} ({one.names[0]})" in words for one in shown)


@given(
    st.one_of(
        st.floats(-1e3, 1e3),
        st.tuples(st.floats(1.0, 10.0), st.integers(-15, -1), st.sampled_from([-1, 1])).map(
            lambda drawn: 1 + drawn[2] * drawn[0] * 10.0 ** drawn[1]
        ),
    )
)
def test_no_factor_but_1_reads_as_1(factor):
    """Its distance from 1 is what a reader looks for: "multiplied by 1" says that nothing is wrong."""
    shown = number_of(factor)
    sign, _, size = shown.removeprefix("1 ").partition(" ")
    off = float(f"{sign}{size}") if size else float(shown) - 1.0
    assert (off == 0.0) == (factor == 1.0)
    assert abs(off - (factor - 1.0)) <= max(0.05 * abs(factor - 1.0), 1e-15)
    assert shown in meaning_of("kernel rows" + OFF, factor)


def test_of_lambda_and_entries_neither_is_named_where_both_make_the_same_steps():
    """K-RR reads K/lambda; a factor in symbols of lambda or m is one that somebody wrote down."""
    assert "or every kernel entry is divided by it" in meaning_of(PENALTY + OFF, 0.999998)
    assert meaning_of(PENALTY + OFF, 17.0, "m") == (
        "lambda is multiplied by 17 = m, so m*lambda is used instead of lambda"
    )
