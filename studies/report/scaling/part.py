"""The scaling part of a report: figures and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from markupsafe import Markup

from sstep_verify.report.chart import Figure, write_files
from sstep_verify.report.numbers import amount, count
from sstep_verify.report.panels import slug
from sstep_verify.report.plain import grouped
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Column, Of, Table, by_case, filed, words
from studies.report.scaling.curves import scaling_figure
from studies.report.scaling.document import MARKS, Scaling

RECORD = Scaling

OUTCOMES = {
    0: ("PREDICTED", "Everything asked for is predicted; no solver was run, timed or judged"),
    3: ("INCOMPLETE", "Something asked for is not predicted; no solver was run, timed or judged"),
}

_CASE = (
    *filed(case="case.id", dataset="case.dataset", task="case.task", kernel="case.kernel"),
    *filed(block="case.block"),
    words("Problem", "case.problem", link="case.id"),
)

CLAIMS = (
    *_CASE,
    words("Claim", "row.text", file="text"),
    Column("Paper", "row.stated", str, "stated"),
    words(
        "Predicted",
        "row.predicted",
        lambda told: told.partition(" (")[0],
        "predicted",
        small=lambda of: of.row.predicted.partition(" (")[2].removesuffix(")"),
    ),
    words("Error", "row.error", str, "error"),
    words("Published timings", "row.timed", file="timed"),
    words("Mark", "row.mark", Markup("<strong>{}</strong>").format, "mark"),
    words("Because", "row.reason", str, "reason"),
)

POINTS = (
    *_CASE,
    Column("P", "row.ranks", count, "ranks"),
    Column("Classical", "row.classical", amount, "classical", small="row.classical_error"),
    Column("s-step", "row.s_step", amount, "s_step", small="row.s_step_error"),
    Column("s", "row.s", str, "s"),
    Column("Ours", "row.ours", amount, "ours", small="row.our_error"),
    words("Exchange", "row.exchange", file="exchange"),
    Column("s", "row.our_s", str, "our_s", label="its s"),
    *filed(
        classical_error="row.classical_error", s_step_error="row.s_step_error", our_error="row.our_error"
    ),
    Column("Classical / s-step", lambda of: of.row.classical / of.row.s_step, amount),
    Column("s-step / ours", lambda of: of.row.s_step / of.row.ours, amount),
)


def drawn(results: Results) -> SimpleNamespace:
    """What the page shows: machines with what predictions were off by, a figure for each data set, tables.

    ``claims`` are the paper's, those that could be judged first, with ``counts`` by mark; ``last`` is what
    is predicted at the largest P.
    """
    scaling: Scaling = results.scaling
    curves = by_case(results, scaling.curves)
    marks = Counter(claim.mark for claim in scaling.claims)
    claims = sorted(by_case(results, scaling.claims), key=lambda of: of.row.mark == "not reproducible")
    return SimpleNamespace(
        machines=scaling.machines,
        figures=list(_figures(curves)),
        claims=Table(CLAIMS, claims, "row.mark"),
        last=Table(POINTS, [Of(case, curve.points[-1]) for case, curve in curves]),
        counts={mark: marks[mark] for mark in MARKS},
    )


def _figures(curves: list[Of]) -> Iterator[Figure]:
    taken = {"verdicts", "terms", "runs"}
    for name, own in grouped(curves, lambda of: of.case.dataset).items():
        rows = grouped(own, lambda of: (of.case.task, of.case.block)).values()
        first = own[0].case
        title = f"{name}, {first.samples:,} × {first.features:,}"
        yield scaling_figure(slug(f"scaling {name}", taken), title, tuple(rows))


def write(results: Results, part: SimpleNamespace, folder: Path) -> None:
    """Write figures to ``figures/``, ``scaling.csv`` and ``claims.csv`` to ``tables/`` of a report."""
    tables = folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    write_files(part.figures, folder / "figures")
    scaling: Scaling = results.scaling
    curves = by_case(results, scaling.curves)
    points = (Of(case, point) for case, curve in curves for point in curve.points)
    part.last.write(tables / "scaling.csv", points)
    part.claims.write(tables / "claims.csv", by_case(results, scaling.claims))
