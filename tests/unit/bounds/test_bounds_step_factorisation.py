"""The backward error of a block solve, compiled for the judge of steps, against the one it is made from."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.bounds.step.residual import solve_constants
from sstep_verify.bounds.step.solve import solve_error
from sstep_verify.rounding.block.factorisation import factorisation_error
from sstep_verify.solver import Declaration

SAMPLES = 40


def read(name):
    """A name as a file gives it: equal to the one in the code, and another object."""
    return "".join(list(name))


@pytest.mark.parametrize("factorisation", ["cholesky", "ldl", "lu"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("block", [1, 2, 5, 16])
def test_the_compiled_bound_is_that_of_the_factorisation(factorisation, precision, block):
    declaration = Declaration("test", precision=precision, factorisation=read(factorisation))
    generator = np.random.Generator(np.random.PCG64(block))
    root = generator.standard_normal((block, block))
    system = root @ root.T + SAMPLES * np.eye(block)
    trace, constants = (
        float(np.trace(system)),
        solve_constants(declaration, SAMPLES, SAMPLES, 8, block, 1.0),
    )
    for given in (0.0, 1e-9, 1e-3):
        expected = factorisation_error(np.abs(system), given, float(SAMPLES), declaration)
        found = solve_error(constants, trace, given, block)
        if factorisation == "lu" and block > 1:  # the judge takes the trace for the largest entry
            assert expected <= found
            continue
        # Underflow is counted elsewhere by the judge, and nothing is rounded outwards by more than OUTWARD.
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-30)


@pytest.mark.parametrize("given", [0.5, 50.0])
def test_both_promise_nothing_where_elimination_may_break_down(given):
    declaration = Declaration("test", factorisation=read("ldl"))
    system, constants = SAMPLES * np.eye(64), solve_constants(declaration, SAMPLES, SAMPLES, 8, 64, 1.0)
    expected = factorisation_error(system, given, float(SAMPLES), declaration)
    assert (expected == np.inf) == (solve_error(constants, float(np.trace(system)), given, 64) == np.inf)
