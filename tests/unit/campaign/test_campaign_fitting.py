"""The problems of a profile have what a program has fixed; those that cannot have it are left out."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.adapters.program import Program, ProgramFile
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.errors import InputError
from sstep_verify.problems.data.embedded import read


def families(profile: str = "ci", data: str = "", **fixed: object):
    described = ProgramFile(Program("mine", ("./mine", "{dir}")), fixed=fixed)
    return profile_of(profile, described, Selection(data=data), "").families


@pytest.mark.parametrize(
    ("fixed", "shape"), [({"m": 24, "n": 5}, (24, 5)), ({"m": 24}, (24, 9)), ({"n": 5}, (32, 5))]
)
def test_fixed_sizes_are_those_of_the_data(fixed, shape):
    found = families(**fixed)
    assert {task for one in found for task in one.task} == {"svm-l1", "svm-l2", "krr"}
    for family in found:
        (name,) = family.data
        data = load_data(name, None)
        assert data.data.shape == shape
        assert data.task == ("regression" if "krr" in family.task else "classification")


def test_the_other_fixed_values_are_those_of_the_problems():
    found = families(task="krr", kernel="polynomial", degree=4, b=2, H=50, **{"lambda": 0.5})
    assert [family.data for family in found] == [("small_regression",), ("edges_regression",)]
    for family in found:
        assert (family.task, family.parameter, family.block) == (("krr",), (0.5,), (2,))
        assert family.iterations == 50
        assert {(one.name, one.degree) for one in family.kernel} == {("polynomial", 4)}


@pytest.mark.parametrize(("fixed", "told"), [({"m": 31}, "m = 31, not 32"), ({"n": 8}, "n = 8, not 9")])
def test_data_of_another_size_are_refused(fixed, told):
    with pytest.raises(InputError, match=f"small: the program has fixed {told}"):
        families(data="small", **fixed)
    assert families(data="small", m=32, n=9)


@pytest.mark.parametrize("name", ["sized-3x2", "sized-4x0", "sized-99999x99999"])
def test_a_size_that_cannot_be_generated_is_refused(name):
    with pytest.raises(InputError, match="needs 4 samples or more"):
        load_data(name, None)


def test_small_is_a_sized_set_and_both_classes_are_always_there():
    assert all(
        np.array_equal(*pair) for pair in zip(read("small")[:2], read("sized-32x9")[:2], strict=True)
    )
    for samples in range(4, 12):
        for features in (1, 2, 3, 7):
            assert set(read(f"sized-{samples}x{features}")[1]) == {-1.0, 1.0}
