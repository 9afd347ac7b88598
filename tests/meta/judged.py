"""A small case on the production solver, and the verdicts of a check on its runs."""

from __future__ import annotations

import json

import numpy as np

from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.solver import ProductionSolver


def small_case(
    loss, kernel=None, *, block=1, samples=12, features=4, iterations=75, s_values=(1, 4, 16), scale=1.0,
    solver=None, diagnose=False, **options,
):  # fmt: skip
    """A drawn problem with its case, whose failures nobody explains, and the solver it declares."""
    generator = np.random.Generator(np.random.PCG64(3))
    data = generator.standard_normal((samples, features)) * scale
    targets = np.where(np.arange(samples) % 3 == 0, 1.0, -1.0)
    if isinstance(loss, Ridge):
        targets = generator.standard_normal(samples)
    problem = Problem("drawn", data, targets, kernel or LinearKernel(), loss)
    tested = solver or ProductionSolver()
    case = Case(
        "drawn",
        problem,
        IndexStream("uniform", samples, block, iterations, seed=1),
        tuple(s_values),
        iterations,
        tested.declaration,
        points={s: measuring_points(iterations, s) for s in s_values},
        replay_command="again",
        diagnose=diagnose,
        **options,
    )
    return case, tested


def named_case(loss, kernel=None, **options):
    """The same, and what explains a failure is looked for."""
    return small_case(loss, kernel, diagnose=True, **options)


def by_s(verdicts, s_values):
    """Verdicts by s, of which there is exactly one for each of these s: so a loop over them asserts."""
    assert sorted(one.s for one in verdicts) == sorted(s_values)
    return {one.s: one for one in verdicts}


def judged(check, case, tested, change=None, observe=None, of=None):
    """Verdicts of a check, one for each s of the case (of `of`), on runs that may be altered or ended."""
    trajectories = {key: tested.run(request, observe) for key, request in check.CHECK.runs(case).items()}
    if change is not None:
        trajectories = {key: change(trajectory) for key, trajectory in trajectories.items()}
    verdicts = verdicts_of(check.CHECK, case, trajectories, Oracle(case.problem))
    for verdict in verdicts:
        assert verdict.check == check.ID
        assert verdict.replay == "again"
        assert json.loads(json.dumps(verdict.as_dict(), allow_nan=False))["reason"]
    return by_s(verdicts, case.s_values if of is None else of)


def named(verdict):
    """Names of the defects that reproduce a failure; a pair as one tuple."""
    return [one.names[0] if len(one.names) == 1 else one.names for one in verdict.defects]


def hinted(verdict):
    """Kinds of the hints of a verdict."""
    return {one.kind for one in verdict.hints}


def assert_teaches(verdict):
    """A failure says where it is, both values, the bound and its origin, and what it violates.

    The text of a check whose reason is no record yet says the bound's origin in brackets.
    """
    if verdict.place is not None or verdict.violations:
        assert verdict.requirement or verdict.defects
        return
    for words in ("measured", "bound", "("):
        assert words in verdict.reason
    assert not verdict.defects or verdict.diagnosed
