"""Campaign files: what is shipped can be read, and every mistake is named with file, key and value."""

import pytest

from sstep_verify.campaign.read import read_definition, shipped
from sstep_verify.campaign.verdicts.case import make_case
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems.data.datasets import load

GOOD = """
[campaign]
name = "mine"
title = "t"
description = "d"

[[family]]
data = ["breast_cancer_scale"]
task = ["svm-l1"]
kernel = [{ name = "rbf", sigma = 0.5 }]
s = [1, 4]
"""


@pytest.fixture
def campaign(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("name", [name for name in shipped() if read_definition(name).kind == "family"])
def test_a_shipped_campaign_expands_to_distinct_cases(name):
    ids = [spec.id for unit in expand(read_definition(name)) for spec in unit.work]
    assert len(ids) == len(set(ids)) > 0


def test_the_types_of_a_file_are_made_once(campaign, monkeypatch):
    """To make them for every table took more than nine tenths of the time of reading a file."""
    first = read_definition(campaign(GOOD))

    def refuse(*_arguments, **_options):
        raise AssertionError("hints were evaluated again")

    monkeypatch.setattr("sstep_verify.files.records.typing.get_type_hints", refuse)
    again = read_definition(campaign(GOOD.replace("[1, 4]", "[1, 8]")))
    assert (first.families[0].s, again.families[0].s) == ((1, 4), (1, 8))


def test_a_good_file_is_read(campaign):
    (family,) = read_definition(campaign(GOOD)).families
    assert (family.s, family.kernel[0].sigma, family.parameter) == ((1, 4), 0.5, (1.0,))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('name = "mine"', 'name = 3', ["name", "3", "str"]),
        ("[[family]]", "[[famly]]", ["family"]),
        ('task = ["svm-l1"]', 'task = ["svm"]', ["'svm'", "svm-l1"]),
        ('task = ["svm-l1"]', 'task = ["svm-l1", "krr"]', ["krr", "family of its own"]),
        ("sigma = 0.5", "sigma = 0", ["sigma", "0", "> 0"]),
        ("sigma = 0.5", "sigmo = 0.5", ["sigmo"]),
        ('name = "rbf", sigma = 0.5', 'name = "polynomial", degree = 2.5', ["degree", "2.5"]),
        ('name = "rbf", sigma = 0.5', 'name = "polynomial", offset = -1.0', ["offset", "-1.0"]),
        ("s = [1, 4]", "s = [1, 0]", ["s = 0", ">= 1"]),
        ("s = [1, 4]", 's = ["1"]', ["'1'", "int"]),
        ("s = [1, 4]", "s = [true]", ["True", "int"]),
        ("s = [1, 4]", "", ["missing field `s`"]),
        ("s = [1, 4]", "s = [1]\nparameter = [-2.0]", ["parameter = -2.0", "> 0"]),
        ("s = [1, 4]", "s = [1]\nblock = [2]", ["block", "one coordinate"]),
        ("s = [1, 4]", "s = [1]\niterations = 0", ["iterations = 0"]),
        ("s = [1, 4]", "s = [1]\nwindos = 3", ["windos"]),
        ("s = [1, 4]", "s = [1", ["TOML"]),
        ('description = "d"', 'description = "d"\ntolerated_vacuous_per_check = 3', ["per_check", "3", "object"]),
        ('description = "d"', 'description = "d"\ntolerated_vacuous_per_check = {bux = []}', ["'bux'", "box"]),
        ('description = "d"', 'description = "d"\ntolerated_vacuous_per_check = {box = 3}', ["box", "expected `array`, got `int`"]),
        ('description = "d"', 'description = "d"\ntolerated_vacuous_per_check = {box = [3]}', ["box", "3", "str"]),
        ('description = "d"', 'description = "d"\ntolerated_vacuous = 4', ["tolerated_vacuous", "4", "array"]),
    ],
)  # fmt: skip
def test_a_mistake_is_named(campaign, old, new, named):
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        read_definition(campaign(GOOD.replace(old, new)))
    assert "mine.toml" in str(caught.value)
    for word in named:
        assert word in str(caught.value)


def test_vacuous_verdicts_are_limited_by_check_only_where_the_file_says_so(campaign):
    assert read_definition(campaign(GOOD)).tolerated_vacuous_per_check is None
    limited = GOOD.replace(
        "[[family]]", '[campaign.tolerated_vacuous_per_check]\nbox = ["a*"]\n\n[[family]]'
    )
    assert read_definition(campaign(limited)).tolerated_vacuous_per_check == {"box": ("a*",)}


def test_an_unknown_campaign_names_the_known_ones():
    with pytest.raises(InputError, match=", ".join(shipped())):
        read_definition("papr")


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.toml"):
        read_definition(str(tmp_path / "absent.toml"))


def test_only_selects_by_id_and_says_when_nothing_is_left():
    definition = read_definition("embedded")
    kept = [spec.id for unit in expand(definition, "rbf,sigma=1/svm-l2") for spec in unit.work]
    assert kept == ["breast_cancer_scale/rbf,sigma=1/svm-l2/C=1"]
    with pytest.raises(InputError, match="no case"):
        expand(definition, "nothing-like-this")


def test_kernels_of_one_name_and_parameters_alike_to_six_digits_are_cases_of_their_own(campaign):
    kernels = """kernel = [{ name = "rbf", sigma = 0.5 }, { name = "rbf", sigma = 0.25 },
        { name = "polynomial" }, { name = "polynomial", offset = 1.0 }]
parameter = [1.0, 1.0000001, 1e-5]"""
    definition = read_definition(
        campaign(GOOD.replace('kernel = [{ name = "rbf", sigma = 0.5 }]', kernels))
    )
    ids = [spec.id for unit in expand(definition) for spec in unit.work]
    assert len(set(ids)) == 12
    assert ids[:3] == [
        f"breast_cancer_scale/rbf,sigma=0.5/svm-l1/C={C}" for C in ("1", "1.0000001", "1e-05")
    ]
    assert ids[-1] == "breast_cancer_scale/polynomial,degree=3,offset=1/svm-l1/C=1e-05"
    (unit,) = expand(definition, "sigma=0.5/svm-l1/C=1")
    assert [spec.id for spec in unit.work] == ids[:1]


def test_two_families_with_the_same_case_are_refused(campaign):
    family = GOOD[GOOD.index("[[family]]") :]
    with pytest.raises(InputError, match="two families"):
        expand(read_definition(campaign(GOOD + family)))


def test_a_task_that_does_not_fit_the_data_is_refused(campaign):
    text = GOOD.replace("breast_cancer_scale", "diabetes_regression_scale")
    (unit,) = expand(read_definition(campaign(text)))
    with pytest.raises(InputError, match="regression"):
        make_case(unit.work[0], load(unit.data[0]), {"": Declaration("x")}, "mine", "")


def test_a_block_larger_than_the_data_is_refused(campaign):
    text = GOOD.replace("breast_cancer_scale", "diabetes_regression_scale").replace("svm-l1", "krr")
    (unit,) = expand(read_definition(campaign(text + "block = [443]\n")))
    with pytest.raises(InputError, match=r"b = 443.*m = 442"):
        make_case(unit.work[0], load(unit.data[0]), {"": Declaration("x")}, "mine", "")
