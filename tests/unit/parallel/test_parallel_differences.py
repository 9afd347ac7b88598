"""Squared distances by direct difference, dense and CSR: against exact values, over ranks, in a run."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.campaign.verdicts.solvers import SolverTable, make_solvers
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.packet import TRAILER
from sstep_verify.solver.panels import differences
from sstep_verify.solver.panels.differences import DenseDifferences, SparseDifferences, differences_of
from sstep_verify.solver.panels.panel import DistanceGaussian

U = unit_roundoff("float64")
STORAGES = [np.asarray, sp.csr_array]
COLUMNS = [np.array([3]), np.array([4]), np.array([0, 12, 3, 4, 7])]


def plain(function):
    """The function as Python runs it, without the compiler."""
    return getattr(function, "py_func", function)


def drawn(offset: float) -> np.ndarray:
    """Data of 13 samples and 7 features, far from the origin or not, with zeros and equal rows."""
    rng = np.random.default_rng(5)
    values = rng.standard_normal((13, 7)) * 10.0 ** rng.integers(-3, 4, size=(13, 7)) + offset
    values[rng.random((13, 7)) < 0.4] = 0.0
    values[4] = 0.0
    values[12] = values[3]
    return values


def exact_distance(x, z) -> Fraction:
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, z, strict=True)), start=Fraction(0))


def distances(data, columns: np.ndarray) -> np.ndarray:
    panel = np.full((columns.size, data.shape[0]), np.nan)
    differences_of(data).into(panel, columns)
    return panel


def assert_near_exact(panel: np.ndarray, data: np.ndarray, columns: np.ndarray):
    """One rounding of each difference enters twice, then a product and n - 1 sums: gamma_{n+2}."""
    limit = Fraction(gamma(data.shape[1] + 2, U))
    for place, i in enumerate(columns.tolist()):
        for j in range(data.shape[0]):
            exact = exact_distance(data[i].tolist(), data[j].tolist())
            assert abs(Fraction(float(panel[place, j])) - exact) <= limit * exact


@pytest.mark.parametrize("columns", COLUMNS, ids=str)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_every_distance_is_relatively_accurate_however_far_the_origin(offset, storage, columns):
    data = drawn(offset)
    assert_near_exact(distances(storage(data), columns), data, columns)


@pytest.mark.parametrize("storage", STORAGES)
def test_equal_rows_have_distance_zero(storage):
    panel = distances(storage(drawn(1e6)), np.arange(13))
    assert np.diag(panel).tolist() == [0.0] * 13
    assert panel[3, 12] == panel[12, 3] == 0.0


@pytest.mark.parametrize("features", [1, 3, 4, 35, 64])
@pytest.mark.parametrize("storage", STORAGES)
def test_tiles_meet_without_gap_or_overlap(storage, features):
    """Integer data, more samples than a tile has: every sum is exact, so not a bit may differ."""
    samples = differences.SAMPLES_AT_ONCE + 3
    data = np.random.default_rng(1).integers(-9, 10, size=(samples, features)).astype(np.float64)
    columns = np.array([0, samples - 1, 17])
    expected = ((data[columns, None, :] - data[None]) ** 2).sum(axis=2)
    assert np.array_equal(distances(storage(data), columns), expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("cuts", [[0, 7], [0, 3, 7], [0, 0, 2, 2, 6, 7]], ids=str)
def test_partial_distances_sum_to_the_distances(storage, cuts):
    """Ranks hold some of the features, or none; P - 1 more sums, of terms that never cancel."""
    data, columns = drawn(1e4), np.arange(13)
    total = np.zeros((13, 13))
    for begin, end in pairwise(cuts):
        total += distances(storage(data[:, begin:end]), columns)
    assert_near_exact(total, data, columns)


def test_storage_decides():
    data = drawn(0.0)
    assert isinstance(differences_of(data), DenseDifferences)
    assert isinstance(differences_of(sp.csr_array(data)), SparseDifferences)


def test_unsorted_and_repeated_entries_are_put_in_order():
    """A merge of rows needs sorted ones; the caller's matrix stays as it is."""
    data = sp.csr_array((np.array([2.0, 1.0, 3.0, 5.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])))
    panel = distances(data, np.array([0, 1]))
    assert panel.tolist() == [[0.0, 51.0], [51.0, 0.0]]
    assert data.indices.tolist() == [2, 0, 2, 1]


