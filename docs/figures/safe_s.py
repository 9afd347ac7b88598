"""Draw docs/figures/safe_s.svg, of docs/safe-s.md: what ``safe-s`` certifies of breast_cancer.

Usage: ``python docs/figures/safe_s.py``, for which scikit-learn must be installed.
"""

from __future__ import annotations

from pathlib import Path

from why import BOTH_MODES

from sstep_verify import Hinge, Problem, RBFKernel
from sstep_verify.problems.data.datasets import load
from sstep_verify.report.chart import (
    Plot,
    Scale,
    document,
    group,
    joined,
    line,
    mark,
    octaves,
    page_colour,
    text,
)
from sstep_verify.safety import certify, trained_alpha
from sstep_verify.safety.report import Certificate, Curve

FIGURE = Path(__file__).with_suffix(".svg")
CURVES = (
    "may be lost beyond s classical steps: L(s) - C(s)",
    "attainable accuracy: A(s)",
    "lost by the windows that were run",
)
PANEL, LEFT, TOP = (330, 220), 66, 40


def certificate() -> Certificate:
    """What is certified of the problem of the page."""
    loaded = load("breast_cancer")
    problem = Problem(loaded.name, loaded.data, loaded.targets, RBFKernel(1.0), Hinge(C=1.0))
    trained = trained_alpha(problem)
    return certify(problem, trained.trajectory.final, precisions=("float64", "float32"))


def drawing(found: Certificate) -> str:
    """A panel for each precision."""
    height = TOP + PANEL[1]
    parts = [part for place, curve in enumerate(found.curves) for part in _panel(curve, LEFT + 436 * place)]
    parts.append(text(0, 0, "loss of a window", text_anchor="middle",
                      transform=f"translate(12 {TOP + PANEL[1] / 2:.0f}) rotate(-90)"))  # fmt: skip
    for place, words in enumerate(CURVES):
        y = height + 54 + 18 * place
        parts.append(group([mark(place, LEFT + 4, y - 4)], stroke=page_colour(place), fill="none"))
        parts.append(text(LEFT + 16, y, words))
    return document(LEFT + 436 + PANEL[0] + 20, height + 102, [BOTH_MODES, *parts])


def _panel(curve: Curve, left: float) -> list[str]:
    steps = [one.s for one in curve.points if one.s & (one.s - 1) == 0]
    points = [one for one in curve.points if one.s in steps]
    plot = Plot(octaves(steps), Scale(-34, -2), *PANEL, left=left, top=TOP)
    edge = plot.x(curve.largest)
    values: tuple[list[float | None], ...] = (
        [one.bound - one.classical or None for one in points],
        [one.attainable for one in points],
        [one.measured for one in points],
    )
    drawn = []
    for place, own in enumerate(values):
        shown = plot.points(steps, own)
        marks = [*joined(shown), *(mark(place, *one) for one in shown)]
        drawn.append(group(marks, stroke=page_colour(place), fill="none", stroke_width="1.6"))
    title = f"{curve.precision}: safe up to s = {curve.largest}"
    return [
        text(left, 18, title, font_weight="bold", font_size="14"),
        *plot.axes([(s, str(s)) for s in steps], "s"),
        line(edge, TOP, edge, TOP + PANEL[1], stroke="currentColor", stroke_dasharray="2 4"),
        *drawn,
    ]


def main() -> None:
    """Draw the figure."""
    FIGURE.write_text(drawing(certificate()), encoding="utf-8")


if __name__ == "__main__":
    main()
