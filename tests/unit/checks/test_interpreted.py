"""The compiled loops of the judge say what their source says: the interpreter, which runs it, agrees.

A compiler that fused or reordered operations elsewhere than in sums, which are bounded in any order, would
leave the bounds without their proof. So bounds are equal, and distances within them.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from production_runs import KERNELS, problem_of, stream_of

from sstep_verify.checks import step_replay, window_replay
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.compiled import AVAILABLE
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status

PARTS = tuple(f"sstep_verify.{part}" for part in ("bounds", "rounding", "checks"))

OPTIONS = {
    "plain": {},
    "frozen": {"update": "frozen"},
    "kernel polynomial": {},
    "kernel linear": {},
    "weights": {"exchange": "gram"},
}


class Faulty(ProductionSolver):
    """Solves the problem with all data times a factor."""

    factor = 1.0

    def run(self, request, observe=None):
        given = request.problem
        problem = Problem(given.name, given.data * self.factor, given.targets, given.kernel, given.loss)
        return super().run(replace(request, problem=problem), observe)


def verdicts(task, name, factor):
    place = {"kernel polynomial": 1, "kernel linear": 0, "weights": 0}.get(name, 2)
    problem, stream, tested = problem_of(task, KERNELS[place]), stream_of(task), Faulty(**OPTIONS[name])
    tested.factor = factor
    case = Case("case", problem, stream, (1, 4), 42, tested.declaration, points={1: (42,), 4: (42,)})
    checks = step_replay.CHECK, window_replay.CHECK
    requests = merge_requests(check.runs(case) for check in checks)
    runs = {key: tested.run(request) for key, request in requests.items()}
    later = merge_requests(check.continued(case, runs) for check in checks)
    runs |= {key: tested.run(request) for key, request in later.items()}
    oracle = Oracle(case.problem)
    return [one for check in checks for one in check.judge(case, runs, oracle)]


def _where(verdict) -> tuple:
    return verdict.place.run, verdict.place.begin, verdict.place.end, verdict.place.coordinate


def interpreted(monkeypatch) -> int:
    """Put the source instead of every compiled function of the judge; how many there are."""
    count = 0
    for module in [one for name, one in sys.modules.items() if name.startswith(PARTS)]:
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
                count += 1
    return count


@pytest.mark.skipif(not AVAILABLE, reason="nothing is compiled without numba")
@pytest.mark.parametrize(
    ("task", "name", "factor"),
    [
        pytest.param(task, name, factor, marks=[pytest.mark.nightly] * ((row + column + 3 * turn) % 6 != 0))
        for row, task in enumerate(("svm-l1", "svm-l2", "krr"))
        for column, name in enumerate(OPTIONS)
        for turn, factor in enumerate((1.0, 1.0 + 1e-6))
    ],
)
def test_verdicts_are_those_of_the_source(task, name, factor, monkeypatch):
    compiled = verdicts(task, name, factor)
    with monkeypatch.context() as patch, np.errstate(all="ignore"):
        assert interpreted(patch) > 40
        found = verdicts(task, name, factor)
    assert len(found) == len(compiled) == 4
    assert (Status.FAIL in [one.status for one in compiled]) == (factor != 1.0)
    for one, other in zip(found, compiled, strict=True):
        assert (one.check, one.s, one.status, one.defects) == (
            other.check,
            other.s,
            other.status,
            other.defects,
        )
        if _where(one) == _where(other):
            assert one.bound == pytest.approx(other.bound, rel=1e-12, abs=0.0)
            assert abs(one.measured - other.measured) <= one.bound
        else:
            # Of correct runs the judge's own roundings say which step is nearest to its bound.
            assert one.status is Status.PASS
            assert abs(one.ratio - other.ratio) < 1.0
        for term, same in zip(one.terms, other.terms, strict=True):
            counts = (term.name, term.status, term.planned, term.decided, term.seen)
            assert counts == (same.name, same.status, same.planned, same.decided, same.seen)
            # Where nothing was seen, an effect may be as small as the rounding of a sum.
            assert not term.seen or term.detection_limit == pytest.approx(same.detection_limit, rel=1e-9)
