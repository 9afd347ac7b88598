"""What is promised of values that a correct solver reports where numbers on the way to them may overflow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, Ridge, judge
from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.bounds.optimum.reported import may_overflow
from sstep_verify.declaration import Declaration
from sstep_verify.trajectory import Claim
from sstep_verify.verdict import Status

SAMPLES = 4


class Reporting:
    """The reference in float32, with the residual that float32 makes of its squares."""

    def __init__(self, off=1.0):
        self._inner, self._off = ReferenceSolver("float32", "sstep"), off
        self.declaration = self._inner.declaration

    def run(self, request, observe=None):
        made, problem = self._inner.run(request, observe), request.problem
        alpha = made.final.astype(np.float32)
        kernel = (problem.dense @ problem.dense.T).astype(np.float32)
        with np.errstate(over="ignore"):
            left = problem.targets.astype(np.float32) - kernel @ alpha / np.float32(problem.ridge.penalty)
            left -= np.float32(problem.samples) * alpha
            reported = float(np.sqrt(np.sum(left * left, dtype=np.float32)))
        return replace(made, claims={"residual": Claim(self._off * reported)})


def verdicts(targets, off=1.0):
    data = np.random.Generator(np.random.PCG64(3)).standard_normal((SAMPLES, 2)).astype(np.float32)
    problem = Problem("huge", data.astype(np.float64), targets, LinearKernel(), Ridge(1.0))
    stream = IndexStream("uniform", SAMPLES, 1, 3, seed=1)
    return judge(Reporting(off), problem, stream, 1, checks=["claim-honesty"])


@pytest.mark.parametrize("exponent", [0, 40, 70, 90])
def test_no_residual_whose_square_may_overflow_is_failed(exponent):
    targets = np.float32([1.0, -2.0, 3.0, 1.5]).astype(np.float64) * 2.0**exponent
    (contract, told) = verdicts(targets)
    assert contract.status is not Status.FAIL
    assert told.check == "claim-honesty"
    if exponent < 60:
        assert told.status is Status.PASS
        assert verdicts(targets, off=1.001)[-1].status is Status.FAIL
    else:  # the square of 2^70 is no number of float32
        assert told.status in (Status.VACUOUS, Status.INCONCLUSIVE)


@pytest.mark.parametrize("loss", [Hinge(1.0), Ridge(1.0)])
def test_sizes_near_1_promise_something_and_those_of_half_the_exponents_nothing(loss):
    data = np.random.Generator(np.random.PCG64(4)).standard_normal((SAMPLES, 2))
    problem = Problem("drawn", data, np.array([1.0, -1.0, 1.0, -1.0]), LinearKernel(), loss)
    for precision, power in (("float32", 70), ("float64", 520)):
        declared = Declaration("mine", precision=precision)
        assert not may_overflow(problem, declared, np.ones(SAMPLES))
        assert may_overflow(problem, declared, 2.0**power * np.ones(SAMPLES))
