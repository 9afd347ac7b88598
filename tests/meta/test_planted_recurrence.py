"""Every catalogued defect, run as a float64 solver, is red under window replay; without one it is green."""

from __future__ import annotations

from itertools import pairwise

import pytest
from daily import some
from mutable_runs import mutable_sstep_bdcd, mutable_sstep_dcd
from sstep_reference.arithmetic import Float
from test_planted_production import ITERATIONS, KERNELS, LOSSES, SAMPLES, WIDTH, small_problem, stream_for
from worst_ratio import Ratio, window_ends, worst_ratio

from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import IndexStream
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.rounding.block.repeats import most_often

DECLARATION = Declaration("mutable recurrence", update="frozen", rbf="difference")
DOUBLE = Float("float64")
SOMETIMES = ("upper-end-lost", "upper-end-halved", "lower-end-lost", "off-diagonal-dropped")


def judged(task: str, kernel, mutation: Mutation, stream: IndexStream | None = None) -> Ratio:
    """Run the mutable recurrence in float64, window by window, and judge all windows."""
    problem, stream = small_problem(task, kernel), stream or stream_for(task)
    rows, ends = exact_kernel(problem, DOUBLE), window_ends(ITERATIONS, WIDTH)
    states = [DOUBLE.zeros(problem.samples)]
    for begin, end in pairwise(ends):
        drawn = stream.blocks(begin, end)
        if problem.is_svm:
            arguments = (DOUBLE, rows, problem.targets, states[-1], drawn.ravel(), WIDTH)
            states.append(mutable_sstep_dcd(*arguments, loss=task, C=problem.loss.C, mutation=mutation))
        else:
            arguments = (DOUBLE, rows, problem.targets, states[-1], drawn, WIDTH)
            states.append(mutable_sstep_bdcd(*arguments, penalty=problem.loss.penalty, mutation=mutation))
    return worst_ratio(problem, stream, DECLARATION, ends, states)


@pytest.mark.parametrize(
    ("task", "defect"),
    [
        # By day a defect in one of its tasks, in turn.
        pytest.param(
            task,
            d,
            id=f"{task}-{d.name}",
            marks=[pytest.mark.nightly] * ((row + place) % len(d.tasks) != 0),
        )
        for row, d in enumerate(CATALOGUE)
        for place, task in enumerate(d.tasks)
    ],
)
def test_a_catalogued_defect_is_red(task, defect):
    # An end of the box, or a block's off-diagonal, may have nothing to do under one of the kernels.
    acting = [judged(task, kernel, defect.mutation).red for kernel in KERNELS]
    assert all(acting) if defect.name not in SOMETIMES else any(acting)


@pytest.mark.parametrize("task", LOSSES)
def test_the_recurrence_without_a_defect_is_green(task):
    for kernel in KERNELS:
        assert judged(task, kernel, NONE).green


# Blocks hold a coordinate up to four times, so that an error may grow by three in a step.
REPLACED = IndexStream("mt19937", SAMPLES, 5, ITERATIONS, seed=7, replacement=True)


@pytest.mark.parametrize(
    "defect", some([d for d in CATALOGUE if "krr" in d.tasks], of=2), ids=lambda d: d.name
)
def test_with_replacement_a_catalogued_defect_is_red(defect):
    acting = [judged("krr", kernel, defect.mutation, REPLACED).red for kernel in KERNELS]
    assert all(acting) if defect.name not in SOMETIMES else any(acting)


def test_with_replacement_the_recurrence_without_a_defect_is_green():
    assert most_often(REPLACED.blocks(0, ITERATIONS)).max() == 4
    for kernel in KERNELS:
        assert judged("krr", kernel, NONE, REPLACED).green
