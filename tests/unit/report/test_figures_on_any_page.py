"""Figures of the pages can be read on a light and on a dark page: each brings its own background and text."""

from __future__ import annotations

import re

import pytest
from figure_scripts import FIGURES, in_a_clone

pytestmark = in_a_clone

DOCS = FIGURES.parent
SHOWN = {
    (page.parent / name).resolve()
    for page in [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    if page.is_file()
    for name in re.findall(r"!\[[^\]]*\]\(([^)]+\.svg)\)", page.read_text("utf-8"))
}


@pytest.mark.parametrize("figure", sorted(SHOWN), ids=lambda path: path.stem)
def test_a_figure_has_its_own_background(figure):
    text = figure.read_text("utf-8")
    rules = re.findall(r"svg \{ background: (#\w+); color: (#\w+);", text)
    rules += re.findall(r'<svg style="background:(#\w+);color:(#\w+)"', text)
    assert rules
    for back, ink in rules:
        assert contrast(back, ink) >= 7
    assert len(rules) == 1 + ("prefers-color-scheme: dark" in text)


def test_every_figure_of_the_folder_is_shown():
    assert {path.resolve() for path in FIGURES.rglob("*.svg")} <= SHOWN


def contrast(one: str, other: str) -> float:
    """Contrast of two colours as WCAG 2 defines it; its level AAA asks for 7."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of ``#rgb`` or ``#rrggbb``."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = (int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
