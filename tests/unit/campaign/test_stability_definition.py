"""The tables [[scenario]] of a campaign file: what they stand for, and every mistake named."""

import pytest

from sstep_verify.campaign.read import read_definition
from sstep_verify.errors import InputError
from studies.stability.definition import scenario_units as units

GOOD = """
[campaign]
name = "mine"
title = "t"
description = "d"

[[scenario]]
precision = "float64"
form = ["in-place", "frozen"]
task = ["krr"]
kernel = [{ name = "linear" }, { name = "rbf", sigma = 0.5 }]
block = [1, 4]
condition = [1.0, 1e4]
seed = [0, 1]
s = [2, 3, 64]
iterations = 32
replay = [1, 3, 512]
"""


def case_ids(families, only=""):
    """Ids of the cases that a text selects, each once."""
    return list(dict.fromkeys(unit.case(form) for unit in units(families, only) for form in unit.forms))


@pytest.fixture
def campaign(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_s_is_completed_and_points_are_window_ends_of_all(campaign):
    (family,) = read_definition(campaign(GOOD)).families
    assert family.steps == (1, 2, 3, 32)
    assert {unit.replayed for unit in units([family])} == {(1, 3, 32)}
    assert family.points(2) == (8, 16, 24, 32)
    assert family.points(3) == (24, 32)
    assert family.points(32) == (32,)


def test_units_are_the_product_and_cases_leave_out_condition_and_seed(campaign):
    families = read_definition(campaign(GOOD)).families
    assert len(units(families)) == 2 * 2 * 2 * 2
    ids = case_ids(families)
    assert len(ids) == len(set(ids)) == 8
    assert ids[0] == "float64/in-place/krr/b=1/linear"
    assert case_ids(families, "b=4/rbf") == [
        f"float64/{form}/krr/b=4/rbf,sigma=0.5" for form in ("in-place", "frozen")
    ]


def test_the_shipped_campaign_covers_what_it_promises():
    families = read_definition("stability").families
    ids = case_ids(families)
    assert len(ids) == 3 * 3 * 5  # forms and precisions, kernels, K-SVM-L1, K-SVM-L2, K-RR with three b
    for family in families:
        assert set(family.steps) == {2**k for k in range(11)} | {family.iterations}
        assert {kernel.name for kernel in family.kernel} == {"linear", "polynomial", "rbf"}
    for precision in ("float32", "float64"):
        own = {c for family in families if family.precision == precision for c in family.condition}
        assert (min(own), max(own)) == (1.0, 1e16)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('precision = "float64"', 'precision = "float16"', ["float16", "float32"]),
        ('precision = "float64"', 'precision = "float32"', ["in-place", "float32", "frozen"]),
        ('form = ["in-place", "frozen"]', 'form = ["melted"]', ["melted", "in-place"]),
        ('task = ["krr"]', 'task = ["svm-l1"]', ["block", "4"]),
        ('task = ["krr"]', 'task = ["svm"]', ["'svm'", "svm-l1"]),
        ("condition = [1.0, 1e4]", "condition = [0.5]", ["condition", "0.5"]),
        ("condition = [1.0, 1e4]", 'condition = ["1"]', ["condition", "float"]),
        ("condition = [1.0, 1e4]", "", ["missing field `condition`"]),
        ("s = [2, 3, 64]", "s = [2, 0]", ["s = 0", ">= 1"]),
        ("s = [2, 3, 64]", "s = 2", ["s: 2 is rejected", "array"]),
        ("iterations = 32", "iteration = 32", ["`iteration`", "iterations"]),
        ("iterations = 32", "iterations = true", ["iterations", "True"]),
        ("sigma = 0.5", "sigma = 0", ["sigma", "> 0"]),
        ("seed = [0, 1]", "seed = [-1]", ["seed", "-1"]),
        ("seed = [0, 1]", "seed = []", ["seed", "empty"]),
    ],
)
def test_a_mistake_is_named(campaign, old, new, named):
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        read_definition(campaign(GOOD.replace(old, new)))
    for word in named:
        assert word in str(caught.value)


def test_families_of_both_kinds_and_repeated_cases_are_refused(campaign):
    table = GOOD[GOOD.index("[[scenario]]") :]
    twice = read_definition(campaign(GOOD + table)).families
    with pytest.raises(InputError, match="two"):
        units(twice)
    with pytest.raises(InputError, match="no case"):
        case_ids(twice[:1], "nowhere")
    family = '\n[[family]]\ndata = ["x"]\ntask = ["krr"]\nkernel = [{ name = "linear" }]\ns = [1]\n'
    with pytest.raises(InputError, match="two campaigns"):
        read_definition(campaign(GOOD + family))
