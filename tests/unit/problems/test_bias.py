"""A constant feature instead of a bias: what it does to kernels, files, ids, and to accuracy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.case import make_case
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.numerics import kernel_matrix
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
)
from sstep_verify.problems.data.datasets import load
from sstep_verify.problems.transforms import require_usable, with_constant_feature
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.data.partition import Partition
from sstep_verify.solver.data.reading import LocalData, with_bias

FAMILY = """
[campaign]
name = "mine"
title = "t"
description = "d"

[[family]]
data = ["breast_cancer_scale"]
task = ["svm-l1"]
kernel = [{ name = "linear" }]
s = [1, 4]
bias = 1.0

[[family]]
data = ["breast_cancer_scale"]
task = ["svm-l1"]
kernel = [{ name = "linear" }]
s = [1, 4]
"""


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from([0.5, 1.0, 4.0]), st.booleans())
def test_the_linear_kernel_gains_the_square_and_the_polynomial_an_offset(samples, features, bias, sparse):
    # Small integers and a power of two: every operation is exact.
    data = np.random.default_rng(samples).integers(-3, 4, (samples, features)).astype(float)
    stored = sp.csr_array(data) if sparse else data
    labels = np.ones(samples)
    with_feature = with_constant_feature(stored, bias)
    assert sp.issparse(with_feature) == sparse
    assert with_feature.shape == (samples, features + 1)

    def matrix(values, kernel):
        return kernel_matrix(Problem("drawn", values, labels, kernel, Hinge()))

    plain = matrix(stored, LinearKernel())
    np.testing.assert_array_equal(matrix(with_feature, LinearKernel()), plain + bias**2)
    np.testing.assert_array_equal(
        matrix(with_feature, PolynomialKernel(2, 1.0)), matrix(stored, PolynomialKernel(2, 1.0 + bias**2))
    )


def test_no_bias_is_no_feature():
    data = np.ones((2, 2))
    assert with_constant_feature(data, 0.0) is data


@pytest.mark.parametrize(
    ("bias", "kernel", "named"),
    [
        (-1.0, LinearKernel(), "-1"),
        (np.inf, LinearKernel(), "inf"),
        (np.nan, LinearKernel(), "nan"),
        (2.0, RBFKernel(), "2 with the rbf kernel"),
    ],
)
def test_an_unusable_bias_is_refused(bias, kernel, named):
    with pytest.raises(InputError, match=named):
        require_usable(bias, kernel)
    require_usable(0.0, kernel)


def test_a_family_with_a_bias_is_another_case_on_other_data(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FAMILY, encoding="utf-8")
    specs = [spec for unit in expand(read_definition(str(path))) for spec in unit.work]
    plain = "breast_cancer_scale/linear/svm-l1/C=1"
    assert [spec.id for spec in specs] == [f"{plain}/bias=1", plain]
    data = load("breast_cancer_scale")
    problems = [make_case(spec, data, {"": Declaration("x")}, "mine", "").problem for spec in specs]
    assert [problem.features for problem in problems] == [31, 30]
    assert (problems[0].dense[:, -1] == 1.0).all()
    path.write_text(FAMILY.replace('"linear"', '"rbf"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"family 1: bias = 1 with the rbf"):
        read_definition(str(path))


@pytest.mark.parametrize("order", [None, np.array([0, 2, 1], dtype=np.int32)], ids=["runs", "dealt"])
@pytest.mark.parametrize("rank", [0, 1])
def test_the_last_rank_holds_the_constant_feature(rank, order):
    partition = Partition(np.array([0, 2, 3]), np.array([6, 3]), np.array([18.0, 9.0]), order)
    part = partition.columns(rank)
    local = LocalData(np.arange(9.0).reshape(3, 3)[:, part].copy(), np.ones(3), 3, partition)
    communicator = SelfCommunicator()
    communicator.rank, communicator.size = rank, 2
    found = with_bias(local, 2.0, communicator)
    assert found.features == 4
    assert found.partition.starts.tolist() == [0, 2, 4]
    assert found.partition.loads.tolist() == [6, 6]
    assert found.partition.works.tolist() == [18.0, 18.0]
    assert order is None or found.partition.order.tolist() == [0, 2, 1, 3]
    assert found.data.shape == (3, 2)
    assert (found.data[:, -1] == 2.0).all() == bool(rank)
    assert partition.starts.tolist() == [0, 2, 3]
    assert with_bias(local, 0.0, communicator) is local
