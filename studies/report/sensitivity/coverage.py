"""Records of the coverage table: decided runs of correct solvers, by check, freedom, task and kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Cells = dict[str, tuple[int, float]]
"""By check, task, kernel and value of a freedom: decided runs, and the largest ratio."""

ENOUGH = 30
"""Decided runs that cover a cell: if none fails, at most a tenth of such runs does (95 % confidence)."""

CROSSED = tuple(
    f"{task} {kernel}" for task in ("svm-l1", "svm-l2", "krr") for kernel in ("linear", "polynomial", "rbf")
)
"""Task and kernel, in the order of the columns."""


@dataclass(frozen=True)
class CoverageRow:
    """One check and one value of a freedom.

    There are decided runs of each of `CROSSED`, VACUOUS and INCONCLUSIVE ones not counted, the largest
    measured / bound, and by task and kernel the reasons why no run is decided there.
    """

    check: str
    freedom: str
    value: str
    decided: tuple[int, ...]
    largest: float
    reasons: dict[str, str]

    @property
    def cells(self) -> Iterator[tuple[str, int, str]]:
        """Task and kernel, decided runs, and why there are none, of each cell."""
        for place, decided in zip(CROSSED, self.decided, strict=True):
            yield place, decided, self.reasons.get(place, "")

    @property
    def texts(self) -> list[str]:
        """Of each cell its decided runs, with the share that may fail if none of them did; or a reason."""
        return [
            why or (f"{decided} (< {1 - 0.05 ** (1 / decided):.1%})" if decided else "0")
            for _, decided, why in self.cells
        ]


@dataclass(frozen=True)
class MirrorRow:
    """Runs made with a defect that a check was certain to show, and those of them that it refused.

    The name is that of check and defect, with the value of a freedom where they are counted by it.
    """

    name: str
    made: int
    refused: int


@dataclass(frozen=True)
class CoverageDocument:
    """The table, and what it amounts to.

    Parameters
    ----------
    pairs, apart : int
        Pairs of values of two freedoms that can meet; those that cannot, each by a rule.
    unmet : tuple of str
        Those of the former that met in no decided run.
    mirror : tuple of MirrorRow
        Runs made again with defects.
    rows : tuple of CoverageRow
        The table.
    unplanted : tuple of str
        Checks with values of freedoms of which runs were decided, and none was made again with a defect.
    """

    pairs: int
    apart: int
    unmet: tuple[str, ...]
    mirror: tuple[MirrorRow, ...]
    rows: tuple[CoverageRow, ...]
    unplanted: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """Cells of check, value of a freedom, task and kernel."""
        return sum(len(row.decided) for row in self.rows)

    @property
    def explained(self) -> int:
        """Empty cells with a reason."""
        return sum(len(row.reasons) for row in self.rows)

    @property
    def neither(self) -> list[str]:
        """Cells that have too few decided runs, and no reason."""
        return [
            f"{row.check}, {row.freedom} = {row.value or 'none'}, {place}: {decided} decided"
            for row in self.rows
            for place, decided, why in row.cells
            if decided < ENOUGH and not why
        ]

    @property
    def whole(self) -> list[MirrorRow]:
        """Check and defect, over all values of freedoms."""
        return [row for row in self.mirror if " = " not in row.name]

    @property
    def missed(self) -> list[str]:
        """What checks did not refuse though they were certain to."""
        return [
            f"{row.name}: {row.made - row.refused} of {row.made} not refused"
            for row in self.mirror
            if row.made > row.refused
        ]

    @property
    def sentence(self) -> str:
        """Cells, pairs and defects in one sentence."""
        left = len(self.neither)
        made, refused = (sum(getattr(row, name) for row in self.whole) for name in ("made", "refused"))
        return (
            f"covered {self.number - self.explained - left:,} of {self.number:,} cells of check, freedom, "
            f"task and kernel by {ENOUGH} decided runs each, {self.explained:,} explained, {left:,} "
            f"neither; {self.pairs - len(self.unmet):,} of {self.pairs:,} pairs of freedoms met, "
            f"{self.apart} cannot; {refused:,} of {made:,} planted defects refused"
        )

    @property
    def largest(self) -> Iterator[tuple[str, str, float]]:
        """The largest ratio of each check, and of each freedom over all checks."""
        for name in ("check", "freedom"):
            for value in dict.fromkeys(getattr(row, name) for row in self.rows):
                yield name, value, max(row.largest for row in self.rows if getattr(row, name) == value)

    @property
    def in_words(self) -> str:
        """The sentence, the largest ratios, and all that is not as it should be, in Markdown."""
        ratios = [f"| {name} | {value} | {ratio:.3g} |" for name, value, ratio in self.largest]
        parts = {
            "Cells with fewer decided runs, and no reason": self.neither,
            "Pairs of freedoms that met in no decided run": list(self.unmet),
            "Planted defects that were not refused": self.missed,
            "Checks and values of freedoms of which no run was made again with a defect": list(
                self.unplanted
            ),
        }
        head = (f"{self.sentence}.", "", "| of | | largest ratio |", "|---|---|---|", *ratios)
        lists = ["\n".join(("", f"## {name}", "", *(lines or ["none"]))) for name, lines in parts.items()]
        return "\n".join((*head, *lists, ""))
