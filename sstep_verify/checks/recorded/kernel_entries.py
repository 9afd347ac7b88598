"""Check kernel-entries: the panel a solver used holds kernel values, up to the rounding of its formula.

The run exposes the kernel rows of its first and last window, one for each coordinate that these draw. A
solver that has no whole rows exposes their entries among the window's own coordinates. All exposed entries
of up to `IN_FLOAT64` of those rows are compared with float64 values of known error. Whole rows are then
compared with balls: the one with the worst entry, the one with the largest, and a seeded sample. The bound
is sstep_verify/rounding/kernel/entries.py for the declared formulas, whatever the order of summation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.shared.comparison import Comparison, decisive, unknown, worst_entry, wrong
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.checks.window_replay import replayable
from sstep_verify.diagnosis.kernel_rows import differs, panel_defects, rows_of, shown
from sstep_verify.oracle.balls.exact_kernel import magnitude_interval
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.problems import RBFKernel
from sstep_verify.protocol import RunRequest
from sstep_verify.recurrence.mutation import NONE
from sstep_verify.rounding.arithmetic import ROUND_UP, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import DETECTION_FACTOR, Coverage, Place, Sensitivity, Status, Verdict, Why

if TYPE_CHECKING:
    from sstep_verify.diagnosis.candidates import Candidate
    from sstep_verify.diagnosis.defects import Diagnosis
    from sstep_verify.diagnosis.exponents import Entries

ID = "kernel-entries"

WINDOWS = 4
"""Windows of the run: first and last are exposed, and the buffers have been used in between."""

IN_FLOAT64, SAMPLED = 64, 2
"""Rows of a panel compared in float64, and rows of the seeded sample compared in balls."""


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """A short run that exposes its panels."""
    if not (applies(case, s) and replayable(case, s)):
        return {}
    iterations = min(max(case.short, s), WINDOWS * s, case.iterations)
    ends = {min(s, iterations), max((iterations - 1) // s * s, 0)}
    record_at = tuple(sorted(ends))
    short = RunRequest(case.problem, case.stream, s, iterations, record=record_at, expose_panels=True)
    return {f"panels/s={s}": short}


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> Iterator[Verdict]:
    """Compare exposed panels with the oracle's exact kernel values; INCONCLUSIVE where there are none."""
    panels = sorted((begin, panel) for begin, panel in trajectory.panels.items() if panel.entries.size)
    judged = [PanelRows(case, begin, panel, oracle) for begin, panel in panels]
    comparisons = [comparison for rows in judged for comparison in rows.comparisons()]
    lacking = _lacking(case, trajectory)
    if lacking is not None:
        comparisons.append(lacking)
    if not comparisons:
        comparisons = [unknown(why=Why.NOT_RECORDED)]
    fails = decisive(comparisons).status is Status.FAIL
    found = _diagnosis(case, judged) if fails and lacking is None else None
    defects = found.defects if found else ()
    executed = sum(rows.compared for rows in judged)
    planned = executed or case.problem.samples
    yield verdict_from(
        ID,
        case,
        s,
        *comparisons,
        units="absolute",
        planned=planned,
        executed=executed,
        bound_origin="rounding/kernel/entries",
        terms=_terms(case, oracle, judged, planned, executed),
        evidence={"panels": [rows.evidence() for rows in judged]},
        defects=defects,
        hints=found.hints if found else (),
        diagnosed=found is not None,
        coverage=Coverage("kernel value", executed, planned),
    )


def _lacking(case: Case, trajectory: Trajectory) -> Comparison | None:
    """The first window whose panel has no row of a coordinate that it draws; None if there is none."""
    for begin, panel in sorted(trajectory.panels.items()):
        end = min(begin + trajectory.s, trajectory.length)
        draws = case.stream.blocks(trajectory.start + begin, trajectory.start + end)
        absent = np.setdiff1d(draws, panel.columns)
        if absent.size:
            place = Place(begin, begin, int(absent[0]), item="row that the panel lacks")
            return wrong(signs=("panels",), place=place)
    return None


def _terms(
    case: Case, oracle: Oracle, judged: list[PanelRows], planned: int, executed: int
) -> tuple[Sensitivity, ...]:
    """Per planted defect, the entry of the compared rows in which it would show most.

    A defect that no entry would show comes first, so that the verdict is VACUOUS; last comes one that is no
    defect here, as it leaves every entry of these rows what it is.
    """
    best: dict[str, float] = {}
    for rows in judged:
        for name, mutant in rows.defects.items():
            best[name] = max(best.get(name, 0.0), float(shown(rows.entries, mutant).max()))
    compared = np.unique(np.concatenate([rows.columns for rows in judged])) if judged else np.empty(0, int)
    placed = []
    for name, ratio in best.items():
        why, order = Why.WITHIN_BOUND, 1
        if not ratio > DETECTION_FACTOR:
            idle = not differs(case.problem, name, compared, oracle)
            why, order = (Why.NO_EFFECT, 2) if idle else (why, 0)
        placed.append((order, planted_term(name, ratio, 1.0, planned, executed, why)))
    return tuple(term for _, term in sorted(placed, key=lambda pair: pair[0]))


