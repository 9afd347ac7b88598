"""The page: one self-contained HTML file, rendered from a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import jinja2

from sstep_verify.quantities import QUANTITIES
from sstep_verify.report.case import DRIFT, ERROR, GAP
from sstep_verify.report.chart import Figure
from sstep_verify.report.numbers import amount, count, duration, short
from sstep_verify.report.panels import Group, slug
from sstep_verify.report.results import STUDIED, Results, part_of, tally
from sstep_verify.report.tables import certified_table, of, runs_of
from sstep_verify.report.verdicts import (
    CHECKS,
    by_case,
    failures,
    ratio_of,
    settled_last,
    verdict_table,
    visibility,
)
from sstep_verify.specification import text_of
from sstep_verify.verdict import Status

TEMPLATES = Path(__file__).parent / "templates"
OUTCOMES = {
    0: ("PASS", "No FAIL, nothing inconclusive, enough executed"),
    1: ("FAIL", "At least one FAIL"),
    3: ("INCONCLUSIVE", "Something is inconclusive, or too little was executed"),
}
NOTHING_SEEN = ("VACUOUS", "No FAIL, but no problem on which a mistake would have shown")
"""The same of a campaign of verdicts in which every case is VACUOUS."""
STOPPED = {130: ("INTERRUPTED", "Stopped before its end; what had been judged by then")}
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


def write_html(
    results: Results,
    groups: Sequence[Group],
    figures: Mapping[str, Figure],
    path: Path,
    losses: Any,
    studies: Mapping[str, Any],
) -> Path:
    """Render the page.

    It shows groups of panels, their figures by slug, losses of `stability.losses`, and what studies have
    drawn.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(
            [TEMPLATES, *(Path(str(part_of(name).__file__)).parent for name in studies)]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        amount=amount,
        short=short,
        count=count,
        duration=duration,
        full=full,
        of=of,
        settled=settled_last,
        ratio=ratio_of,
    )
    taken: set[str] = set()
    overview = tally(results.verdicts)
    wrong = failures(results)
    outcomes = next((part_of(name).OUTCOMES for name in studies), OUTCOMES)
    failed = {case.id for failure in wrong for case in failure.cases}
    text = environment.get_template("index.html").render(
        results=results,
        outcome=outcome_of(results, outcomes),
        only=results.campaign.parameters.get("only", ""),
        failures=wrong,
        failed=[case for case in results.cases if case.id in failed],
        others=[case for case in results.cases if case.id not in failed],
        rows=verdict_table(results),
        runs_of=runs_of,
        verdicts=by_case(results),
        overview=overview,
        visible={
            check: visibility([verdict for verdict in results.verdicts if verdict["check"] == check])
            for check in overview["counts"]
        },
        checks=CHECKS,
        quantities=_quantities(results),
        text_of=text_of,
        statuses=[status.value for status in Status],
        groups=groups,
        figures=figures,
        explanations=EXPLANATIONS,
        anchors={case.id: "case-" + slug(case.id, taken) for case in results.cases},
        certified=certified_table(results),
        losses=losses,
        **{name: studies.get(name) for name in STUDIED},
    )
    path.write_text(text, encoding="utf-8")
    return path


def _quantities(results: Results) -> dict[str, str]:
    """The quantities of a step that verdicts of the document speak of, with what they mean."""
    named = {term["name"] for verdict in results.verdicts for term in verdict["terms"]}
    return {item.name: item.meaning for item in QUANTITIES if item.name in named}


def outcome_of(results: Results, outcomes: Mapping[int, tuple[str, str]]) -> tuple[str, str]:
    """The outcome of a campaign, and what it means."""
    known = {**outcomes, **STOPPED}
    found = known.get(results.summary.exit_code, ("ERROR", "The campaign did not end properly"))
    if outcomes is not OUTCOMES or found != OUTCOMES[0]:
        return found
    if expected := results.campaign.parameters.get("expected_failures"):
        return "PASS", f"No failure but those that were expected ({len(cast(list, expected))})"
    return found if any(case.status != Status.VACUOUS for case in results.cases) else NOTHING_SEEN


def full(value) -> str:
    """All digits of a scalar, words for the rest."""
    if value is None:
        return "not available"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"
