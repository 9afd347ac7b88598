"""The figure of docs/why.md, made again: the same curves, and the numbers that the page states."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from drawn import read

FIGURES = Path(__file__).parents[3] / "docs" / "figures"
PAGE = FIGURES.parent / "why.md"
RATIOS = 500.0
"""Points further right than this are ratios; those further left are gaps."""

pytestmark = pytest.mark.skipif(not FIGURES.is_dir(), reason="docs/ is absent: this is no clone")


@pytest.fixture(scope="module")
def why():
    place = importlib.util.spec_from_file_location("why", FIGURES / "why.py")
    module = importlib.util.module_from_spec(place)
    # Dataclasses look for their module by its name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "why", module)
        place.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def solvers(why):
    return why.measured()


def test_one_solver_is_correct_and_two_are_not(solvers):
    correct, slightly, dropped = solvers
    assert correct.ratios.max() < 0.1
    assert list(slightly.over[:1]) == list(dropped.over[:1]) == [2]
    assert dropped.gaps[-1] < correct.gaps[-1] < 1e-4
    assert abs(dropped.objective / correct.objective - 1) < 1e-6


def test_the_page_states_the_numbers_of_the_solvers(why, solvers):
    text = PAGE.read_text("utf-8")
    assert "\n".join(why.table(solvers)) in text
    for factor in (1.0, 0.0):
        assert f"{why.gap_after(factor, why.LONGER):.1g}" in text


def test_the_figure_is_that_of_the_solvers(why, solvers):
    kept, made = (read(svg) for svg in (why.FIGURE.read_text("utf-8"), why.drawing(solvers)))
    assert [words for words, *_ in kept.texts] == [words for words, *_ in made.texts]
    assert len(kept.lines) == 3
    for name, place in why.COLOURS.items():
        colour = why.page_colour(place)
        before, after = (np.array(one.lines[colour]) for one in (kept, made))
        gaps = (points[points[:, 0] < RATIOS] for points in (before, after))
        np.testing.assert_allclose(*gaps, atol=0.2)
        if name != "correct":  # its ratios are rounding, which is another one with another BLAS
            one, other = ({x: y for x, y in points if x > RATIOS and y < 290} for points in (before, after))
            assert len(one.keys() ^ other.keys()) <= 0.02 * len(one)
            assert all(abs(one[x] - other[x]) < 1 for x in one.keys() & other.keys())
