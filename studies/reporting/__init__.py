"""Records, pages and tables of the studies."""

from __future__ import annotations

from collections.abc import Sequence

from sstep_verify.reporting.figures.svg import moved


def placed(rows: Sequence[Sequence[str]], across: float, down: float) -> list[str]:
    """Panels of a figure in rows, each this far from its neighbours."""
    return [moved(part, across * k, down * n) for n, row in enumerate(rows) for k, part in enumerate(row)]
