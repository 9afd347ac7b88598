"""The scaling part of a report: figures, tables, and the rows of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from sstep_verify.outputs import write_table
from sstep_verify.reporting.case import Case
from sstep_verify.reporting.figures import svg
from sstep_verify.reporting.figures.panels import slug
from sstep_verify.reporting.figures.svg import Figure
from sstep_verify.reporting.results import Results
from studies import grouped
from studies.reporting.scaling.curves import ScalingFigure, draw_scaling, scaling_text
from studies.reporting.scaling.document import MARKS, Mark, PaperClaim, Scaling, ScalingPoint

RECORD = Scaling

OUTCOMES = {
    0: ("PREDICTED", "Everything asked for is predicted; no solver was run, timed or judged"),
    3: ("INCOMPLETE", "Something asked for is not predicted; no solver was run, timed or judged"),
}

CASE_COLUMNS = ("case", "dataset", "task", "kernel", "block")


@dataclass(frozen=True)
class LastRow:
    """Predictions of a case at its largest P; gains over classical and s-step of the paper's programs."""

    case: Case
    point: ScalingPoint

    @property
    def speedup(self) -> float:
        """Classical over s-step."""
        return self.point.classical / self.point.s_step

    @property
    def gain(self) -> float:
        """S-step over ours."""
        return self.point.s_step / self.point.ours


@dataclass(frozen=True)
class ClaimRow:
    """A claim beside its case."""

    case: Case
    claim: PaperClaim

    @property
    def predicted(self) -> str:
        """What is predicted."""
        return self.claim.predicted.partition(" (")[0]

    @property
    def at(self) -> str:
        """At which P and s; empty if that is not said."""
        return self.claim.predicted.partition(" (")[2].removesuffix(")")


@dataclass(frozen=True)
class ScalingPart:
    """Scaling part of a page.

    Parameters
    ----------
    machines : tuple of (str, str)
        Names, and what predictions were off by.
    figures : tuple of Figure
        One for each data set.
    rows : tuple of LastRow
        What is predicted at the largest P.
    claims : tuple of ClaimRow
        The paper's claims, those that could be judged first.
    counts : tuple of (Mark, int)
        Claims by mark.
    marks : tuple of Mark
        All marks.
    """

    machines: tuple[tuple[str, str], ...]
    figures: tuple[Figure, ...]
    rows: tuple[LastRow, ...]
    claims: tuple[ClaimRow, ...]
    counts: tuple[tuple[Mark, int], ...]
    marks: tuple[Mark, ...] = MARKS


def drawn(results: Results) -> ScalingPart:
    """Draw everything."""
    scaling: Scaling = results.scaling
    cases = {case.id: case for case in results.cases}
    figures = [
        Figure(figure.slug, figure.title, scaling_text(figure), draw_scaling(figure))
        for figure in _figures(scaling, cases)
    ]
    counts = Counter(claim.mark for claim in scaling.claims)
    claims = sorted(scaling.claims, key=lambda claim: claim.mark == "not reproducible")
    return ScalingPart(
        tuple(scaling.machines.items()),
        tuple(figures),
        tuple(LastRow(cases[curve.case], curve.points[-1]) for curve in scaling.curves),
        tuple(ClaimRow(cases[claim.case], claim) for claim in claims),
        tuple((mark, counts[mark]) for mark in MARKS),
    )


def _figures(scaling: Scaling, cases: dict[str, Case]) -> Iterable[ScalingFigure]:
    panels = [(cases[curve.case], curve) for curve in scaling.curves]
    taken = {"verdicts", "terms", "runs"}
    for name, own in grouped(panels, lambda panel: panel[0].dataset).items():
        grid = tuple(map(tuple, grouped(own, lambda panel: (panel[0].task, panel[0].block)).values()))
        first = own[0][0]
        title = f"{name}, {first.samples:,} × {first.features:,}"
        yield ScalingFigure(slug(f"scaling {name}", taken), title, grid)


def write(results: Results, part: ScalingPart, folder: Path) -> None:
    """Write figures to ``figures/``, ``scaling.csv`` and ``claims.csv`` to ``tables/`` of a report."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    svg.write_files(part.figures, folder / "figures")
    scaling: Scaling = results.scaling
    cases = {case.id: case for case in results.cases}
    points = (
        (*_described(cases[curve.case]), *astuple(point))
        for curve in scaling.curves
        for point in curve.points
    )
    claims = ((*_described(cases[claim.case]), *astuple(claim)[1:]) for claim in scaling.claims)
    names = [item.name for item in fields(ScalingPoint)]
    write_table(folder / "tables" / "scaling.csv", (*CASE_COLUMNS, *names), points)
    names = [item.name for item in fields(PaperClaim)][1:]
    write_table(folder / "tables" / "claims.csv", (*CASE_COLUMNS, *names), claims)


def _described(case: Case) -> tuple[object, ...]:
    return case.id, case.dataset, case.task, case.kernel, case.block
