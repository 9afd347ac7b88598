"""The window sample holds windows in which each term acts, wherever the run has any."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from acting_draws import draw_acting_scenario
from drawn_cases import case_of, run_of

from sstep_verify.checks import window_replay
from sstep_verify.checks.window.choose import EVENTS, choose_windows
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import draw_scenario
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status

SOLVER = ProductionSolver(update="frozen")


FOLD = 4 if "SSTEP_VERIFY_DRAWS" in os.environ else 1
FOLDS = pytest.mark.parametrize("fold", [FOLD, pytest.param(2 * FOLD, marks=pytest.mark.nightly)])


@FOLDS
@pytest.mark.parametrize(
    ("task", "term", "drawn"),
    [
        ("svm-l1", "overlap", 2),
        ("svm-l2", "overlap", 1),
        ("svm-l2", "omega", 1),
        ("krr", "overlap", 1),
    ],
)
def test_a_sample_of_one_window_shows_every_term_that_all_windows_show(task, term, drawn, fold):
    drawn *= fold
    generator, found = np.random.Generator(np.random.PCG64(1)), Counter()
    for _ in range(drawn):
        scenario = draw_acting_scenario(generator, task, [term])
        scenario = replace(scenario, iterations=10 * scenario.s)
        every, few = case_of(scenario, SOLVER), case_of(scenario, SOLVER, windows=1)
        runs, oracle = run_of(scenario, every, SOLVER), Oracle(every.problem)
        (of_all,), (of_few,) = (window_replay.judge(case, runs, oracle) for case in (every, few))
        assert of_few.executed < of_all.executed == of_all.planned == 10
        for whole, part in zip(of_all.terms, of_few.terms, strict=True):
            assert part.status is whole.status, (scenario.id, part)
            found[part.name, part.status] += 1
    print(dict(found))
    assert found[term, Status.PASS] == drawn


@FOLDS
@pytest.mark.parametrize("task", TASKS)
def test_the_sample_holds_every_event_of_the_run(task, fold):
    generator, seen = np.random.Generator(np.random.PCG64(2)), Counter()
    for place in range(21 * fold):
        scenario = draw_scenario(generator, task, ("linear", "polynomial", "rbf")[place % 3])
        scenario = replace(scenario, s=1 + place % 7, iterations=50 + place)
        case = case_of(scenario, SOLVER)
        (run,) = run_of(scenario, case, SOLVER).values()
        every = choose_windows(replace(case, windows=len(run.windows()), seed=0), run)
        few = choose_windows(replace(case, windows=1, seed=0), run)
        assert len(every) == len(run.windows())
        held = [
            {tag for window in windows for tag in window.tags} & set(EVENTS) for windows in (every, few)
        ]
        assert held[0] == held[1]
        assert len({window.begin for window in few}) == len(few) <= 11
        seen.update(held[0])
    print(dict(seen))
    possible = {"svm-l1": set(EVENTS), "svm-l2": {*EVENTS} - {"clip high"}, "krr": {"overlap"}}
    assert set(seen) == possible[task]
