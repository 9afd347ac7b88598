"""Campaign varied: what it promises to cross, stands in it; runs that begin late begin as they say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sstep_verify.adapters.training import TrainingSolver, tuned_sequence
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.case import _claims, make_case, seeded_start
from sstep_verify.campaign.verdicts.family import CaseSpec, Family, expand
from sstep_verify.checks import contract
from sstep_verify.checks.shared.case import plain_request
from sstep_verify.costs.tuning import Tuner
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.problems.data.datasets import load
from sstep_verify.runs import make_run
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.schedule import Schedule, windows_of

SPECS = [spec for unit in expand(read_definition("varied")) for spec in unit.work]


def values(name: str) -> set:
    return {getattr(spec.family, name) for spec in SPECS}


def test_every_option_of_the_production_solver_is_varied():
    assert values("update") == {"in-place", "frozen"}
    assert values("rbf") == {"norm-expansion", "difference"}
    assert values("exchange") == {"allreduce", "reduce-scatter", "gram"}
    assert values("ranks") == {1, 2, 3}
    assert values("storage") == {"as-is", "dense", "csr"}
    assert values("solver") == {"production", "training", "solve"}
    assert values("stream") == {"uniform", "epochs"}
    for name in (
        "keep_gram", "cache", "recompute", "separate_timers", "start", "interval", "tuned", "auto", "long_block",
        "panel_words",
    ):  # fmt: skip
        assert len(values(name)) > 1, name


@pytest.mark.parametrize("campaign", ["varied", "parallel"])
def test_every_command_is_given_a_seed_of_its_own(campaign):
    """A command that ignores its seed draws what seed 0 draws."""
    specs = [spec for unit in expand(read_definition(campaign)) for spec in unit.work]
    seeds = [spec.family.seed for spec in specs if spec.family.solver == "solve"]
    assert len(seeds) > 1
    assert len({0, *seeds}) == len(seeds) + 1


def test_parameters_are_others_than_those_of_the_other_campaigns():
    kernels = {spec.kernel for spec in SPECS}
    assert kernels == {
        LinearKernel(), PolynomialKernel(2, 1.5), PolynomialKernel(4, 1.5),
        PolynomialKernel(5, 1.5), RBFKernel(0.05),
    }  # fmt: skip
    assert {spec.parameter for spec in SPECS} == {0.1, 0.3, 7.0}
    assert all(s % 2 for spec in SPECS for s in spec.family.s)
    assert all(spec.block % 2 for spec in SPECS)
    assert all(spec.family.iterations % s for spec in SPECS for s in spec.family.s if s > 1)


def test_all_samples_of_the_wide_set_are_drawn_in_every_run():
    for spec in (spec for spec in SPECS if spec.data.startswith("wide")):
        data = load(spec.data)
        solvers = {"": spec.family.solvers()[""].declaration}
        case = make_case(spec, data, solvers, "varied", "")
        drawn = case.stream.blocks(case.start, case.start + case.iterations)
        assert np.unique(drawn).size == 150, spec.id


def test_a_late_family_begins_its_plain_runs_late_from_a_seeded_vector():
    family = Family(
        ("wide",), ("svm-l1",), (LinearKernel(),), (7,), (0.3,), iterations=40, start=33, seed=5
    )
    spec = CaseSpec("wide", "svm-l1", LinearKernel(), 0.3, 1, family)
    case = make_case(spec, load("wide"), {"": family.solvers()[""].declaration}, "here", "")
    request = plain_request(case, 7)
    assert (request.start, request.iterations, request.stream.length) == (33, 40, 73)
    np.testing.assert_array_equal(request.initial, seeded_start(case.problem, 5))
    made = family.solvers()[""].run(request)
    assert made.start == 33
    np.testing.assert_array_equal(made.alphas[0], request.initial)


@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if spec.family.solver == "training"], ids=lambda spec: spec.id
)
def test_training_is_asked_for_no_more_than_it_keeps(spec):
    tested = spec.family.solvers()[""]
    case = make_case(spec, load(spec.data), {"": tested.declaration}, "varied", "")
    request = plain_request(case, case.s_values[0])
    if spec.family.ranks > 1:
        tested = TrainingSolver(interval=spec.family.interval, exchange=spec.family.exchange)
    made = tested.run(request)
    due = {stop for stop in request.stops if stop <= made.length}
    assert made.iterations.tolist() == sorted({*due, made.length})
    assert made.iterations.size > 4


def test_a_run_is_held_to_the_weights_that_are_declared():
    family = Family(("wide",), ("svm-l1",), (LinearKernel(),), (7,), (0.3,), iterations=21, exchange="gram")
    solvers = family.solvers()
    case = make_case(
        CaseSpec("wide", "svm-l1", LinearKernel(), 0.3, 1, family), load("wide"),
        {name: one.declaration for name, one in solvers.items()}, "here", "",
    )  # fmt: skip
    made = make_run(solvers[""], plain_request(case, 7))
    assert contract.violations_of(case, "a run", made) == []
    without = replace(made, weights=None)
    assert [one.item for one in contract.violations_of(case, "a run", without)] == ["weights"]


@pytest.mark.parametrize("loss", [Hinge(0.3), SquaredHinge(7.0), Ridge(0.1)], ids=str)
def test_a_seeded_start_is_feasible_and_has_values_of_every_kind(loss):
    data = np.eye(60)
    targets = np.where(np.arange(60) % 2, 1.0, -1.0) * (3.0 if isinstance(loss, Ridge) else 1.0)
    problem = Problem("drawn", data, targets, LinearKernel(), loss)
    start = seeded_start(problem, 2)
    np.testing.assert_array_equal(start, seeded_start(problem, 2))
    assert (start != seeded_start(problem, 3)).any()
    if isinstance(loss, Ridge):
        assert 0 < np.abs(start).max() <= 3.0 / 60
        return
    assert ((start == 0) | (start == loss.C) | ((start > 0) & (start < loss.C))).all()
    for kind in (start == 0, start == loss.C, (start > 0) & (start < loss.C)):
        assert kind.sum() > 5


def test_training_of_a_ridge_claims_its_residual_and_not_its_distance():
    problem = Problem("drawn", np.eye(5), np.arange(5.0) / 7, LinearKernel(), Ridge(0.1))
    family = Family(("drawn",), ("krr",), (LinearKernel(),), (3,), (0.1,), tolerance=1e-3)
    assert _claims(family, problem) == {"tolerance": 1e-3}
    for name in ("training", "solve"):
        claims = _claims(replace(family, solver=name, interval=2), problem)
        assert set(claims) == {"residual"}
        assert 1 <= claims["residual"] / (1e-3 * np.linalg.norm(problem.targets)) < 1 + 1e-14


@pytest.mark.parametrize(("s", "iterations"), [(1, 5), (6, 40), (15, 100), (16, 16), (7, 3)])
@pytest.mark.parametrize("exchange", ["gram", "support"])
def test_windows_of_a_tuned_training_lie_within_those_asked_for(s, iterations, exchange):
    """So that bounds of windows of s hold for them; they are of every width that divides s, if there is time."""
    settings = Settings(s="auto", largest_s=s, iterations=iterations, interval=4 * s, exchange=exchange)
    sequence = tuned_sequence(settings)
    assert sequence[-1].end == iterations
    windows = list(windows_of(sequence, settings.interval))
    assert windows[0][0] == 0
    assert [begin for begin, *_ in windows[1:]] == [end for _, end, _ in windows[:-1]]
    assert all(begin // s == (end - 1) // s for begin, end, _ in windows)
    divisors = [width for width in range(1, s + 1) if s % width == 0]
    assert {one.s for one in sequence} == set(divisors[-min(-(-iterations // s), len(divisors)) :])
    # Neighbours that are alike have a window cut between them where no interval ends: they are not one.
    alike = [one.end for one, other in pairwise(sequence) if one[1:] == other[1:] and s > 1]
    assert alike == [one.end - 1 for one in sequence if one.s > 1 and one.end % s == 0]
    assert all(end % settings.interval and any(end == one for _, one, _ in windows) for end in alike)
    schedule = Schedule(Tuner((exchange,), s, s, iterations), given=sequence)
    while (begin := schedule.made[-1].end if schedule.made else 0) < iterations:
        schedule.done(schedule.next(begin, iterations))
    assert list(windows_of(schedule.made, settings.interval)) == windows
    assert schedule.made == sequence or s == 1
    assert {one.exchange for one in sequence} <= {exchange, "allreduce"}
    assert exchange != "gram" or {one.exchange for one in sequence} == {"gram"}
