"""The window bound holds for every correct run, and what it lets pass is known.

Correct runs are the production solver in all its forms, and independent NumPy implementations in
float32 and float64 that add in sequential, shuffled and pairwise order. Every window of a drawn
scenario is replayed in balls; the measured error must not exceed the bound. A dropped kernel
correction whose exact effect is more than twice the bound must always exceed it.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from drawn_windows import TASKS, balls_for, hold_the_bound, replayed, scenarios, summary
from hypothesis import event, given, settings
from hypothesis import strategies as st
from mutable_runs import mutable_sstep_bdcd, mutable_sstep_dcd
from production_forms import production_forms, production_run
from sstep_reference.arithmetic import Float
from summation_variants import variant_run, variants

from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.recurrence.mutation import NONE, TERMS
from sstep_verify.rounding.kernel.entries import kernel_entries

SHOWN = pytest.mark.parametrize("shown", [10, pytest.param(25, marks=pytest.mark.nightly)])
"""Windows that must show the dropped term: problems are drawn until so many do..."""
SHARE = 0.1
"""...which so many of the draws must, or they say little: no more than ``shown / SHARE`` are made."""


def many(few: int):
    """Draws by default, and of a night."""
    return pytest.mark.parametrize("draws", [few, pytest.param(100, marks=pytest.mark.nightly)])


@many(12)
@pytest.mark.parametrize("task", TASKS)
def test_production_runs_stay_within_the_bound(task, draws):
    ratios: list[float] = []

    @settings(max_examples=draws)
    @given(scenarios(task), production_forms())
    def holds(scenario, form):
        event(f"{form['update']}, {'CSR' if form['sparse'] else 'dense'}, gram {form['keep_gram']}")
        hold_the_bound(scenario, *production_run(scenario, form), ratios)

    holds()
    summary(f"production {task}", ratios, 5 * draws // 3)


@many(50)
@pytest.mark.parametrize("task", TASKS)
def test_runs_in_any_order_of_summation_stay_within_the_bound(task, draws):
    ratios: defaultdict = defaultdict(list)

    @settings(max_examples=draws)
    @given(scenarios(task), variants())
    def holds(scenario, variant):
        event(f"{variant.declaration.precision}, {variant.order}, {variant.declaration.update}")
        states = variant_run(scenario, variant)
        hold_the_bound(scenario, variant.declaration, states, ratios[variant.declaration.precision])

    holds()
    for precision, found in ratios.items():
        summary(f"{precision} {task}", found, draws // 2)


@SHOWN
@pytest.mark.parametrize("task", TASKS)
def test_a_dropped_kernel_correction_beyond_twice_the_bound_is_always_seen(task, shown):
    mutation = NONE.scaled(TERMS["kernel-correction"], 0, "dropped")
    double = Float("float64")
    found: list[bool] = []

    @settings(max_examples=round(shown / SHARE))
    @given(scenarios(task), st.sampled_from(["in-place", "frozen"]))
    def holds(scenario, update):
        if sum(found) >= shown:
            return
        problem, window, begin = scenario.problem, scenario.windows[0], scenario.initial
        declaration = Declaration("planted", update="frozen", rbf="difference")
        drawn, kernel = scenario.drawn(window), exact_kernel(problem, double)
        arguments = (double, kernel, problem.targets, begin, drawn, scenario.s)
        # Where block systems are singular to working precision there is no planted run to judge.
        if problem.is_svm:
            end = mutable_sstep_dcd(*arguments, loss=task, C=problem.loss.C, mutation=mutation)
        else:
            entries = kernel_entries(problem, declaration, np.arange(problem.samples))
            if not entries.values.max() / problem.loss.penalty * 2.0**-40 < problem.samples:
                return
            end = mutable_sstep_bdcd(*arguments, penalty=problem.loss.penalty, mutation=mutation)
        exact = exact_kernel(problem, balls_for(scenario))
        measured, bound = replayed(scenario, declaration, window, begin, end, exact)
        effect = measured.effects.get("kernel-correction")
        if effect is None:
            return
        flagged = effect > 2 * bound
        assert (measured.lower[flagged] > bound[flagged]).all()
        found.append(bool(flagged.any()))

    holds()
    print(f"planted {task}: {sum(found)} of {len(found)} windows show the dropped term")
    assert sum(found) >= shown
