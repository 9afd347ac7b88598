"""Of a run that leaves its box the report states the gap of the nearest vector inside, which has one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_solvers import callable_of, descend

from sstep_verify import Problem, verify
from sstep_verify.campaign.verdicts.measured import NEAREST
from sstep_verify.report.case import GAP
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.verdict import Status


def exact_gap(problem: Problem, alpha: np.ndarray) -> tuple[Fraction, Fraction]:
    """Primal minus dual value of a linear K-SVM, and the sum of the sizes of all that is added for it."""
    data = [[Fraction(value) for value in row] for row in problem.dense.tolist()]
    labels, a = [Fraction(one) for one in problem.targets], [Fraction(one) for one in alpha.tolist()]
    C, size = Fraction(problem.hinge.C), problem.samples
    product = [
        [
            labels[i] * labels[j] * sum(x * z for x, z in zip(data[i], data[j], strict=True))
            for j in range(size)
        ]
        for i in range(size)
    ]
    image = [sum(q * one for q, one in zip(row, a, strict=True)) for row in product]
    lengths = [sum(x * x for x in row) for row in data]
    bound = [
        sum((lengths[i] + lengths[j]) / 2 * abs(a[j]) for j in range(size)) for i in range(size)
    ]  # |<x, z>| and the sum of sizes in it are at most (|x|^2 + |z|^2) / 2.
    primal = sum(p * q for p, q in zip(a, image, strict=True)) / 2
    primal += C * sum((max(Fraction(0), 1 - one) ** problem.hinge.power for one in image), Fraction(0))
    dual = sum(a) - sum(p * q for p, q in zip(a, image, strict=True)) / 2
    dual -= Fraction(problem.hinge.shift) * sum(one * one for one in a) / 2
    sizes = sum((C + abs(one)) * (1 + row) ** 2 for one, row in zip(a, bound, strict=True))
    return primal - dual, sizes


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.nightly] * (seed not in (0, 2, 3))) for seed in range(6)]
)
def test_the_stated_gap_is_that_of_the_nearest_vector_inside(seed):
    generator = np.random.Generator(np.random.PCG64([23, seed]))
    ends: dict[tuple[int, int], tuple[Problem, np.ndarray]] = {}
    beyond = 10.0 ** generator.uniform(-3, 1)
    task = ("svm-l1", "svm-l2")[seed % 2]

    def leaves(problem, blocks, s, a0, log):
        """Ends outside the box at the last coordinate drawn, below 0 or, of L1, above C."""
        alpha = descend(problem, blocks, s, a0, log)
        above = task == "svm-l1" and seed % 4 == 0
        log[-1] = alpha[blocks[-1]] = problem.hinge.C + beyond if above else -beyond
        if not a0.any():
            ends[s, len(blocks)] = problem, alpha
        return alpha

    report = verify(
        callable_of(log=True, function=leaves), "smoke", tasks=[task], kernels=["linear"],
        s=sorted(generator.choice(np.arange(1, 20), 2, replace=False).tolist()), seed=seed,
    )  # fmt: skip
    (case,) = report.results.cases
    lower, _ = case.facts["optimal_value_enclosure"]
    assert case.status == Status.FAIL
    assert case.runs
    for run in case.runs:
        problem, alpha = ends[run.s, run.iterations]
        inside = np.clip(alpha, problem.boxed.lower, problem.boxed.upper)
        assert (inside != alpha).any()
        assert run.stop.endswith(NEAREST)
        gap, sizes = exact_gap(problem, inside)
        # Any order of at most 4 m + n + 16 roundings of each term.
        allowed = (4 * problem.samples + problem.features + 16) * unit_roundoff("float64") * float(sizes)
        assert run.measure == GAP
        assert abs(run.final - float(gap) / lower) <= allowed / lower
