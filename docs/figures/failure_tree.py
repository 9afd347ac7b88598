"""Draw docs/figures/failure_tree.svg, which questions lead from a FAIL to its repair.

Usage: ``python docs/figures/failure_tree.py``, which also prints the text alternative of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from why import BOTH_MODES

from sstep_verify.report.chart import document, line, page_colour, path, text

FIGURE = Path(__file__).with_suffix(".svg")
LEFT, RIGHT, ASKED, TOLD, HEIGHT, APART = 10, 400, 320, 300, 52, 86
"""Edges of both columns, widths of a question and of an answer, height of a box, and rows apart."""


class Question(NamedTuple):
    """A question, the sign to look at, and what follows from yes, in a short line and a longer one."""

    asked: str
    sign: str
    short: str
    answer: str


QUESTIONS = (
    Question("Does the reason name a defect?", "Cause:", "Repair the named step",
             "The requirement says what it must do."),
    Question("Do log and result contradict?", "the log leads to", "Correct the log",
             "It takes the new value of each step."),
    Question("Is another reading correct?", "The runs are correct with", "Declare the convention",
             "Write that line into the program file."),
    Question("Does a sign of the table below fit?", "about 1e-7 of the value", "Declare how you compute",
             "The bound then holds for your solver."),
    Question("Does s = 1 pass?", "first at s = 7", "Look at the s-step part",
             "Correction, overlap, or the last window."),
)  # fmt: skip
LAST = ("Look at the single step", "Product, curvature, or a limit of the box.")
"""What follows where every answer was no."""


def alternative() -> str:
    """The text alternative: the same questions and answers in order."""
    steps = " ".join(
        f"{place}. {one.asked} {one.short}: {one.answer[0].lower()}{one.answer[1:]}"
        for place, one in enumerate(QUESTIONS, 1)
    )
    return f"Ask until an answer is yes. {steps} Otherwise {LAST[0].lower()}: {LAST[1].lower()}"


def drawing() -> str:
    """Questions at the left, what follows from yes at the right."""
    parts = []
    for place, one in enumerate(QUESTIONS):
        top = 8 + APART * place
        middle = top + HEIGHT / 2
        parts += [
            *_box(LEFT, top, ASKED, (f"{place + 1}. {one.asked}", one.sign), sign=True),
            *_box(RIGHT, top, TOLD, (one.short, one.answer)),
            *_arrow(LEFT + ASKED, middle, RIGHT, middle),
            text((LEFT + ASKED + RIGHT) / 2, middle - 7, "yes", text_anchor="middle", font_size="13"),
            *_arrow(LEFT + ASKED / 2, top + HEIGHT, LEFT + ASKED / 2, top + APART),
            text(LEFT + ASKED / 2 + 10, top + HEIGHT + 21, "no", font_size="13"),
        ]
    top = 8 + APART * len(QUESTIONS)
    parts += _box(LEFT, top, ASKED, LAST)
    return document(RIGHT + TOLD + 10, top + HEIGHT + 8, [BOTH_MODES, *parts])


def _box(x: float, y: float, width: float, words: Sequence[str], *, sign: bool = False) -> Iterator[str]:
    """A box with a bold line, and below it a sign as it is printed, or a plain line."""
    fill = {"fill": "none"} if sign else {"fill": page_colour(0), "fill_opacity": ".14"}
    yield path(f"M{x} {y}h{width}v{HEIGHT}h-{width}z", stroke="currentColor", **fill)
    first, second = words
    yield text(x + 12, y + 22, first, font_weight="bold", font_size="14")
    yield text(x + 12, y + 41, second, font_size="13", font_family="monospace" if sign else "")


def _arrow(x1: float, y1: float, x2: float, y2: float) -> Iterator[str]:
    yield line(x1, y1, x2, y2, stroke="currentColor")
    tip = "l-8 -4v8z" if y1 == y2 else "l-4 -8h8z"
    yield path(f"M{x2:g} {y2:g}{tip}")


def main() -> None:
    """Draw the figure."""
    FIGURE.write_text(drawing(), encoding="utf-8")
    print(alternative())


if __name__ == "__main__":
    main()
