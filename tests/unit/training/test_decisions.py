"""Decisions that a request leaves open, and what makes two runs the same."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.costs.intervals import STEP, first_interval
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, LinearKernel, RBFKernel, Ridge
from sstep_verify.solver.settings import LONGEST, Settings, interval_end
from sstep_verify.solver.training import decisions
from sstep_verify.solver.training.decisions import (
    MEMORY,
    START_S,
    decide,
    identity_of,
)

EXCHANGES_AND_ROWS = st.sampled_from([("gram", 0), ("allreduce", 0), ("allreduce", 300), ("support", 0)])


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 64), st.integers(1, 4), EXCHANGES_AND_ROWS)
def test_a_first_interval_makes_at_least_twice_the_work_of_a_measurement(samples, block, s, ranks, how):
    """By the leading term of each: rows that are formed, entries of those kept, values of all samples."""
    block = min(block, samples)
    first = first_interval(samples, 50.0 * samples, block, s, ranks, *how)
    exchange, rows = how
    if exchange == "gram":
        # A window of s steps: with the weights, to the weights, and among the draws.
        operations, due = block * (5 + s * block) * 50.0 / ranks, 6 * 50.0 * samples / ranks
    elif rows:
        operations, due = 2.0 * samples * block, 2.0 * samples**2
    else:
        operations, due = block * 100.0 / ranks, samples * 100.0 / ranks
    assert first * (operations + STEP + 2e4) >= 2 * due
    assert first_interval(samples, 50.0 * samples, block, s, ranks, "gram", 0) >= 1


@given(st.integers(1, 1000), st.integers(0, 10**7))
def test_intervals_lengthen_until_measurements_are_three_percent(first, iteration):
    """Ends are multiples of the first; an interval that measures half its first length takes 1/34 for it."""
    end = interval_end(iteration, first, lengthening=True)
    begin = end - first
    while begin > 0 and interval_end(begin - 1, first, lengthening=True) == end:
        begin -= first
    assert begin <= iteration < end
    assert end % first == begin % first == 0
    length = (end - begin) // first
    assert 1 <= length <= LONGEST
    if length < LONGEST:
        assert end // first == length * (length + 1) // 2
    assert 1 / (2 * LONGEST) < 0.03
    assert interval_end(iteration, first) == iteration - iteration % first + first


def test_default_intervals_lengthen_and_those_asked_for_do_not():
    found = decide(request_of(), 100, 1)
    assert found.lengthening
    assert found.interval % found.s == 0
    ends, place = [], 0
    while place < found.iterations:
        place = found.end(place)
        ends.append(place)
    assert ends[:-1] == [found.interval * k * (k + 1) // 2 for k in range(1, len(ends))]
    assert all(found.is_end(end) for end in (0, *ends[:-1]))
    assert not found.is_end(2 * found.interval)
    asked = decide(request_of(interval=160), 100, 1)
    assert (asked.lengthening, asked.end(160), asked.is_end(480)) == (False, 320, True)
    for one in (found, asked):
        assert decide(request_of(), 100, 1, identity_of(one, 1)).lengthening is one.lengthening


def request_of(**changed) -> Settings:
    return dataclasses.replace(
        Settings(data="data", out="out", kernel=RBFKernel(0.5), loss=Hinge(1.0), iterations=5000), **changed
    )


def told_of(settings: Settings) -> dict:
    return identity_of(settings, 2)


def test_exchange_and_cache_are_decided_and_explained():
    kept = decide(request_of(), 100, 2)
    assert kept.keep_gram
    assert "all 100 kernel rows fit" in kept.exchange_reason
    assert told_of(kept)["cache"] == "all kernel rows"
    none = decide(request_of(cache=0), 100, 2)
    assert not none.keep_gram
    some = decide(request_of(cache=3000, exchange="allreduce"), 100, 2)
    assert (some.cache, some.keep_gram, some.exchange_reason) == (3000, False, "asked for")
    assert decide(request_of(kernel=LinearKernel()), 100, 2).exchange == "gram"
    with pytest.raises(InputError, match="leaves no rank with whole kernel rows"):
        decide(request_of(cache=3000, exchange="reduce-scatter"), 100, 2)
    assert all(one.columns == "local" for one in (kept, none, some))


@pytest.mark.parametrize(
    ("changed", "ranks", "tried"),
    [
        ({}, 1, {"allreduce", "support"}),
        ({}, 2, {"allreduce", "support", "reduce-scatter"}),
        ({"loss": Ridge(1.0)}, 2, {"allreduce", "reduce-scatter"}),
        ({"kernel": LinearKernel()}, 1, {"allreduce", "gram"}),
        ({"exchange": "allreduce"}, 2, {"allreduce"}),
    ],
)
def test_exchanges_are_tried_where_they_may_pay(changed, ranks, tried, monkeypatch):
    """Of a kernel matrix that is not kept: panels over the support for a K-SVM, never for K-RR."""
    monkeypatch.setattr(decisions, "COUNTED", 0)
    assert set(decide(request_of(s="auto", cache=0, **changed), 100, ranks).exchanges) == tried


def test_all_that_decides_the_bits_is_part_of_the_identity():
    base = request_of(exchange="allreduce")
    others = [
        request_of(exchange="allreduce", **changed)
        for changed in (
            {"kernel": RBFKernel(np.nextafter(0.5, 1))},
            {"loss": Hinge(2.0)},
            {"s": 8},
            {"seed": 1},
            {"stream": "epochs"},
            {"interval": 1600},
            {"cache": 3000},
            {"separate_timers": True},
            {"loss": Ridge(1.0), "block": 2},
        )
    ]
    others.append(request_of(exchange="reduce-scatter"))
    found = [told_of(decide(one, 100, 2)) for one in (base, *others)] + [
        identity_of(decide(base, 100, 3), 3)
    ]
    for one, other in itertools.combinations(found, 2):
        assert one != other
    assert (
        told_of(decide(request_of(exchange="allreduce", iterations=7, tolerance=0.5), 100, 2)) == found[0]
    )


def test_the_stream_is_drawn_as_asked_for():
    """Uniform draws leave no word, so that runs of before are gone on with."""
    assert "stream" not in told_of(decide(request_of(), 100, 2))
    stream = decide(request_of(stream="epochs", iterations=300), 100, 2).draws_of(100)
    for begin in (0, 100, 200):
        assert sorted(stream.blocks(begin, begin + 100).ravel().tolist()) == list(range(100))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"interval": 24, "s": 16}, "interval = 24 is no multiple of s = 16.*use 32"),
        ({"loss": Ridge(1.0), "block": 101}, "b = 101"),
    ],
)
def test_what_does_not_go_with_the_samples_is_refused(changed, words):
    with pytest.raises(InputError, match=words):
        decide(request_of(**changed), 100, 2)


def test_more_iterations_go_on_with_what_was_decided_before():
    short = decide(request_of(iterations=50), 100, 2)
    long = decide(request_of(iterations=5000), 100, 2)
    assert not short.keep_gram
    assert long.keep_gram
    for first, other in ((short, request_of(iterations=5000)), (long, request_of(iterations=50))):
        going_on = decide(other, 100, 2, told_of(first))
        assert told_of(going_on) == told_of(first)
        assert going_on == dataclasses.replace(
            first,
            exchange_reason=going_on.exchange_reason,
            s_reason=going_on.s_reason,
            iterations=other.iterations,
        )
        assert going_on.exchange_reason == "as in the run that is gone on with"


def test_what_is_asked_for_in_so_many_words_is_not_taken_from_before():
    kept = told_of(decide(request_of(), 100, 2))
    for changed in ({"cache": 0}, {"exchange": "reduce-scatter"}, {"exchange": "allreduce", "cache": 3000}):
        asked = request_of(**changed)
        assert told_of(decide(asked, 100, 2, kept)) | {"interval": 0} == told_of(decide(asked, 100, 2)) | {
            "interval": 0
        }
    asked = request_of(interval=1600)
    assert told_of(decide(asked, 100, 2, kept))["interval"] == 1600
    assert told_of(decide(request_of(cache=MEMORY), 100, 2, kept)) == kept
    explicit = told_of(decide(request_of(exchange="allreduce", cache=3000), 100, 2))
    assert told_of(decide(request_of(exchange="allreduce"), 100, 2, explicit)) == explicit


@pytest.mark.parametrize(
    "changed",
    [
        {"cache": 1e300}, {"cache": "many"}, {"cache": -1}, {"cache": True}, {"cache": 2**60}, {"cache": [1]},
        {"exchange": "ring"}, {"exchange": 3}, {"exchange": []}, {"exchange": "gram", "cache": 7},
        {"interval": "x"}, {"interval": -16}, {"interval": 0}, {"interval": 10**30}, {"s": 3, "interval": 3},
    ],
)  # fmt: skip
def test_nonsense_in_what_was_kept_decides_nothing(changed):
    request = request_of(s=16)
    found = decide(request, 100, 2, told_of(decide(request, 100, 2)) | changed)
    assert told_of(found) == told_of(decide(request, 100, 2))


@pytest.mark.parametrize(
    ("changed", "stored", "s", "exchange"),
    [
        ({"kernel": LinearKernel()}, 1e3, 1, "gram"),
        ({"kernel": LinearKernel(), "loss": Ridge(1.0), "block": 8}, 1e3, 1, "gram"),
        ({"kernel": LinearKernel()}, 1e4, 16, "allreduce"),
        ({}, 1e3, 16, "allreduce"),
        ({"cache": 0}, 1e3, 64, "allreduce"),
        ({"cache": 0, "loss": Ridge(1.0), "block": 16}, 1e3, 4, "allreduce"),
        ({"cache": 0, "loss": Ridge(1.0), "block": 100}, 1e3, 1, "allreduce"),
    ],
)
def test_one_rank_counts_which_s_has_the_least_work(changed, stored, s, exchange):
    """It has no latency to hide: nothing is timed, also where s auto is asked for."""
    found = decide(request_of(**changed), 100, 1, None, stored)
    assert (found.s, found.exchange, found.tuned) == (s, exchange, False)
    auto = decide(request_of(s="auto", **changed), 100, 1, None, stored)
    assert auto == found
    assert decide(request_of(s="auto", largest_s=2, **changed), 100, 1, None, stored).tuned
    several = decide(request_of(**changed), 100, 2, None, stored)
    assert (several.s, several.s_reason) == (START_S, "default")
    assert decide(request_of(s="auto", **changed), 100, 2, None, stored).tuned


@pytest.mark.parametrize("samples", [128, 129])
def test_few_samples_of_many_values_have_all_their_products_kept(samples):
    """Where a row of products is shorter than the values of three passes over a sample."""
    linear = request_of(kernel=LinearKernel())
    long, short = (decide(linear, samples, 1, None, samples * each) for each in (samples / 3, samples / 4))
    assert (long.keep_gram, short.keep_gram) == (samples == 128, False)
    assert short.exchange == "gram"
    assert not decide(linear, samples, 2, None, samples**2).keep_gram


def test_a_run_goes_on_with_the_s_that_it_had():
    for ranks in (1, 2):
        kept = identity_of(decide(request_of(s=8), 100, ranks), ranks)
        assert identity_of(decide(request_of(), 100, ranks, kept), ranks) == kept
    tuned = identity_of(decide(request_of(s="auto"), 100, 2), 1)
    assert decide(request_of(s="auto"), 100, 1, tuned).tuned


def test_a_block_of_one_is_not_said_to_be_asked_for():
    """It is the default; a chosen one has the reason of the choice."""

    def settings_of(block):
        return Settings(data="data", out="out", kernel=LinearKernel(), loss=Ridge(1.0), block=block)

    reasons = {block: decide(settings_of(block), 100, 1).block_reason for block in (1, 4, "auto")}
    assert "default" in reasons[1]
    assert len({*reasons.values()}) == 3
