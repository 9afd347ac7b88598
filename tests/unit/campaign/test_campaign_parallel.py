"""Campaign files that ask for ranks and exchanges: solvers, case ids, refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sstep_verify.adapters.command import CommandSolver
from sstep_verify.adapters.ours import DistributedSolver
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.case import make_case
from sstep_verify.campaign.verdicts.family import Family, expand
from sstep_verify.campaign.verdicts.kind import read_family
from sstep_verify.checks.shared.case import plain_request
from sstep_verify.errors import InputError
from sstep_verify.problems import LinearKernel, RBFKernel
from sstep_verify.problems.data.datasets import load
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.training.decisions import decide

TABLE = {"data": ["breast_cancer"], "task": ["svm-l1"], "kernel": [{"name": "linear"}], "s": [1]}


def family(**changes) -> Family:
    return Family(("breast_cancer",), ("svm-l1",), (LinearKernel(),), (1,), **changes)


@pytest.mark.parametrize(
    ("options", "exchange"),
    [
        ({}, "allreduce"),
        ({"keep_gram": True}, "kept-gram"),
        ({"exchange": "gram"}, "gram"),
        ({"ranks": 3}, "allreduce"),
        ({"ranks": 2, "exchange": "reduce-scatter"}, "reduce-scatter"),
        ({"ranks": 2, "cache": 5000}, "column-cache"),
    ],
)
def test_the_solver_of_a_family_is_its_own_only_variant(options, exchange):
    made = family(**options).solvers()
    tested = made.pop("")
    assert made.pop("as-used") is tested
    ranks = options.get("ranks", 1)
    assert isinstance(tested, DistributedSolver if ranks > 1 else ProductionSolver)
    assert (tested.declaration.exchange.kind, tested.declaration.ranks) == (exchange, ranks)
    assert not made


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({}, ""),
        ({"exchange": "gram", "recompute": 4}, "gram-recompute=4"),
        ({"ranks": 2}, "P=2-allreduce"),
        ({"ranks": 4, "exchange": "reduce-scatter", "rbf": "difference"}, "difference-P=4-reduce-scatter"),
        ({"ranks": 2, "cache": 5000}, "P=2-allreduce-cache=5000"),
        ({"ranks": 2, "keep_gram": True}, "P=2-allreduce-kept"),
        ({"update": "frozen", "separate_timers": True}, "frozen-timers"),
        ({"start": 20, "storage": "csr"}, "csr-start=20"),
        ({"solver": "training", "interval": 7}, "training-float64-interval=7"),
        (
            {"solver": "solve", "interval": 7, "tuned": True, "auto": True, "stream": "epochs"},
            "solve-float64-interval=7-tuned-auto-epochs",
        ),
        ({"partition": "contiguous", "long_block": 5, "panel_words": 9}, "contiguous-long=5-panel=9"),
    ],
)
def test_the_label_names_ranks_and_exchange(options, label):
    assert family(**options).label == label


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ranks": 0}, "ranks = 0"),
        ({"ranks": 2, "solver": "reference"}, "communicates nothing"),
        ({"exchange": "reduce-scatter", "cache": 9}, "drop keep_gram and cache"),
        (
            {"exchange": "gram", "kernel": [{"name": "rbf", "sigma": 1.0}]},
            "'gram' is for the linear kernel",
        ),
        ({"recompute": 2}, "recompute is for exchange 'gram'"),
        ({"exchange": "smoke"}, "exchange = 'smoke'"),
        ({"interval": 7}, "'production' with interval = 7"),
        ({"solver": "training"}, "'training' with interval = 0"),
        ({"solver": "solve"}, "'solve' with interval = 0"),
        ({"tuned": True}, "tuned is for training and solve"),
        ({"long_block": 0}, "long_block = 0"),
        ({"partition": "half"}, "partition = 'half'"),
        ({"solver": "training", "interval": 7, "precision": "float32"}, "has float64 only"),
        ({"solver": "reference", "separate_timers": True}, "communicates nothing"),
        ({"start": 7, "drift": 9}, "start = 7 and drift = 9"),
        ({"start": -1}, "start = -1, but it must be >= 0"),
    ],
)
def test_what_cannot_be_run_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        read_family(dict(TABLE) | changes, "here")


@pytest.mark.parametrize("tuned", [False, True])
def test_training_and_the_command_are_made_again_as_a_user_makes_them(tuned):
    made = family(solver="training", interval=7, tuned=tuned).solvers()
    assert set(made) == {"", "as-used"}
    assert made[""] is made["as-used"]
    made = family(solver="solve", interval=7, tuned=tuned).solvers()
    assert set(made) == {"", "as-used", "resumed"}
    assert all(type(one) is CommandSolver for one in made.values())
    assert made["resumed"].sequences is made[""].sequences
    assert made[""].declaration.log
    made = family(solver="solve", interval=7, tuned=tuned, auto=True).solvers()
    assert made[""].declaration.log is not tuned  # The windows of a command that tunes depend on time.


@pytest.mark.parametrize("name", ["embedded", "paper", "parallel", "varied"])
def test_every_run_of_the_shipped_solver_in_its_campaigns_is_made_again(name):
    families = read_definition(name).families
    assert families
    for one in families:
        assert "determinism" in one.checks, one.label
        assert "as-used" in one.solvers()


def test_the_shipped_campaign_has_each_exchange_on_two_and_four_ranks():
    specs = [spec for unit in expand(read_definition("parallel")) for spec in unit.work]
    exchanges = {
        spec.family.solvers()[""].declaration.exchange.kind
        for spec in specs
        if spec.family.solver == "production"
    }
    assert exchanges == {"allreduce", "support", "reduce-scatter", "gram", "column-cache", "kept-gram"}
    assert {spec.family.ranks for spec in specs} == {2, 4, 5}
    assert {type(spec.kernel) for spec in specs} >= {LinearKernel, RBFKernel}
    assert all(f"P={spec.family.ranks}-" in spec.id for spec in specs)


def test_a_largest_s_that_is_given_is_not_the_one_that_would_be_chosen():
    """A command that ignores the largest s that it is given makes its own choice."""
    specs = [spec for unit in expand(read_definition("parallel")) for spec in unit.work]
    tuned = [s for s in specs if s.family.solver == "solve" and s.family.tuned and not s.family.auto]
    assert tuned
    for spec in tuned:
        tested = spec.family.solvers()[""]
        case = make_case(spec, load(spec.data), {"": tested.declaration}, "parallel", "")
        for s in case.s_values:
            own = tested.settings(plain_request(case, s))
            own = replace(own, kernel=spec.kernel, loss=case.problem.loss, block=spec.block)
            sizes = case.problem.samples, spec.family.ranks
            assert decide(own, *sizes).largest_s == s
            assert decide(replace(own, largest_s=None), *sizes).largest_s != s
