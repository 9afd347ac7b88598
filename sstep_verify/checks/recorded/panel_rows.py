"""The rows of an exposed panel that are compared with exact values, and the digits that they keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.shared.outcome import worst_entry
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.diagnosis.kernel_rows import panel_defects, rows_of
from sstep_verify.oracle.balls.enclosure import magnitude_interval
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.recurrence.mutation import NONE
from sstep_verify.rounding.arithmetic import OUTWARD, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.trajectory import Panel

IN_FLOAT64, SAMPLED = 64, 2
"""Rows of a panel compared in float64, and rows of the seeded sample compared in balls."""


class PanelRows:
    """The rows of one panel that are compared, with their bounds."""

    def __init__(self, case: Case, begin: int, panel: Panel, oracle: Oracle):
        self.case, self.begin, self._panel, self._oracle = case, begin, panel, oracle
        generator = np.random.Generator(np.random.PCG64(case.seed))
        chosen = generator.permutation(panel.columns.size)[:IN_FLOAT64]
        finite = np.where(np.isfinite(panel.entries), np.abs(panel.entries), np.inf)
        largest = int(np.argmax(finite.max(axis=1)))
        self._in_float64 = np.union1d(chosen, [largest])
        self.among = np.arange(case.problem.samples) if panel.among is None else panel.among
        entries = kernel_entries(case.problem, case.declaration, panel.columns[self._in_float64])
        self._all = entries = entries.among(self.among)
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = np.abs(panel.entries[self._in_float64] - entries.values).astype(np.float64)
            # The difference is rounded once, relatively by u < OUTWARD - 1.
            self._lower = np.nan_to_num(distance / OUTWARD - entries.judge_error, nan=np.inf, posinf=np.inf)
            score = np.nan_to_num(distance / entries.solver_error, nan=0.0, posinf=np.inf)
        worst = int(self._in_float64[int(np.argmax(score.max(axis=1)))])
        self.rows = np.unique([worst, largest, *chosen[:SAMPLED]])
        self.entries = entries.at(np.searchsorted(self._in_float64, self.rows))
        self.used, self.columns = panel.entries[self.rows], panel.columns[self.rows]

    @property
    def compared(self) -> int:
        """Entries compared with balls."""
        return int(self.used.size)

    def findings(self) -> list[Finding]:
        """The worst entry of every row in balls, and of those in float64 where that already decides."""
        findings = [self._finding(row) for row in range(self.rows.size)]
        worst = int(np.argmax(self._lower - self._all.solver_error))
        lower, bound = float(self._lower.flat[worst]), float(self._all.solver_error.flat[worst])
        if lower > bound:
            row, column = divmod(worst, self.among.size)
            findings.append(Finding(self._what(int(self._in_float64[row]), column), lower, lower, bound))
        return findings

    @cached_property
    def measured(self) -> np.ndarray:
        """Ends of the enclosures of the compared entries' errors, shape (2, rows, columns)."""
        kernel, among = self._oracle.kernel(FIRST_BITS), self.among.tolist()
        arithmetic = kernel.arithmetic
        measured = np.full((2, *self.used.shape), np.inf)
        with arithmetic.working():
            for row, column in np.argwhere(np.isfinite(self.used)).tolist():
                exact = kernel.column(int(self.columns[row]))[among[column]]
                error = arithmetic.number(self.used[row, column]) - exact
                measured[:, row, column] = magnitude_interval(error)
        return measured

    def _finding(self, row: int) -> Finding:
        column, worst = worst_entry(self.measured[:, row], self.entries.solver_error[row])
        return replace(worst, what=self._what(int(self.rows[row]), column))

    def _what(self, row: int, column: int) -> str:
        i, j = int(self._panel.columns[row]), int(self.among[column])
        value = self._panel.entries[row, column]
        exact = float(self._oracle.kernel(FIRST_BITS).column(i)[j])
        return (
            f"{self.case.declaration.name}, window after iteration {self.begin}: "
            f"K(a_{i}, a_{j}) used is {value.item()!r}, exact {exact!r}; difference"
        )

    def work(self, candidate: Candidate) -> int:
        """Products of the compared entries."""
        return self.compared * candidate.problem.features

    def ended_by(self, alike: Sequence[Candidate]) -> list[bool]:
        """Whether the compared entries are those of each candidate, up to rounding; no step makes them."""
        return [each.mutation is NONE and each.holds(self.used) and self._fits(each) for each in alike]

    def _fits(self, candidate: Candidate) -> bool:
        declared = candidate.declared(self.case.declaration)
        mutant = rows_of(candidate.problem, declared, self.columns, candidate.rows).among(self.among)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(self.used - mutant.values) <= mutant.solver_error + mutant.judge_error
            return bool((near | (self.used == mutant.values)).all())

    def evidence(self) -> dict[str, object]:
        """Plain values for the report."""
        return {
            "window begins": self.begin,
            "rows of the panel": int(self._panel.columns.size),
            "rows compared in float64": int(self._in_float64.size),
            "rows compared in balls": self.columns.tolist(),
            "detection limit of an entry, relative": self.detection_limit(),
            "significant digits, relative to the largest entry": significant_digits(
                self.entries.values,
                self.measured[1],
                self.entries.solver_error,
                self.case.declaration.precision,
            ),
        }

    def detection_limit(self) -> float:
        """Smallest relative error of a kernel value that one of the compared entries would have shown."""
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = self.entries.solver_error / np.maximum(
                np.abs(self.entries.values) - self.entries.judge_error, 0.0
            )
        return float(np.nanmin(relative, initial=np.inf))

    @cached_property
    def defects(self) -> dict[str, KernelEntries]:
        """What planted defects would have put into the compared rows."""
        defects = panel_defects(self.case.problem, self.case.declaration, self.columns)
        return {name: entries.among(self.among) for name, entries in defects.items()}


def significant_digits(
    values: np.ndarray, measured: np.ndarray, bound: np.ndarray, precision: str
) -> dict[str, float]:
    """Decimal digits kept and lost by all of several values, relative to the largest: evidence, no gate.

    "Kept" and "lost", each "by bound" on the errors and "as measured", in 0..-log10(u): what the precision
    of the solver holds.
    """
    whole = -math.log10(unit_roundoff(precision))
    largest = float(np.abs(values).max(initial=0.0))
    digits: dict[str, float] = {}
    for name, errors in (("by bound", bound), ("as measured", measured)):
        kept = _digits(float(errors.max(initial=0.0)), largest, whole)
        digits |= {f"kept {name}": kept, f"lost {name}": whole - kept}
    return digits


def _digits(error: float, largest: float, whole: float) -> float:
    if error == 0.0:
        return whole
    if not error < largest < math.inf:
        return 0.0
    return min(math.log10(largest) - math.log10(error), whole)
