"""Smallest error of a term that window-replay sees, over drawn problems in which the term acts.

Drawn are problems with m <= 64, n <= 8, C K_ii in [0.1, 10] (K-RR: K_ii within a factor 10 of lambda m) and
a coordinate drawn twice in a window, from a = 0, in which the term makes up at least 1 % of a gradient's
size in some step and has an effect that lasts to the end of its window. A term of that size that a clip
swallows, and an overlap of free steps, change nothing, and so nobody could see an error in them.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from acting_draws import draw_acting_scenario
from daily import some
from drawn_cases import judged
from svm_limits import FIRST_ORDER, smallest_limit

from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import DETECTION_FACTOR, Status

FOLD = 2 if "SSTEP_VERIFY_DRAWS" in os.environ else 1

FEWEST = 60 if FOLD > 1 else 12
MORE = {("krr", "overlap"): 300}
"""Problems per term; more where fewer than all reach what is wanted, so that chance decides less.

An overlap of K-RR that makes up 1 % of a right-hand side of k nonzero terms shows from about 100 k u on,
k up to m and the coordinates drawn before: for m = 64 that is 1e-12. Where a begins far from 0, k is larger.
"""

WANTED = 1e-12
"""Relative error of a term whose effect must reach the bound (the claim, not a tolerance); twice it is certain to
show, which is what `detection_limit` says..."""
SHARE = 0.95
"""...in this share of the problems. It is not claimed of an overlap of K-SVM-L2: one that makes up 1 % of a
move shows from 100 k u on, 1e-12 for k = 100, times the sizes of a gradient's terms over that of the move.

The limit of each problem of a K-SVM is held against one derived apart from the bound (svm_limits.py)."""

PAPER = [
    ("svm-l1", "kernel-correction"),
    ("svm-l1", "overlap"),
    ("svm-l2", "kernel-correction"),
    ("svm-l2", "overlap"),
    ("svm-l2", "omega"),
    ("krr", "kernel-correction"),
    ("krr", "overlap"),
]
OURS = [(task, "kernel-correction") for task in ("svm-l1", "svm-l2", "krr")]


@pytest.mark.parametrize("fewest", [5, pytest.param(FEWEST, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("update", "task", "term"),
    [
        *some([("frozen", *pair) for pair in PAPER], of=2, first=1),
        ("in-place", *OURS[0]),
        *(pytest.param("in-place", *pair, marks=pytest.mark.nightly) for pair in OURS[1:]),
    ],
)
def test_an_error_in_an_acting_term_is_seen_from_its_derived_limit_on(
    record_property, update, task, term, fewest
):
    few = fewest < FEWEST or "SSTEP_VERIFY_DRAWS" not in os.environ
    if (task, term) == ("krr", "overlap") and few:
        pytest.skip("300 problems take minutes: set SSTEP_VERIFY_DRAWS, as tox -e false-alarms does")
    generator = np.random.Generator(np.random.PCG64(20))
    solver, found, derived = ProductionSolver(update=update), [], []
    drawn = MORE.get((task, term), fewest)
    for _ in range(drawn):
        scenario = draw_acting_scenario(generator, task, [term])
        verdict = judged(scenario, solver)
        assert verdict.status is not Status.FAIL, verdict.reason
        found += [
            record.detection_limit / DETECTION_FACTOR for record in verdict.terms if record.name == term
        ]
        if scenario.task != "krr":
            derived.append(smallest_limit(scenario, solver.declaration, term))
    assert len(found) == drawn
    if derived:
        # What is tried has three digits, rounded up: by one in a hundred at most.
        over = np.array(found) / np.array(derived)
        assert (over >= 1.0 - FIRST_ORDER).all()
        assert (over <= 1.01 * (1.0 + FIRST_ORDER)).all()
    seen = sum(detection_limit <= WANTED for detection_limit in found)
    median, most = np.median(found), max(found)
    line = f"{seen} of {drawn} at {WANTED:g} or better, median {median:.2g}, worst {most:.2g}"
    record_property("detection_limit", line)
    print(f"{task} {term}, {update}: {line}")
    assert (task, term) == ("svm-l2", "overlap") or seen >= SHARE * drawn
