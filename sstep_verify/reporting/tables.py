"""CSV tables: verdicts, terms, runs, and the data of every figure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sstep_verify.outputs import write_table
from sstep_verify.reporting.figures.panels import Group, Panel
from sstep_verify.reporting.results import Results

VERDICT_COLUMNS = (
    "check",
    "case",
    "problem",
    "s",
    "block",
    "status",
    "ratio",
    "measured",
    "bound",
    "units",
    "planned",
    "executed",
    "reason",
    "replay",
)
TERM_COLUMNS = ("name", "detection_limit", "planned", "decided", "seen", "reason")
RUN_COLUMNS = ("solver", "s", "iterations", "stop", "seconds", "measure", "final")


def write_tables(results: Results, groups: Iterable[Group], folder: Path) -> list[Path]:
    """Write ``verdicts.csv``, ``terms.csv``, ``runs.csv`` and one CSV for each panel.

    Numbers are written with all digits that tell them apart (``repr``); a missing one is empty.

    Parameters
    ----------
    results : Results
        The document.
    groups : iterable of Group
        Its figures, from `panels.groups`.
    folder : Path
        Made if absent.

    Returns
    -------
    list of Path
        Files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = [[verdict[name] for name in VERDICT_COLUMNS] for verdict in results.verdicts]
    terms = [
        [verdict["check"], verdict["case"], verdict["s"], *(term[name] for name in TERM_COLUMNS)]
        for verdict in results.verdicts
        for term in verdict["terms"]
    ]
    runs = [
        [case.id, case.problem, case.block, *(getattr(run, name) for name in RUN_COLUMNS)]
        for case in results.cases
        for run in case.runs
    ]
    written = [
        write_table(folder / "verdicts.csv", VERDICT_COLUMNS, verdicts),
        write_table(folder / "terms.csv", ("check", "case", "s", *TERM_COLUMNS), terms),
        write_table(folder / "runs.csv", ("case", "problem", "block", *RUN_COLUMNS), runs),
    ]
    for panel in (panel for group in groups for panel in group.panels):
        columns = ("case", "variant", "kind", "s", "iteration", "value", "units")
        written.append(write_table(folder / f"{panel.slug}.csv", columns, _panel_rows(panel)))
    return written


def _panel_rows(panel: Panel):
    for curve in panel.curves:
        series = curve.series
        for iteration, value in zip(series.x, series.y, strict=True):
            yield curve.case.id, curve.variant, series.name, series.s, iteration, value, series.units
    for owned in panel.lines:
        yield "", owned.variant, owned.line.name, "", "", owned.line.y, panel.units
