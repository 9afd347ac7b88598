"""The stability part of a report: figures in order, tables, and the words of the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sstep_verify.reporting import page
from sstep_verify.reporting.case import Case
from sstep_verify.reporting.figures import svg
from sstep_verify.reporting.figures.svg import Figure
from sstep_verify.reporting.results import Results
from studies import grouped
from studies.reporting.stability.answers import TENFOLD, Answer
from studies.reporting.stability.curves import ErrorCurves, curves_text, draw_curves
from studies.reporting.stability.document import Stability
from studies.reporting.stability.frontier import draw_frontier, frontier_text
from studies.reporting.stability.heat import HeatMap, HeatMaps, draw_heat, full_factor, heat_text
from studies.reporting.stability.summary import (
    TASK_WORDS,
    Row,
    cells,
    form_of,
    pooled_name,
    precision_of,
    rows,
    short_name,
)
from studies.reporting.stability.tables import write_tables

RECORD = Stability

OUTCOMES = page.OUTCOMES
"""Its runs are judged as those of any solver."""

FORM_WORDS = {"in-place": "a updated in place", "frozen": "the paper's form, a frozen within a window"}


@dataclass(frozen=True)
class StabilityPart:
    """Stability part of a page.

    Parameters
    ----------
    sentences : tuple of str
        Findings in plain words, below the headline.
    answers : tuple of Answer
        Growth, worse runs and safe s, for each precision and task.
    frontier : tuple of Figure
        The largest safe s against u * condition; none in a document without answers.
    heat, curves : tuple of Figure
        Loss factor against s and condition; error against s.
    rows : tuple of Row
        Summary table.
    tenfold : float
        Loss factor above which a run is called much worse.
    """

    sentences: tuple[str, ...]
    answers: tuple[Answer, ...]
    frontier: tuple[Figure, ...]
    heat: tuple[Figure, ...]
    curves: tuple[Figure, ...]
    rows: tuple[Row, ...]
    tenfold: float = TENFOLD


def drawn(results: Results) -> StabilityPart:
    """Draw everything."""
    stability: Stability = results.stability
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
        stability.sentences,
        stability.answers,
        _frontier(stability.answers),
        (*_overview(stability, cases, full), *heat),
        tuple(curves),
        tuple(rows(stability, results.cases)),
    )


def _frontier(answers: tuple[Answer, ...]) -> tuple[Figure, ...]:
    told = [answer for answer in answers if answer.safe]
    if not told:
        return ()
    title = "Largest safe s against u times condition"
    return (Figure("frontier", title, frontier_text(told), draw_frontier(told)),)


def _overview(stability: Stability, cases: list[Case], full: float) -> list[Figure]:
    """One figure over everything, where it shows more than those of each problem do."""
    names = {case.id: pooled_name(case) for case in cases}
    if len(set(names.values())) == len(cases):
        return []
    pooled = cells(stability, lambda run: names[run.case])
    maps = {
        pooled_name(case): HeatMap(
            pooled_name(case),
            f"{TASK_WORDS.get(case.task, case.task)}, {precision_of(case)}",
            precision_of(case),
        )
        for case in cases
    }
    grid = tuple(map(tuple, grouped(maps.values(), lambda one: one.precision).values()))
    figure = HeatMaps("loss-overview", "All kernels, blocks, forms and seeds together", grid, full)
    return [Figure(figure.slug, figure.title, heat_text(figure, pooled), draw_heat(figure, pooled))]


def write(results: Results, part: StabilityPart, folder: Path) -> None:
    """Write figures to ``figures/`` and all data to ``tables/`` of a report."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    svg.write_files((*part.frontier, *part.heat, *part.curves), folder / "figures")
    write_tables(results.stability, folder / "tables")


def _heat_maps(cases: list[Case], full: float) -> list[HeatMaps]:
    found = []
    for (precision, form), part in grouped(cases, lambda case: (precision_of(case), form_of(case))).items():
        for task, own in grouped(part, _task).items():
            title = f"{TASK_WORDS.get(task, task)}, {precision}, {FORM_WORDS.get(form, form)}"
            grid = tuple(
                tuple(HeatMap(case.id, short_name(case), precision) for case in row)
                for row in grouped(own, _block).values()
            )
            found.append(HeatMaps(f"loss-{precision}-{form}-{task}", title, grid, full))
    return found


def _error_curves(cases: list[Case]) -> list[ErrorCurves]:
    found = []
    for precision, part in grouped(cases, precision_of).items():
        for task, own in grouped(part, _task).items():
            grid = tuple(
                tuple(map(tuple, grouped(row, lambda case: case.kernel).values()))
                for row in grouped(own, _block).values()
            )
            title = f"{TASK_WORDS.get(task, task)}, {precision}"
            found.append(ErrorCurves(f"error-{precision}-{task}", title, precision, grid))
    return found


def _task(case: Case) -> str:
    return case.task


def _block(case: Case) -> int:
    """A row of a figure has one block size."""
    return case.block
