"""Tables: a column is declared once, for the CSV file, the page, or both; those of every report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from sstep_verify.files import write_table
from sstep_verify.report.case import Case
from sstep_verify.report.expected import Expected
from sstep_verify.report.panels import Panel
from sstep_verify.report.plain import count, duration, short, shortened
from sstep_verify.report.results import Results

Value = str | Callable[[Any], Any]
"""What a column shows of a row: a path such as ``case.problem``, or a function."""


class Column(NamedTuple):
    """One column: without a `heading` it stands in the file alone, without a name `file` on the page alone.

    The file has all digits of the value, the page what `shown` makes of it, with a second line (`small`), a
    link to the case of that id, and the class `kind` of its cells. `label` is what stands before a cell on
    a narrow screen, if not the heading in small letters.
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


def filed(*same: str, **values: Value) -> Iterator[Column]:
    """Columns of the file alone, by their names; of some these are those of the values, too."""
    named = {**{name: name for name in same}, **values}
    return (Column("", value, file=name) for name, value in named.items())


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
    return Markup('<span class="chip {}">{}</span>').format(status.lower().replace(" ", "-"), status)


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
    """Columns, and the rows that the page shows; `status` is what it can be filtered by.

    The file has `every` row, those of the page if it is None.
    """

    columns: Sequence[Column]
    rows: Sequence[Any] = ()
    status: Value = ""
    every: Iterable[Any] | None = None

    @property
    def shown(self) -> list[Column]:
        """Columns of the page."""
        return [column for column in self.columns if column.heading]

    def write(self, path: Path) -> Path:
        """Write the columns of the file."""
        held = [column for column in self.columns if column.file]
        every = self.rows if self.every is None else self.every
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
TERMS = ("name", "detection_limit", "planned", "decided", "seen", "why")
HEADS = {"seen": "tested"}
"""Heads of columns that are not the key of the record."""

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


VECTOR = {"Solver", "Final value", "of"}
"""Columns of `RUNS` that the page shows of a vector that was handed over."""


def runs_of(*cases: Case) -> Table:
    """Runs of some cases."""
    made = not cases or any(case.of_runs for case in cases)
    columns = [
        column if made or column.heading in VECTOR else column._replace(heading="") for column in RUNS
    ]
    return Table(columns, [Of(case, run) for case in cases for run in case.runs])


def certified_table(results: Results) -> Table:
    """A row for each certificate, in the order of the document; none if it has none."""
    rows = results.certified.rows if results.certified else ()
    return Table(CERTIFIED, by_case(results, rows), "case.status")


def _objective(of: Of) -> Markup:
    """Leading digits of the optimal value: those that its radius proves, at most those asked for."""
    proved = Decimal(of.row.objective).adjusted() - Decimal(of.row.radius).adjusted()
    digits = max(min(proved, of.row.asked), 1)
    return Markup("<code>{}</code>").format(shortened(of.row.objective, digits, ROUND_HALF_EVEN))


def _counts(of: Of) -> str:
    row = of.row
    return "" if row.zero is None else f"{row.zero} / {row.upper} / {row.free} / {row.undecided}"


CERTIFIED = (
    *filed(case="row.case", dataset="case.dataset", task="case.task", kernel="case.kernel"),
    *filed(parameter=lambda of: next(iter(of.case.parameters.values()))),
    words("Problem", "case.problem", link="case.id"),
    words("Status", "case.status", chip, "status"),
    *filed(asked="row.asked"),
    Column("Digits", "row.digits", text, "digits"),
    words("Optimal value", _objective),
    *filed(objective="row.objective"),
    Column("Radius", "row.radius", shortened, "radius"),
    *filed(gap_lower="row.gap_lower"),
    Column("Gap, at most", "row.gap_upper", shortened, "gap_upper"),
    *filed(distance="row.distance", zero="row.zero", upper="row.upper", free="row.free"),
    *filed(undecided="row.undecided"),
    Column(Markup("0 / C / free<br>/ undecided"), _counts, text, label="0 / C / free / undecided"),
    words("Unique", "row.uniqueness", file="uniqueness"),
    *filed(how="row.how", seconds="row.seconds", anew="row.anew"),
    Column(
        "Distance from a*, at most",
        "row.distance",
        lambda one: text(shortened(one)),
        label="distance, at most",
    ),
    Column(
        "Found in / proved again in",
        lambda of: f"{duration(of.row.seconds)} / {duration(of.row.anew)}",
        text,
    ),
    Column("Memory, MiB", "row.memory", lambda size: count(round(size / 2**20)) if size else "–", "memory"),
)


def write_tables(results: Results, panels: Iterable[Panel], folder: Path) -> None:
    """Write ``verdicts.csv``, ``terms.csv``, ``runs.csv``, ``certified.csv`` and a CSV for each panel.

    The folder is made if absent.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told, expected = results.verdicts, Expected.of(results)
    held = ([*(one[name] for name in VERDICTS), expected.reason(one) or ""] for one in told)
    write_table(folder / "verdicts.csv", (*VERDICTS, "expected_failure"), held)
    terms = (
        [verdict["check"], verdict["case"], verdict["s"], *(term[name] for name in TERMS)]
        for verdict in told
        for term in verdict["terms"]
    )
    write_table(
        folder / "terms.csv", ("check", "case", "s", *(HEADS.get(name, name) for name in TERMS)), terms
    )
    runs_of(*results.cases).write(folder / "runs.csv")
    if results.certified is not None:
        certified_table(results).write(folder / "certified.csv")
    for panel in panels:
        columns = ("case", "variant", "kind", "s", "iteration", "value", "units")
        write_table(folder / f"{panel.slug}.csv", columns, _panel_rows(panel))


def _panel_rows(panel: Panel) -> Iterator[tuple[object, ...]]:
    for curve in panel.curves:
        series = curve.series
        for iteration, value in zip(series.x, series.y, strict=True):
            yield curve.case.id, curve.variant, series.name, series.s, iteration, value, series.units
    for variant, line in panel.lines:
        yield "", variant, line.name, "", "", line.y, panel.units
