"""Writes a whole report, its page included: next to the target, then renamed into place."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from sstep_verify.errors import InputError, counted, writable
from sstep_verify.files import Output, check, open_regular, whole_folder
from sstep_verify.quantities import QUANTITIES
from sstep_verify.report.answer import INTERRUPTED, answer_of, planned
from sstep_verify.report.budget import MOST_LINKED, MOST_ROWS, Budget, statuses
from sstep_verify.report.cards import MOST_CARDS, lines
from sstep_verify.report.case import DRIFT, ERROR, GAP, noun_of
from sstep_verify.report.chart import Figure, write_files
from sstep_verify.report.convergence import figure
from sstep_verify.report.expected import EXPECTED, Expected
from sstep_verify.report.panels import Panel, panels_of, slug
from sstep_verify.report.plain import amount, count, duration, grouped, short
from sstep_verify.report.ratios import SLUG, not_drawn_in_words, points, ratios
from sstep_verify.report.results import BEFORE, STUDIED, Results, dumps, loads, part_of, tally
from sstep_verify.report.stability import losses
from sstep_verify.report.tables import Table, certified_table, of, runs_of, write_tables
from sstep_verify.report.verdicts import (
    CHECKS,
    ORDER,
    failures,
    ratio_of,
    tested_by,
    verdict_table,
    visibility,
    write_junit,
)
from sstep_verify.report.words import compared_in_words, term_in_counts
from sstep_verify.specification import text_of
from sstep_verify.verdict import Status

ARTEFACTS = "artefacts"
"""Folder inside a report with what it takes to judge its unsettled verdicts again."""

RUNS = "runs"
"""Folder inside a report with kept runs, from which it can be made again."""

ENTRIES = frozenset({"results.json", "junit.xml", "index.html", "figures", "tables", ARTEFACTS, RUNS})

TEMPLATES = Path(__file__).parent / "templates"
OUTCOMES = {
    0: ("PASS", "No FAIL, nothing inconclusive, enough executed"),
    1: ("FAIL", "At least one FAIL"),
    3: ("INCONCLUSIVE", "Something is inconclusive or vacuous, or too little was executed"),
}
NOT_MET = ("FAIL", "No unexpected FAIL, but a failure that was expected is not met")
"""The outcome of a campaign whose list of expected failures is all that is wrong."""

NOTHING_SEEN = ("VACUOUS", "No FAIL, but no problem on which a defect would have shown")
"""The same of a campaign of verdicts in which every case is VACUOUS."""
STOPPED = {130: (INTERRUPTED, "Stopped before its end; what had been judged by then")}
BROKEN = ("ERROR", "The campaign did not end properly")
_READING = (
    "The classical method (s = 1) is a line, the s-step runs are markers, one shape for each s, thinned "
    "and staggered so that runs that coincide can be distinguished; the CSV holds every point."
)
CAPTION = (
    "Each marker: error over its bound at a step, window or end that was compared exactly; of each s and "
    "part of the axis the largest, over all problems."
)

MOST_FOLDED, MOST_LISTED = 40, 40
"""Kinds of failures that have a card, and items of a list of parameters, of which results.json has all."""

EXPLANATIONS = {
    GAP: (
        "Duality gap over iterations",
        "Primal minus dual value, divided by the reference optimum: a pure number. Of an alpha outside its "
        "box it is that of the nearest one inside. "
        f"One panel for each data set, kernel and C. {_READING}",
    ),
    ERROR: (
        "Relative solution error over iterations",
        "Distance of alpha from the exact solution, divided by the norm of the exact solution: a pure "
        "number. "
        f"One panel for each data set, kernel and lambda, one colour for each block size b. {_READING}",
    ),
    DRIFT: (
        "Drift against the exact trajectory",
        "Distance of the computed alpha from the exact one of the same index stream, at the same "
        "iteration. One panel for each problem, one colour and marker for each s.",
    ),
}


def write_report(
    results: Results,
    folder: str | Path,
    artefacts: Path | None = None,
    names: Iterable[str] | None = None,
    keep: Callable[[Path], None] | None = None,
) -> Path:
    """Write ``results.json``, ``junit.xml``, ``index.html``, ``tables/`` and ``figures/``.

    Nothing half-written is left: all is made in a hidden sibling folder, which then takes the place
    of `folder`. An existing report is moved aside first and removed last (two renames: between them
    a reader finds no report, never a mixed one). The `artefacts` of unsettled verdicts, of a folder that
    need not exist, are copied to ``artefacts/``: those of some names, or all but what is hidden, as one is
    that was being written when a campaign ended. Kept runs are written by `keep`, which gets the path of
    ``runs/``. As from `check_destination`: errors, and the path returned.
    """
    target = check_destination(folder)
    if names is None and artefacts is not None and os.path.lexists(artefacts):
        names = [name for name in sorted(os.listdir(artefacts)) if not name.startswith(".")]
    with whole_folder(target) as partial:
        _write_all(results, partial)
        if artefacts is not None:
            copy_artefacts(artefacts, partial / ARTEFACTS, names or ())
        if keep is not None:
            keep(partial / RUNS)
    return target


def check_destination(folder: str | Path) -> Path:
    """See, before hours of work, that a report can be written there; the absolute path, links resolved.

    InputError if it is a file, lies in a folder that cannot be written, or holds anything but a report,
    which replacing it would destroy.
    """
    return check(Output("--out", folder, folder=True, entries=ENTRIES))


def copy_artefacts(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy artefacts, folders of regular files; links are copied by nobody.

    InputError if one is a link or no folder, or holds anything but files.
    """
    for name in names:
        folder = source / name
        if any(path.is_symlink() for path in (source, folder)) or not folder.is_dir():
            raise InputError(f"{folder}: an artefact is a folder, and no link to one; take it away")
        (target / name).mkdir(parents=True, exist_ok=True)
        for entry in os.scandir(folder):
            part = open_regular(entry.path, "part of an artefact", follow=False)
            with part, open(target / name / entry.name, "wb") as copy:
                shutil.copyfileobj(part, copy)


