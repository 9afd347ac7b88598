"""Tables: a column is declared once, for the CSV file, the page, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from sstep_verify.outputs import write_table
from sstep_verify.report.case import Case
from sstep_verify.report.numbers import count, duration, short
from sstep_verify.report.panels import Group, Panel
from sstep_verify.report.results import Results

Value = str | Callable[[Any], Any]
"""What a column shows of a row: a path such as ``case.problem``, or a function."""


class Column(NamedTuple):
    """One column.

    Parameters
    ----------
    heading : str
        On the page; a column without one stands in the file alone.
    value : Value
        What it holds.
    shown : callable
        How the page writes that; the file has all digits.
    file : str
        Name in the file; a column without one stands on the page alone.
    small : Value
        A second line of its cells on the page.
    link : Value
        Id of the case that a cell leads to on the page.
    kind : str
        Class of its cells on the page.
    label : str
        words before a cell on a narrow screen, if not the heading in small letters.
    """

    heading: str
    value: Value
    shown: Callable[[Any], object] = short
    file: str = ""
    small: Value = ""
    link: Value = ""
    kind: str = "number"
    label: str = ""

    @property
    def before(self) -> str:
        """The label, which begins with a small letter where that is the first of a word."""
        told = self.label or self.heading
        return told[:1].lower() + told[1:] if told[1:2].islower() else told


def filed(**values: Value) -> Iterator[Column]:
    """Columns of the file alone, by their names."""
    return (Column("", value, file=name) for name, value in values.items())


def text(value: object) -> object:
    """Text as it is; a dash for none."""
    return "–" if value in (None, "") else value


def words(
    heading: str, value: Value, shown: Callable[[Any], object] = text, file: str = "", **rest: Any
) -> Column:
    """A column of text."""
    return Column(heading, value, shown, file, **{"kind": "", **rest})


def chip(status: str) -> Markup:
    """A status on its coloured ground."""
    return Markup('<span class="chip {}">{}</span>').format(status.lower(), status)


class Of(NamedTuple):
    """A row of a table: a case with something that is said of it."""

    case: Case
    row: Any


def by_case(results: Results, rows: Iterable[Any]) -> list[Of]:
    """Rows that name a case, each with it."""
    cases = {case.id: case for case in results.cases}
    return [Of(cases[row.case], row) for row in rows]


@dataclass(frozen=True)
class Table:
    """Columns, and the rows that the page shows; `status` is what it can be filtered by."""

    columns: Sequence[Column]
    rows: Sequence[Any]
    status: Value = ""

    @property
    def shown(self) -> list[Column]:
        """Columns of the page."""
        return [column for column in self.columns if column.heading]

    def write(self, path: Path, rows: Iterable[Any] | None = None) -> Path:
        """Write the columns of the file, of other rows if they are given."""
        held = [column for column in self.columns if column.file]
        every = self.rows if rows is None else rows
        names = [column.file for column in held]
        return write_table(path, names, ([of(row, column.value) for column in held] for row in every))


def of(row: Any, value: Value) -> Any:
    """A value of a row; see `Value`."""
    if callable(value):
        return value(row)
    for name in value.split(".") if value else ():
        row = row[name] if isinstance(row, Mapping) else getattr(row, name)
    return row if value else ""


VERDICTS = (
    "check", "case", "problem", "s", "block", "status", "ratio", "measured", "bound", "units", "planned",
    "executed", "reason", "replay",
)  # fmt: skip
TERMS = ("name", "detection_limit", "planned", "decided", "seen", "reason")

RUNS = (
    *filed(case="case.id", problem="case.problem", block="case.block", solver="row.solver"),
    Column("s", "row.s", text, "s"),
    words("Solver", "row.solver"),
    Column("Iterations", "row.iterations", count, "iterations"),
    words("Stopped because", "row.stop", str, "stop"),
    *filed(seconds="row.seconds", measure="row.measure"),
    Column("Final value", "row.final", short, "final"),
    words("of", "row.measure"),
    Column("Time", "row.seconds", duration),
)


def runs_of(*cases: Case) -> Table:
    """Runs of some cases."""
    return Table(RUNS, [Of(case, run) for case in cases for run in case.runs])


def write_tables(results: Results, groups: Iterable[Group], folder: Path) -> None:
    """Write ``verdicts.csv``, ``terms.csv``, ``runs.csv`` and one CSV for each panel of the figures.

    The folder is made if absent.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told = results.verdicts
    write_table(folder / "verdicts.csv", VERDICTS, ([one[name] for name in VERDICTS] for one in told))
    terms = (
        [verdict["check"], verdict["case"], verdict["s"], *(term[name] for name in TERMS)]
        for verdict in told
        for term in verdict["terms"]
    )
    write_table(folder / "terms.csv", ("check", "case", "s", *TERMS), terms)
    runs_of(*results.cases).write(folder / "runs.csv")
    for panel in (panel for group in groups for panel in group.panels):
        columns = ("case", "variant", "kind", "s", "iteration", "value", "units")
        write_table(folder / f"{panel.slug}.csv", columns, _panel_rows(panel))


def _panel_rows(panel: Panel) -> Iterator[tuple[object, ...]]:
    for curve in panel.curves:
        series = curve.series
        for iteration, value in zip(series.x, series.y, strict=True):
            yield curve.case.id, curve.variant, series.name, series.s, iteration, value, series.units
    for owned in panel.lines:
        yield "", owned.variant, owned.line.name, "", "", owned.line.y, panel.units
