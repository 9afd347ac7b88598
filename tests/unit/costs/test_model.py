"""The model of published timings: what it counts, that its fit finds what was planted, and never sees what is held out."""

import os
from dataclasses import replace
from pathlib import Path

import model
import model_fit
import numpy as np
import pytest
from daily import crossed
from model_cases import PLANTED, PROFILES, changed, planted_timings
from model_fit import (
    CELL,
    TIMINGS_FILE,
    correction,
    errors,
    fit,
    groups,
    published_profiles,
    published_timings,
)

from sstep_verify.costs.profiles import uniform_profile
from sstep_verify.costs.published import START, network, pressure, runs_of, times
from sstep_verify.errors import InputError


def runs(s, ranks=16, data="heavy", block=1, kernel="linear", iterations=640):
    return runs_of([(PROFILES[data], kernel, block, ranks, s, iterations)])


def test_contiguous_columns_as_even_in_number_as_can_be():
    profile = PROFILES["heavy"]
    shares = profile.shares(7)
    blocks = np.array_split(profile.counts, 7)
    assert shares.first == blocks[0].sum() == max(block.sum() for block in blocks) == shares.most
    assert shares.first_pairs == pytest.approx((blocks[0].astype(float) ** 2).sum() / profile.samples)


def test_balanced_columns_share_the_work_down_to_the_heaviest_column():
    profile = PROFILES["heavy"]
    assert profile.shares(2, balanced=True).most < profile.shares(2).most
    heaviest = profile.counts.max() ** 2 / profile.samples
    assert profile.shares(4096, balanced=True).most_pairs == heaviest


@pytest.mark.parametrize("nonzeros", [0, 13])
def test_more_nonzeros_than_entries_are_refused(nonzeros):
    with pytest.raises(InputError, match="nonzeros"):
        uniform_profile("x", 3, 4, nonzeros)


def test_the_transpose_is_paid_once_a_window():
    own = dict.fromkeys(START, 0.0) | {"transpose": 1.0, "rising": 1.0, "falling": 1.0}
    classical, longer = (times(own, runs(s)).panel[0] for s in (1, 64))
    assert classical == pytest.approx(64 * longer)
    assert classical == PROFILES["heavy"].shares(16).first


def test_rank_0_waits_for_the_busiest_rank():
    profile = replace(PROFILES["heavy"], counts=PROFILES["heavy"].counts[::-1])
    found = times(START, runs_of([(profile, "linear", 1, 16, 1, 640)]))
    mirrored = times(START, runs(1))
    assert found.waiting[0] > 0 == mirrored.waiting[0]
    assert found.panel + found.waiting == pytest.approx(mirrored.panel)


def test_function_is_paid_for_every_entry():
    linear, rbf = (times(START, runs(8, kernel=kernel, block=4)) for kernel in ("linear", "rbf"))
    assert rbf.function[0] == START["rbf"] * 4 * 20_000 > 0 == linear.function[0]


def test_start_is_spread_over_the_iterations():
    short, long = (times(START, runs(1, iterations=count)).start[0] for count in (100, 1000))
    assert long > 0
    assert short == pytest.approx(10 * long)


def test_words_per_iteration_do_not_depend_on_s_but_messages_do():
    own = START | {"byte_memory": 0.0, "gradient_memory": 0.0}
    first, second = (times(own, runs(s, data="even")) for s in (2, 32))
    assert first.transfer == pytest.approx(second.transfer)
    assert first.latency > 2 * second.latency


def test_pressure_and_network_grow_with_ranks_and_bytes():
    assert 0 < pressure(8, 1e6) < pressure(128, 1e6) < pressure(128, 1e8) < 1
    assert pressure(128, 1e6) == pressure(1024, 1e6)  # Of a node, not of the machine.
    small, large = (np.sum(network(START, 64, volume)) for volume in (1e3, 1e7))
    assert large > small


def test_fit_finds_planted_parameters():
    timings = planted_timings()
    found = fit(timings)
    assert errors(times(found, timings).total, timings.total).max() < 0.05
    for name in ("transpose", "pair", "polynomial", "rbf", "gradient", "step"):
        kept = ("gradient", "clear") if name == "gradient" else (name,)  # Only their sum is seen.
        assert sum(found[k] for k in kept) == pytest.approx(sum(PLANTED[k] for k in kept), rel=0.05)


def test_fit_stays_near_under_noise():
    timings, clean = planted_timings(noise=0.2), planted_timings()
    assert np.median(errors(times(fit(timings), timings).total, clean.total)) < 0.05


@pytest.mark.parametrize("corrected", [False, True])
def test_what_is_held_out_is_never_seen(corrected):
    timings = planted_timings(noise=0.1)
    split = model_fit.between(timings)[0]
    spoilt = timings.copy()
    spoilt.total[split[1]] *= 1e3
    spoilt.phases[split[1]] *= 1e3
    one, other = (model_fit.modelled(given, split, corrected) for given in (timings, spoilt))
    assert np.array_equal(one, other)
    assert np.array_equal(model.neighbours(timings, split), model.neighbours(spoilt, split))


def test_splits_hold_out_what_they_say():
    timings = planted_timings()
    fitted, held = model_fit.beyond(timings)
    assert timings.ranks[fitted].max() == 64 < timings.ranks[held].min()
    fitted, held = model_fit.between(timings)[1]
    assert set(timings.ranks[held]) == {8, 32, 128}
    assert not set(fitted) & set(held)
    name, (fitted, held) = next(iter(model.without(timings)))
    assert set(timings.dataset[held]) == {name}
    assert name not in timings.dataset[fitted]


