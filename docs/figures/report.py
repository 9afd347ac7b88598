"""Draw docs/figures/report.svg, of docs/verdicts.md: the first screen of a report, its parts numbered.

It is the report on the solver of docs/read-a-failure.md. Usage: ``python docs/figures/report.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from why import BOTH_MODES

from sstep_verify import verify
from sstep_verify.report.answer import answer_of
from sstep_verify.report.chart import RULE, document, line, path, text
from sstep_verify.report.ratios import ratios
from sstep_verify.report.results import Results
from sstep_verify.report.write import OUTCOMES, outcome_of

FIGURE = Path(__file__).with_suffix(".svg")
SOLVER = FIGURE.parents[1] / "read-a-failure.md"
FAIL = """<style>
svg { --fail: #b3160f; --fail-wash: #fde3e1; --note: #0072b2; --on-note: #fff; }
@media (prefers-color-scheme: dark) {
  svg { --fail: #ff9d95; --fail-wash: #471a18; --note: #56a9e0; --on-note: #16181b; }
}
</style>"""
LEFT, NAMES, RIGHT, LINE = 40, 144, 710, 19
"""Left edge of names and of what they say, right edge, and height of a line."""


def measured() -> Results:
    """The report on the solver that the page shows."""
    (source,) = re.findall(r"^```python\n(.*?)^```$", SOLVER.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict = {"__name__": "mine"}
    exec(compile(source, str(SOLVER), "exec"), names)
    return verify(names["solver"], "smoke", tasks=["svm-l1"], kernels=["linear"]).results


def shown(results: Results) -> list[tuple[str, tuple[str, ...]]]:
    """The numbered parts: the answer, its rows, and what the picture is."""
    answer = answer_of(results, outcome_of(results, OUTCOMES)[0])
    assert answer is not None
    return [("Answer", (answer.headline,)), *answer.rows]


def drawing(results: Results) -> str:
    """The screen, and a number at the left of each part."""
    (_, (headline,)), *rows = shown(results)
    parts = [
        path(f"M{LEFT} 16h44v22h-44z", fill="var(--fail-wash)"),
        text(LEFT + 22, 32, outcome_of(results, OUTCOMES)[0], text_anchor="middle", font_weight="bold",
             font_size="13", fill="var(--fail)"),
        text(LEFT + 54, 33, headline, font_weight="bold", font_size="17"),
        *_note(1, 27),
    ]  # fmt: skip
    y = 66
    for place, (name, said) in enumerate(rows, 2):
        parts.append(text(LEFT, y, name, font_size="13", opacity=".75"))
        parts += [text(NAMES, y + LINE * k, one, font_size="13") for k, one in enumerate(said)]
        parts += _note(place, y - 4)
        y += LINE * len(said) + 10
        parts.append(line(LEFT, y - 19, RIGHT, y - 19, stroke=RULE))
    drawn = ratios(results)
    assert drawn is not None
    picture = drawn[0].svg
    across, down = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture)[0])
    width = RIGHT - LEFT
    height = down * width / across
    placed = f'<svg x="{LEFT}" y="{y - 8}" width="{width}" height="{height:.0f}" '
    parts += [picture.replace("<svg ", placed, 1).rstrip(), *_note(len(rows) + 2, y + 18)]
    return document(RIGHT + 12, y + height + 4, [BOTH_MODES, FAIL, *parts])


def _note(number: int, y: float) -> Iterator[str]:
    """A number in a disc, at the left, where a narrow window shows it too."""
    x = LEFT / 2
    yield path(f"M{x - 11} {y}a11 11 0 1 0 22 0a11 11 0 1 0 -22 0z", fill="var(--note)")
    yield text(x, y + 5, str(number), text_anchor="middle", font_weight="bold", font_size="13",
               fill="var(--on-note)")  # fmt: skip


def main() -> None:
    """Draw the figure, and print its parts."""
    results = measured()
    FIGURE.write_text(drawing(results), encoding="utf-8")
    for number, (name, _) in enumerate(shown(results), 1):
        print(number, name)


if __name__ == "__main__":
    main()
