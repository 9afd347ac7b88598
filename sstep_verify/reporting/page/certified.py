"""The part of a report on certified optima: the CSV table and the rows of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_EVEN, ROUND_UP, Context, Decimal
from pathlib import Path

from sstep_verify.outputs import write_table
from sstep_verify.reporting.case import Case
from sstep_verify.reporting.certified_document import Certified, CertifiedRow
from sstep_verify.reporting.results import Results

PARAMETER_COLUMNS = ("dataset", "task", "kernel", "parameter")


@dataclass(frozen=True)
class ShownRow:
    """One row of the page: the row of the document beside its case, long decimals shortened.

    Parameters
    ----------
    case : Case
        The problem.
    row : CertifiedRow
        What is proved.
    objective : str
        Leading digits of the optimal value, no more than are certified.
    radius, gap, distance : str
        Upper bounds, rounded up to three digits; `distance` is empty where there is none.
    """

    case: Case
    row: CertifiedRow
    objective: str
    radius: str
    gap: str
    distance: str


def certified_rows(results: Results) -> tuple[ShownRow, ...]:
    """Rows of the page, in the order of the document; empty if it has none."""
    if results.certified is None:
        return ()
    cases = {case.id: case for case in results.cases}
    return tuple(
        ShownRow(
            case=cases[row.case],
            row=row,
            objective=shortened(row.objective, _proved_digits(row), ROUND_HALF_EVEN),
            radius=shortened(row.radius, 3, ROUND_UP),
            gap=shortened(row.gap_upper, 3, ROUND_UP),
            distance=shortened(row.distance, 3, ROUND_UP) if row.distance else "",
        )
        for row in results.certified.rows
    )


def _proved_digits(row: CertifiedRow) -> int:
    """Significant digits of the optimal value that its radius proves, at most those asked for."""
    proved = Decimal(row.objective).adjusted() - Decimal(row.radius).adjusted()
    return max(min(proved, row.asked), 1)


def shortened(text: str, digits: int, rounding: str) -> str:
    """A decimal string rounded to so many significant digits."""
    context = Context(prec=digits, rounding=rounding, Emin=-999_999, Emax=999_999)
    return str(context.create_decimal(text))


def write_certified(results: Results, certified: Certified, folder: Path) -> Path:
    """Write ``tables/certified.csv``: every row with all its digits."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    cases = {case.id: case for case in results.cases}
    names = [item.name for item in fields(CertifiedRow)]
    columns = (names[0], *PARAMETER_COLUMNS, "status", *names[1:])
    rows = (_line(cases[row.case], row, names[1:]) for row in certified.rows)
    return write_table(folder / "tables" / "certified.csv", columns, rows)


def _line(case: Case, row: CertifiedRow, names: Iterable[str]) -> Iterable[object]:
    (parameter,) = case.parameters.values()
    described = (case.dataset, case.task, case.kernel, parameter, case.status)
    return row.case, *described, *(getattr(row, name) for name in names)
