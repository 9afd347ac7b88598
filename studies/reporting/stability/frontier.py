"""The frontier: the largest safe s against u * condition, a small panel per task and precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sstep_verify.reporting.figures.axes import power_of_ten
from sstep_verify.reporting.figures.panels import TASK_WORDS
from sstep_verify.reporting.figures.svg import (
    COLOURS,
    RULE,
    document,
    group,
    line,
    moved,
    page_colour,
    rules,
    text,
)
from studies import grouped
from studies.reporting import placed
from studies.reporting.stability.answers import TENFOLD, Answer, SafeBand
from studies.reporting.stability.summary import brief

WIDTH, HEIGHT = 300, 190  # of the plot inside one panel
LEFT, TOP, BOTTOM, GAP = 44, 40, 42, 20
LEGEND = 58

KINDS = (
    ("within_ten", COLOURS[5], f"no run held to be more than {TENFOLD:g} times worse"),
    ("within_noise", COLOURS[0], "every loss factor within the largest noise of the band"),
)
"""Fields of a band, from the wider bar to the narrower, with colour and words."""


def draw_frontier(answers: Sequence[Answer]) -> str:
    """Draw the figure: bars from s = 1 up to the largest safe s, and the largest factor of each band."""
    across, down = LEFT + WIDTH + GAP, TOP + HEIGHT + BOTTOM
    rows = grouped(answers, lambda answer: answer.precision).values()
    panels = [list(map(_panel, row)) for row in rows]
    bottom = down * len(panels)
    drawn = [*placed(panels, across, down), moved(_legend(), LEFT, bottom)]
    return document(max(map(len, panels)) * across, bottom + LEGEND, drawn)


def frontier_text(answers: Sequence[Answer]) -> str:
    """Text alternative: each band with both of its values of s."""
    words = [
        f"{answer.precision}, {TASK_WORDS.get(answer.task, answer.task)}: "
        + ", ".join(
            f"{_bounds(band)} s = {band.within_ten} and {band.within_noise} of {band.s[-1]}"
            for band in answer.safe
        )
        for answer in answers
    ]
    return (
        f"Largest s up to which no run is more than {TENFOLD:g} times worse, and up to which every loss "
        f"factor stays within the noise floor, by band of u times condition. {'; '.join(words)}."
    )


def _panel(answer: Answer) -> str:
    last = max(band.s[-1] for band in answer.safe)
    first, end = (math.log10(value) for value in (answer.safe[0].low, answer.safe[-1].high))
    levels = max(math.log2(last), 1.0)

    def across(value: float) -> float:
        return LEFT + WIDTH * (math.log10(value) - first) / (end - first)

    def height(s: float) -> float:
        return TOP + HEIGHT * (1 - math.log2(s) / levels)

    ticks = [(2.0**k, str(2**k)) for k in range(0, math.floor(levels) + 1)]
    if not math.log2(last).is_integer():
        ticks.append((float(last), str(last)))
    edges = dict.fromkeys(value for band in answer.safe for value in (band.low, band.high))
    labels = [
        text(across(edge), TOP + HEIGHT + 14, power_of_ten(round(math.log10(edge)))) for edge in edges
    ]
    bars = [_bars(band, across, height) for band in answer.safe]
    title = f"{TASK_WORDS.get(answer.task, answer.task)}, {answer.precision}"
    return "\n".join(
        [
            text(LEFT, TOP - 24, title, font_weight="bold"),
            text(LEFT - 20, TOP - 9, "s", text_anchor="end", font_style="italic"),
            rules(ticks, LEFT, LEFT + WIDTH, height),
            *bars,
            line(LEFT, TOP + HEIGHT, LEFT + WIDTH, TOP + HEIGHT, stroke=RULE),
            group(labels, text_anchor="middle", font_size="10"),
            text(LEFT + WIDTH / 2, TOP + HEIGHT + 31, "u · condition of the data", text_anchor="middle"),
        ]
    )


def _bars(band: SafeBand, across: Callable, height: Callable) -> str:
    """Both bars of a band, the narrower in front, and its largest factor above them."""
    left, right = across(band.low), across(band.high)
    parts = []
    for inset, (name, colour, _) in zip((0.08, 0.24), KINDS, strict=True):
        margin = (right - left) * inset
        top, bottom = height(getattr(band, name)), height(1)
        parts.append(
            f'<path d="M{left + margin:.1f} {bottom:.1f}V{top:.1f}H{right - margin:.1f}V{bottom:.1f}z" '
            f'fill="{page_colour(colour)}"/>'
        )
    parts.append(text((left + right) / 2, TOP - 6, brief(band.worst), text_anchor="middle"))
    return "\n".join(parts)


def _legend() -> str:
    parts = []
    for place, (_, colour, words) in enumerate(KINDS):
        x = 430 * place
        parts.append(f'<path d="M{x} 2h14v10h-14z" fill="{page_colour(colour)}"/>')
        parts.append(text(x + 20, 11, words))
    words = (
        "A bar ends at the largest s up to which that holds of every run in its band of u · condition; "
        "one at the top, at every s that was run; none, at no s > 1. Above: the band's largest loss factor."
    )
    return "\n".join([*parts, text(0, 34, words)])


def _bounds(band: SafeBand) -> str:
    return " to ".join(power_of_ten(round(math.log10(value))) for value in (band.low, band.high))
