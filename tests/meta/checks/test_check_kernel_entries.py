"""The check kernel-entries: red for a panel that holds other values, green for the right ones in every
storage and precision, vacuous where entries say nothing of the data, silent where nothing is exposed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from judged import assert_teaches, judged, named_case
from plant import plant

from sstep_verify.checks.recorded import kernel_entries as check
from sstep_verify.diagnosis.kernel_rows import panel_defects
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, RBFKernel, Ridge
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.panels import panel as kernel_functions
from sstep_verify.solver.panels import products
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status, Why

KERNELS = [LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.3)]


@pytest.mark.parametrize("keep_gram", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)], ids=str)
def test_right_panels_pass(loss, kernel, keep_gram):
    case, tested = named_case(loss, kernel, solver=ProductionSolver(keep_gram=keep_gram))
    verdicts = judged(check, case, tested)
    assert sorted(verdicts) == [1, 4, 16]
    for verdict in verdicts.values():
        assert verdict.status is Status.PASS
        assert 0 < verdict.executed == verdict.planned
        assert all(term.status is Status.PASS and term.largest > 2 for term in verdict.terms)
        assert {panel["window_begins"] for panel in verdict.evidence["panels"]} >= {0}
    names = {term.name for term in verdicts[4].terms}
    assert ("labels inside the kernel" in names) == isinstance(loss, Hinge)
    assert ("norms dropped" in names) == (kernel.name == "rbf")


def test_right_sparse_panels_pass():
    case, tested = named_case(Hinge(0.5), RBFKernel(0.3))
    data = np.where(np.abs(case.problem.dense) < 0.7, 0.0, case.problem.dense)
    case = dataclasses.replace(case, problem=dataclasses.replace(case.problem, data=sp.csr_array(data)))
    assert {v.status for v in judged(check, case, tested).values()} == {Status.PASS}


@pytest.mark.parametrize(
    ("kernel", "module", "old", "new", "named"),
    [
        (RBFKernel(0.3), kernel_functions, "own + norms[column] - 2.0", "0.0 - 2.0", ""),
        (RBFKernel(0.3), kernel_functions, "norms[column] - 2.0", "norms[column] - 1.9999999", ""),
        (PolynomialKernel(3, 0.5), kernel_functions, "range(degree - 1)", "range(degree)", ""),
        (LinearKernel(), products, "few_products(self._by_feature, self._data,",
         "few_products(self._by_feature[:2], self._data[:, :2].copy(),", "features lost in the reduction"),
    ],
)  # fmt: skip
def test_a_planted_defect_fails_with_a_reason(kernel, module, old, new, named):
    with plant(module, (old, new)):
        verdicts = judged(check, *named_case(Hinge(0.5), kernel))
    assert verdicts[16].status is Status.FAIL
    assert verdicts[16].ratio > 1
    assert_teaches(verdicts[16])
    assert verdicts[16].place.found != verdicts[16].place.expected
    if named:
        assert verdicts[16].defects[0].names == (named,)


def _exposing(case, entries_of):
    """A change of the trajectory that replaces the entries of its panels."""

    def change(trajectory):
        panels = {
            begin: Panel(panel.columns, entries_of(case, panel))
            for begin, panel in trajectory.panels.items()
        }
        return dataclasses.replace(trajectory, panels=panels)

    return change


@pytest.mark.parametrize(
    "name", ["labels inside the kernel", "norms dropped", "kernel applied before the reduction"]
)
def test_a_named_defect_is_named(name):
    case, tested = named_case(Hinge(0.5), RBFKernel(0.3))

    def defective(case, panel):
        return panel_defects(case.problem, case.declaration, panel.columns)[name].values

    for verdict in judged(check, case, tested, change=_exposing(case, defective)).values():
        assert verdict.status is Status.FAIL
        assert (name,) in [one.names for one in verdict.defects]


def test_one_wrong_entry_among_all_is_found():
    case, tested = named_case(Hinge(0.5), samples=40, s_values=(16,))

    def disturbed(case, panel):
        entries = panel.entries.copy()
        entries[panel.columns.size // 2, 7] *= 1 + 1e-12
        return entries

    verdict = judged(check, case, tested, change=_exposing(case, disturbed))[16]
    assert verdict.status is Status.FAIL
    assert verdict.place.column == 7


@pytest.mark.parametrize("kernel", [LinearKernel(), RBFKernel(0.3)], ids=lambda kernel: kernel.name)
def test_a_wrong_diagonal_among_right_entries_is_found(kernel):
    case, tested = named_case(Hinge(0.5), kernel, s_values=(16,))

    def disturbed(case, panel):
        entries = panel.entries.copy()
        entries[np.arange(panel.columns.size), panel.columns] *= 1 + 1e-11
        return entries

    verdict = judged(check, case, tested, change=_exposing(case, disturbed))[16]
    assert verdict.status is Status.FAIL


def test_squared_norms_of_a_lower_precision_are_found():
    case, tested = named_case(Hinge(0.5), RBFKernel(0.3), s_values=(16,))

    def disturbed(case, panel):
        data = case.problem.dense
        norms = np.einsum("ij,ij->i", data, data).astype(np.float32).astype(np.float64)
        products = data[panel.columns] @ data.T
        return np.exp(-0.3 * (norms[panel.columns, None] + norms - 2 * products))

    verdict = judged(check, case, tested, change=_exposing(case, disturbed))[16]
    assert verdict.status is Status.FAIL


def test_a_panel_without_a_row_of_a_drawn_coordinate_fails():
    case, tested = named_case(Hinge(0.5), s_values=(4,))

    def lose(trajectory):
        panels = {
            begin: Panel(panel.columns[1:], panel.entries[1:]) for begin, panel in trajectory.panels.items()
        }
        return dataclasses.replace(trajectory, panels=panels)

    verdict = judged(check, case, tested, change=lose)[4]
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-5.2")


def test_a_value_that_is_not_finite_fails():
    case, tested = named_case(Hinge(0.5), s_values=(4,))
    change = _exposing(case, lambda case, panel: np.full_like(panel.entries, np.nan))
    assert judged(check, case, tested, change=change)[4].status is Status.FAIL


def test_the_bound_is_that_of_the_declared_precision():
    case, tested = named_case(Hinge(0.5), s_values=(4,))

    def entries(case, panel):
        data = case.problem.dense.astype("float32")
        return data[panel.columns] @ data.T

    declared = dataclasses.replace(case.declaration, precision="float32")
    honest = dataclasses.replace(case, declaration=declared)
    assert judged(check, honest, tested, change=_exposing(case, entries))[4].status is Status.PASS
    assert judged(check, case, tested, change=_exposing(case, entries))[4].status is Status.FAIL


def test_an_identity_matrix_says_nothing_of_the_data():
    case, tested = named_case(Hinge(1.0), RBFKernel(1.0), scale=100.0)
    for verdict in judged(check, case, tested).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.terms[0].why is Why.WITHIN_BOUND
        assert "features lost" in verdict.terms[0].name


def test_no_panel_is_no_verdict_unless_one_was_promised():
    case, tested = named_case(Hinge(0.5))
    empty = lambda trajectory: dataclasses.replace(trajectory, panels={})  # noqa: E731
    promised = judged(check, case, tested, change=empty)
    assert {verdict.status for verdict in promised.values()} == {Status.INCONCLUSIVE}
    assert all(verdict.executed == 0 < verdict.planned for verdict in promised.values())
    silent = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, panels=False))
    assert check.CHECK.runs(silent) == {}
    assert judged(check, silent, tested, of=()) == {}


def test_a_run_that_is_not_asked_keeps_no_panel():
    case, tested = named_case(Hinge(0.5))
    request = dataclasses.replace(check.CHECK.runs(case)["panels/s=4"], expose_panels=False)
    assert tested.run(request).panels == {}
