"""The page: one self-contained HTML file, rendered from a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sstep_verify.errors import require
from sstep_verify.reporting.case import DRIFT, ERROR, GAP
from sstep_verify.reporting.certified_report import certified_rows
from sstep_verify.reporting.panels import Group, slug
from sstep_verify.reporting.results import Results
from sstep_verify.reporting.stability_report import StabilityPart
from sstep_verify.reporting.tally import tally
from sstep_verify.verdict import Status, worst

TEMPLATES = Path(__file__).parent / "templates"
OUTCOMES = {
    0: ("PASS", "No FAIL, nothing inconclusive, enough executed"),
    1: ("FAIL", "At least one FAIL"),
    3: ("INCONCLUSIVE", "Something is inconclusive, or too little was executed"),
}
_READING = (
    "The classical method (s = 1) is a line, the s-step runs are markers, one shape for each s, thinned "
    "and staggered so that runs that coincide can be told apart; the CSV holds every point."
)
EXPLANATIONS = {
    GAP: (
        "Duality gap over iterations",
        "Primal minus dual value, divided by the reference optimum: a pure number. "
        f"One panel for each data set, kernel and C. {_READING}",
    ),
    ERROR: (
        "Relative solution error over iterations",
        "Distance of a from the exact solution, divided by the norm of the exact solution: a pure number. "
        f"One panel for each data set, kernel and lambda, one colour for each block size b. {_READING}",
    ),
    DRIFT: (
        "Drift against the exact trajectory",
        "Distance of the computed a from the exact a of the same index stream, at the same iteration. "
        "One panel for each problem, one colour and marker for each s.",
    ),
}


@dataclass(frozen=True)
class Row:
    """One row of the verdict table: one check on one case, over all s."""

    check: str
    case: str
    problem: str
    block: int
    status: str
    tally: str
    s: tuple[int, ...]
    ratio: float | None
    detectable: dict[str, object]
    planned: int
    executed: int
    vacuous: int


def write_html(
    results: Results,
    groups: Sequence[Group],
    figures: Mapping[str, str],
    path: Path,
    warnings: Sequence[str] = (),
    stability: StabilityPart | None = None,
) -> Path:
    """Render the page.

    Parameters
    ----------
    results : Results
        The document.
    groups : sequence of Group
        Its figures, from `panels.groups`.
    figures : mapping of str to str
        Slug to SVG, from `figures.write_figures`; empty if nothing could be drawn.
    path : Path
        File to write.
    warnings : sequence of str
        Shown at the top: what is missing from the report, and why.
    stability : StabilityPart, optional
        Sentences, figures and table of a stability campaign.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(short=short, count=count, duration=duration, full=full)
    taken: set[str] = set()
    text = environment.get_template("index.html").render(
        results=results,
        outcome=OUTCOMES.get(results.summary.exit_code, ("ERROR", "The campaign did not end properly")),
        rows=rows(results),
        overview=tally(results.verdicts),
        terms=list(
            dict.fromkeys(term["name"] for verdict in results.verdicts for term in verdict["terms"])
        ),
        statuses=[status.value for status in Status],
        groups=groups,
        figures=figures,
        explanations=EXPLANATIONS,
        anchors={case.id: "case-" + slug(case.id, taken) for case in results.cases},
        warnings=warnings,
        stability=stability,
        certified=certified_rows(results),
    )
    path.write_text(text, encoding="utf-8")
    return path


def rows(results: Results) -> list[Row]:
    """Rows of the verdict table, in the order of checks and cases."""
    members: dict[tuple[str, str], list[dict]] = {}
    for check in dict.fromkeys(verdict["check"] for verdict in results.verdicts):
        for case in results.cases:
            for verdict in results.verdicts_of(case.id):
                if verdict["check"] == check:
                    members.setdefault((check, case.id), []).append(verdict)
    return [_row(verdicts) for verdicts in members.values()]


def _row(verdicts: list[dict]) -> Row:
    cover = next(iter(tally(verdicts)["coverage"].values()))
    statuses = [Status(verdict["status"]) for verdict in verdicts]
    parts = [f"{statuses.count(status)} {status}" for status in Status if status in statuses]
    ratios = [verdict["ratio"] for verdict in verdicts if verdict["ratio"] is not None]
    first = verdicts[0]
    return Row(
        check=first["check"],
        case=first["case"],
        problem=first["problem"],
        block=first["block"],
        status=worst(statuses).value,
        tally=", ".join(parts) if len(parts) > 1 else "",
        s=tuple(sorted({verdict["s"] for verdict in verdicts})),
        ratio=max(ratios, default=None),
        detectable=cover["terms"],
        planned=cover["planned"],
        executed=cover["executed"],
        vacuous=cover["vacuous"],
    )


def short(value) -> str:
    """Three significant digits; a dash for what is not available or not finite."""
    return "–" if value is None else f"{value:.3g}"


def count(value) -> str:
    """An integer with thin spaces between thousands."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


def duration(seconds) -> str:
    """Seconds in words: ``0.31 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def full(value) -> str:
    """All digits of a scalar, words for the rest."""
    if value is None:
        return "not available"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