@pytest.mark.parametrize("storage", STORAGES)
def test_compiled_or_not(storage, monkeypatch):
    data, columns = drawn(1e4), np.arange(13)
    for name in ("dense_differences", "sparse_differences", "add_squared_differences"):
        monkeypatch.setattr(differences, name, plain(getattr(differences, name)))
    assert_near_exact(distances(storage(data), columns), data, columns)


def test_the_kernel_function_of_distances():
    panel = np.array([[0.0, 2.0, np.inf]])
    DistanceGaussian(0.5).apply(panel, np.array([0]))
    assert panel.tolist() == [[1.0, np.exp(-1.0), 0.0]]


def far_problem(kernel, storage=np.asarray) -> Problem:
    return Problem("far", storage(drawn(1e4)), np.resize([1.0, -1.0], 13), kernel, Hinge(1.0))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("keep_gram", [False, True])
def test_a_run_uses_the_distances(keep_gram, storage):
    problem = far_problem(RBFKernel(1e-3), storage)
    solver = ProductionSolver(rbf="difference", keep_gram=keep_gram)
    assert solver.declaration.rbf == "difference"
    request = RunRequest(problem, IndexStream("uniform", 13, 1, 5), 5, 5, expose_panels=True)
    trajectory = solver.run(request)
    panel = trajectory.panels[0]
    expected = np.exp(-1e-3 * distances(problem.data, panel.columns))
    assert np.array_equal(panel.entries, expected)
    assert trajectory.counters["collectives"] == 1  # one window, or one block of rows; no norms
    assert trajectory.counters["words"] == 13 * trajectory.counters["panel columns"] + TRAILER


def test_other_kernels_take_no_notice():
    request = RunRequest(far_problem(LinearKernel()), IndexStream("uniform", 13, 1, 20), 4, 20)
    runs = [ProductionSolver(rbf=form).run(request) for form in ("difference", "norm-expansion")]
    assert np.array_equal(runs[0].final, runs[1].final)
    assert runs[0].counters == runs[1].counters


def test_an_unknown_form_is_refused():
    with pytest.raises(InputError, match="rbf = 'squares' is unknown; known: norm-expansion, difference"):
        ProductionSolver(rbf="squares")


@pytest.mark.parametrize("keep_gram", [False, True])
def test_a_campaign_passes_the_form_on_to_all_variants(keep_gram):
    made = make_solvers(SolverTable(keep_gram=keep_gram, rbf="difference"))
    assert {solver.declaration.rbf for solver in made.values()} == {"difference"}
    family = Family(("a",), ("krr",), (RBFKernel(),), (1,), rbf="difference", storage="csr")
    assert family.label == "csr-difference"


CAMPAIGN = """
[campaign]
name = "far"
title = "Far"
description = "Far from the origin"

[[family]]
data = ["diabetes_regression_scale"]
task = ["krr"]
kernel = [{ name = "rbf", sigma = 0.5 }]
s = [4]
rbf = "difference"
"""


def test_a_campaign_file_says_the_form(tmp_path):
    path = tmp_path / "far.toml"
    path.write_text(CAMPAIGN, encoding="utf-8")
    assert read_definition(str(path)).families[0].rbf == "difference"
    path.write_text(CAMPAIGN.replace('"difference"', '"squares"'), encoding="utf-8")
    with pytest.raises(InputError, match="squares"):
        read_definition(str(path))
