"""Training whose s is tuned: the same on all ranks, counted exactly, and to be made again to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import solve_ranks as ranks_do
from test_solve_training import FORMS, KERNEL_OF, SAMPLES, problem_of

from sstep_verify.costs.messages import TRAILER, distinct_of, window_counts
from sstep_verify.problems import IndexStream
from sstep_verify.ranks import run
from sstep_verify.solver.training.schedule import Segment, windows_of

SIZES, INTERVAL, LENGTH = (1, 2), 50, 420
TASK_OF = {
    "allreduce": "svm-l1",
    "support": "svm-l2",
    "reduce-scatter": "krr",
    "all rows kept": "krr",
    "some rows kept": "svm-l2",
    "gram": "krr",
}
ALL = ("gram", "allreduce", "reduce-scatter")
SEQUENCE = (Segment(7, 3, "gram"), Segment(120, 16, "gram"), Segment(260, 1, "allreduce"),
            Segment(390, 8, "reduce-scatter"), Segment(LENGTH, 5, "gram"))  # fmt: skip


def tuned_form(form: str, most: int = 16, iterations: int = LENGTH, interval: int = INTERVAL):
    return replace(FORMS[form], s="auto", largest_s=most, iterations=iterations, interval=interval)


def stream_of(task: str) -> IndexStream:
    return IndexStream("uniform", SAMPLES, 3 if task == "krr" else 1, LENGTH, seed=4)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_what_was_tuned_is_made_again_and_gone_on_with_to_the_last_bit(size, form):
    task = TASK_OF[form]
    kernel = "linear" if form == "gram" else KERNEL_OF[task]
    problem, stream, settings = problem_of(task, kernel), stream_of(task), tuned_form(form)
    exchanges = (settings.exchange,)
    found = run(size, ranks_do.tuned, problem, stream, settings, exchanges)
    (whole, places, _, _) = found[0]
    assert [one[0].sequence for one in found] == [whole.sequence] * size
    assert all(np.array_equal(one[0].trajectory.final, whole.trajectory.final) for one in found)
    assert whole.sequence[-1].end == LENGTH
    assert max(segment.s for segment in whole.sequence) <= 16
    assert len({segment.s for segment in whole.sequence}) > 1
    assert [one.iteration for one in whole.history] == [*range(0, LENGTH, INTERVAL), LENGTH]
    again = run(size, ranks_do.tuned, problem, stream, settings, exchanges, whole.sequence)[0][0]
    np.testing.assert_array_equal(again.trajectory.final, whole.trajectory.final)
    assert str(again.history) == str(whole.history)
    place = places[2]
    assert place.sequence[-1].end == place.iteration == 150
    # Killed there: with the whole sequence the same bits, else another sequence, made again as well.
    same = run(size, ranks_do.tuned, problem, stream, settings, exchanges, whole.sequence, place)[0][0]
    np.testing.assert_array_equal(same.trajectory.final, whole.trajectory.final)
    on = run(size, ranks_do.tuned, problem, stream, settings, exchanges, place.sequence, place)[0][0]
    at_once = run(size, ranks_do.tuned, problem, stream, settings, exchanges, on.sequence)[0][0]
    np.testing.assert_array_equal(at_once.trajectory.final, on.trajectory.final)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_a_given_sequence_is_followed_and_its_messages_are_those_stated(size, task):
    problem, stream = problem_of(task, "linear"), stream_of(task)
    args = (problem, stream, tuned_form("allreduce"), ALL, SEQUENCE)
    found = run(size, ranks_do.tuned, *args)
    windows = list(windows_of(SEQUENCE, INTERVAL))
    assert [begin for begin, _, _ in windows] == [0, *(end for _, end, _ in windows[:-1])]
    assert all(end // INTERVAL == begin // INTERVAL or end % INTERVAL == 0 for begin, end, _ in windows)
    collectives = words = 0
    for name in ALL:
        counts = [np.unique(stream.blocks(begin, end)).size for begin, end, one in windows if one == name]
        trailer = TRAILER + (size > 1)
        counted = window_counts(name, SAMPLES, distinct_of(np.array(counts)), False, trailer)
        collectives, words = collectives + counted.collectives, words + counted.words
    for result, *_ in found:
        counters = result.trajectory.counters
        assert (counters["windows"], counters["collectives"], counters["words"]) == (
            len(windows), collectives, words,
        )  # fmt: skip
        np.testing.assert_array_equal(result.trajectory.final, found[0][0].trajectory.final)
    assert found[0][0].sequence[-1].end == LENGTH


@pytest.mark.parametrize("size", SIZES)
def test_every_exchange_is_tried_and_ranks_choose_alike(size):
    problem, stream = problem_of("svm-l2", "linear"), IndexStream("uniform", SAMPLES, 1, 4000, seed=4)
    settings = tuned_form("allreduce", 16, 4000, 500)
    found = run(size, ranks_do.tuned, problem, stream, settings, ALL)
    whole = found[0][0]
    assert {segment.exchange for segment in whole.sequence} == set(ALL)
    assert {(tuple(explored), best) for _, _, explored, best in found} == {
        (tuple(found[0][2]), found[0][3])
    }
    again = run(size, ranks_do.tuned, problem, stream, settings, ALL, whole.sequence)[0][0]
    np.testing.assert_array_equal(again.trajectory.final, whole.trajectory.final)


@pytest.mark.parametrize("exchange", ["allreduce", "gram"])
def test_a_batch_that_takes_too_long_is_cut_in_the_same_window_on_all_ranks(exchange):
    problem, stream = problem_of("svm-l2", "linear"), IndexStream("uniform", SAMPLES, 1, 20_000, seed=4)
    settings = tuned_form(exchange, 4, 20_000, 20_000)
    found = run(2, ranks_do.slowed, problem, stream, settings, 0.05)
    (whole, segments), (other, others) = found
    assert segments == others
    lengths = [(made - begin, s) for begin, asked, made, s in segments if made < asked]
    assert lengths
    assert all(length % s == 0 for length, s in lengths)
    assert whole.sequence == other.sequence
    assert whole.sequence[-1].end == settings.iterations
    np.testing.assert_array_equal(whole.trajectory.final, other.trajectory.final)
    again = run(2, ranks_do.tuned, problem, stream, settings, (exchange,), whole.sequence)[0][0]
    np.testing.assert_array_equal(again.trajectory.final, whole.trajectory.final)
