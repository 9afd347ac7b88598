"""The gallery of defects, made again: the same verdicts, causes, requirements, and numbers to two digits."""

from __future__ import annotations

import re

import numpy as np
import pytest
from daily import some
from drawn import read
from figure_scripts import FIGURES, in_a_clone, loaded

PAGE = FIGURES.parent / "gallery.md"
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")

SLUGS = (
    "factor", "no-correction", "overlap", "labels", "norms", "omega", "m", "lambda", "tail", "upper", "early",
    "repeats",
)  # fmt: skip

pytestmark = in_a_clone


@pytest.fixture(scope="module")
def gallery():
    return loaded("gallery")


def parts(text: str) -> tuple[str, list[float]]:
    """A text without its numbers, and these."""
    return NUMBER.sub("#", text), [float(one.replace(",", "")) for one in NUMBER.findall(text)]


def assert_alike(kept: str, made: str, smallest: float) -> None:
    """The same words, and numbers that agree to two digits, or are gaps below the smallest."""
    (words, numbers), (others, found) = parts(kept), parts(made)
    assert words == others
    np.testing.assert_allclose(found, numbers, rtol=0.05, atol=smallest)


def rows() -> list[list[str]]:
    """The rows of the page's table."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| [")]
    return [line.strip("| ").split(" | ") for line in lines]


@pytest.mark.parametrize("slug", some(SLUGS, of=4, first=1))
def test_a_defect_is_that_of_the_page(gallery, slug):
    (defect,) = [one for one in gallery.DEFECTS if one.slug == slug]
    made = gallery.shown(defect)
    assert made.correct.verdict.status == "PASS"
    assert made.correct.ratios.max() < 1
    assert made.faulty.verdict.status == "FAIL"
    (kept,) = [row for row in rows() if row[0] == made.row[0]]
    assert_alike(" | ".join(kept), " | ".join(made.row), gallery.SMALLEST)
    kept_figure = (gallery.DRAWN / f"{slug}.svg").read_text("utf-8")
    before, after = read(kept_figure), read(gallery.drawing(made))
    assert before.texts == after.texts
    colour = gallery.page_colour(1)
    assert len(before.lines[colour]) == pytest.approx(len(after.lines[colour]), rel=0.02)


def test_the_page_has_every_defect_those_that_the_gap_hides_best_first(gallery):
    assert [one.slug for one in gallery.DEFECTS] == list(SLUGS)
    titles = {f"[{one.title}](#{gallery.anchor(one.title)})" for one in gallery.DEFECTS}
    assert {row[0] for row in rows()} == titles
    assert len(rows()) == len(titles) == 12
    apart = [float(row[2]) for row in rows()]
    assert apart == sorted(apart)
    assert sorted(path.stem for path in gallery.DRAWN.iterdir()) == sorted(SLUGS)


@pytest.mark.nightly
def test_the_page_is_what_the_script_writes(gallery):
    made = gallery.page([gallery.shown(defect) for defect in gallery.DEFECTS])
    assert_alike(PAGE.read_text("utf-8"), made, gallery.SMALLEST)
