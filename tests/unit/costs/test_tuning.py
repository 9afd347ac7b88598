"""The tuner on times that are made up: it finds the best s, sees when times change, and ranks choose alike."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tuned_clock import Machine, play

from sstep_verify.costs.known import JUMP, LATE, SHARE, Batch, Candidate, Settled, powers_of_two
from sstep_verify.costs.tuning import Tuner

MACHINES = list(itertools.product((5e2, 2e4, 1e5, 1e6), (1e3, 1e4, 1e5), (1.0, 20.0, 200.0)))


def candidates(most: int, *exchanges: str) -> list[Candidate]:
    return [Candidate(name, s) for name in exchanges for s in powers_of_two(most)]


def ratio(machine: Machine, lag: int) -> float:
    """Time of 200 windows of the best s, and at least 0.3 s, over that of the best fixed s."""
    best = machine.best(candidates(256, "allreduce"))
    least = machine.window(best) / best.s
    iterations = max(200 * best.s, 3e8 / least)
    tuner, made, taken = Tuner(["allreduce"], 256, iterations=iterations), 0, 0.0
    while made < iterations:
        played = play(tuner, machine, 1, lag)
        made, taken = made + played.iterations, taken + played.nanoseconds
    return taken / made / least


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_it_costs_little_more_than_the_best_fixed_s(lag, noise):
    ratios = [
        ratio(Machine(*sizes, noise=noise, spikes=noise / 5, seed=seed), lag)
        for seed, sizes in enumerate(MACHINES)
    ]
    assert np.median(ratios) <= 1.05
    assert max(ratios) <= 1.15


@pytest.mark.parametrize("lag", [0, 1])
def test_the_best_of_several_exchanges_is_found(lag):
    for dearer in ("gram", "allreduce", "reduce-scatter"):
        exchanges = ["gram", "allreduce", "reduce-scatter"]
        machine = Machine(exchanges={dearer: 3.0, "reduce-scatter": 1.5})
        tuner = Tuner(exchanges, 256)
        played = play(tuner, machine, 2000, lag)
        best = machine.best(candidates(256, *exchanges))
        assert machine.window(tuner.best) / tuner.best.s <= 1.1 * machine.window(best) / best.s
        assert {one.exchange for one in played.windows} == set(exchanges)


@pytest.mark.parametrize("work", [1e3, 5e3, 2e4])
@pytest.mark.parametrize("growth", [5.0, 20.0, 100.0])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_after_a_jump_of_the_latency_20_windows_suffice(work, growth, noise):
    machine = Machine(2e4, work, growth, noise)
    tuner = Tuner(["allreduce"], 256)
    # While it is settled: with the neighbours under way, or just due, it takes a window or two more.
    play(tuner, machine, 500, lag=1)
    while tuner.exploring:
        play(tuner, machine, 1, lag=1)
    used = tuner.best
    before, machine.latency = machine.window(used), 1e6
    best = machine.best(candidates(256, "allreduce"))
    later = play(tuner, machine, 120, lag=1).windows[20:]
    suited = [machine.window(one) / one.s <= 1.5 * machine.window(best) / best.s for one in later]
    assert all(suited)
    # Where long windows take a third longer, a look at the neighbours may come first.
    assert "times rose" in tuner.explored or machine.window(used) < JUMP * before


def test_it_goes_back_when_the_latency_does():
    machine = Machine(1e6, 1e3, 200.0)
    tuner = Tuner(["allreduce"], 256)
    play(tuner, machine, 300)
    assert tuner.best.s == 64
    machine.latency = 2e4
    play(tuner, machine, 300)
    best = machine.best(candidates(256, "allreduce"))
    assert machine.window(tuner.best) / tuner.best.s <= 1.1 * machine.window(best) / best.s
    assert "times fell" in tuner.explored


class TwoLeast(Machine):
    """Products of few samples are formed another way, and get cheaper while training converges."""

    small = 1050.0

    def window(self, candidate: Candidate) -> float:
        each = {1: 1.0, 2: 1.2, 4: 1.6, 8: 3.5, 16: 3.5, 32: 3.5, 64: 3.0, 128: 2.4, 256: 0.95}[candidate.s]
        return candidate.s * (each * self.small if candidate.s < 8 else each * 1050.0)


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_other_of_two_least_times_is_remembered(noise, lag):
    machine, tuner = TwoLeast(noise=noise), Tuner(["gram"], 256, iterations=1e6)
    play(tuner, machine, 3000, lag)
    assert tuner.best.s == 256 or noise  # Both are alike within the noise.
    machine.small = 370.0
    play(tuner, machine, 2000, lag)
    assert tuner.best.s == 1


@pytest.mark.parametrize("most", [1, 2, 3, 7, 32, 100])
def test_no_window_is_beyond_the_largest_s(most):
    machine = Machine(1e7, 1.0, 0.0, noise=0.5, spikes=0.1)
    tuner = Tuner(["allreduce", "gram"], most)
    assert (
        max(one.s for one in play(tuner, machine, 3000, lag=1).windows) == powers_of_two(most)[-1] <= most
    )


@pytest.mark.parametrize("lag", [0, 1])
def test_ranks_that_are_given_the_same_choose_the_same(lag):
    chosen = []
    for _ in range(2):
        machine = Machine(noise=0.4, spikes=0.1, seed=3)
        tuner = Tuner(["gram", "allreduce"], 256, iterations=1e6)
        chosen.append((play(tuner, machine, 4000, lag).windows, tuner.explored, tuner.tried))
    assert chosen[0] == chosen[1]


def test_a_settled_batch_is_long_while_batches_take_what_is_expected():
    one = Candidate("gram", 8)
    settled = Settled(one, [100.0], 4e3, 8e4)
    short, long = Batch(one, 5, True, LATE * 4e3), Batch(one, 100, True, LATE * 8e4)
    found = [settled.batch]
    for each in (100.0, 100.0, 150.0, 120.0):
        assert settled.alarm(each, 1) == 0
        found.append(settled.batch)
    assert found == [short, long, long, short, long]
    assert [settled.alarm(each, 1) for each in (60.0, 60.0, 60.0, 60.0)] == [0, 0, 0, -1]
    assert [settled.alarm(each, 1) for each in (100.0, 250.0, 250.0, 250.0)] == [0, 0, 0, 1]


def test_without_answers_one_candidate_is_kept():
    """Windows that exchange nothing tell no times: no candidate may be taken for another."""
    tuner = Tuner(["allreduce"], 256)
    first = [tuner.choose() for _ in range(50)]
    assert len(set(first)) == 1
    play(tuner, Machine(), 400, told=lambda made: made % 3 == 0)
    assert tuner.best.s > 1


def test_false_alarms_make_it_slower_to_explore():
    machine = Machine(noise=1.5, spikes=0.2, seed=1)
    tuner = Tuner(["allreduce"], 64)
    played = play(tuner, machine, 20_000, lag=1)
    assert len(tuner.explored) < len(played.windows) / 100
    assert all(one.batches > 0 and one.nanoseconds > 0 for one in tuner.tried)


def test_a_trial_that_costs_more_than_is_left_is_not_made():
    machine = Machine(1e3, 1e3, 2e3)
    tuner = Tuner(["allreduce"], 256, iterations=4000)
    played, made = [], 0
    while made < 4000:
        part = play(tuner, machine, 1)
        played, made = played + part.windows, made + part.iterations
    assert max(one.s for one in played) <= 32


class Wobbling(Machine):
    """Half of the batches take twice as long, so that no interval is narrow; large s lose a fifth."""

    def window(self, candidate: Candidate) -> float:
        return candidate.s * 2e4 * (1.2 if candidate.s > 64 else 1.0)

    def batch(self, candidate: Candidate, windows: int) -> float:
        return windows * self.window(candidate) * (1.0 if self._drawn.random() < 0.5 else 2.0)


@pytest.mark.parametrize("seed", range(12))
def test_all_trials_of_an_s_lose_little_of_what_is_left(seed):
    machine, iterations = Wobbling(seed=seed), 20_000
    tuner, lost = Tuner(["allreduce"], 256, iterations=iterations), dict.fromkeys(powers_of_two(256), 0.0)
    while tuner.exploring:
        for one in play(tuner, machine, 1, lag=1).windows:
            lost[one.s] += machine.window(one) - one.s * 2e4
    assert max(lost.values()) <= SHARE * iterations * 2e4


class Starting(Machine):
    """Every batch costs something once: what a window takes alone says nothing of many."""

    def window(self, candidate: Candidate) -> float:
        return candidate.s * 5e2 * (1.0 if candidate.s == 1 else 1.3)

    def batch(self, candidate: Candidate, windows: int) -> float:
        return 2e4 + super().batch(candidate, windows)


@pytest.mark.parametrize("lag", [0, 1])
def test_what_an_s_took_before_says_how_many_windows_a_batch_has(lag):
    """After a false alarm the smallest s is not judged by one window, nor given up for one batch."""
    machine, tuner = Starting(), Tuner(["gram"], 256, iterations=1e6)
    while tuner.exploring:
        play(tuner, machine, 1, lag)
    assert tuner.best.s == 1
    tuner._alarmed(1)
    batches = []
    while tuner.exploring:
        batches.append(tuner.choose())
        tuner.observe(
            batches[-1], batches[-1].windows, machine.batch(batches[-1].candidate, batches[-1].windows)
        )
    assert batches[0].candidate.s == 1
    assert batches[0].windows > 100
    assert tuner.best.s == 1


class Cold(Machine):
    """The first tenth of a millisecond after a change of s goes to filling caches; small s are best."""

    def __post_init__(self):
        super().__post_init__()
        self._before: Candidate | None = None

    def window(self, candidate: Candidate) -> float:
        return candidate.s * 2e4 * (1.0 if candidate.s <= 4 else 1.08)

    def batch(self, candidate: Candidate, windows: int) -> float:
        cold, self._before = 1e5 if candidate != self._before else 0.0, candidate
        return cold + super().batch(candidate, windows)


@pytest.mark.parametrize("lag", [0, 1])
def test_what_a_change_of_s_costs_is_not_held_against_small_ones(lag):
    tuner = Tuner(["allreduce"], 64, iterations=20_000)
    play(tuner, Cold(), 1000, lag)
    assert tuner.best.s <= 4
