"""Kernels and losses: made and described by name, and refused with the value met."""

import copy
import math
import pickle

import numpy as np
import pytest

from sstep_verify.errors import InputError
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
    Ridge,
    SquaredHinge,
    kernel_from,
    kernels,
    loss_from,
    losses,
)
from sstep_verify.problems.losses import LEAST_C, MOST_C


@pytest.mark.parametrize(
    "degree", [1, 0, -3, 2.5, math.nan, math.inf, True, None, "three", "3", [], 101, 2**31]
)
def test_a_degree_that_is_no_integer_of_at_least_two_is_named(degree):
    with pytest.raises(InputError, match=r"it must be an integer in 2\.\.100 \(") as caught:
        PolynomialKernel(degree)
    assert f"degree = {degree!r}" in str(caught.value)


@pytest.mark.parametrize("degree", [3, 3.0, np.int64(3), np.float64(3)])
def test_an_integral_degree_becomes_an_int(degree):
    assert PolynomialKernel(degree) == PolynomialKernel(3)
    assert type(PolynomialKernel(degree).degree) is int


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, -math.inf])
def test_a_bad_offset_is_named(value):
    with pytest.raises(InputError, match=f"offset = {value}, but it must be finite and >= 0"):
        PolynomialKernel(3, value)


@pytest.mark.parametrize("make", [RBFKernel, Hinge, SquaredHinge, Ridge])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_a_parameter_that_must_be_positive_is_named(make, value):
    name = {RBFKernel: "sigma", Ridge: "lambda"}.get(make, "C")
    with pytest.raises(InputError, match=f"{name} = {value}, but it must be finite and > 0"):
        make(value)


@pytest.mark.parametrize("make", [RBFKernel, Hinge, SquaredHinge, Ridge, lambda c: PolynomialKernel(3, c)])
@pytest.mark.parametrize("value", ["1", [], None, True, {}, 1j, "x" * 1000])
def test_what_is_not_a_number_is_refused(make, value):
    with pytest.raises(InputError, match="but it must be a number") as caught:
        make(value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [5e-324, 1e308, 2.0**-1024])
def test_a_shift_that_float64_cannot_hold_is_refused_where_it_is_needed(value):
    loss = SquaredHinge(value)
    with pytest.raises(InputError, match=r"in float64 it must lie in 1\.1e-308\.\.2\.2e\+307"):
        loss.shift  # noqa: B018


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_an_integer_beyond_float64_is_refused_with_its_size(value):
    for make in (RBFKernel, Hinge, lambda c: PolynomialKernel(3, c), PolynomialKernel):
        with pytest.raises(InputError, match="an integer of 1329 bits"):
            make(value)


@pytest.mark.parametrize("value", [2, np.float32(2), np.int64(2), np.float64(2)])
def test_parameters_become_floats(value):
    for parameter in (RBFKernel(value).sigma, Hinge(value).C, Ridge(value).penalty):
        assert type(parameter) is float
        assert parameter == 2.0


def test_the_ends_of_the_range_of_C_have_a_normal_shift():
    for value in (LEAST_C, MOST_C):
        for derived in (2 * value, SquaredHinge(value).shift):
            assert 2.0**-1022 <= derived < math.inf


def test_the_box_and_the_shift_of_each_loss():
    assert (Hinge(3.0).upper, Hinge(3.0).shift, Hinge.power) == (3.0, 0.0, 1)
    assert (SquaredHinge(4.0).upper, SquaredHinge(4.0).shift, SquaredHinge.power) == (math.inf, 0.125, 2)


def test_kernels_and_losses_are_made_and_described_by_name():
    made = [kernel_from(name, degree=4, offset=2, sigma=0.5) for name in ("linear", "polynomial", "rbf")]
    assert made == [LinearKernel(), PolynomialKernel(4, 2), RBFKernel(0.5)]
    assert [kernels.describe(kernel) for kernel in made] == [
        "linear",
        "polynomial d=4 c=2",
        "rbf sigma=0.5",
    ]
    assert [kernel.name for kernel in made] == ["linear", "polynomial", "rbf"]
    lost = [loss_from(*named) for named in (("svm-l1", 2), ("svm-l2", 2), ("krr", 0.1))]
    assert lost == [Hinge(2), SquaredHinge(2), Ridge(0.1)]
    assert [losses.describe(loss) for loss in lost] == ["svm-l1 C=2", "svm-l2 C=2", "krr lambda=0.1"]


def test_what_elsewhere_has_another_name_is_reported_with_its_own():
    for make in (lambda: RBFKernel(gamma=0.5), lambda: RBFKernel(0.5).gamma):
        with pytest.raises((InputError, AttributeError), match=r"gamma.* is called sigma here"):
            make()
    with pytest.raises(InputError, match="coef0 is called offset here"):
        PolynomialKernel(2, coef0=1.0)
    with pytest.raises(AttributeError, match=r"'RBFKernel' object has no attribute 'width'$"):
        RBFKernel(0.5).width  # noqa: B018
    copied = copy.deepcopy(RBFKernel(0.5))
    assert copied == pickle.loads(pickle.dumps(copied)) == RBFKernel(0.5)


@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
def test_a_penalty_for_each_class_or_sample_is_a_convention_that_is_not_judged(loss):
    with pytest.raises(InputError, match=r"C that differs by class, and weighted samples, .* not judged"):
        loss(C=np.ones(4))


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match=r"a precomputed kernel, .* are known conventions .* not judged"):
        kernel_from("precomputed")
    with pytest.raises(InputError, match="'gauss' is unknown; known: linear, polynomial, rbf"):
        kernel_from("gauss")
    with pytest.raises(InputError, match="'svm' is unknown; known: svm-l1, svm-l2, krr"):
        loss_from("svm")
