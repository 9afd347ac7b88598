"""Run requests: where they are recorded, and what cannot be run is refused with the value met."""

import numpy as np
import pytest
from toy_problem import problem

from sstep_verify.adapters.callable import CallableSolver
from sstep_verify.errors import InputError
from sstep_verify.problems import IndexStream, Ridge
from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.runs import asked_of, make_run


def request(*, block=1, samples=4, made=None, **changes) -> RunRequest:
    fields = {
        "problem": made or problem(),
        "stream": IndexStream("uniform", samples, block, 20),
        "s": 4,
        "iterations": 10,
    }
    return RunRequest(**(fields | changes))


def test_stops_are_sorted_and_hold_both_ends():
    assert request().stops == [0, 10]
    assert request(record=(8, 4, 4)).stops == [0, 4, 8, 10]
    assert request(record=(10, 0)).stops == [0, 10]
    assert request(iterations=0).stops == [0]
    assert request(s=1, record=(3,)).stops == [0, 3, 10]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"s": 0}, "s = 0, but a window holds at least one iteration"),
        ({"s": -2}, "s = -2"),
        ({"iterations": -1}, "iterations = -1"),
        ({"start": -1}, "start = -1"),
        ({"iterations": 21}, "needs 21 drawn blocks, but the index stream has 20"),
        ({"start": 11}, "needs 21 drawn blocks, but the index stream has 20"),
        ({"samples": 5}, "draws from 5 coordinates, but toy has 4 samples"),
        ({"block": 2}, "K-SVM draws one coordinate a step, but the stream has b = 2"),
        ({"initial": np.zeros(3)}, r"a0 has shape \(3,\), but toy has 4 samples"),
        ({"initial": np.zeros((4, 1))}, r"a0 has shape \(4, 1\), but toy has 4 samples"),
        ({"initial": np.full(4, np.nan)}, "a0 holds a value that is not finite"),
        ({"record": (3,)}, r"iteration 3: not the end of a window \(s = 4, 10 iterations\)"),
        ({"record": (12,)}, "iteration 12: not the end of a window"),
        ({"record": (-4,)}, "iteration -4: not the end of a window"),
    ],
)
def test_a_request_that_cannot_be_run_is_named(changes, fault):
    with pytest.raises(InputError, match=fault):
        request(**changes)


def test_requests_at_the_edge_are_accepted():
    request(iterations=20)
    request(start=10)
    request(start=20, iterations=0)
    request(s=100)
    request(initial=np.ones(4))
    request(block=4, made=problem(loss=Ridge()))


@pytest.mark.parametrize("initial", [[0.25, 0.0, 1, 0.5], (0.25, 0.0, 1, 0.5)])
def test_a_list_of_numbers_will_do_for_a0(initial):
    asked, expected = request(initial=initial), np.array(initial)
    assert asked.first.tolist() == asked_of(asked).initial.tolist() == expected.tolist()
    solver = CallableSolver(lambda problem, blocks, s, a: a, Declaration("still"))
    assert np.array_equal(make_run(solver, asked).alphas, [expected, expected])