def _write_all(results: Results, folder: Path) -> None:
    # As it is read back, so that a report that is made again is the same, the order of facts included.
    results = loads(dumps(results))
    (folder / "results.json").write_text(dumps(results), encoding="utf-8")
    panels = panels_of(results)
    write_tables(results, panels, folder / "tables")
    parts = {name: part_of(name).drawn(results) for name in results.studies}
    if results.against_classical:
        parts["losses"] = losses(results)
    for part in parts.values():
        write_files(part.figures, folder / "figures")
        for name, table in part.tables.items():
            if any(column.file for column in table.columns):
                table.write(folder / "tables" / f"{name}.csv")
        for name, text in part.texts.items():
            (folder / "tables" / name).write_text(text, encoding="utf-8")
    write_junit(results, folder / "junit.xml")
    figures = {panel.slug: figure(panel) for panel in panels}
    write_files(figures.values(), folder / "figures")
    studied = (getattr(part, "first", None) for part in parts.values())
    first = next(filter(None, studied), None) or _first(results)
    if first is not None:
        write_files([first.figure], folder / "figures")
        first.table.write(folder / "tables" / f"{first.data}.csv")
    page = writable(_page(results, panels, figures, parts, first))
    (folder / "index.html").write_text(page, encoding="utf-8")


class First(NamedTuple):
    """The picture next to the answer: its table, the stem of that table's file, and what it shows."""

    figure: Figure
    table: Table
    data: str
    caption: str


def _first(results: Results) -> First | None:
    """The picture of what the verdicts compared exactly, if they did."""
    drawn = None if results.studies else ratios(results)
    if drawn is None:
        return None
    hidden = not_drawn_in_words(results, points(results))
    return First(*drawn, SLUG, " ".join(filter(None, (CAPTION, hidden))))


