"""Defects planted in the difference form of the RBF kernel turn the checks red, far from the origin."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import scipy.sparse as sp
from judged import assert_teaches, judged, small_case
from plant import plant

from sstep_verify import solver as production
from sstep_verify.checks import window_replay
from sstep_verify.checks.recorded import kernel_entries, message_count
from sstep_verify.problems import Hinge, RBFKernel, Ridge, SquaredHinge
from sstep_verify.solver.panels import differences, panel
from sstep_verify.verdict import Status

LOSSES = [Hinge(4.0), SquaredHinge(2.0), Ridge(0.05)]
EXPANDED = (panel, 'rbf == "difference"', "not rbf")
PLANTS = {
    "dense, norms expanded": EXPANDED,
    "dense, features beyond a multiple of four lost": (
        differences, "range(fours, own.size)", "range(fours, fours)",
    ),
    "dense, a square lost": (differences, "(d2 * d2 + d3 * d3)", "d2 * d2"),
    "dense, another sample": (differences, "bottom, sampled[place]]", "bottom, 0]"),
    "dense, sigma squared": (panel, "panel, -self._sigma,", "panel, -self._sigma**2,"),
    "csr, norms expanded": EXPANDED,
    "csr, end of the sampled row lost": (differences, "range(mine, last)", "range(mine, mine)"),
    "csr, end of the other row lost": (differences, "range(its, end)", "range(its, its)"),
    "csr, only shared features": (differences, "total += difference", "total += takes * gives * difference"),
}  # fmt: skip


def far_case(loss, storage: str, offset: float = 1e4):
    """Six features moved far away; as CSR, one of them, next to five of which half the entries are absent."""
    made = production.ProductionSolver(rbf="difference")
    case, _ = small_case(loss, RBFKernel(0.3), features=6, s_values=(16,), solver=made)
    data = case.problem.dense + offset
    if storage == "csr":
        near = case.problem.dense
        data = sp.csr_array(np.column_stack([data[:, :1], np.where(abs(near) < 0.7, 0.0, near)[:, 1:]]))
    return dataclasses.replace(case, problem=dataclasses.replace(case.problem, data=data)), made


@functools.cache
def unplanted(loss, storage: str, check) -> Status:
    """Status of the solver as it is."""
    return judged(check, *far_case(loss, storage))[16].status


PAIRS = [(loss, check) for check in (window_replay, kernel_entries) for loss in LOSSES]


@pytest.mark.parametrize(
    ("name", "loss", "check"),
    [
        pytest.param(name, *pair, marks=[pytest.mark.nightly] * ((row - column) % len(PAIRS) != 0))
        for row, name in enumerate(PLANTS)
        for column, pair in enumerate(PAIRS)
    ],
    ids=lambda one: getattr(one, "ID", str(one)),
)
def test_a_planted_defect_is_red_where_the_unplanted_solver_is_green(name, loss, check):
    module, *edit = PLANTS[name]
    storage = name.partition(",")[0]
    assert unplanted(loss, storage, check) is Status.PASS
    with plant(module, tuple(edit)):
        verdict = judged(check, *far_case(loss, storage))[16]
    assert verdict.status is Status.FAIL
    assert_teaches(verdict)


def test_norms_that_were_declared_away_are_counted():
    module, *edit = EXPANDED
    assert judged(message_count, *far_case(Hinge(0.5), "dense"))[16].status is Status.PASS
    with plant(module, tuple(edit)):
        assert judged(message_count, *far_case(Hinge(0.5), "dense"))[16].status is Status.FAIL


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_norms_dropped_would_be_seen_where_their_exponential_overflows(offset):
    """Without norms an entry is exp of about 1e8, infinite: neither beyond sight nor named in vain."""
    case, tested = far_case(Hinge(0.5), "dense", offset)
    term = {term.name: term for term in judged(kernel_entries, case, tested)[16].terms}["norms dropped"]
    assert (term.status, term.largest) == (Status.PASS, np.inf)
    with plant(*EXPANDED[:1], EXPANDED[1:]):
        other = judged(kernel_entries, *far_case(Hinge(0.5), "dense", offset))[16]
    assert ("norms dropped",) not in [one.names for one in other.defects]
    dropped = (panel, ("own + norms[column] - 2.0", "0.0 - 2.0"), ("max(distance, 0.0)", "distance"),
               ("            panel[row, columns[row] - first] = 0.0\n", "            pass\n"))  # fmt: skip
    with plant(*dropped), np.errstate(over="ignore"):
        made = production.ProductionSolver()
        expanding = dataclasses.replace(case, declaration=made.declaration)
        exact = judged(kernel_entries, expanding, made)[16]
    assert ("norms dropped",) in [one.names for one in exact.defects]
