"""SVG text: made small, made to follow the page's colours, and free of ids that could clash."""

from __future__ import annotations

import re

TEXT = "#111213"  # stands for the colour of the text around the figure
GRID = "#d1d2d3"  # stands for the colour of fine rules
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

_TAG = re.compile(r"<[a-z][^<>]*>")
_IDLE_ID = re.compile(
    r' id="(?:figure|axes|patch|line2d|text|legend|[xy]tick|matplotlib\.axis|Line)[\w.]*"'
)
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_MARKER_RUN = re.compile(r'<g( clip-path="[^"]*")?>\n((?:<use [^>]*/>\n)+)</g>')
_COLOUR = re.compile(r"#(?:0072b2|d55e00|009e73|cc79a7|e69f00|56b4e9)")


def compact(text: str) -> str:
    """Shrink matplotlib's SVG and let it take its colours from the page that holds it.

    Text and axes take the page's text colour (``currentColor``), rules the variable ``--rule``, and
    the colours of the curves variables such as ``--c-0072b2``, each with the printed colour as the
    fallback.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r' width="[^"]*pt" height="[^"]*pt"', "", text, count=1)
    text = _TAG.sub(lambda match: _compact_tag(match[0]), text)
    text = re.sub(r">\s+<", ">\n<", text)
    text = _MARKER_RUN.sub(_hoist, text)
    return text.replace("<svg ", f'<svg font-family="{FONT}" stroke-linejoin="round" ', 1)


def standalone(text: str) -> str:
    """The same figure as a file of its own, on white."""
    return '<?xml version="1.0" encoding="utf-8"?>\n' + text.replace(
        "<svg ", '<svg style="background:#fff;color:#111" ', 1
    )


def _compact_tag(tag: str) -> str:
    """Shrink the inside of one tag; text between tags is never touched."""
    tag = _IDLE_ID.sub("", tag)
    tag = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", tag)
    tag = re.sub(r"font-family: [^;\"]*(; )?", "", tag)
    tag = _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), tag)
    tag = re.sub(r"\s*\n\s*", " ", tag)
    tag = tag.replace(TEXT, "currentColor").replace(GRID, f"var(--rule,{GRID})")
    return _COLOUR.sub(lambda match: f"var(--c-{match[0][1:]},{match[0]})", tag)


def _hoist(match: re.Match) -> str:
    """State the style of equal markers once, on their group."""
    uses = match[2]
    styles = set(re.findall(r' style="([^"]*)"', uses))
    if len(styles) != 1:
        return match[0]
    uses = re.sub(r' style="[^"]*"', "", uses)
    return f'<g{match[1] or ""} style="{styles.pop()}">\n{uses}</g>'