class _Compiled(jinja2.BytecodeCache):
    """Templates as this process has compiled them; Jinja compiles one again whose text has changed."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Fill it with what was compiled, if anything was."""
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Keep it."""
        self._code[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


def _page(
    results: Results,
    panels: Sequence[Panel],
    figures: Mapping[str, Figure],
    parts: Mapping[str, Any],
    first: First | None,
) -> str:
    """The page: one self-contained HTML file, of figures by slug and of what parts have drawn."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(
            [TEMPLATES, *(Path(str(part_of(name).__file__)).parent for name in results.studies)]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_COMPILED,
    )
    shown = {
        f.__name__: f
        for f in (amount, short, count, counted, duration, full, of, compared_in_words, term_in_counts)
    }
    taken: set[str] = set()
    own = grouped(results.verdicts, lambda verdict: verdict["case"])
    budget = Budget.of(results.cases, own, figures.values())
    overview = tally(results.verdicts)
    expected = Expected.of(results)
    environment.filters.update(
        **shown,
        ratio=ratio_of,
        card_lines=lines,
        parts_shown=budget.parts,
        statuses=partial(statuses, expected=expected),
    )
    for name, counts in overview["counts"].items():
        shown_as = Counter(expected.status(one) for one in results.verdicts if one["check"] == name)
        counts.update({status: shown_as[status] for status in ORDER})
    named = {term["name"] for verdict in results.verdicts for term in verdict["terms"]}
    wrong = failures(results)
    outcomes = next((part_of(name).OUTCOMES for name in results.studies), OUTCOMES)
    failed = {case.id for failure in wrong for case in failure.cases}
    outcome = outcome_of(results, outcomes)
    rows = verdict_table(results)
    studied = (getattr(part, "answer", None) for part in parts.values())
    return environment.get_template("index.html").render(
        style=_static("style.css"),
        script=_static("script.js"),
        results=results,
        outcome=outcome,
        answer=next(filter(None, studied), None) or answer_of(results, outcome[0]),
        shown_first=first,
        only=results.campaign.parameters.get("only", ""),
        before=results.campaign.parameters.get(BEFORE, 0),
        failures=wrong,
        cards=MOST_CARDS,
        most_folded=MOST_FOLDED,
        most_listed=MOST_LISTED,
        count=count,
        parameters=_parameters(results, overview["counts"]),
        inline=budget.figures,
        most_linked=MOST_LINKED,
        of_runs=any(case.of_runs for case in results.cases),
        failed=[case for case in results.cases if case.id in failed],
        others=[case for case in results.cases if case.id not in failed],
        rows=replace(rows, rows=rows.rows[:MOST_ROWS]),
        rows_left=max(len(rows.rows) - MOST_ROWS, 0),
        runs_of=runs_of,
        verdicts={case.id: own.get(case.id, []) for case in results.cases},
        overview=overview,
        seen={
            check: visibility([verdict for verdict in results.verdicts if verdict["check"] == check])
            for check in overview["counts"]
        },
        tested={
            check: tested_by([verdict for verdict in results.verdicts if verdict["check"] == check])
            for check in overview["counts"]
        },
        checks=CHECKS,
        quantities={item.name: item.meaning for item in QUANTITIES if item.name in named},
        text_of=text_of,
        statuses=[str(status) for status in (EXPECTED, *Status)][not expected.reasons :],
        expected=expected,
        noun=noun_of(results.cases),
        panels=grouped(panels, lambda panel: panel.measure),
        figures=figures,
        explanations=EXPLANATIONS,
        anchors={case.id: "case-" + slug(case.id, taken) for case in budget.cases},
        certified=certified_table(results),
        **{name: parts.get(name) for name in ("losses", *STUDIED)},
    )


def _parameters(results: Results, executed: Iterable[str]) -> dict[str, Any]:
    """The parameters of the campaign; of a vector the minimums of those checks that apply to it."""
    known: dict[str, Any] = dict(results.campaign.parameters)
    if (least := known.get("minimum_executed")) and not any(case.of_runs for case in results.cases):
        known["minimum_executed"] = {check: least[check] for check in executed if check in least}
    return known


def _static(name: str) -> str:
    """A file that stands in the page as it is."""
    return (TEMPLATES / name).read_text("utf-8").rstrip("\n")


def outcome_of(results: Results, outcomes: Mapping[int, tuple[str, str]]) -> tuple[str, str]:
    """The outcome of a campaign, and what it means."""
    known = {**outcomes, **STOPPED}
    found, expected = known.get(results.summary.exit_code, BROKEN), Expected.of(results)
    if outcomes is OUTCOMES and found == OUTCOMES[1] and expected.reasons:
        failed = (one for one in results.verdicts if one["status"] == Status.FAIL)
        return found if any(expected.reason(one) is None for one in failed) else NOT_MET
    if outcomes is not OUTCOMES or found not in (OUTCOMES[0], OUTCOMES[3]):
        return found
    nothing = all(case.status == Status.VACUOUS for case in results.cases)
    if found == OUTCOMES[3]:  # Where a problem is missing too, that is what must be read first.
        return NOTHING_SEEN if nothing and 0 < planned(results) == len(results.cases) else found
    if expected.reasons:
        return EXPECTED, "No failure but those that were expected"
    return NOTHING_SEEN if nothing else found


def full(value) -> str:
    """All digits of a scalar, words for the rest."""
    if value is None:
        return "not available"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"
