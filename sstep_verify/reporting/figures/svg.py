"""SVG as text: small, without scripts or ids, in the colours of the page that holds it.

A figure can stand in a light or a dark page: text is ``currentColor``, rules and curves are CSS variables
with the printed colour as the fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from sstep_verify.reporting.plain import xml_text

RULE = "var(--rule,#d1d2d3)"
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = (
    "M-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
    "M-3 -3h6v6h-6z",
    "M0 -3.8L3.6 3H-3.6z",
    "M0 -4L4 0L0 4L-4 0z",
    "M0 3.8L3.6 -3H-3.6z",
    "M-3.6 0h7.2M0 -3.6v7.2",
    "M-3 -3L3 3M-3 3L3 -3",
    "M-3.6 0h7.2M-2 -3.2L2 3.2M-2 3.2L2 -3.2",
)
"""Outlines around the origin, for use with `mark`."""


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def page_colour(colour: str) -> str:
    """A curve's colour as the page may change it."""
    return f"var(--c-{colour[1:]},{colour})"


def text(x: float, y: float, words: str, **attributes: str) -> str:
    """One line of text at its baseline; y = 0 is left out, as SVG allows."""
    height = f' y="{number(y)}"' if y else ""
    return f'<text x="{number(x)}"{height}{_written(attributes)}>{escape(xml_text(words))}</text>'


def line(x1: float, y1: float, x2: float, y2: float, **attributes: str) -> str:
    """One straight line."""
    path = f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"
    return f'<path d="{path}"{_written(attributes)}/>'


def mark(marker: str, x: float, y: float) -> str:
    """One marker, in the colours of its group."""
    return f'<path d="{marker}" transform="translate({number(x)} {number(y)})"/>'


def group(parts: Iterable[str], **attributes: str) -> str:
    """Parts with common attributes."""
    return f"<g{_written(attributes)}>" + "\n".join(parts) + "</g>"


def moved(part: str, x: float, y: float) -> str:
    """A part at another place."""
    return group([part], transform=f"translate({number(x)} {number(y)})")


def rules(
    ticks: Iterable[tuple[float, str]], left: float, right: float, height: Callable[[float], float]
) -> str:
    """Horizontal rules at the ticks of a vertical axis, with labels on their left."""
    placed = [(height(value), label) for value, label in ticks]
    drawn = group([line(left, y, right, y) for y, _ in placed], stroke=RULE, fill="none")
    labels = group([text(left - 6, y + 4, label) for y, label in placed], text_anchor="end")
    return f"{drawn}\n{labels}"


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole figure that can stand inside a page."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'font-family="{FONT}" font-size="11" fill="currentColor">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def standalone(figure: str) -> str:
    """The same figure as a file of its own, on white."""
    return '<?xml version="1.0" encoding="utf-8"?>\n' + figure.replace(
        "<svg ", '<svg style="background:#fff;color:#111" ', 1
    )


@dataclass(frozen=True)
class Figure:
    """One drawn figure of a page: stem of its file, title, text alternative, and SVG."""

    slug: str
    title: str
    text: str
    svg: str


def write_files(figures: Iterable[Figure], folder: Path) -> None:
    """Write each figure as a file of its own; the folder is made if absent."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (folder / f"{figure.slug}.svg").write_text(standalone(figure.svg), encoding="utf-8")


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
