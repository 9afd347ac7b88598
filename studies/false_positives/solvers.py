"""Correct solvers that log their steps, and the problems that are drawn for them.

Solvers are production in its forms, the reference, and the labelled right ones; problems are drawn over all
that a scenario may be, and from edge families with new seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from sstep_verify import ProductionSolver, ReferenceSolver, Solver
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import FAMILIES, KERNEL_NAMES, draw_scenario, edge_scenarios, one_of
from sstep_verify.scenarios.scenario import Scenario
from studies.admissible.undeclared import PRODUCTION, USUAL, Undeclared
from studies.corpus.labelled import RIGHT

Names = tuple[str, ...]
EVERY: Names = tuple(KERNEL_NAMES)
LINEAR: Names = ("linear",)
SEEDS = 2**32


@dataclass(frozen=True)
class Variant:
    """A correct solver by what makes it, and what it solves.

    It gets its data as an array of `storage`, dense or csr, or as they are drawn; `cached` is the
    production solver with a column cache; `undeclared` are what it does without declaring it.
    """

    name: str
    make: Callable[[], Solver]
    tasks: Names = TASKS
    kernels: Names = EVERY
    storage: str = ""
    cached: bool = False
    undeclared: Undeclared = PRODUCTION

    def solves(self, task: str, kernel: str) -> bool:
        """Whether it solves such problems."""
        return task in self.tasks and kernel in self.kernels

    def solver(self, scenario: Scenario) -> Solver:
        """The solver for a scenario; a cache has room for one window, so that rows are put out of it."""
        solver = self.make()
        if self.cached:
            rows = min(scenario.s * scenario.block, scenario.samples)
            return ProductionSolver(update=solver.declaration.update, cache=rows * scenario.samples)
        return solver


FORMS: tuple[tuple[tuple[str, Names, dict[str, Any]], ...], ...] = (
    (
        ("panels", EVERY, {}),
        ("kept Gram", EVERY, {"keep_gram": True}),
        ("support", EVERY, {"exchange": "support"}),
        ("reduce-scatter", EVERY, {"exchange": "reduce-scatter"}),
    ),
    (("column cache", EVERY, {}),),
    tuple((f"gram{again}", LINEAR, {"exchange": "gram", "recompute": again}) for again in (0, 3)),
    (("differences", ("rbf",), {"rbf": "difference"}),),
)
"""Forms of the production solver, each in both updates and storages: name, kernels, options."""

SERIAL = tuple(
    Variant(
        f"production {update} {storage} {name}",
        partial(ProductionSolver, update=update, **options),
        TASKS,
        kernels,
        storage,
        name == "column cache",
    )
    for forms in FORMS
    for update, storage in product(("in-place", "frozen"), ("dense", "csr"))
    for name, kernels, options in forms
)
"""The production solver in one process; all log their steps."""

LOGGING = (
    *SERIAL,
    # The reference where its steps can be judged in float64.
    *(
        Variant(
            f"reference {precision} {form}", partial(ReferenceSolver, precision, form), undeclared=USUAL
        )
        for precision, form in product(("float32", "float64"), ("sstep", "classical"))
    ),
    *(
        Variant(
            f"labelled {one.id}",
            one.make,
            one.tasks or TASKS,
            one.kernels or EVERY,
            undeclared=one.undeclared,
        )
        for one in RIGHT
        if one.make().declaration.log
    ),
)
"""Variants whose every step is judged: these, the reference, and the right solvers of the labelled set."""


def drawn_problem(generator: np.random.Generator, variant: Variant) -> Scenario:
    """Draw a scenario that a solver solves; m is limited but in edge families.

    A solver in float32 gets data that float32 holds, or that it is to round; others now and then data of
    the range and digits of float32.
    """
    single = variant.make().declaration.precision == "float32"
    held = "float32" if generator.random() < (0.5 if single else 0.15) else "float64"
    if generator.random() < 0.15:  # the share of edge families
        family = one_of(generator, FAMILIES)
        edges = edge_scenarios(family, precision=held, seed=int(generator.integers(SEEDS)))
        if fitting := [one for one in edges if variant.solves(one.task, one.kernel.name)]:
            return one_of(generator, fitting)
    task, kernel = one_of(generator, variant.tasks), one_of(generator, variant.kernels)
    return draw_scenario(generator, task, kernel, precision=held)
