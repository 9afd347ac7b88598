"""Scenarios: the same bits from the same id, every field told apart, contradictions refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.errors import InputError
from sstep_verify.problems import PolynomialKernel, RBFKernel
from sstep_verify.scenarios.scenario import Scenario

GOLDEN = Scenario(
    task="svm-l2",
    kernel=RBFKernel(0.1),
    samples=9,
    features=5,
    s=4,
    iterations=7,
    seed=3,
    parameter=1e-3,
    spectrum="logrand",
    condition=1e7,
    density=0.5,
    skew=1.0,
    start="mixed",
)


def test_the_same_scenario_gives_the_same_bits():
    again = Scenario.from_id(GOLDEN.id)
    assert again == GOLDEN
    assert again.problem().digest == GOLDEN.problem().digest
    np.testing.assert_array_equal(again.stream().blocks(0, 7), GOLDEN.stream().blocks(0, 7))
    np.testing.assert_array_equal(again.initial(), GOLDEN.initial())
    assert replace(GOLDEN, seed=4).problem().digest != GOLDEN.problem().digest


def test_the_bits_are_the_same_on_every_machine_and_in_every_release():
    """Golden values: a change makes the ids in old reports mean something else."""
    assert GOLDEN.id == (
        "svm-l2,rbf,sigma=0.1,m=9,n=5,b=1,s=4,H=7,P=1,seed=3,parameter=0.001,spectrum=logrand,"
        "cond=10000000,density=0.5,skew=1,start=mixed"
    )
    assert GOLDEN.problem().digest == "adafe4a6d617fee62d0e637e14bdc574671204d22967d3e5cc36c599b0cdbd51"
    dense = Scenario(task="krr", samples=17, features=6, spectrum="geo", condition=1e14)
    assert dense.problem().digest == "3aed684982650d9a75388c6406c0a0179de447d6a0dcee9826ef8579636dc38d"


def test_one_field_leaves_the_draws_of_the_others_alone():
    base = Scenario(samples=8, features=3, iterations=5)
    other = replace(base, density=0.5, spectrum="geo", zero_rows=1)
    np.testing.assert_array_equal(base.problem().targets, other.problem().targets)
    np.testing.assert_array_equal(base.stream().blocks(0, 5), other.stream().blocks(0, 5))


def test_ids_tell_every_field_apart():
    changes = {
        "samples": 5, "features": 3, "s": 2, "iterations": 3, "ranks": 2, "seed": 9, "parameter": 0.1,
        "spectrum": "rgeo", "condition": 1e14 / 3, "scale": "large", "offset": -1e6, "unit_rows": True,
        "duplicates": 1 / 3, "zero_rows": 1, "constant_features": 1, "density": 0.1, "positive": 0.05,
        "start": "near", "precision": "float32", "order": "cyclic", "task": "svm-l2",
        "kernel": PolynomialKernel(4, 0.1),
    }  # fmt: skip
    made = [Scenario(**{field: value}) for field, value in changes.items()]
    made += [Scenario(task="krr", block=2), Scenario(density=0.5, skew=0.1), Scenario()]
    made += [Scenario(kernel=RBFKernel(sigma)) for sigma in (0.1, 5e-324, 1e300)]
    assert len({scenario.id for scenario in made}) == len(made)
    for scenario in made:
        assert Scenario.from_id(scenario.id) == scenario
        assert not set(scenario.id) & set(" /\\'\"\n")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "kernel ''"),
        ("svm-l1", "kernel ''"),
        ("svm-l1,cosine,m=4", "'cosine'"),
        ("svm-l1,linear,m=4,m=5", "'m=5'"),
        ("svm-l1,linear,sigma=1", "'sigma=1'"),
        ("svm-l1,linear,m", "'m'"),
        ("svm-l1,linear,m=four", "'four'"),
        ("svm-l1,linear,unit=2", "'2'"),
        ("svm,linear,m=4", "'svm'"),
    ],
)
def test_malformed_ids_are_refused_by_the_part_at_fault(text, named):
    with pytest.raises(InputError) as caught:
        Scenario.from_id(text)
    assert named in str(caught.value)