def test_neighbours_continue_power_laws():
    timings = planted_timings()
    powers = changed(timings, total=3.0 * timings.ranks**0.7)
    for split in (model_fit.beyond(powers), model_fit.between(powers)[0]):
        assert model.neighbours(powers, split) == pytest.approx(powers.total[split[1]])


def near_and_far(residual=0.3):
    """Known runs of one data set, what they are off by, and others of it out of reach."""
    known = planted_timings()
    even = known[(known.dataset == "even") & (known.ranks <= 64)]
    far = changed(even, ranks=even.ranks * 2.0**60)
    return even, np.full(len(even), residual), far


@pytest.mark.parametrize(("length", "stiffness"), crossed(model_fit.LENGTHS, model_fit.STIFFNESSES, of=2))
def test_correction_is_none_far_away_and_on_other_data(length, stiffness):
    even, residuals, far = near_and_far()
    found = correction(even, residuals, length, stiffness)
    known = planted_timings()
    assert not found(known[known.dataset == "heavy"]).any()
    assert found(even).min() > 0
    assert np.abs(found(far)).max() < 1e-3


def test_correction_follows_what_is_near():
    even, residuals, _ = near_and_far()
    assert correction(even, residuals, 1.0, 4.0)(even).mean() == pytest.approx(0.3, abs=0.02)


def test_a_run_pulls_no_harder_the_further_it_is_off():
    even, residuals, _ = near_and_far()
    wild = (even.ranks == 16) & (even.s == 8) & (even.block == 4)
    assert wild.any()
    off = [np.where(wild, most, residuals) for most in (3.0, 300.0)]
    one, other = (correction(even, given, 1.0, 16.0)(even) for given in off)
    assert other == pytest.approx(one, abs=0.02)
    assert np.abs(one[~wild] - 0.3).max() < np.abs(one[wild] - 3.0).min()


def test_correction_is_chosen_by_how_it_tells_of_fitted_rank_counts():
    timings = planted_timings()
    rising = 0.1 * np.log2(timings.ranks)
    known, held = model_fit.between(timings)[0]
    chosen = model_fit.chosen_correction(timings[known], rising[known])
    left = np.abs(chosen(timings[held]) - rising[held])
    worst = correction(timings[known], rising[known], min(model_fit.LENGTHS), 64.0)
    assert left.mean() < np.abs(worst(timings[held]) - rising[held]).mean()
    assert left.mean() < 0.1 * rising[held].mean()


def test_every_rank_count_but_the_ends_is_held_out_once():
    timings = planted_timings()
    halves, sixths = (
        np.concatenate([held for _, held in model_fit.between(timings, step)]) for step in (2, 6)
    )
    inner = np.flatnonzero((timings.ranks > 2) & (timings.ranks < 512))
    tenths = [held for fitted, held in model.tenths(timings) if not set(fitted) & set(held)]
    assert len(tenths) == 10
    for held in (halves, sixths, np.concatenate(tenths)):
        assert np.array_equal(np.sort(held), inner)


def test_twins_differ_by_what_one_of_them_is_off():
    timings = planted_timings()
    runs, off = model.twins(timings)
    assert set(runs.method) == {"krr"}
    assert set(runs.block) == {1}
    assert not off.any()
    slower = changed(timings, total=np.where(timings.method == "krr", 3.0, 1.0) * timings.total)
    slower.total[np.flatnonzero((timings.method == "krr") & (timings.block == 1))[0]] *= 2
    off = model.twins(slower)[1]
    assert off[0] == pytest.approx(2 ** np.sqrt(0.5) - 1)
    assert off[1:] == pytest.approx(np.zeros(off.size - 1))


def test_best_s_and_what_another_costs():
    timings = planted_timings()
    one = timings[groups(timings, *CELL) == 0]
    ratios, excess = model.best_s(one, one.total)
    assert (ratios == 1).all()
    assert not excess.any()
    ratios, excess = model.best_s(one, 1 / one.s * 1e-6 + (one.s == 64))
    assert (ratios <= 8).all()
    assert ratios.size == 9
    assert excess.min() >= 0


def published_folder():
    folder = os.environ.get("SSTEP_VERIFY_DATA", "")
    if not (Path(folder) / TIMINGS_FILE).is_file():
        pytest.skip(
            f"no {TIMINGS_FILE} in SSTEP_VERIFY_DATA: published timings are not copied into the project"
        )
    return folder


def test_profiles_of_the_published_data_sets():
    profiles = published_profiles(published_folder())
    assert profiles["news20.binary"].nonzeros == 9_097_916
    assert profiles["duke"].dense
    assert profiles["duke"].nonzeros == 44 * 7129
    assert profiles["a9a"].features == 123
    assert profiles["a9a"].nonzeros == pytest.approx(451_592, rel=1e-3)
    assert profiles["mnist.scale"].nonzeros == pytest.approx(8_994_156, rel=1e-6)


@pytest.mark.nightly
def test_published_timings_beyond_64_ranks_are_predicted():
    timings = published_timings(published_folder())
    assert timings.repeats.sum() == 5365
    single = timings.repeats == 1
    assert timings.total[single] == pytest.approx(timings.phases.sum(axis=1)[single], rel=1e-3)
    split = model_fit.beyond(timings)
    held = timings[split[1]]
    off = errors(model_fit.modelled(timings, split), held.total)
    peer = errors(model.neighbours(timings, split), held.total)
    for which in (held.s == 1, held.s > 1):
        assert np.median(off[which]) <= 0.20 < np.median(peer[which])
