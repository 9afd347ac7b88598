"""Runs and judgements are made in IEEE arithmetic, whatever a library does to the process."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from daily import crossed

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    ProductionSolver,
    Ridge,
    Status,
    judge,
)
from sstep_verify.floating_point import EnvironmentWarning, altered, restore
from sstep_verify.ranks import run
from sstep_verify.verdict import NoteKind, Why

SOURCE = Path(__file__).with_name("arithmetic.c")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc) is on PATH")
WAYS = ("flush", "upward", "downward", "toward_zero")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    built = tmp_path_factory.mktemp("arithmetic") / "arithmetic.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(built), str(SOURCE), "-lm"], check=True)
    return built


@pytest.fixture
def ways(library):
    yield ctypes.CDLL(str(library))
    restore()


def ridge(exponent: int, seed: int) -> tuple[Problem, IndexStream]:
    """K-RR whose targets, and so all that is computed, have about this binary exponent."""
    generator = np.random.Generator(np.random.PCG64(seed))
    data, targets = generator.standard_normal((12, 4)), generator.standard_normal(12)
    problem = Problem("tiny", data, targets * 2.0**exponent, LinearKernel(), Ridge(0.5))
    return problem, IndexStream("uniform", 12, 2, 60, seed=seed)


def by_check(verdicts):
    return {one.check: (one.status, one.ratio) for one in verdicts}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_changed_is_named_and_put_back(ways, way):
    assert altered() == ()
    getattr(ways, way)()
    assert altered()
    assert restore() == (
        ("flush-to-zero", "denormals-are-zero") if way == "flush" else ("rounding other than to nearest",)
    )
    assert altered() == ()
    assert np.nextafter(0.0, 1.0) / 2**0 > 0.0


@pytest.mark.parametrize(("way", "seed"), crossed(WAYS, range(3), of=3))
def test_a_process_that_was_changed_before_is_judged_as_any_other(ways, way, seed):
    given = ridge((-1000, -1010, -1019)[seed], seed)
    checks = ["step-replay", "window-replay", "trajectory"]
    usual = by_check(judge(ProductionSolver(), *given, 4, checks=checks))
    getattr(ways, way)()
    with pytest.warns(EnvironmentWarning, match="put back"):
        found = judge(ProductionSolver(), *given, 4, checks=checks)
    assert by_check(found) == usual
    assert {one.status for one in found} == {Status.PASS}
    assert altered() == ()


@pytest.mark.nightly
def test_constants_of_modules_imported_under_flushing_are_right(library):
    """In a process of its own: what judges is imported after the library was loaded."""
    program = f"""
import ctypes, warnings
import numpy as np
warnings.simplefilter("ignore")
from sstep_verify import *
ctypes.CDLL({str(library)!r}).flush()
generator = np.random.Generator(np.random.PCG64(1))
problem = Problem("t", generator.standard_normal((9, 3)), generator.standard_normal(9) * 2.0**-1012,
                  LinearKernel(), Ridge(0.5))
for one in judge(ProductionSolver(), problem, IndexStream("uniform", 9, 2, 30, seed=0), 4):
    print(one.check, one.status.value)
"""
    # Without files of compiled modules, whose constants would be those of another process.
    told = subprocess.run(
        [sys.executable, "-B", "-X", "pycache_prefix=/nowhere", "-c", program],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert told.stdout.split() == ["contract", "PASS", "step-replay", "PASS"], told.stdout + told.stderr


def solver(change, correction=1.0):
    """Classical DCD for L1, or K-RR by columns, that changes the arithmetic of its process first."""

    def function(problem, blocks, s, a0, log):
        change()
        with np.errstate(under="ignore"):
            rows = problem.data @ problem.data.T
            alpha = a0.copy()
            for t, (i,) in enumerate(blocks):
                if problem.is_svm:
                    y = problem.targets
                    gradient = y[i] * np.float64(correction) * (rows[i] @ (y * alpha)) - 1.0
                    alpha[i] = min(max(alpha[i] - gradient / rows[i, i], 0.0), problem.loss.C)
                else:
                    penalty, m = problem.loss.penalty, problem.samples
                    right = problem.targets[i] - m * alpha[i] - correction * (rows[i] @ alpha) / penalty
                    alpha[i] += right / (rows[i, i] / penalty + m)
                log[t, 0] = alpha[i]
        return alpha

    return CallableSolver(function, Declaration("changes", log=True, update="added"))


def svm(seed: int) -> tuple[Problem, IndexStream]:
    generator = np.random.Generator(np.random.PCG64(seed))
    data, labels = generator.standard_normal((10, 4)), np.where(generator.random(10) < 0.5, -1.0, 1.0)
    return Problem("plain", data, labels, LinearKernel(), Hinge(1.0)), IndexStream(
        "uniform", 10, 1, 40, seed
    )


def left_altered(verdict):
    """What a verdict notes that the run left altered."""
    return [what for note in verdict.notes if note.kind is NoteKind.ALTERED for what in note.detail]


@pytest.mark.parametrize("exponent", [-960, -1000, -1010, -1019])
def test_a_right_solver_that_flushes_never_fails(ways, exponent):
    problem, _ = ridge(exponent, seed=5)
    stream = IndexStream("uniform", 12, 1, 60, seed=5)
    first, *others = judge(solver(ways.flush), problem, stream, 4)
    assert first.status is Status.PASS
    assert others
    for one in others:
        assert one.status in (Status.PASS, Status.INCONCLUSIVE, Status.VACUOUS), one.reason
        assert "flush-to-zero" in left_altered(one)
    if exponent <= -1010:  # Where its corrections are lost, that is what is stated.
        assert {one.status for one in others} == {Status.INCONCLUSIVE}


@pytest.mark.parametrize("seed", range(3))
def test_flushing_excuses_no_mistake_in_ordinary_numbers(ways, seed):
    right = judge(solver(ways.flush), *svm(seed), 4)
    assert [one.status for one in right] == [Status.PASS, Status.PASS]
    wrong = judge(solver(ways.flush, 1 + 1e-9), *svm(seed), 4)
    assert [one.status for one in wrong] == [Status.PASS, Status.FAIL]
    assert all("flush-to-zero" in left_altered(one) for one in (*right, *wrong))


def test_another_direction_of_rounding_may_be_the_cause(ways):
    found = judge(solver(ways.upward, 1 + 1e-9), *svm(0), 4)
    assert [one.status for one in found] == [Status.PASS, Status.INCONCLUSIVE]
    assert left_altered(found[1]) == ["rounding other than to nearest"]
    assert found[1].why is Why.ALTERED


def test_a_run_cut_short_fails_in_any_arithmetic(ways):
    def function(problem, blocks, s, a0, log):
        ways.flush()
        raise ValueError("none")

    (found,) = judge(CallableSolver(function, Declaration("ends", log=True)), *svm(0), 4)
    assert found.status is Status.FAIL


def flushing_rank(comm, library):
    ctypes.CDLL(library).flush()
    return altered()


def looking_rank(comm):
    return altered()


def test_ranks_begin_in_ieee_arithmetic(library):
    assert all(run(2, flushing_rank, str(library)))
    assert run(2, looking_rank) == [(), ()]
