"""Small SVG by hand: thousands of cells and markers stay small, and take their colours from the page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sstep_verify.reporting import svg
from sstep_verify.reporting.plain import xml_text

RULE = f"var(--rule,{svg.GRID})"


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def brief(value: float | None) -> str:
    """A factor in at most five characters: ``1.3``, ``12``, ``3e4``; ∞ for none."""
    if value is None:
        return "∞"
    if 0.095 <= value < 9.95:
        return f"{value:.1f}"
    if 9.95 <= value < 999.5:
        return f"{value:.0f}"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}" if value else "0"


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


def group(parts: Iterable[str], **attributes: str) -> str:
    """Parts with common attributes."""
    return f"<g{_written(attributes)}>" + "\n".join(parts) + "</g>"


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole figure that can stand inside a page."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'font-family="{svg.FONT}" font-size="11" fill="currentColor">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
