"""The figure of a report's first screen, drawn again from a run of the solver that the page shows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from drawn import read
from figure_scripts import FIGURES, in_a_clone, loaded

pytestmark = in_a_clone

LEVEL = 170
"""Height of the bound in the picture, from above."""


@pytest.fixture(scope="module")
def report():
    return loaded("report")


@pytest.fixture(scope="module")
def results(report):
    return report.measured()


def test_the_screen_is_that_of_the_run(report, results):
    kept, made = (read(svg) for svg in (report.FIGURE.read_text("utf-8"), report.drawing(results)))
    assert [words for words, *_ in kept.texts] == [words for words, *_ in made.texts]
    for colour in kept.marks:
        # Markers below the bound are rounding, which is another one with another BLAS.
        before, after = ([y for _, y in one.marks[colour] if y < LEVEL] for one in (kept, made))
        np.testing.assert_allclose(before, after, atol=0.2)


def test_the_page_explains_each_number(report, results):
    page = (FIGURES.parent / "verdicts.md").read_text("utf-8")
    section = page.partition("## The first screen of a report")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d[\d, ]*) \|", section, re.MULTILINE)
    explained = [number for row in rows for number in row.split(", ")]
    texts = read(report.FIGURE.read_text("utf-8")).texts
    assert explained == [words for words, x, *_ in texts if x < report.LEFT]
    assert len(explained) == len(report.shown(results)) + 1
