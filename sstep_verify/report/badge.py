"""A badge: two words on a coloured ground, as an SVG that needs nothing else."""

from __future__ import annotations

from xml.sax.saxutils import escape

COLOURS = {"passed": "#2f7d32", "failed": "#b3261e", "inconclusive": "#6b6b6b"}
"""White text on each has a contrast of 5 or more."""

LEFT = "#3c3c3c"
WIDTH_OF_A_CHARACTER, PADDING, HEIGHT = 6.6, 8, 20


def badge(subject: str, words: str, outcome: str) -> str:
    """The SVG of a badge: subject on the left, words on the right in the colour of the outcome."""
    first, second = (round(len(text) * WIDTH_OF_A_CHARACTER + 2 * PADDING) for text in (subject, words))
    title = escape(f"{subject}: {words}")
    left = _text(first / 2, first - 2 * PADDING, subject)
    right = _text(first + second / 2, second - 2 * PADDING, words)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(title, {chr(34): "&quot;"})}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{first}" height="{HEIGHT}" fill="{LEFT}"/>\n'
        f'<rect x="{first}" width="{second}" height="{HEIGHT}" fill="{COLOURS[outcome]}"/>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">\n'
        f"{left}{right}</g>\n</svg>\n"
    )


def _text(middle: float, length: int, words: str) -> str:
    return f'<text x="{middle}" y="14" textLength="{length}">{escape(words)}</text>\n'
