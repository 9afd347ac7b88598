"""A feature that no sample has changes no certificate, and takes neither time nor memory."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.campaign.memory import certificate_need
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.certificate.optimum import ridge_optimum, svm_optimum
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.kernel import present
from sstep_verify.problems import (
    Hinge,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)

FAR = 10_000_000
"""Features of a file with one large index."""


def drawn(seed: int) -> Problem:
    """A small problem; its samples have every feature."""
    generator = np.random.Generator(np.random.PCG64([64, seed]))
    m, n = int(generator.integers(2, 9)), int(generator.integers(1, 6))
    kernel = (LinearKernel(), PolynomialKernel(2, 0.5), PolynomialKernel(3), RBFKernel(0.5))[seed % 4]
    loss = (Hinge(1.5), SquaredHinge(0.75), Ridge(0.5))[seed % 3]
    data = generator.standard_normal((m, n))
    labels = np.where(generator.random(m) < 0.5, -1.0, 1.0)
    return Problem("drawn", data, labels if loss.labelled else labels * generator.random(m), kernel, loss)


def with_gaps(problem: Problem, seed: int, features: int) -> Problem:
    """The problem with its features, in their order, among as many; CSR."""
    places = np.sort(np.random.default_rng(seed).choice(features - 1, problem.features, replace=False))
    places[-1] = features - 1
    m = problem.samples
    row = np.repeat(np.arange(m), problem.features)
    entries = (problem.dense.ravel(), (row, np.tile(places, m)))
    return replace(problem, data=sp.csr_array(sp.coo_array(entries, shape=(m, features))))


@pytest.mark.parametrize("seed", range(12))
def test_a_certificate_is_that_of_the_features_that_occur(seed):
    problem = drawn(seed)
    sparse = with_gaps(problem, seed, FAR)
    dense = with_gaps(problem, seed, 12)
    dense = replace(dense, data=dense.dense)
    wanted = certify(problem, 20)
    for other in (sparse, dense):
        found = certify(other, 20)
        assert found.subject.features == other.features
        for one in fields(wanted):
            if one.name != "subject":
                assert getattr(found, one.name) == getattr(wanted, one.name), one.name
        verify_certificate(found, other.data, other.targets)
        optimum = svm_optimum if problem.is_svm else ridge_optimum
        assert (optimum(other).alpha == optimum(problem).alpha).all()
    needs = [certificate_need("drawn", one.data, svm=problem.is_svm)[0] for one in (problem, dense, sparse)]
    assert needs[0] == needs[1] == needs[2]
    assert "dense" not in vars(sparse)


def test_samples_without_any_feature_keep_one():
    problem = Problem("zeros", sp.csr_array((3, FAR)), np.array([1.0, -1.0, 1.0]), RBFKernel(), Hinge(2.0))
    wanted = certify(replace(problem, data=np.zeros((3, 1))), 20)
    assert certify(problem, 20).objective == wanted.objective


class Counting(Kernel):
    """A kernel that may depend on how many features there are."""

    name = "counting"


def test_a_kernel_of_ones_own_has_all_features():
    problem = drawn(0)
    other = replace(with_gaps(problem, 0, 12), kernel=Counting())
    assert present(other).shape == other.dense.shape
