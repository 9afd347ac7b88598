"""The part of a report on certified optima: its table."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

from markupsafe import Markup

from sstep_verify.report.numbers import count, duration, shortened
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Column, Of, Table, by_case, chip, filed, text, words


def certified_table(results: Results) -> Table:
    """A row for each certificate, in the order of the document; none if it has none."""
    rows = results.certified.rows if results.certified else ()
    return Table(_COLUMNS, by_case(results, rows), "case.status")


def _objective(of: Of) -> Markup:
    """Leading digits of the optimal value: those that its radius proves, at most those asked for."""
    proved = Decimal(of.row.objective).adjusted() - Decimal(of.row.radius).adjusted()
    digits = max(min(proved, of.row.asked), 1)
    return Markup("<code>{}</code>").format(shortened(of.row.objective, digits, ROUND_HALF_EVEN))


def _counts(of: Of) -> str:
    row = of.row
    return "" if row.zero is None else f"{row.zero} / {row.upper} / {row.free} / {row.undecided}"


_COLUMNS = (
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
        "Found in / proved anew in",
        lambda of: f"{duration(of.row.seconds)} / {duration(of.row.anew)}",
        text,
    ),
    Column("Memory, MiB", "row.memory", lambda size: count(round(size / 2**20)) if size else "–", "memory"),
)
