"""The problems of a profile have what a program has fixed; those that cannot have it are left out."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.adapters.program import Program, ProgramFile
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.errors import InputError
from sstep_verify.problems.data.embedded import is_edges, read


def families(profile: str = "ci", data: str = "", **fixed: object):
    described = ProgramFile(Program("mine", ("./mine", "{dir}")), fixed=fixed)
    return profile_of(profile, described, Selection(data=data), "").families


@pytest.mark.parametrize("profile", ["ci", "deep"])
@pytest.mark.parametrize("fixed", [{"m": 24, "n": 5}, {"m": 24}, {"n": 5}])
def test_fixed_sizes_are_those_of_the_data(profile, fixed):
    found = families(profile, **fixed)
    assert {task for one in found for task in one.task} == {"svm-l1", "svm-l2", "krr"}
    for family in found:
        (name,) = family.data
        assert not is_edges(name)
        data = load_data(name, None)
        shape = dict(zip("mn", data.data.shape, strict=True))
        assert shape == shape | fixed
        assert data.task == ("regression" if "krr" in family.task else "classification")


def test_the_other_fixed_values_are_those_of_the_problems():
    found = families(task="krr", kernel="polynomial", degree=4, b=2, H=50, **{"lambda": 0.5})
    assert len(found) == 3
    for family in found:
        assert (family.task, family.parameter, family.block) == (("krr",), (0.5,), (2,))
        assert family.iterations == 50
        assert family.s[0] == 1 < family.s[1] and max(family.s) <= 50  # noqa: PT018
        assert {(one.name, one.degree) for one in family.kernel} == {("polynomial", 4)}


@pytest.mark.parametrize(("fixed", "told"), [({"m": 31}, "m = 31, not 32"), ({"n": 8}, "n = 8, not 9")])
def test_data_of_another_size_are_refused(fixed, told):
    with pytest.raises(InputError, match=f"small: the program has fixed {told}"):
        families(data="small", **fixed)
    assert families(data="small", m=32, n=9)


def test_a_problem_that_holds_fewer_samples_than_a_block_is_left_out():
    found = families(m=4)
    assert {family.block for family in found if "krr" in family.task} == {(3,), (4,)}
    assert families(m=4, b=4)[-1].block == (4,)


@pytest.mark.parametrize("name", ["sized-3x2", "dense-4x0", "edges-99999x99999"])
def test_a_size_that_cannot_be_generated_is_refused(name):
    with pytest.raises(InputError, match="needs 4 samples or more"):
        load_data(name, None)


@pytest.mark.parametrize("name", ["dense-8x3_one_label", "sized-8x3_one_label", "edges-8", "flat-8x3"])
def test_a_name_that_no_set_has_is_refused(name):
    with pytest.raises(InputError):
        read(name)


@pytest.mark.parametrize("end", ["", "_regression", "_one_label"])
def test_edges_of_a_size_hold_what_edges_hold_and_dense_sets_no_zero(end):
    found = load_data(f"edges-13x10{end}", None)
    assert np.flatnonzero((found.data == 0).all(axis=1)).tolist() == [12]
    assert np.flatnonzero((found.data == 0).all(axis=0)).tolist() == [7]
    assert (found.data[0] == found.data[1]).all()
    assert (len(set(found.targets.tolist())) == 1) == (end == "_one_label")
    assert (load_data(f"dense-13x10{end.replace('_one_label', '')}", None).data != 0).all()


@pytest.mark.parametrize("end", ["", "_regression", "_one_label"])
def test_middle_is_edges_with_the_empty_sample_inside_and_samples_that_begin_with_a_zero(end):
    edges, found = (load_data(f"{like}-13x10{end}", None) for like in ("edges", "middle"))
    assert np.flatnonzero((found.data == 0).all(axis=1)).tolist() == [5]
    assert np.flatnonzero((found.data == 0).all(axis=0)).tolist() == [6]
    assert 0 < np.count_nonzero(found.data[:, 0]) < 12 == np.count_nonzero(edges.data[:, 0])
    assert is_edges(f"middle-13x10{end}")
    ordered = np.roll(found.data, (-6, 1), axis=(0, 1))
    assert np.array_equal(ordered, edges.data)
    assert np.array_equal(np.roll(found.targets, -6), edges.targets)


def test_small_is_a_sized_set_and_both_classes_are_always_there():
    assert all(
        np.array_equal(*pair) for pair in zip(read("small")[:2], read("sized-32x9")[:2], strict=True)
    )
    for samples in range(4, 12):
        for features in (1, 2, 3, 7):
            assert set(read(f"sized-{samples}x{features}")[1]) == {-1.0, 1.0}