def _diagnosis(case: Case, judged: list[PanelRows]) -> Diagnosis:
    """What reproduces all compared entries; of candidates that have the same entries the first.

    Of an RBF kernel another exponent, where no candidate does.
    """
    from sstep_verify.diagnosis.candidates import Suspects
    from sstep_verify.diagnosis.defects import diagnosis_of
    from sstep_verify.diagnosis.search import explanations

    # They cost little: they are looked for though another check has told a cause.
    named = explanations(Suspects(case.problem, ()), judged)
    same = {
        (id(suspect.problem.data), suspect.problem.kernel, suspect.rows): suspect
        for suspect in reversed(named)
    }
    distinct = [suspect for suspect in named if suspect in same.values()]
    if not distinct and isinstance(case.problem.kernel, RBFKernel):
        from sstep_verify.diagnosis.exponents import explained_by_exponent

        return explained_by_exponent(case.problem, case.formulas, [rows.in_float64() for rows in judged])
    return diagnosis_of(case.problem, distinct)


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
        entries = kernel_entries(case.problem, case.formulas, panel.columns[self._in_float64])
        self._all = entries = entries.among(self.among)
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = np.abs(panel.entries[self._in_float64] - entries.values).astype(np.float64)
            # The difference is rounded once, relatively by u < ROUND_UP - 1.
            self._lower = np.nan_to_num(
                distance / ROUND_UP - entries.judge_error, nan=np.inf, posinf=np.inf
            )
            score = np.nan_to_num(distance / entries.solver_error, nan=0.0, posinf=np.inf)
        worst = int(self._in_float64[int(np.argmax(score.max(axis=1)))])
        self.rows = np.unique([worst, largest, *chosen[:SAMPLED]])
        self.entries = entries.at(np.searchsorted(self._in_float64, self.rows))
        self.used, self.columns = panel.entries[self.rows], panel.columns[self.rows]

    def in_float64(self) -> Entries:
        """All entries that were compared in float64."""
        from sstep_verify.diagnosis.exponents import Entries

        chosen = self._in_float64
        return Entries(self._panel.columns[chosen], self.among, self._panel.entries[chosen])

    def at_ends(self) -> bool:
        """No entry of a kernel is an end of the box."""
        return False

    @property
    def compared(self) -> int:
        """Entries compared with balls."""
        return int(self.used.size)

    def comparisons(self) -> list[Comparison]:
        """The worst entry of every row in balls, and of those in float64 where that already decides."""
        comparisons = [self._comparison(row) for row in range(self.rows.size)]
        worst = int(np.argmax(self._lower - self._all.solver_error))
        lower, bound = float(self._lower.flat[worst]), float(self._all.solver_error.flat[worst])
        if lower > bound:
            row, column = divmod(worst, self.among.size)
            place = self._place(int(self._in_float64[row]), column)
            comparisons.append(Comparison(lower, lower, bound, place=place))
        return comparisons

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

    def _comparison(self, row: int) -> Comparison:
        column, worst = worst_entry(self.measured[:, row], self.entries.solver_error[row])
        return replace(worst, place=self._place(int(self.rows[row]), column))

    def _place(self, row: int, column: int) -> Place:
        i, j = int(self._panel.columns[row]), int(self.among[column])
        value = float(self._panel.entries[row, column])
        exact = float(self._oracle.kernel(FIRST_BITS).column(i)[j])
        return Place(self.begin, self.begin, i, j, found=value, expected=exact)

    def work(self, candidate: Candidate) -> int:
        """Products of the compared entries."""
        return self.compared * candidate.problem.features

    def ended_by(self, alike: Sequence[Candidate]) -> list[bool]:
        """Whether the compared entries are those of each candidate, up to rounding; no step makes them."""
        return [each.mutation is NONE and self._fits(each) for each in alike]

    def _fits(self, candidate: Candidate) -> bool:
        mutant = rows_of(candidate.problem, self.case.formulas, self.columns, candidate.rows).among(
            self.among
        )
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(self.used - mutant.values) <= mutant.solver_error + mutant.judge_error
            return bool((near | (self.used == mutant.values)).all())

    def evidence(self) -> dict[str, object]:
        """Plain values for the report."""
        return {
            "window_begins": self.begin,
            "rows_of_panel": int(self._panel.columns.size),
            "rows_compared_in_float64": int(self._in_float64.size),
            "rows_compared_in_balls": self.columns.tolist(),
            "detection_limit_of_entry": self.detection_limit(),
            "significant_digits": significant_digits(
                self.entries.values,
                self.measured[1],
                self.entries.solver_error,
                self.case.formulas.precision,
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
        defects = panel_defects(self.case.problem, self.case.formulas, self.columns)
        return {name: entries.among(self.among) for name, entries in defects.items()}


def significant_digits(
    values: np.ndarray, measured: np.ndarray, bound: np.ndarray, precision: str
) -> dict[str, float]:
    """Decimal digits kept and lost by all of several values, relative to the largest: evidence, no gate.

    Kept and lost, each by the bound on the errors and as measured, in 0..-log10(u): what the precision
    of the solver holds.
    """
    whole = -math.log10(unit_roundoff(precision))
    largest = float(np.abs(values).max(initial=0.0))
    digits: dict[str, float] = {}
    for name, errors in (("by_bound", bound), ("as_measured", measured)):
        kept = _digits(float(errors.max(initial=0.0)), largest, whole)
        digits |= {f"kept_{name}": kept, f"lost_{name}": whole - kept}
    return digits


def _digits(error: float, largest: float, whole: float) -> float:
    if error == 0.0:
        return whole
    if not error < largest < math.inf:
        return 0.0
    return min(math.log10(largest) - math.log10(error), whole)


def applies(case: Case, s: int) -> bool:
    """Whether the solver exposes the kernel entries that it used."""
    return case.formulas.panels


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return runs_of_every_s(case, _requests)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    return judge_every_s(case, trajectories, oracle, _requests, _judge)


CHECK = Check(
    id=ID,
    text=__doc__,
    exact=True,
    needs="a short run of every s that exposes its panels, where the solver declares that it can",
    planted="entries that say nothing of the data, as if the kernel function were left out",
    runs=runs,
    judge=judge,
    bounds=("rounding/kernel/entries",),
    level=2,
    applies=applies,
    affordable=replayable,
)
