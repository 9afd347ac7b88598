"""How much of a report its page holds, so that a browser opens it at once; its files have all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sstep_verify.report.case import Case
from sstep_verify.report.chart import Figure
from sstep_verify.report.expected import Expected
from sstep_verify.report.verdicts import settled_last
from sstep_verify.verdict import UNSETTLED

MOST_CASES, MOST_VERDICTS, MOST_ROWS = 100, 200, 400
"""Cases with their facts, verdicts with their reasons, and rows of the table of verdicts."""

MOST_DRAWN, MOST_LINKED = 500_000, 100
"""Characters of all figures of curves that are in the page, and how many more of a kind are linked."""


class Parts(NamedTuple):
    """Verdicts of a case: unsettled and settled ones that are shown, and those that files hold alone."""

    unsettled: list[dict]
    settled: list[dict]
    folded: list[dict]


@dataclass(frozen=True)
class Budget:
    """The cases and verdicts that a page shows, and the slugs of its figures."""

    cases: Sequence[Case]
    figures: frozenset[str]
    shown: frozenset[int]

    @classmethod
    def of(
        cls, cases: Iterable[Case], verdicts: Mapping[str, Sequence[dict]], figures: Iterable[Figure]
    ) -> Budget:
        """Choose: failures first, then in the order of the document; `verdicts` by case."""
        first = sorted(cases, key=lambda case: case.status not in UNSETTLED)[:MOST_CASES]
        own = (verdict for case in first for verdict in verdicts.get(case.id, ()))
        order = sorted(own, key=lambda verdict: verdict["status"] not in UNSETTLED)
        return cls(first, frozenset(_drawn(figures)), frozenset(map(id, order[:MOST_VERDICTS])))

    def parts(self, verdicts: Sequence[dict]) -> Parts:
        """What is shown of the verdicts of a case."""
        shown = [verdict for verdict in verdicts if id(verdict) in self.shown]
        return Parts(
            *settled_last(shown), [verdict for verdict in verdicts if id(verdict) not in self.shown]
        )


def _drawn(figures: Iterable[Figure]) -> Iterable[str]:
    """The slugs of the first figures that fit."""
    left = MOST_DRAWN
    for figure in figures:
        left -= len(figure.svg)
        if left < 0:
            return
        yield figure.slug


def statuses(verdicts: Iterable[dict], expected: Expected) -> str:
    """How many verdicts have which status, in words."""
    found = Counter(expected.status(verdict) for verdict in verdicts)
    return ", ".join(f"{number} {status}" for status, number in found.items())
