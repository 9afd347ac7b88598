"""Draw docs/figures/number_line.svg, of docs/how-bounds-work.md: a bound in units of the unit roundoff.

Usage: ``python docs/figures/number_line.py``.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from why import BOTH_MODES

from sstep_verify.report.chart import document, group, line, page_colour, path, text

FIGURE = Path(__file__).with_suffix(".svg")
WIDTH, UNIT, MIDDLE, LEVEL = 680, 32, 340, 62


def bound() -> Fraction:
    """The bound of step 2 as the page derives it, in units of u."""
    increment, eta, new = Fraction(1, 5), 5, Fraction(1, 25)
    gradient = 7 * (1 + 4 * increment) + 2 * 4 * increment + 4 * increment
    return (gradient + 5 * eta * new) / eta + 2 * new + 2 * new


def drawing() -> str:
    """The number line."""
    most = float(bound())
    lowest, highest = MIDDLE - UNIT * 10, MIDDLE + UNIT * 10
    passes, shows = UNIT * most, UNIT * 2 * most
    bars = [
        (MIDDLE - passes, MIDDLE + passes, 0),
        (lowest, MIDDLE - shows, 1),
        (MIDDLE + shows, highest, 1),
    ]
    places = [*range(-10, 11, 2)]
    marks = [(-2 * most, f"-{2 * most:.2f}"), (-most, f"-{most:.2f}"), (0, "1/25"), (most, f"{most:.2f}"),
             (2 * most, f"{2 * most:.2f}")]  # fmt: skip
    parts = [
        *(path(f"M{a:.1f} {LEVEL}H{b:.1f}", stroke=page_colour(k), stroke_width="14", stroke_opacity=".55")
          for a, b, k in bars),
        line(lowest - 10, LEVEL, highest + 10, LEVEL, stroke="currentColor"),
        group([line(MIDDLE + UNIT * k, LEVEL - 3, MIDDLE + UNIT * k, LEVEL + 3) for k in places],
              stroke="currentColor"),
        group([text(MIDDLE + UNIT * k, LEVEL + 24, str(k)) for k in places], text_anchor="middle"),
        group([line(MIDDLE + UNIT * k, LEVEL - 18, MIDDLE + UNIT * k, LEVEL + 10) for k, _ in marks],
              stroke="currentColor", stroke_width="1.5"),
        group([text(MIDDLE + UNIT * k, LEVEL - 24, label) for k, label in marks],
              text_anchor="middle", font_weight="bold"),
        group([
            text(MIDDLE, 16, "exact value"),
            text(MIDDLE - passes, 16, "bound"),
            text(MIDDLE + passes, 16, "bound"),
            text(MIDDLE - shows, 16, "certain to show"),
            text(MIDDLE + shows, 16, "certain to show"),
            text(MIDDLE, LEVEL + 44, "distance from the exact new value, in units of u = 2^-53"),
        ], text_anchor="middle"),
    ]  # fmt: skip
    return document(WIDTH, LEVEL + 54, [BOTH_MODES, *parts])


def main() -> None:
    """Draw the figure."""
    FIGURE.write_text(drawing(), encoding="utf-8")


if __name__ == "__main__":
    main()
