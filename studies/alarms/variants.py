"""Correct solvers that log their steps: production in its forms, the reference, the labelled right ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import KERNEL_NAMES
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import Solver
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from sstep_verify.solvers.production import ProductionSolver
from studies.corpus.labelled_set import RIGHT

Names = tuple[str, ...]
UPDATES = ("in-place", "frozen")
EVERY: Names = tuple(KERNEL_NAMES)
LINEAR: Names = ("linear",)
RECOMPUTE = 3
"""Windows after which carried weights are formed anew."""


@dataclass(frozen=True)
class Variant:
    """A correct solver.

    Parameters
    ----------
    name : str
        Its name.
    make : callable
        Makes it.
    tasks, kernels : tuple of str
        What it solves.
    storage : {"", "dense", "csr"}
        How it gets its data; as they are drawn if empty.
    cached : bool
        Whether it is the production solver with a column cache.
    """

    name: str
    make: Callable[[], Solver]
    tasks: Names = TASKS
    kernels: Names = EVERY
    storage: str = ""
    cached: bool = False

    def solver(self, scenario: Scenario) -> Solver:
        """The solver for a scenario; a cache has room for one window, so that rows are put out of it."""
        solver = self.make()
        if self.cached:
            rows = min(scenario.s * scenario.block, scenario.samples)
            return ProductionSolver(update=solver.declaration.update, cache=rows * scenario.samples)
        return solver


def production(name: str, kernels: Names = EVERY, storage: str = "", **options: Any) -> Variant:
    """The production solver in one process."""
    return Variant(f"production {name}", lambda: ProductionSolver(**options), TASKS, kernels, storage)


def reference(precision: str, form: str) -> Variant:
    """The reference."""
    return Variant(f"reference {precision} {form}", lambda: ReferenceSolver(precision, form))


SERIAL = (
    *(
        production(f"{update} {storage} {name}", storage=storage, update=update, **options)
        for update, storage in product(UPDATES, ("dense", "csr"))
        for name, options in (
            ("panels", {}),
            ("kept Gram", {"keep_gram": True}),
            ("support", {"exchange": "support"}),
            ("reduce-scatter", {"exchange": "reduce-scatter"}),
        )
    ),
    *(
        replace(production(f"{update} {storage} column cache", storage=storage, update=update), cached=True)
        for update, storage in product(UPDATES, ("dense", "csr"))
    ),
    *(
        production(
            f"{update} {storage} gram{again}",
            LINEAR,
            storage,
            update=update,
            exchange="gram",
            recompute=again,
        )
        for update, storage, again in product(UPDATES, ("dense", "csr"), (0, RECOMPUTE))
    ),
    *(
        production(f"{update} {storage} differences", ("rbf",), storage, update=update, rbf="difference")
        for update, storage in product(UPDATES, ("dense", "csr"))
    ),
)
"""The production solver in one process; all log their steps."""

LABELLED = tuple(
    Variant(f"labelled {one.id}", one.make, one.tasks or TASKS, one.kernels or EVERY) for one in RIGHT
)
"""The right solvers of the labelled set."""

REFERENCE = tuple(reference(*one) for one in product(("float32", "float64"), ("sstep", "classical")))
"""The reference where its steps can be judged in float64."""

LOGGING = (*SERIAL, *REFERENCE, *(one for one in LABELLED if one.make().declaration.log))
"""Variants whose every step is judged."""
