"""One edit of every kind of the catalogue, on small problems in this process: a check says FAIL.

Campaign `sensitivity-edits` plants all of them and lets the shipped campaigns judge.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from judged import judged, small_case
from plant import edited_source, plant
from planted_ranks import PlantedSolver

from sstep_verify.adapters.training import TrainingSolver
from sstep_verify.checks import step_replay
from sstep_verify.checks.recorded import claim_honesty, message_count
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status
from studies.corpus.listing import PRODUCTION, edits

L1, L2, KRR = Hinge(0.5), SquaredHinge(1.0), Ridge(0.1)
RBF = RBFKernel(0.1)
KINDS = {
    "term dropped": ("omega not in the gradient", L2, RBF, {}, {}),
    "scaled": ("svm correction 1e-12", L2, LinearKernel(), {"s_values": (16,)}, {}),
    "off by one": ("svm correction begins one late", L2, RBF, {"s_values": (2,)}, {}),
    "stale": ("frozen: increments of the window not cleared", L2, RBF, {"s_values": (16,)}, {"update": "frozen"}),
    "wrong box": ("lower end at 1e-12", L1, RBF, {}, {}),
    "labels": ("label missing in the weighted vector", L2, RBF, {}, {}),
    "float32": ("panel rounded to float32", L2, RBF, {}, {}),
    "rare": ("tail of the run, rows 1e-9", L2, RBF, {"s_values": (16,)}, {}),
    "window border": (
        "kept rows: products of all windows from the first window's rows", L2, RBF, {}, {"keep_gram": True},
    ),
    "one s": ("odd s only, the last correction missing", L2, RBF, {"s_values": (5,)}, {}),
    "touched list": (
        "krr gathered correction misses the first coordinate", KRR, RBF,
        {"s_values": (4,), "samples": 80}, {},
    ),
    "chunk border": (
        "krr fresh products of the first 16 rows of a block only", KRR, RBF,
        {"s_values": (4,), "samples": 40, "block": 20, "iterations": 9}, {},
    ),
    "Cholesky": (
        "Cholesky update of rows after the fours, last 1 to 3 rows left out", KRR, RBF, {"block": 7}, {},
    ),
    "wrong rows": ("place of a coordinate drawn again is the last column's", L2, RBF, {"s_values": (16,)}, {}),
    "wrong norm": ("norm of the other sample missing", L2, RBF, {}, {}),
    "lost feature": ("last feature lost in panels of several rows", L2, LinearKernel(), {"s_values": (4,)}, {}),
    "resumed": ("labels forgotten in the weighted vector a run begins with", L2, RBF, {"start": 30}, {}),
    "cache": ("slot of an evicted row not reset", L2, RBF, {"s_values": (4,)}, {"cache": 60}),
    "recomputed": (
        "weights formed anew without labels", L2, LinearKernel(), {"s_values": (4,)},
        {"exchange": "gram", "recompute": 3},
    ),
    "CSR only": ("CSR: sums 1e-9", L2, LinearKernel(), {"storage": sp.csr_array}, {}),
    "lost rank": ("share of rank 1 missing in one exchange", L2, LinearKernel(), {"iterations": 600, "s_values": (4,)}, 2),
    "claims": ("gap of free coordinates left out", L1, LinearKernel(), {"s_values": (4,)}, "training"),
    "messages": (
        "a collective too many in every 64th window", L2, LinearKernel(), {"iterations": 300, "s_values": (4,)}, 2,
    ),
}  # fmt: skip

CHECKS = {"claims": claim_honesty, "messages": message_count}
"""Checks of kinds that are in no step."""


def case_of(loss, kernel, parts, options):
    """The small case, and the solver with its options: of one rank, of several, or in training."""
    parts = dict(parts)
    start, storage = parts.pop("start", 0), parts.pop("storage", None)
    if options == "training":
        solver = TrainingSolver(interval=2, tolerance=1e-12)
    else:
        solver = ProductionSolver(**({} if isinstance(options, int) else options))
    case, tested = small_case(loss, kernel, solver=solver, **parts)
    if storage:
        case = replace(case, problem=replace(case.problem, data=storage(case.problem.data)))
    if start:
        stream = case.stream
        longer = IndexStream(stream.kind, stream.samples, stream.block, stream.length + start, stream.seed)
        case = replace(case, stream=longer, start=start, initial=np.linspace(0.1, 0.4, stream.samples))
    return case, tested


def statuses(check, case, tested):
    """Statuses of all verdicts of a check."""
    return {verdict.status for verdict in judged(check, case, tested).values()}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_each_kind_fails_where_the_unedited_solver_passes(kind):
    name, loss, kernel, parts, options = KINDS[kind]
    (edit,) = (edit for edit in edits() if edit.id == PRODUCTION + name)
    assert edit.sort == kind
    case, tested = case_of(loss, kernel, parts, options)
    check = CHECKS.get(kind, step_replay)
    assert statuses(check, case, tested) == {Status.PASS}
    if isinstance(options, int):
        planted = PlantedSolver(options, {edit.module: [(edit.before, edit.after)]})
        assert Status.FAIL in statuses(check, replace(case, declaration=planted.declaration), planted)
        return
    with plant(import_module(edit.module), (edit.before, edit.after)):
        assert Status.FAIL in statuses(check, case, tested)


def test_every_kind_has_its_edit_here():
    assert {edit.sort for edit in edits()} == set(KINDS)


def test_the_catalogue_stands_in_the_solver_s_text():
    for edit in edits():
        compile(edited_source(import_module(edit.module), [(edit.before, edit.after)]), edit.id, "exec")
