"""Problems for correct solvers: drawn over all that a scenario may be, and edge families with new seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.problems import Problem
from sstep_verify.scenarios.draws import draw_scenario
from sstep_verify.scenarios.families import FAMILIES, edge_scenarios
from sstep_verify.scenarios.scenario import Scenario
from studies.legal.draws import one_of

EDGES = 0.15
"""Share of the problems that come from an edge family."""

SEEDS = 2**32


def drawn_problem(
    generator: np.random.Generator,
    tasks: Sequence[str],
    kernels: Sequence[str],
    precision: str,
) -> Scenario:
    """Draw a scenario for a solver of some tasks, kernels and precision; m is limited but in edge families.

    A solver in float32 gets data that float32 holds, or that it is to round; others now and then data of
    the range and digits of float32.
    """
    held = "float32" if generator.random() < (0.5 if precision == "float32" else 0.15) else "float64"
    if generator.random() < EDGES:
        family = one_of(generator, FAMILIES)
        edges = edge_scenarios(family, precision=held, seed=int(generator.integers(SEEDS)))
        fitting = [one for one in edges if one.task in tasks and one.kernel.name in kernels]
        if fitting:
            return one_of(generator, fitting)
    task, kernel = one_of(generator, tasks), one_of(generator, kernels)
    return draw_scenario(generator, task, kernel, precision=held)


def larger(generator: np.random.Generator, scenario: Scenario) -> Scenario:
    """The scenario with so many samples and features that BLAS shares its panels out to threads."""
    samples, features = int(generator.integers(128, 257)), int(generator.integers(64, 161))
    return replace(scenario, samples=samples, features=features, s=max(scenario.s, 16), iterations=40)


def stored_as(problem: Problem, storage: str) -> Problem:
    """The problem with its data as a dense or CSR array; as they are if storage is empty."""
    data: Any = problem.data
    if storage == "csr" and not sp.issparse(data):
        return replace(problem, data=sp.csr_array(data))
    if storage == "dense" and sp.issparse(data):
        return replace(problem, data=problem.dense)
    return problem
