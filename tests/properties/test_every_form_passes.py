"""A correct solver of every form that can be declared passes a profile, with nothing left incomplete."""

from __future__ import annotations

import pytest
from daily import some

from sstep_verify import Declaration, Exchange, verify
from studies.admissible.arithmetic import ORDERS
from studies.admissible.solver import AdmissibleSolver

FORMS = {
    "single precision": {"precision": "float32"},
    "added": {"update": "added"},
    "frozen, logged": {"update": "frozen", "log": True},
    "frozen, single precision": {"update": "frozen", "precision": "float32", "log": True},
    "rows": {"products": "rows", "panels": True},
    "difference": {"rbf": "difference"},
    "no trailer": {"exchange": Exchange("allreduce"), "level": 3},
    "trailer, ranks": {"exchange": Exchange("allreduce", trailer=2), "level": 3, "ranks": 3},
    "per window": {"exchange": Exchange("per-window"), "level": 3},
    "no exchange": {"level": 3},
    "start": {"level": 1},
    "final alpha": {"level": 0},
}
"""Fields of a declaration, by what they say."""

SOLVES = ("ldl", "lu", "orthogonal")


KERNELS = ("polynomial", "rbf", "linear")

PLAIN_ORDERS = ORDERS[: ORDERS.index("fused")]
"""Orders that NumPy adds in; the last one rounds fractions, which takes ten times as long."""


def exit_code(order: str, task: str, kernel: str, **fields) -> int:
    """The exit code of a problem of smoke, with values of a seed, for a solver of these fields."""
    solver = AdmissibleSolver(Declaration("form", **fields), order)
    report = verify(solver, "smoke", tasks=[task], kernels=[kernel], seed=1)
    assert report.passed, report
    return report.results.summary.exit_code


@pytest.mark.parametrize(
    ("form", "task"),
    [
        pytest.param(form, task, marks=[pytest.mark.nightly] * (place % 6 != 3 * (task == "krr")))
        for place, form in enumerate(FORMS)
        for task in ("svm-l1", "krr")
    ],
)
def test_a_correct_solver_of_a_declared_form_passes(form: str, task: str) -> None:
    """Exit code 0: no FAIL, and no comparison that is missing."""
    place = list(FORMS).index(form)
    kernel = KERNELS[(place + (task == "krr")) % len(KERNELS)]
    assert exit_code(PLAIN_ORDERS[place % len(PLAIN_ORDERS)], task, kernel, **FORMS[form]) == 0


@pytest.mark.parametrize("factorisation", some(SOLVES, of=3))
def test_a_correct_solver_of_a_declared_factorisation_passes(factorisation: str) -> None:
    """Of K-RR."""
    assert exit_code("pairwise", "krr", "polynomial", factorisation=factorisation) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_a_correct_solver_of_sums_that_are_rounded_once_passes(task: str) -> None:
    """Every product with its sum."""
    assert exit_code("fused", task, "rbf", **FORMS["trailer, ranks"]) == 0
