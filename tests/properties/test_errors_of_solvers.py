"""What a solver raises is the verdict on it, whatever its error says."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from small_solvers import callable_of, descend, drawn

from sstep_verify import Status, judge, verify

DRAWS = range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "12")))


class NoTextError(Exception):
    """An error whose text cannot be formed."""

    def __str__(self):
        raise self.args[0]


def drawn_error(rng):
    """An error with a drawn text, and words that the verdict has to hold."""
    signs = np.array([*"abc {}%", "\x00", "\x1b", "\ud800", "\u202e", "\n", "é", "\U0001f600"])
    text = "".join(rng.choice(signs, int(rng.integers(0, 30)))) * int(rng.choice([1, 1, 100_000]))
    kind = [
        ValueError,
        MemoryError,
        TimeoutError,
        AssertionError,
        StopIteration,
        UnicodeError,
        NoTextError,
    ][rng.integers(7)]
    if kind is NoTextError:
        return NoTextError(RuntimeError(text)), ("NoTextError", "its text cannot be formed (RuntimeError)")
    if rng.integers(3) == 0:
        return kind(), (f"raised {kind.__name__} at ",)
    return kind(text), (kind.__name__,)


def raising(error, calls=0):
    """A solver that makes some runs and raises an error in the others."""
    made = [0]

    def solver(problem, blocks, s, a0, log=None):
        made[0] += 1
        if made[0] > calls:
            raise error
        return descend(problem, blocks, s, a0, log)

    return callable_of(function=solver)


@pytest.mark.parametrize("seed", DRAWS)
def test_an_error_of_any_text_is_a_failure_that_can_be_kept(seed):
    rng = np.random.default_rng(seed)
    error, words = drawn_error(rng)
    problem, stream = drawn(seed, ("svm-l1", "krr")[seed % 2])
    contract = judge(raising(error, int(rng.integers(0, 2))), problem, stream, s=4)[0]
    assert contract.status is Status.FAIL
    assert all(word in contract.reason for word in words), contract.reason
    assert len(contract.reason) < 5000
    assert json.dumps(contract.as_dict()).encode("utf-8")


@pytest.mark.parametrize("error", [NoTextError(ValueError()), ValueError("a\ud800" * 9)])
def test_a_report_on_such_a_solver_is_made(error):
    report = verify(raising(error), "smoke", tasks=["krr"], kernels=["rbf"])
    assert report.results.summary.exit_code == 1
    assert "faulty on 1 of 1 problem" in repr(report)
