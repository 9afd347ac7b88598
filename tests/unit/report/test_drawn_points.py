"""Figures show the numbers that they are made of: points are read back where they are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import height_scale, read, scale
from test_reporting_documents import case, document

from sstep_verify.report import panels
from sstep_verify.report.case import DRIFT, GAP, Series
from sstep_verify.report.chart import AgainstS, draw_against_s, page_colour
from sstep_verify.report.convergence import figure as panel_figure
from sstep_verify.report.convergence import legend
from sstep_verify.report.tables import Of
from studies.report.scaling.part import PROGRAMS, ScalingPoint, scaling_figure

HALF_A_PIXEL = 0.5
NEAR = 0.05
"""Of a decade: half a pixel is at most that in every figure here."""


def drawn_values(seed: int, count: int) -> tuple[float, ...]:
    generator = np.random.Generator(np.random.PCG64(seed))
    return tuple(10.0 ** generator.uniform(-9, 0, count))


def near(found: float, value: float) -> bool:
    return abs(np.log10(found / value)) < NEAR


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("measure", [GAP, DRIFT])
def test_every_curve_of_a_convergence_figure_goes_through_its_own_values(seed, measure):
    at = tuple(range(0, 60, 5))
    every = {s: drawn_values(10 * seed + s, len(at)) for s in (1, 4, 16)}
    series = tuple(Series(measure, s, at, values) for s, values in every.items())
    (panel,) = panels.panels_of(document([case("a", series=series, lines=())], []))
    figure = read(panel_figure(panel).svg)
    height = height_scale(figure)
    bottom = max(y for _, _, y, anchor in figure.texts if anchor == "end")
    below = [(text, x) for text, x, y, anchor in figure.texts if anchor == "middle" and text.isdigit()]
    across = scale(below, logarithmic=False)
    seen = dict.fromkeys(every, 0)
    points = [
        (across(x), height(y))
        for found in (figure.lines, figure.marks)
        for places in found.values()
        for x, y in places
        if y < bottom
    ]
    for x, value in points:
        (iteration,) = (one for one in at if abs(x - one) < 0.5)
        owners = [s for s, values in every.items() if near(value, values[at.index(iteration)])]
        assert owners, f"{value:.3g} is drawn at iteration {iteration}, where no run has it"
        for s in owners:
            seen[s] += 1
    assert seen[1] >= len(at)
    assert min(seen.values()) >= 3


def test_a_falling_curve_falls_and_runs_of_other_s_are_not_drawn_as_the_classical_one():
    at = (0, 10, 20, 30)
    runs = {1: (1.0, 1e-2, 1e-4, 1e-6), 8: (1.0, 1e-1, 1e-2, 1e-3)}
    series = tuple(Series(GAP, s, at, values) for s, values in runs.items())
    (panel,) = panels.panels_of(document([case("a", series=series, lines=())], []))
    figure = read(panel_figure(panel).svg)
    foot = max(y for _, _, y, anchor in figure.texts if anchor == "end")
    ((_, drawn),) = figure.lines.items()
    classical = [(x, y) for x, y in drawn if y <= foot]  # The others are of the legend.
    assert [y for _, y in classical] == sorted(y for _, y in classical)  # downwards is larger y
    last = max(x for x, _ in classical)
    (at_the_end,) = {y for places in figure.marks.values() for x, y in places if abs(x - last) < 1}
    height = height_scale(figure)
    assert near(height(at_the_end), 1e-3)
    assert near(height(classical[-1][1]), 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_values_against_s_stand_above_their_s(seed):
    steps = (1, 2, 8, 64)
    named = {name: drawn_values(100 + 10 * seed + k, len(steps)) for k, name in enumerate("ab")}
    guessed = drawn_values(seed, len(steps))
    curves = [AgainstS("a", steps, named["a"]), AgainstS("b", steps, named["b"], guessed)]
    figure = read(draw_against_s("title", "unit", curves))
    height = height_scale(figure)
    place = {text: x for text, x, _, anchor in figure.texts if anchor == "middle"}
    for k, values in enumerate(named.values()):
        colour = page_colour(k)
        *points, _ = figure.marks[colour]  # The last one is that of the legend.
        assert len(points) == len(steps)
        for (x, y), s, value in zip(points, steps, values, strict=True):
            assert abs(x - place[str(s)]) < HALF_A_PIXEL
            assert near(height(y), value)
    dashed = figure.lines[page_colour(1)][-2 * (len(steps) - 1) :]
    assert near(height(dashed[-1][1]), guessed[-1])


@pytest.mark.parametrize("seed", range(4))
def test_predicted_times_stand_above_their_ranks_each_program_its_own(seed):
    ranks = (1, 8, 64, 512)
    times = {name: drawn_values(1000 + 10 * seed + k, len(ranks)) for k, name in enumerate(PROGRAMS)}
    points = tuple(
        ScalingPoint(
            "a", count, *(times[name][k] for name in ("classical", "s_step")), 4, times["ours"][k], "gram", 8, *["9 %"] * 3
        )
        for k, count in enumerate(ranks)
    )  # fmt: skip
    figure = read(scaling_figure("slug", "title", [[[Of(case("a"), point) for point in points]]]).svg)
    height = height_scale(figure)
    place = {text: x for text, x, _, anchor in figure.texts if anchor == "middle"}
    for k, values in enumerate(times.values()):
        *drawn, _ = figure.marks[page_colour(k)]  # The last one is that of the legend.
        assert len(drawn) == len(ranks)
        for (x, y), count, value in zip(drawn, ranks, values, strict=True):
            assert abs(x - place[str(count)]) < HALF_A_PIXEL
            assert near(height(y), value)


def test_what_the_legend_of_a_panel_names_differs_in_more_than_colour():
    gaps, *_ = panels.panels_of(document([case("a")], []))
    named = {words: (style.width > 0, style.dashes, style.marker) for style, words in legend(gaps)}
    assert any(words.startswith("target") for words in named)
    assert any(words.startswith("attainable") for words in named)
    assert len(set(named.values())) == len(named) > 3
