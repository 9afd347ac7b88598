"""The tables of a stability report, as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sstep_verify.outputs import write_table
from studies.reporting.stability.document import Stability
from studies.reporting.stability.summary import cells

RUN_COLUMNS = (
    "case", "condition", "attained condition", "seed", "s", "error", "largest error", "loss factor",
    "loss factor of the largest error", "window ratio", "noise factor",
)  # fmt: skip
CELL_COLUMNS = (
    "case", "condition", "attained condition", "s", "seeds", "median error", "median classical error",
    "median loss factor", "largest loss factor", "median loss factor of the largest error",
    "largest loss factor of the largest error", "window ratio",
)  # fmt: skip
WORSE_COLUMNS = (
    "precision", "task", "case", "condition", "attained condition", "seed", "s", "error / u",
    "classical error / u", "loss factor", "noise factor", "beyond noise", "orders",
    "loss factor of medians over orders",
)  # fmt: skip
SAFE_COLUMNS = (
    "precision", "task", "u condition from", "to", "scenarios", "noise floor", "s", "largest loss factor",
    "factors beyond their own noise", "safe s within noise", "safe s within 10",
)  # fmt: skip


def write_tables(stability: Stability, folder: Path) -> None:
    """Write every run, the medians, the worse runs and the safe s."""
    write_table(folder / "stability.csv", RUN_COLUMNS, _run_rows(stability))
    write_table(folder / "stability-cells.csv", CELL_COLUMNS, _cell_rows(stability))
    write_table(folder / "stability-worse.csv", WORSE_COLUMNS, _worse_rows(stability))
    write_table(folder / "stability-safe.csv", SAFE_COLUMNS, _safe_rows(stability))


def _worse_rows(stability: Stability) -> Iterable[tuple]:
    for answer in stability.answers:
        for run in answer.worse:
            yield (
                answer.precision, answer.task, run.case, _short(run.condition), _short(run.attained),
                run.seed, run.s, run.error, run.classical, run.loss, run.noise, run.beyond,
                run.orders, run.again,
            )  # fmt: skip


def _safe_rows(stability: Stability) -> Iterable[tuple]:
    for answer in stability.answers:
        for band in answer.safe:
            for numbers in zip(band.s, band.largest, band.beyond, strict=True):
                yield (
                    answer.precision, answer.task, f"{band.low:g}", f"{band.high:g}", band.scenarios,
                    band.noise, *numbers, band.within_noise, band.within_ten,
                )  # fmt: skip


def _run_rows(stability: Stability) -> Iterable[tuple]:
    for run in stability.runs:
        ratios = run.ratio or (None,) * len(run.s)
        values = zip(run.s, run.error, run.largest, run.loss, run.largest_loss, ratios, strict=True)
        for numbers in values:
            yield run.case, _short(run.condition), _short(run.attained), run.seed, *numbers, run.noise


def _cell_rows(stability: Stability) -> Iterable[tuple]:
    for cell in cells(stability).values():
        yield (
            cell.case, _short(cell.condition), _short(cell.attained), cell.s, cell.runs, cell.error,
            cell.classical, cell.loss, cell.worst, cell.largest_loss, cell.largest_worst, cell.ratio,
        )  # fmt: skip


def _short(value: float | None) -> str | float | None:
    """The number in fewer characters, if they say the same."""
    text = f"{value:g}" if value is not None else ""
    return text if text and float(text) == value else value
