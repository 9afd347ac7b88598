"""A campaign that claims a kernel has the problems on which mistakes in one show, whatever its solver."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import CallableSolver, Declaration, verify
from sstep_verify.campaign import shipped
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.problems.data.embedded import is_edges
from sstep_verify.solver import ProductionSolver

CLAIMS = ("ci", "deep", "embedded")
"""Campaigns that claim kernels."""

OTHERS = {
    "varied": "claims options of the solver, on other parameters than the other campaigns have",
    "smoke": "a first answer, each task and kernel once; ci is what claims a kernel",
    "parallel": "claims exchanges between ranks, on the kernels that the others judge",
    "paper": "the problems of the paper, on its data",
    "paper-reference": "the same",
    "embedded-reference": "the reference, from which the exact runs of all the others come",
}
"""Campaigns with verdicts that claim something else."""


def _cases(name):
    return [spec for unit in expand(read_definition(name)) for spec in unit.work]


def test_every_shipped_campaign_with_verdicts_claims_kernels_or_says_why_not():
    with_verdicts = {name for name in shipped() if read_definition(name).kind == "family"}
    assert with_verdicts >= set(CLAIMS)
    assert with_verdicts - set(CLAIMS) == set(OTHERS)


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("svm", [True, False])
def test_a_campaign_that_claims_a_kernel_has_both_parities_offsets_and_what_data_may_hold(name, svm):
    specs = [spec for spec in _cases(name) if (spec.task != "krr") == svm]
    kernels = {spec.kernel.name for spec in specs}
    assert kernels == {"linear", "polynomial", "rbf"}
    powers = {
        (one.degree % 2, one.offset == 0) for spec in specs if (one := spec.kernel).name == "polynomial"
    }
    assert {parity for parity, _ in powers} == {0, 1}
    assert {zero for _, zero in powers} == {True, False}
    assert not svm or len(powers) == 4, "labels inside the kernel show in some of these alone"
    loaded = {data: load_data(data, None) for data in {spec.data for spec in specs} if is_edges(data)}
    for kernel in kernels:
        held = [loaded[one.data] for one in specs if one.kernel.name == kernel and one.data in loaded]
        assert any((one.data == 0).all(axis=1).any() for one in held), "an empty sample"
        assert any((one.data == 0).all(axis=0).any() for one in held), "an empty feature"
        assert any(len(np.unique(one.data, axis=0)) < len(one.data) for one in held), "a sample twice"
        assert not svm or any(len(set(one.targets)) == 1 for one in held), "one label throughout"


def _labels_inside(problem, blocks, s, a0, log):
    """A K-SVM-L1 of the kernel of diag(y) A, where the labels belong outside."""
    A, kernel, C, a = problem.dense, problem.kernel, problem.loss.C, a0.copy()
    signed = A * problem.targets[:, None]
    base = signed @ signed.T + kernel.offset
    Q = base.copy()
    for _ in range(kernel.degree - 1):
        Q = Q * base
    for place, i in enumerate(blocks[:, 0]):
        a[i] = min(max(a[i] - (Q[i] @ a - 1) / Q[i, i], 0.0), C) if Q[i, i] else C
        log[place, 0] = a[i]
    return a


@pytest.mark.nightly
@pytest.mark.usefixtures("unexplained")
def test_labels_inside_the_kernel_are_refused_by_ci():
    solver = CallableSolver(_labels_inside, Declaration("inside", log=True))
    found = verify(solver, "ci", tasks=["svm-l1"], kernels=["polynomial"])
    assert found.results.summary.exit_code == 1
    wrong = {case.id for case in found.results.cases if case.status == "FAIL"}
    right = {case.id for case in found.results.cases if case.status == "PASS"}
    assert any("degree=2,offset=0" in case for case in wrong)
    # (y_i y_j z)^3 = y_i y_j z^3: there the mistake is none.
    assert len(right) == 1
    assert all("degree=3,offset=0/" in case for case in right)


def test_data_of_a_users_own_take_the_place_of_every_set_but_those_made_for_what_they_hold():
    given = profile_of("ci", ProductionSolver(), Selection(data="wide"), "check")
    assert {family.data for family in given.families} == {("wide",)}
    assert not any(is_edges(spec.data) for unit in expand(given) for spec in unit.work)
