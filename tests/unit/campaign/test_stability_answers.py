"""Answers of a stability campaign, from planted series whose answers are known."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sstep_verify.report.case import Case
from studies.report.stability.curves import frontier_figure
from studies.report.stability.document import StabilityRun
from studies.stability.answers import answers

U = 2.0**-53
S = (1, 2, 4, 8, 16)
CASE = Case(
    "case", "planted", "generated", "linear", "K-SVM-L1", "svm-l1", 8, 4, 1, "PASS", S,
    parameters={"precision": "float64", "form": "frozen"},
)  # fmt: skip


def run(
    losses, condition: float = 1.0, seed: int = 0, classical: float | None = 4.0, noise: float | None = 2.0
) -> list[StabilityRun]:
    """The runs of a scenario with these loss factors at s > 1, and a classical error in unit roundoffs."""
    loss = (1.0 if classical is not None else None, *losses)
    error = [None if one is None or classical is None else one * max(classical, 1.0) * U for one in loss]
    error[0] = None if classical is None else classical * U
    return [
        StabilityRun(CASE.id, condition, condition, seed, s, e, error[0], e, factor, factor, noise=noise)
        for s, e, factor in zip(S, error, loss, strict=True)
    ]


def answer(*scenarios: list[StabilityRun]):
    (found,) = answers([run for runs in scenarios for run in runs], [CASE])
    return found


def test_powers_of_s_have_their_exponent_and_what_it_makes_across():
    runs = [run([2.0, 4.0, 8.0, 16.0], seed=seed) for seed in range(3)]
    growth = answer(*runs).growth
    assert (growth.scenarios, growth.left_out) == (3, 0)
    assert (growth.exponent, growth.low, growth.high) == (1.0, 1.0, 1.0)
    assert growth.across == 8.0
    assert growth.largest_exponent == 1.0
    assert (growth.noise, growth.largest_noise) == (2.0, 2.0)


def test_errors_that_rounding_may_bring_are_left_out_of_the_growth_but_not_of_the_rest():
    runs = [run([1.0] * 4, seed=seed) for seed in range(2)]
    found = answer(*runs, run([20.0] * 4, seed=2, classical=0.5))
    assert (found.growth.scenarios, found.growth.left_out, found.growth.exponent) == (2, 1, 0.0)
    assert {(one.s, one.beyond) for one in found.worse} == {(s, True) for s in S[1:]}


def test_worse_runs_are_those_above_ten_the_largest_first_marked_if_beyond_their_noise():
    found = answer(
        run([10.0, 10.1, 1.0, 1.0]), run([1.0, 1.0, 1.0, 30.0], seed=1, noise=30.0), run([1.0] * 4, seed=2)
    )
    assert (found.runs, found.largest, found.on_the_way) == (12, 30.0, 30.0)
    assert [(one.seed, one.s, one.loss, one.beyond) for one in found.worse] == [
        (1, 16, 30.0, False),
        (0, 4, 10.1, True),
    ]
    assert [one.seed for one in found.beyond] == [0]


def test_a_run_that_broke_down_is_the_worst_of_all_unless_the_classical_one_did():
    found = answer(run([1.0, 1.0, None, 50.0]), run([None] * 4, seed=1, classical=None))
    assert (found.runs, found.largest) == (4, None)
    assert [(one.s, one.loss) for one in found.worse] == [(8, None), (16, 50.0)]
    (band,) = found.safe
    assert (band.scenarios, band.largest, band.worst) == (1, (1.0, 1.0, None, 50.0), None)
    assert band.within_ten == 4


def test_the_largest_factor_on_the_way_is_reported_next_to_that_at_the_end():
    early = zip(run([1.0, 2.0, 1.0, 1.0]), (1.0, 1.0, 3.0, 7.0, 1.0), strict=True)
    found = answer([replace(one, largest_loss=loss) for one, loss in early])
    assert (found.largest, found.on_the_way) == (2.0, 7.0)


@pytest.mark.parametrize(
    ("losses", "noise", "within_noise", "within_ten"),
    [
        ([1.0, 1.0, 1.0, 1.0], 2.0, 16, 16),
        ([2.0, 2.1, 1.0, 1.0], 2.0, 2, 16),
        ([3.0, 3.0, 3.0, 10.1], 2.0, 1, 8),
        ([1.0, 11.0, 1.0, 1.0], 2.0, 2, 2),
        ([1.0, 11.0, 1.0, 1.0], 12.0, 16, 16),  # above ten, but so are reordered classical runs
        ([11.0, 1.0, 1.0, 1.0], None, 1, 1),  # noise not known is no excuse
    ],
)
def test_the_safe_s_ends_before_the_first_factor_outside(losses, noise, within_noise, within_ten):
    (band,) = answer(run(losses, noise=noise)).safe
    assert (band.within_noise, band.within_ten) == (within_noise, within_ten)


def test_one_run_of_a_band_bounds_its_safe_s_and_only_own_noise_excuses_a_tenfold_loss():
    (band,) = answer(run([1.0] * 4, noise=20.0), run([1.0, 1.0, 15.0, 1.0], seed=1)).safe
    assert band.noise == 20.0
    assert (band.within_noise, band.within_ten) == (16, 4)
    assert (band.largest, band.beyond) == ((1.0, 1.0, 15.0, 1.0), (0, 0, 1, 0))


@pytest.mark.parametrize(("median", "held"), [(30.0, True), (9.0, False), (None, True)])
def test_a_tenfold_loss_counts_if_it_is_one_in_the_median_over_other_orders(median, held):
    """A median that is None is of runs that broke down in most orders, and counts, too."""
    runs = [
        replace(one, orders=20, again=median) if one.s == 8 else one for one in run([1.0, 1.0, 30.0, 1.0])
    ]
    found = answer(runs)
    (worse,) = found.worse
    assert (worse.orders, worse.again, worse.held) == (20, median, held)
    assert len(found.held) == held
    assert found.safe[0].within_ten == (4 if held else 16)


def test_bands_are_decades_of_u_times_the_condition_that_the_data_have():
    found = answer(
        run([1.0] * 4), run([1.0] * 4, condition=50.0), run([1.0, 50.0, 1.0, 1.0], condition=1e4)
    )
    assert [(band.low, band.high, band.scenarios, band.within_ten) for band in found.safe] == [
        (1e-16, 1e-14, 2, 16),
        (1e-12, 1e-10, 1, 2),
    ]


def test_the_frontier_draws_a_bar_up_to_each_safe_s():
    found = answer(run([1.0] * 4), run([3.0, 3.0, 50.0, 1.0], condition=1e4))
    figure = frontier_figure([found])
    # 190 units of height from s = 1 to s = 16: full bars in the first band; s = 4, and none, in the second.
    tops = re.findall(r"V([\d.]+)H", figure.svg)
    heights = [round(230 - float(top), 1) for top in tops]
    assert heights == [190.0, 190.0, 95.0, 0.0]
    assert "10⁻¹⁶ to 10⁻¹⁴ s = 16 and 16 of 16, 10⁻¹² to 10⁻¹⁰ s = 4 and 1 of 16" in figure.text
