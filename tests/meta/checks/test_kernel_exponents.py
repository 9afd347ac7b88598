"""What wrong entries of an RBF kernel say of its exponent, and of which other mistakes it is not said."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from daily import crossed
from judged import judged, named, named_case

from sstep_verify.checks.recorded import kernel_entries as check
from sstep_verify.problems import Hinge, RBFKernel, Ridge
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status

OTHER_SIGMA, ONE_NORM, OTHER_NORMS = (
    "sigma off by a factor",
    "a squared norm left out",
    "other squared norms",
)


def verdicts_with(entries_of, loss, difference, *, among=False, **options):
    """Verdicts by s on runs whose panels hold the entries that a function of the case and panel gives.

    Those `among` the coordinates of a window alone are kept, if asked for.
    """
    solver = ProductionSolver(rbf="difference" if difference else "norm-expansion")
    case, tested = named_case(loss, RBFKernel(0.3), solver=solver, **options)

    def change(run):
        panels = {}
        for begin, panel in run.panels.items():
            entries, rows = entries_of(case.problem, panel), panel.columns
            panels[begin] = Panel(rows, entries[:, rows], rows) if among else Panel(rows, entries)
        return dataclasses.replace(run, panels=panels)

    return judged(check, case, tested, change=change)


def expanded(problem, rows, of_rows, of_columns, sigma=0.3):
    """Entries by norm expansion from norms of one's own; a negative distance is taken as 0."""
    data = problem.dense
    distances = of_rows[:, None] + of_columns - 2 * (data[rows] @ data.T)
    entries = np.exp(-sigma * np.maximum(distances, 0.0))
    entries[np.arange(rows.size), rows] = 1.0
    return entries


def norms_of(problem):
    return np.einsum("ij,ij->i", problem.dense, problem.dense)


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)], ids=str)
@pytest.mark.parametrize("factor", [1 / 0.3, 0.3, 1 + 1e-9, 40.0])
def test_another_sigma_is_named_with_its_factor(factor, loss, difference):
    def entries(problem, panel):
        norms = norms_of(problem)
        return expanded(problem, panel.columns, norms[panel.columns], norms, 0.3 * factor)

    for verdict in verdicts_with(entries, loss, difference).values():
        assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-1.7")
        (defect,) = verdict.defects
        assert defect.names == (OTHER_SIGMA,)
        assert defect.factor == pytest.approx(factor, rel=1e-12)


def of_first_samples(norms, rows):
    """A second rank, which holds the second half of the samples, takes the norms of the first."""
    half = norms.size // 2
    return norms[rows], np.concatenate([norms[:half], norms[:half]])


NORMS = {
    "of a rank's first samples": (of_first_samples, OTHER_NORMS),
    "of the next sample, of rows": (lambda norms, rows: (np.roll(norms, 1)[rows], norms), OTHER_NORMS),
    "of the window's first row": (lambda norms, rows: (norms[rows[[0] * rows.size]], norms), OTHER_NORMS),
    "off by 1e-6": (lambda norms, rows: (norms[rows], norms * (1 + 1e-6)), OTHER_NORMS),
    "of the other sample left out": (lambda norms, rows: (norms[rows], 0 * norms), ONE_NORM),
    "of the row left out": (lambda norms, rows: (0 * norms[rows], norms), ONE_NORM),
}


@pytest.mark.parametrize("among", [False, True])
@pytest.mark.parametrize("name", NORMS)
def test_other_norms_are_named(name, among):
    norms_by, defect = NORMS[name]

    def entries(problem, panel):
        return expanded(problem, panel.columns, *norms_by(norms_of(problem), panel.columns))

    verdict = verdicts_with(entries, Hinge(0.5), False, among=among, samples=24)[16]
    assert (verdict.status, verdict.requirement, named(verdict)) == (Status.FAIL, "S-1.7", [defect])


def one_off(problem, panel, factor):
    entries = np.array(panel.entries)
    entries[0, panel.columns[0] - 1] *= factor
    return entries


def lost(problem, panel, kept):
    data = problem.dense[:, kept]
    return np.exp(-0.3 * np.square(data[panel.columns][:, None] - data).sum(axis=2))


def of_other_sample(problem, panel):
    entries = np.array(panel.entries)
    entries[:, 3] = entries[:, 4]
    return entries


def moved(problem, panel, by_rows, factor):
    entries = np.array(panel.entries)
    if by_rows:
        entries[-1] *= factor
    else:
        entries[:, 5:8] *= factor
    return entries


OTHERS = {
    "one entry larger": lambda *of: one_off(*of, 1 + 1e-9),
    "one entry smaller": lambda *of: one_off(*of, 1 - 1e-9),
    "first feature lost": lambda *of: lost(*of, slice(1, None)),
    "last feature lost": lambda *of: lost(*of, slice(-1)),
    "a feature twice": lambda *of: lost(*of, [0, 1, 2, 3, 3]),
    "entry of another sample": of_other_sample,
    "a row larger": lambda *of: moved(*of, True, 1 + 1e-9),
    "a row smaller": lambda *of: moved(*of, True, 1 - 1e-9),
    "columns of a rank larger": lambda *of: moved(*of, False, 1 + 1e-9),
    "columns of a rank smaller": lambda *of: moved(*of, False, 1 - 1e-9),
    "whole kernel smaller": lambda problem, panel: panel.entries * (1 - 1e-9),
    "1 added": lambda problem, panel: panel.entries + 1.0,
    "all 1": lambda problem, panel: np.ones_like(panel.entries),
    "in float32": lambda problem, panel: panel.entries.astype(np.float32).astype(np.float64),
    "noise": lambda problem, panel: (
        panel.entries * (1 + 1e-6 * np.random.Generator(np.random.PCG64(1)).random(panel.entries.shape))
    ),
}


@pytest.mark.parametrize(("name", "difference"), crossed(OTHERS, [False, True], of=2))
def test_other_mistakes_are_not_reported_by_the_exponent(name, difference):
    for verdict in verdicts_with(OTHERS[name], Hinge(0.5), difference, samples=16).values():
        assert verdict.status is Status.FAIL
        assert not {OTHER_SIGMA, ONE_NORM, OTHER_NORMS} & {*named(verdict)}
        assert verdict.requirement != "S-1.7"


@pytest.mark.parametrize("seed", range(8))
def test_features_that_are_lost_from_whole_numbers_are_never_reported_as_norms(seed):
    """Samples of few ones, so that a lost feature moves most distances of a column alike."""
    generator = np.random.Generator(np.random.PCG64(seed))
    data = (generator.random((20, 6)) < 0.3).astype(np.float64)
    kept = np.delete(np.arange(6), seed % 6)
    case, tested = named_case(Hinge(0.5), RBFKernel(0.3), samples=20, s_values=(3, 16))
    case = dataclasses.replace(case, problem=dataclasses.replace(case.problem, data=data))

    def change(run):
        panels = {
            begin: Panel(panel.columns, lost(case.problem, panel, kept))
            for begin, panel in run.panels.items()
        }
        return dataclasses.replace(run, panels=panels)

    for verdict in judged(check, case, tested, change=change).values():
        assert not {OTHER_SIGMA, ONE_NORM, OTHER_NORMS} & {*named(verdict)}
