"""The check optimum rests on certified values only: no measure, no uncertified solve has a part in it."""

from __future__ import annotations

import ast
import importlib
import inspect
from fractions import Fraction

import numpy as np
import pytest
from judged import judged, small_case

from sstep_verify.checks import optimum as check
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, RBFKernel, Ridge, SquaredHinge

CLAIM = {"tolerance": 2.0**-2}
MODULES = ("checks.optimum", "oracle.facade")
"""The bounds borrow the measures' formulas for a value in float64, and bound the error of each."""


def _imported(name: str) -> set[str]:
    module = importlib.import_module(f"sstep_verify.{name}")
    tree = ast.parse(inspect.getsource(module))
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize("name", MODULES)
def test_no_measure_is_imported(name):
    assert not {module for module in _imported(name) if module.startswith("sstep_verify.measures")}


def test_the_only_sources_of_an_optimum_are_the_certifying_ones():
    assert {
        module
        for module in _imported("oracle.facade")
        if "oracle.certificate" in module or "oracle.search" in module
    } == {"sstep_verify.oracle.certificate.optimum"}


@pytest.mark.parametrize("loss", [Hinge(0.5), SquaredHinge(2.0)], ids=lambda loss: loss.task)
def test_the_optimal_value_it_uses_holds_the_certified_one(loss):
    case, tested = small_case(loss, RBFKernel(0.3), iterations=64, claims=CLAIM)
    certificate = certify(case.problem, 30)
    verdicts = judged(check, case, tested, observe=lambda iteration, alpha: iteration >= 32)
    assert verdicts
    for verdict in verdicts.values():
        lower, upper = verdict.evidence["optimal_value"]
        assert Fraction(lower) <= certificate.objective.upper
        assert Fraction(upper) >= certificate.objective.lower
        assert lower < upper


def test_the_solution_it_uses_lies_at_the_certified_one_within_its_error():
    case, tested = small_case(Ridge(0.05), RBFKernel(0.3), block=3, iterations=64, claims=CLAIM)
    certificate = certify(case.problem, 30)
    used = Oracle(case.problem).ridge_optimum(case.problem)
    exact = [Fraction(text) for text in certificate.alpha]
    square = sum((Fraction(x) - y) ** 2 for x, y in zip(used.alpha.tolist(), exact, strict=True))
    assert square <= (Fraction(used.error) + Fraction(certificate.radius)) ** 2
    verdicts = judged(check, case, tested, observe=lambda iteration, alpha: iteration >= 32)
    assert verdicts
    for verdict in verdicts.values():
        assert "exact kernel in balls" in verdict.evidence["reference_solution"]


def test_an_optimum_moved_by_more_than_its_error_is_seen():
    case, _ = small_case(Ridge(0.05), RBFKernel(0.3), block=3, iterations=8)
    certificate = certify(case.problem, 30)
    used = Oracle(case.problem).ridge_optimum(case.problem)
    moved = np.array(used.alpha)
    moved[0] += 4 * used.error + float(certificate.radius)
    square = sum(
        (Fraction(x) - Fraction(y)) ** 2 for x, y in zip(moved.tolist(), certificate.alpha, strict=True)
    )
    assert square > (Fraction(used.error) + Fraction(certificate.radius)) ** 2
