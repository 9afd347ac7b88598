"""The stability part of a report: figures in order, tables, and the words of the page."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sstep_verify.reporting.case import Case
from sstep_verify.reporting.figures import svg
from sstep_verify.reporting.results import Results
from sstep_verify.reporting.stability.curves import ErrorCurves, curves_text, draw_curves
from sstep_verify.reporting.stability.heat import HeatMaps, draw_heat, full_factor, heat_text
from sstep_verify.reporting.stability.summary import TASK_WORDS, Row, cells, form_of, precision_of, rows
from sstep_verify.reporting.stability_document import Stability

RUN_COLUMNS = (
    "case", "condition", "attained condition", "seed", "s", "error", "largest error", "loss factor",
    "loss factor of the largest error", "window ratio", "noise factor",
)  # fmt: skip
CELL_COLUMNS = (
    "case", "condition", "attained condition", "s", "seeds", "median error", "median classical error",
    "median loss factor", "largest loss factor", "median loss factor of the largest error",
    "largest loss factor of the largest error", "window ratio",
)  # fmt: skip
FORM_WORDS = {"in-place": "a updated in place", "frozen": "the paper's form, a frozen within a window"}


@dataclass(frozen=True)
class Figure:
    """One drawn figure of the page."""

    slug: str
    title: str
    text: str
    svg: str


@dataclass(frozen=True)
class StabilityPart:
    """Stability part of a page.

    Parameters
    ----------
    sentences : tuple of str
        Findings in plain words, below the headline.
    heat, curves : tuple of Figure
        Loss factor against s and condition; error against s.
    rows : tuple of Row
        Summary table.
    """

    sentences: tuple[str, ...]
    heat: tuple[Figure, ...]
    curves: tuple[Figure, ...]
    rows: tuple[Row, ...]


def stability_part(results: Results) -> StabilityPart | None:
    """Draw everything; None if the document is not one of a stability campaign."""
    stability = results.stability
    if stability is None:
        return None
    known = cells(stability)
    cases = [case for case in results.cases if any(key[0] == case.id for key in known)]
    full = full_factor(known)
    heat = [
        Figure(maps.slug, maps.title, heat_text(maps, known), draw_heat(maps, known))
        for maps in _heat_maps(cases, full)
    ]
    curves = [
        Figure(each.slug, each.title, curves_text(each, known), draw_curves(each, known))
        for each in _error_curves(cases)
    ]
    return StabilityPart(
        stability.sentences, tuple(heat), tuple(curves), tuple(rows(stability, results.cases))
    )


def write_stability(results: Results, part: StabilityPart, folder: Path) -> None:
    """Write figures to ``figures/`` and all data to ``tables/`` of a report."""
    for name in ("figures", "tables"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for figure in (*part.heat, *part.curves):
        (folder / "figures" / f"{figure.slug}.svg").write_text(svg.standalone(figure.svg), encoding="utf-8")
    if results.stability is not None:
        _table(folder / "tables" / "stability.csv", RUN_COLUMNS, _run_rows(results.stability))
        _table(folder / "tables" / "stability-cells.csv", CELL_COLUMNS, _cell_rows(results.stability))


def _heat_maps(cases: list[Case], full: float) -> list[HeatMaps]:
    found = []
    for precision, form in dict.fromkeys((precision_of(case), form_of(case)) for case in cases):
        for task in dict.fromkeys(case.task for case in cases):
            own = [
                case
                for case in cases
                if (precision_of(case), form_of(case), case.task) == (precision, form, task)
            ]
            if own:
                title = f"{TASK_WORDS.get(task, task)}, {precision}, {FORM_WORDS.get(form, form)}"
                grid = _by_block(own)
                found.append(HeatMaps(f"loss-{precision}-{form}-{task}", title, grid, full))
    return found


def _error_curves(cases: list[Case]) -> list[ErrorCurves]:
    found = []
    for precision in dict.fromkeys(precision_of(case) for case in cases):
        for task in dict.fromkeys(case.task for case in cases):
            own = [case for case in cases if (precision_of(case), case.task) == (precision, task)]
            if own:
                grid = tuple(
                    tuple(
                        tuple(case for case in row if case.kernel == kernel)
                        for kernel in dict.fromkeys(case.kernel for case in row)
                    )
                    for row in _by_block(own)
                )
                title = f"{TASK_WORDS.get(task, task)}, {precision}"
                found.append(ErrorCurves(f"error-{precision}-{task}", title, precision, grid))
    return found


def _by_block(cases: list[Case]) -> tuple[tuple[Case, ...], ...]:
    """One row of a figure for each block size."""
    blocks = dict.fromkeys(case.block for case in cases)
    return tuple(tuple(case for case in cases if case.block == block) for block in blocks)


def _run_rows(stability: Stability) -> Iterable[tuple]:
    for run in stability.runs:
        ratios = run.ratio or (None,) * len(run.s)
        values = zip(run.s, run.error, run.largest, run.loss, run.largest_loss, ratios, strict=True)
        for numbers in values:
            yield run.case, _short(run.condition), _short(run.attained), run.seed, *numbers, run.noise


def _cell_rows(stability: Stability) -> Iterable[tuple]:
    for cell in cells(stability).values():
        yield (
            cell.case, _short(cell.condition), _short(cell.attained), cell.s, cell.seeds, cell.error,
            cell.classical, cell.loss, cell.worst, cell.largest_loss, cell.largest_worst, cell.ratio,
        )  # fmt: skip


def _short(value: float | None) -> str | float | None:
    """The number in fewer characters, if they say the same."""
    text = f"{value:g}" if value is not None else ""
    return text if text and float(text) == value else value


def _table(path: Path, columns: tuple[str, ...], lines: Iterable[tuple]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(lines)
