"""What the search for worst cases makes large, and the committed worst cases: read, made and judged again,
written again.

It makes large the ratio of a run's worst step, and the loss of s-step runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from importlib import resources
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from sstep_verify import Declaration, ProductionSolver, ReferenceSolver, RunRequest, Solver
from sstep_verify.checks import step_replay, window_replay
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.files.records import convert, decode
from sstep_verify.measures import drift, loss_factor
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems.losses import TASKS
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.verdict import Status, worst
from studies.admissible.solver import AdmissibleSolver
from studies.corpus.mistakes import EQUIVALENT
from studies.false_positives.groups import NO_RUN, Judged, decided, judged_run
from studies.false_positives.solvers import LINEAR, LOGGING, Names, Variant
from studies.report.sensitivity.false_positives import HardCase, ReplayedCase, WorstCaseDocument

FILE = "corpus.json"

RATIO, LOSS, HIDDEN = "ratio", "loss", "hidden"
"""The ratio of correct solvers; their loss; the ratio of mistakes labelled numerically equivalent."""

CARRIED, FACTORED = "carried", "factored"
"""The largest ratio, over all checks of windows, of solvers that maintain weights, or form A (A'a)."""


def _admissible(name: str, tasks: Names, kernels: Names, order: str, **declared: Any) -> Variant:
    """A solver of single operations in an order."""
    declaration = Declaration("legal", log=True, **{"products": "rows", **declared})
    solver = AdmissibleSolver(declaration, order, factored=declaration.products == "any")
    words = " ".join(str(value) for value in declared.values())
    return Variant(f"legal {name} {words} {order}", lambda: solver, tasks, kernels)


SOLVERS: dict[str, tuple[Variant, ...]] = {
    # No verdict can fail these if their label is right: a search is aimed at each, on every kernel.
    HIDDEN: tuple(
        Variant(one.id, one.make, tuple(task for task in TASKS if (task == "krr") == ("krr" in one.tasks)))
        for one in EQUIVALENT
    ),
    CARRIED: tuple(
        _admissible("weights", TASKS, LINEAR, order, precision=precision, weights=again)
        for order in ("sequential", "ascending")
        for precision in ("float64", "float32")
        for again in (0, 3)
    ),
    FACTORED: tuple(
        _admissible("factored", TASKS, LINEAR, order, precision=precision, update=update, products="any")
        for order in ("sequential", "ascending")
        for precision in ("float64", "float32")
        for update in ("in-place", "frozen")
    ),
}
"""Solvers by measure; of the others those that log their steps."""


def solver_named(name: str) -> Variant:
    """The solver of a name."""
    return next(one for one in (*LOGGING, *chain(*SOLVERS.values())) if one.name == name)


def value_of(measure: str, variant: Variant, scenario: Scenario) -> float:
    """The measure of a solver's run; 0 where there is no run, or nothing is promised of it."""
    if measure == LOSS:
        return loss_of(variant, scenario)
    # Bounds of the steps that are repeated exactly are narrower: a mistake must hide from these too.
    return ratio_of(judged(measure, variant, scenario, exact=measure == HIDDEN))


def judged(measure: str, variant: Variant, scenario: Scenario, exact: bool = False) -> Judged:
    """The run, every step judged, or every window by all checks that do."""
    if measure in (CARRIED, FACTORED):
        return judged_run(
            variant,
            scenario,
            (step_replay.ID, window_replay.ID, "residual-gap", "trajectory"),
            start=False,
        )
    return judged_run(variant, scenario, (step_replay.ID,), exact=exact)


def ratio_of(made: Judged) -> float:
    """Largest ratio of a judged run, infinite where it is failed."""
    settled = [one for one in made.verdicts if one.status is not Status.INCONCLUSIVE]
    return max((one.ratio for one in settled if decided(one)), default=0.0)


def loss_of(variant: Variant, scenario: Scenario) -> float:
    """Largest error of the s-step run from 0 over that of classical ones, at the former's window ends.

    As in the stability study an error below one unit roundoff counts as one. Of the production solver there
    are two classical runs, one with a kept Gram matrix, and the worse counts: where all samples are alike,
    say, one of them may be exact by luck. Where it has few correct digits left, or a run breaks down,
    nothing is said of a loss: 0.
    """
    problem, stream, length, s = scenario.problem(), scenario.stream(), scenario.iterations, scenario.s
    ends = (*range(s, length, s), length)
    solver = variant.solver(scenario)
    precision = solver.declaration.precision
    classical: list[Solver] = [ReferenceSolver(precision, "classical")]
    if variant.name.startswith("production"):
        classical = [ProductionSolver(rbf=solver.declaration.rbf, keep_gram=keep) for keep in (False, True)]
    with np.errstate(all="ignore"):
        # The latter two where bits of the exact trajectory do not tell a block system from a singular one.
        try:
            runs = [
                one.run(RunRequest(problem, stream, width, length, record=ends))
                for one, width in ((solver, s), *((one, 1) for one in classical))
            ]
            exact = Oracle(problem).trajectory(problem, stream, length, ends)
        except (*NO_RUN, OracleDisagreementError, ZeroDivisionError):
            return 0.0
        error, *plains = (float(np.max([*drift(run, exact, ends).values()])) for run in runs)
        roundoff = unit_roundoff(precision)
        # Relative error of a classical run, in unit roundoffs, beyond which a loss is not looked at.
        known = max(plains) < 1e6 * roundoff
        loss = loss_factor(error, max(plains), roundoff) if known else math.inf
    return loss if math.isfinite(loss) else 0.0


def corpus() -> tuple[HardCase, ...]:
    """The committed cases; InputError if the file is not what `written` makes."""
    content = resources.files(__package__).joinpath(FILE).read_bytes()
    cases: tuple[HardCase, ...] = convert(decode(content, FILE), tuple[HardCase, ...], FILE)
    return cases


def written(cases: Iterable[HardCase]) -> bytes:
    """The file of some cases, one a line."""
    lines = (
        msgspec.json.encode(
            asdict(one) | {name: float(f"{getattr(one, name):.4g}") for name in ("value", "random")}
        )
        for one in cases
    )
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def replayed(case: HardCase) -> ReplayedCase:
    """One case, made and judged again, its notable steps in exact arithmetic too."""
    variant, scenario = solver_named(case.solver), Scenario.from_id(case.scenario)
    made = judged(case.measure, variant, scenario, exact=True)
    again = case.measure in (LOSS, RATIO)  # of the others it is the ratio of this very run
    value = value_of(case.measure, variant, scenario) if again else ratio_of(made)
    return ReplayedCase(case, worst(one.status for one in made.verdicts).value, value)


def replay() -> WorstCaseDocument:
    """All cases of the corpus, in seconds."""
    found = tuple(replayed(case) for case in corpus())
    return WorstCaseDocument(
        found,
        failed=sum(one.status == "FAIL" for one in found),
        ratio=max(
            (one.value for one in found if one.case.measure in (RATIO, CARRIED, FACTORED)), default=0.0
        ),
        loss=max((one.value for one in found if one.case.measure == LOSS), default=0.0),
    )
