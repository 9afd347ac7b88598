"""Selection by ``--only TEXT``: parts of ids in which no number is cut in two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.campaign.cases import chosen, matches
from sstep_verify.problems.kernels import (
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
    identify,
    shortest,
)

POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "case_id", "expected"),
    [
        ("", "duke/linear/svm-l1/C=1", True),
        ("C=1", "duke/linear/svm-l1/C=1", True),
        ("C=1", "duke/linear/svm-l1/C=1/csr", True),
        ("C=1", "duke/linear/svm-l1/C=100", False),
        ("C=1", "duke/linear/svm-l1/C=1.5", False),
        ("C=1", "duke/linear/svm-l1/C=1e-05", False),
        ("C=1", "duke/linear/svm-l1/C=10/C=1", True),
        ("1/b=4", "abalone/linear/krr/lambda=1/b=4", True),
        ("1/b=4", "abalone/linear/krr/lambda=0.1/b=4", False),
        ("du", "duke/linear/svm-l1/C=1", True),
        ("rbf", "duke/rbf,sigma=1/svm-l1/C=1", True),
        ("rbf,sigma=1", "duke/rbf,sigma=1.5/svm-l1/C=1", False),
        ("a9", "a9a/linear/svm-l1/C=1", True),
        ("sigma.1", "duke/rbf,sigma=1/svm-l1/C=1", False),
    ],
)
def test_a_number_is_whole_or_does_not_match(text, case_id, expected):
    assert matches(text, case_id) is expected


def test_a_whole_id_selects_its_case_alone():
    ids = ["duke/linear/svm-l1/C=1", "duke/linear/svm-l1/C=1/csr"]
    assert chosen(ids[0], ids) == {ids[0]}
    assert chosen("svm-l1/C=1", ids) == set(ids)


@given(POSITIVE, POSITIVE)
def test_the_id_of_one_parameter_never_selects_another(one, other):
    cases = [f"duke/rbf,sigma={shortest(value)}/svm-l1/C={shortest(value)}" for value in (one, other)]
    assert matches(f"C={shortest(one)}", cases[1]) is (one == other)
    assert matches(identify(RBFKernel(one)), cases[1]) is (one == other)
    assert float(shortest(one)) == one


def test_a_kernel_is_identified_by_name_and_all_parameters():
    kernels = (LinearKernel(), RBFKernel(0.1), PolynomialKernel(2, 1.5))
    assert [identify(kernel) for kernel in kernels] == [
        "linear",
        "rbf,sigma=0.1",
        "polynomial,degree=2,offset=1.5",
    ]
