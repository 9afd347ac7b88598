"""Medians and extremes over the runs of a stability campaign, for figures, tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sstep_verify.report import numbers
from sstep_verify.report.case import Case
from sstep_verify.report.panels import task_words
from sstep_verify.report.plain import grouped
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.report.stability.document import Stability, StabilityRun


@dataclass(frozen=True)
class Cell:
    """One case, or several pooled under a name, at one condition and one s, over the seeds: so many runs.

    `attained` is the median of the condition that the data have, as stored in the precision of the run.
    Then median relative errors at the last iteration, of s-step and of classical; median and largest
    loss factor there, and over the recorded window ends; the largest measured / bound of the replayed
    windows. None where a run broke down.
    """

    case: str
    condition: float
    attained: float
    s: int
    runs: int
    error: float | None
    classical: float | None
    loss: float | None
    worst: float | None
    largest_loss: float | None
    largest_worst: float | None
    ratio: float | None


Cells = dict[tuple[str, float, int], Cell]


def cells(stability: Stability, name: Callable[[StabilityRun], str] = lambda run: run.case) -> Cells:
    """All cells by case (or by another name of a run, which pools), condition and s, in document order."""
    members = grouped(stability.runs, lambda run: (name(run), run.condition))
    return {
        (*key, s): _cell(*key, s, own)
        for key, runs in members.items()
        for s, own in sorted(grouped(runs, lambda run: run.s).items())
    }


def _cell(case: str, condition: float, s: int, runs: Sequence[StabilityRun]) -> Cell:
    losses, largest = [run.loss for run in runs], [run.largest_loss for run in runs]
    return Cell(
        case,
        condition,
        middle(run.attained for run in runs) or condition,
        s,
        len(runs),
        middle(run.error for run in runs),
        middle(run.classical for run in runs),
        middle(losses),
        extreme(losses),
        middle(largest),
        extreme(largest),
        extreme([run.ratio for run in runs if run.ratio is not None]),
    )


def pooled_name(case: Case) -> str:
    """Name under which all cases of a precision and task are pooled."""
    return f"{precision_of(case)}/{case.task}"


def middle(values: Iterable[float | None]) -> float | None:
    """Median; a run that broke down counts as larger than any number; None if that is the median."""
    known = [math.inf if value is None else value for value in values]
    found = median(known) if known else math.inf
    return found if math.isfinite(found) else None


def extreme(values: Sequence[float | None]) -> float | None:
    """Largest value; None if a run broke down."""
    return None if None in values else max((value for value in values if value is not None), default=None)


def in_units(value: float | None, unit: float) -> float | None:
    """An error in unit roundoffs; None of a run that broke down."""
    return None if value is None else value / unit


def precision_of(case: Case) -> str:
    """Precision of the runs of a case."""
    return str(case.parameters["precision"])


def form_of(case: Case) -> str:
    """Form of the s-step runs of a case: in-place or frozen."""
    return str(case.parameters["form"])


def short_name(case: Case) -> str:
    """Words for one panel, such as ``K-RR, b = 4, linear``."""
    block = f", b = {case.block}" if case.task == "krr" else ""
    return f"{task_words(case.task)}{block}, {case.kernel}"


def rows(stability: Stability, found: Cells, cases: Iterable[Case]) -> list[dict[str, Any]]:
    """What the summary shows of each case that has runs, over all conditions, seeds and s > 1.

    Median and largest loss factor, where that is, the largest over the window ends; the median classical
    error at the smallest and at the largest condition, in unit roundoffs; the largest window ratio.
    """
    table = []
    for case in cases:
        own = [cell for cell in found.values() if cell.case == case.id]
        stepped = [cell for cell in own if cell.s > 1]
        if not stepped:
            continue
        top = max(stepped, key=lambda cell: math.inf if cell.worst is None else cell.worst)
        unit = unit_roundoff(precision_of(case))
        low, high = (
            in_units(found[case.id, end(cell.condition for cell in own), 1].classical, unit)
            for end in (min, max)
        )
        table.append(
            {
                "case": case,
                "loss": middle(run.loss for run in stability.runs if run.case == case.id and run.s > 1),
                "worst": top.worst,
                "where": f"condition {condition_of(top)}, s = {top.s}",
                "largest_worst": extreme([cell.largest_worst for cell in stepped]),
                "lowest": low,
                "highest": high,
                "ratio": max((cell.ratio for cell in own if cell.ratio is not None), default=None),
            }
        )
    return table


def power(value: float) -> str:
    """A condition number in few characters: ``1``, ``1e4``, ``250``."""
    return numbers.brief(value, 3)


def condition_of(cell: Cell) -> str:
    """The condition that the data of a cell have: as prescribed, or what rounding the data left of it."""
    kept = abs(cell.attained - cell.condition) <= 0.05 * cell.condition
    return power(cell.condition) if kept else power(float(f"{cell.attained:.1g}"))


def brief(value: float | None) -> str:
    """A factor in at most five characters: ``1.3``, ``12``, ``3e4``; ∞ for none."""
    if value is None:
        return "∞"
    if 0.095 <= value < 9.95:
        return f"{value:.1f}"
    if 9.95 <= value < 999.5:
        return f"{value:.0f}"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}" if value else "0"
