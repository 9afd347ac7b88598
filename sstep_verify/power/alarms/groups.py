"""Ways in which runs of correct solvers are drawn and judged, each with its share of a study.

Most are judged step by step in compiled float64, as a user's run that logs its steps is; a share of them in
windows, swept and replayed exactly; some by every check there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from sstep_verify.checks.contract import CHECK as CONTRACT
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.step_replay import CHECK as STEPS
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.power.alarms.comparisons import (
    Comparison,
    Judged,
    compared,
    judged_run,
)
from sstep_verify.power.alarms.legal_draws import Drawn, draw
from sstep_verify.power.alarms.legal_orders import made_run
from sstep_verify.power.alarms.legal_runs import LONGEST, by_all_checks
from sstep_verify.power.alarms.legal_windows import case_of_window, finding, of_steps
from sstep_verify.power.alarms.lengths import longest_sum
from sstep_verify.power.alarms.problems import SEEDS, drawn_problem, larger, one_of
from sstep_verify.power.alarms.variants import (
    ENDS,
    LOGGING,
    RANKS,
    SERIAL,
    Variant,
)
from sstep_verify.quantities import core

EXACT = 1 / 8
"""Share of the runs judged step by step of which notable steps are replayed exactly."""

LOOKED_INTO = 20
"""Of so many runs judged step by step one is looked at for what its bound is made of."""

THREADS = (1, 2)
"""Threads of BLAS."""


@dataclass(frozen=True)
class Group:
    """A way to draw and judge runs.

    Parameters
    ----------
    judged : callable
        ``judged(generator, number)`` draws a run, has it made, and judges it.
    share : float
        Share of the runs of a study.
    piece : int
        Runs of a unit: some seconds.
    """

    judged: Callable[[np.random.Generator, int], Judged]
    share: float
    piece: int


@cache
def precision_of(variant: Variant) -> str:
    """Precision that a solver declares."""
    return variant.make().declaration.precision


def by_steps(generator: np.random.Generator, number: int) -> Judged:
    """Every step of a logged run, in compiled float64; of some runs notable steps exactly as well."""
    variant = LOGGING[number % len(LOGGING)]
    scenario = drawn_problem(generator, variant.tasks, variant.kernels, precision_of(variant))
    exact = generator.random() < EXACT
    return judged_run(variant, scenario, (STEPS,), exact=exact, parts=number % LOOKED_INTO == 0)


def on_ranks(generator: np.random.Generator, number: int) -> Judged:
    """Every step of a run on 2 to 8 ranks, which are threads."""
    variant = one_of(generator, RANKS)
    scenario = drawn_problem(generator, variant.tasks, variant.kernels, "float64")
    return judged_run(variant, scenario, (STEPS,), exact=False)


def by_windows(generator: np.random.Generator, number: int) -> Judged:
    """All windows of a run, swept in float64 where its precision allows, and some replayed exactly."""
    variant = ENDS[number % len(ENDS)]
    scenario = drawn_problem(generator, variant.tasks, variant.kernels, precision_of(variant), samples=16)
    return judged_run(variant, scenario, (WINDOWS,))


def by_every_check(generator: np.random.Generator, number: int) -> Judged:
    """All checks of the suite, with all the runs that these ask for."""
    variants = (*LOGGING, *ENDS)
    variant = variants[number % len(variants)]
    scenario = drawn_problem(generator, variant.tasks, variant.kernels, precision_of(variant), samples=12)
    checks = tuple(name for name in CHECKS if name != CONTRACT)
    return judged_run(variant, scenario, checks, start=False)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def with_blas_threads(generator: np.random.Generator, number: int) -> Judged:
    """Every step of a run whose products are large enough for BLAS to share out to threads."""
    variant, threads = one_of(generator, SERIAL), one_of(generator, THREADS)
    scenario = larger(generator, drawn_problem(generator, variant.tasks, variant.kernels, "float64"))
    with _blas().limit(limits=threads, user_api="blas"):
        made = judged_run(variant, scenario, (STEPS,), exact=False)
    return replace(made, variant=f"{made.variant}, BLAS threads {threads}")


def in_legal_orders(generator: np.random.Generator, number: int) -> Judged:
    """A window of a solver of single IEEE operations, over the whole exponent range, and its steps."""
    seed = int(generator.integers(SEEDS))
    drawn = draw(seed)
    with np.errstate(all="ignore"):
        run = made_run(drawn)
        found, steps = finding(drawn, run), of_steps(drawn, run)
    s = drawn.stream.length
    length, acted = longest_sum(WINDOWS, case_of_window(drawn), s), all(map(found.shows, core(s)))
    told = Comparison(WINDOWS, found.status, found.ratio, found.decided, acted, str(found), length)
    others = (compared(case_of_window(drawn), s, one) for one in steps)
    return _judged(drawn, f"legal window {seed}", (told, *others))


def in_legal_runs(generator: np.random.Generator, number: int) -> Judged:
    """A run of such a solver, by all checks."""
    seed, length = int(generator.integers(SEEDS)), int(generator.integers(1, LONGEST + 1))
    drawn = draw(seed)
    return _judged(drawn, f"legal run {seed} of {length}", by_all_checks(drawn, length))


def _judged(drawn: Drawn, problem: str, comparisons: tuple[Comparison, ...]) -> Judged:
    declared = drawn.declaration
    return Judged(
        f"order {drawn.order} {declared.precision} {declared.update}",
        problem,
        drawn.problem.loss.task,
        drawn.problem.kernel.name,
        declared.precision,
        comparisons,
    )


GROUPS = {
    "steps": Group(by_steps, 0.70, 2000),
    "legal orders": Group(in_legal_orders, 0.15, 1000),
    "legal runs": Group(in_legal_runs, 0.03, 100),
    "ranks": Group(on_ranks, 0.07, 400),
    "windows": Group(by_windows, 0.03, 200),
    "BLAS threads": Group(with_blas_threads, 0.01, 200),
    "every check": Group(by_every_check, 0.01, 50),
}
"""The groups, by name; their shares add up to one."""
