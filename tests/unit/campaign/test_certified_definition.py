"""Tables [[optimum]] of a campaign file: what they stand for, and every mistake named."""

from __future__ import annotations

from collections import Counter

import pytest

from sstep_verify.campaign.certified import optimum_units, read_optimum
from sstep_verify.campaign.read import read_definition
from sstep_verify.errors import InputError

TABLE = {
    "data": ["duke"],
    "task": ["svm-l1"],
    "kernel": [{"name": "linear"}],
    "parameter": [1.0, 1000.0],
    "digits": 40,
}


def test_units_are_the_product_of_a_table():
    (first, second) = optimum_units((read_optimum(dict(TABLE), "here"),))
    assert first.case == "duke/linear/svm-l1/C=1"
    assert (second.case, second.parameter, second.family.digits) == (
        "duke/linear/svm-l1/C=1000",
        1000.0,
        40,
    )
    assert optimum_units((read_optimum(dict(TABLE), "here"),), only="C=1000") == [second]


def test_the_shipped_campaign_holds_the_whole_table():
    units = optimum_units(read_definition("certified").families)
    assert {unit.family.digits for unit in units} == {30}
    counts = Counter((unit.data, unit.task) for unit in units)
    ridge = {(name, "krr"): 9 for name in ("abalone", "bodyfat")}
    sets = ("duke", "colon-cancer", "diabetes", "diabetes_scale", "breast_cancer")
    assert counts == ridge | {(name, task): 12 for name in sets for task in ("svm-l1", "svm-l2")}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"data": []}, "data is empty"),
        ({"data": "duke"}, "data: 'duke'"),
        ({"task": ["svm"]}, "task 'svm'"),
        ({"parameter": [0.0]}, "parameter = 0"),
        ({"parameter": ["1"]}, r"parameter\[0\]: '1'"),
        ({"digits": 0}, "digits = 0"),
        ({"kernel": [{"name": "sigmoid"}]}, "sigmoid"),
        ({"colour": 1}, "colour"),
    ],
)
def test_a_mistake_is_named(change, named):
    with pytest.raises(InputError, match=named) as caught:
        read_optimum(TABLE | change, "here")
    assert "here" in str(caught.value)


def test_a_case_that_stands_twice_is_refused():
    family = read_optimum(dict(TABLE), "here")
    with pytest.raises(InputError, match="twice"):
        optimum_units((family, family))


def test_no_case_left_is_refused():
    with pytest.raises(InputError, match="rbf"):
        optimum_units((read_optimum(dict(TABLE), "here"),), only="rbf")
