"""No correct run is failed: window-replay on every window of runs on drawn problems.

Half of the problems come from the edge families with new seeds, half from draws over everything a scenario
may be. Solved by the production solver in all its forms, and by the reference in float32, float64 and
longdouble. The largest ratio of measured error to bound of each kind of run is the record of how tight the
bound is. Where SSTEP_VERIFY_DRAWS is set (`tox -e false-alarms`), there are over a thousand. Campaign
sensitivity judges tens of thousands by their steps (studies/false_positives).
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from itertools import chain, cycle, islice, product, repeat

import numpy as np
import pytest
from drawn_cases import judged

from sstep_verify.adapters.reference import ReferenceSolver, SingularBlockError
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import FAMILIES, KERNEL_NAMES, draw_scenario, edge_scenarios
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status

FOLD = 4 if "SSTEP_VERIFY_DRAWS" in os.environ else 1

FEWEST = 1_000 if FOLD > 1 else 80
"""Runs that must be decided: scenarios are drawn until so many are..."""
DECIDED = 0.5
"""...of which this share must be, or the draws say little: no more than ``FEWEST / DECIDED`` runs are judged."""

FORMS = [
    {"update": update, "rbf": rbf, "keep_gram": keep}
    for update, rbf, keep in product(
        ("in-place", "frozen"), ("norm-expansion", "difference"), (False, True)
    )
]
EDGE_SEEDS = {"float64": FOLD, "float32": 1}
"""Seeds of the edge families, per precision of the run."""

EVERY = {"float64": 1, "float32": 1} if FOLD > 1 else {"float64": 3, "float32": 7}
"""One edge scenario in so many is taken, per precision of the run."""

SINGLE = 8 if FOLD > 1 else 1
"""Drawn scenarios per task and kernel in float32; in float64 at least as many are drawn as edges are taken."""


def edges(precision: str):
    """Edge scenarios, in the precision of the data."""
    every = chain.from_iterable(
        edge_scenarios(family, precision=precision, seed=seed)
        for seed in range(1, EDGE_SEEDS[precision] + 1)
        for family in FAMILIES
    )
    return list(islice(every, 0, None, EVERY[precision]))


def draws(precision: str):
    """Drawn scenarios without end, one of each task and kernel after the other."""
    generator = np.random.Generator(np.random.PCG64(7))
    for task, kernel in cycle(product(TASKS, KERNEL_NAMES)):
        yield draw_scenario(generator, task, kernel, precision=precision)


def drawn_runs(enough):
    """Scenarios with a solver and its precision each; of draws in float64 those until `enough` says so.

    In float64 two runs of the production solver to one of the reference.
    """
    single = [*edges("float32"), *islice(draws("float32"), SINGLE * len(TASKS) * len(KERNEL_NAMES))]
    double = edges("float64")
    solvers = [ReferenceSolver("float32", form) for form in ("sstep", "classical")]
    yield from zip(single, cycle(solvers), repeat("float32"))
    # Coprime with the number of forms, tasks and kernels, so that each meets each.
    solvers = [ReferenceSolver("float64", form) for form in ("sstep", "classical")]
    solvers = [*(ProductionSolver(**form) for form in FORMS), *solvers, ProductionSolver()]
    for made, found in enumerate(zip(chain(double, draws("float64")), cycle(solvers), repeat("float64"))):
        if made >= 2 * len(double) and enough():
            return
        yield found


@pytest.mark.nightly
def test_no_correct_run_of_a_drawn_problem_fails(record_property):
    statuses, largest, problems, failed = Counter(), defaultdict(float), set(), []
    for scenario, solver, precision in drawn_runs(lambda: statuses["PASS"] >= FEWEST):
        try:
            verdict = judged(scenario, solver)
        except SingularBlockError:
            # A block system that is singular in the run's precision leaves no run to judge.
            statuses["no run"] += 1
            continue
        statuses[verdict.status.value] += 1
        problems.add(scenario.id)
        kind = (scenario.task, scenario.kernel.name, precision)
        largest[kind] = max(largest[kind], verdict.ratio)
        if verdict.status in (Status.FAIL, Status.INCONCLUSIVE):
            failed.append((scenario.id, solver.declaration, verdict.reason))
        assert statuses.total() <= FEWEST / DECIDED or statuses["PASS"] >= FEWEST, dict(statuses)
    lines = [f"{len(problems)} problems: {dict(statuses)}; largest ratio of measured error to bound:"]
    lines += [f"  {' '.join(kind)}: {ratio:.3g}" for kind, ratio in sorted(largest.items())]
    record_property("drawn problems", "\n".join(lines))
    print("\n".join(lines))
    assert not failed, failed
    assert len(problems) >= FEWEST
    assert statuses["PASS"] >= FEWEST
    assert len(largest) == len(TASKS) * len(KERNEL_NAMES) * len(EDGE_SEEDS)
