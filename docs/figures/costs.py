"""Draw docs/figures/costs.svg, of docs/costs.md: reductions and words of a run over s, by scheme.

Usage: ``python docs/figures/costs.py``.
"""

from __future__ import annotations

from pathlib import Path

from why import BOTH_MODES

from sstep_verify import IndexStream
from sstep_verify.costs.messages import (
    Counts,
    Distinct,
    distinct_counts,
    drawn_windows,
    window_counts,
)
from sstep_verify.report.chart import (
    Plot,
    Scale,
    document,
    group,
    joined,
    mark,
    octaves,
    page_colour,
    text,
)

FIGURE = Path(__file__).with_suffix(".svg")
SAMPLES, ITERATIONS = 10_000, 1_024
STEPS = [1 << k for k in range(11)]
SCHEMES = ("allreduce", "reduce-scatter", "gram")


def counted() -> dict[str, list[Counts]]:
    """The counts of each scheme at each s."""
    stream = IndexStream("uniform", SAMPLES, 1, ITERATIONS, seed=0)
    found: dict[str, list[Counts]] = {name: [] for name in SCHEMES}
    for s in STEPS:
        own = distinct_counts(drawn_windows(stream, s, ITERATIONS))
        distinct = Distinct(len(own), int(own.sum()), int((own * own).sum()))
        for name, counts in found.items():
            counts.append(window_counts(name, SAMPLES, distinct, norms=False))
    return found


def drawing(found: dict[str, list[Counts]]) -> str:
    """Reductions at the left, words at the right."""
    panels = (
        (
            "Reductions of a rank",
            Plot(octaves(STEPS), Scale(0, 4), 330, 210, left=62, top=40),
            "collectives",
        ),
        (
            "Words of a rank, in total",
            Plot(octaves(STEPS), Scale(3, 8), 330, 210, left=490, top=40),
            "words",
        ),
    )
    parts = []
    for title, plot, field in panels:
        parts.append(text(plot.left, 18, title, font_weight="bold", font_size="14"))
        parts += plot.axes([(s, str(s)) for s in STEPS], "s")
        for place, counts in enumerate(found.values()):
            points = plot.points(STEPS, [getattr(one, field) for one in counts])
            shown = [*joined(points), *(mark(place, *point) for point in points)]
            parts.append(group(shown, stroke=page_colour(place), fill="none", stroke_width="1.6"))
    for place, name in enumerate(found):
        x = 66 + 160 * place
        parts.append(group([mark(place, x, 304)], stroke=page_colour(place), fill="none"))
        parts.append(text(x + 12, 308, name))
    return document(850, 320, [BOTH_MODES, *parts])


def main() -> None:
    """Draw the figure."""
    FIGURE.write_text(drawing(counted()), encoding="utf-8")


if __name__ == "__main__":
    main()
