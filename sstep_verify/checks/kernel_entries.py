"""Check kernel-entries: the panel a solver used holds kernel values, up to the rounding of its formula.

The run exposes the kernel rows of its first and last window; a solver that has no whole rows exposes their
entries among the window's own coordinates. All exposed entries of up to `SCREENED` of those rows are
compared with float64 values of known error; whole rows are then compared with balls: the one with the worst
entry, the one with the largest, and a seeded sample. The bound is bounds/kernel_entries.py for the declared
formulas, whatever the order of summation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from sstep_verify.bounds.kernel_entries import KernelEntries, kernel_entries
from sstep_verify.bounds.rounding import OUTWARD
from sstep_verify.checks.case import Case
from sstep_verify.checks.check import Check
from sstep_verify.checks.digits import significant_digits
from sstep_verify.checks.outcome import Finding, decisive, planted_term, record
from sstep_verify.checks.panel_defects import differs, panel_defects, shown
from sstep_verify.checks.window_replay import replayable
from sstep_verify.oracle.balls.enclosure import magnitude_interval
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import Term, Verdict

CHECK = "kernel-entries"

WINDOWS = 4
"""Windows of the run: first and last are exposed, and the buffers have been used in between."""

SCREENED, SAMPLED = 64, 2
"""Rows of a panel compared in float64, and rows of the seeded sample compared in balls."""

CAUSES = (
    "labels inside the kernel, squared norms dropped or not reduced, a kernel function applied before the "
    "reduction, part of the features lost, rows of other samples, another kernel or precision than declared"
)
ORIGIN = "rounding of the declared kernel formula in any order of summation (bounds/kernel_entries.py)"


def key(s: int) -> str:
    """Key of the run of an s that exposes its panels."""
    return f"panels/s={s}"


def runs(case: Case) -> dict[str, RunRequest]:
    """A short run of every s that exposes panels; none if the solver does not declare that it can."""
    if not case.declaration.exposes:
        return {}
    return {key(s): _request(case, s) for s in case.s_values if replayable(case, s)}


def _request(case: Case, s: int) -> RunRequest:
    iterations = min(max(case.short, s), WINDOWS * s, case.iterations)
    ends = {min(s, iterations), max((iterations - 1) // s * s, 0)}
    return RunRequest(
        case.problem, case.stream, s, iterations, record=tuple(sorted(ends)), expose_panels=True
    )


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare exposed panels with exact kernel values.

    Parameters
    ----------
    case : Case
        The case.
    trajectories : mapping of str to Trajectory
        The runs asked for by `runs`, by key.
    oracle : Oracle
        Gives exact kernel values.

    Returns
    -------
    list of Verdict
        One per run of a solver that declares panels, INCONCLUSIVE where it then exposes none; no
        verdict for a solver that does not.
    """
    return [_judge(case, s, trajectories[key(s)], oracle) for s in case.s_values if key(s) in runs(case)]


def _judge(case: Case, s: int, trajectory: Trajectory, oracle: Oracle) -> Verdict:
    judged = [_Rows(case, begin, panel, oracle) for begin, panel in sorted(trajectory.panels.items())]
    findings = [finding for rows in judged for finding in rows.findings()]
    if not findings:
        what = f"{case.declaration.name} declares that it exposes its panels, but the run left none"
        findings = [Finding(what, 0.0, np.inf, np.inf)]
    planned = sum(rows.compared for rows in judged) or case.problem.samples
    executed = sum(rows.compared for rows in judged)
    return record(
        CHECK,
        case,
        s,
        decisive(findings),
        units="absolute",
        planned=planned,
        executed=executed,
        origin=ORIGIN,
        causes=_causes(judged),
        terms=_terms(case, oracle, judged, planned, executed),
        evidence={"panels": [rows.evidence() for rows in judged]},
    )


class _Rows:
    """The rows of one panel that are compared, with their bounds."""

    def __init__(self, case: Case, begin: int, panel: Panel, oracle: Oracle):
        self.case, self.begin, self._oracle = case, begin, oracle
        generator = np.random.Generator(np.random.PCG64(case.seed))
        chosen = generator.permutation(panel.columns.size)[:SCREENED]
        finite = np.where(np.isfinite(panel.entries), np.abs(panel.entries), np.inf)
        largest = int(np.argmax(finite.max(axis=1)))
        self._screened = np.union1d(chosen, [largest])
        samples = np.arange(case.problem.samples)
        self.among = samples if panel.among is None else panel.among
        entries = kernel_entries(case.problem, case.declaration, panel.columns[self._screened])
        entries = _among(entries, self.among)
        used = panel.entries[self._screened]
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = np.abs(used - entries.values).astype(np.float64)
            # The difference is rounded once, relatively by u < OUTWARD - 1.
            self._least = np.nan_to_num(distance / OUTWARD - entries.own, nan=np.inf, posinf=np.inf)
            score = np.nan_to_num(distance / entries.solver, nan=0.0, posinf=np.inf)
        worst = int(self._screened[int(np.argmax(score.max(axis=1)))])
        self.rows = np.unique([worst, largest, *chosen[:SAMPLED]])
        place = np.searchsorted(self._screened, self.rows)
        self._all, self.entries = entries, entries.at(place)
        self.used, self.columns = panel.entries[self.rows], panel.columns[self.rows]
        self._panel = panel

    @property
    def compared(self) -> int:
        """Entries compared with balls."""
        return int(self.used.size)

    def findings(self) -> list[Finding]:
        """The worst entry of every row in balls, and of the screen where float64 already decides."""
        found = [self._finding(row) for row in range(self.rows.size)]
        row, column = np.unravel_index(int(np.argmax(self._least - self._all.solver)), self._least.shape)
        least, bound = float(self._least[row, column]), float(self._all.solver[row, column])
        if least > bound:
            place = int(self._screened[row])
            found.append(Finding(self._what(place, int(column)), least, least, bound))
        return found

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
        bound = self.entries.solver[row]
        findings = [
            Finding("", float(low), float(high), float(limit))
            for low, high, limit in zip(*self.measured[:, row], bound, strict=True)
        ]
        worst = decisive(findings)
        column = next(place for place, finding in enumerate(findings) if finding is worst)
        return Finding(self._what(int(self.rows[row]), column), worst.lower, worst.upper, worst.bound)

    def _what(self, row: int, column: int) -> str:
        i, j = int(self._panel.columns[row]), int(self.among[column])
        value = self._panel.entries[row, column]
        exact = float(self._oracle.kernel(FIRST_BITS).column(i)[j])
        return (
            f"{self.case.declaration.name}, window after iteration {self.begin}: "
            f"K(a_{i}, a_{j}) used is {value.item()!r}, exact {exact!r}; difference"
        )

    def evidence(self) -> dict[str, object]:
        """Plain values for the report."""
        return {
            "window begins": self.begin,
            "rows of the panel": int(self._panel.columns.size),
            "rows screened in float64": int(self._screened.size),
            "rows compared in balls": self.columns.tolist(),
            "smallest detectable relative error of an entry": self.detectable(),
            "significant digits, relative to the largest entry": significant_digits(
                self.entries.values,
                self.measured[1],
                self.entries.solver,
                self.case.declaration.precision,
            ),
        }

    def detectable(self) -> float:
        """Smallest relative error of a kernel value that one of the compared entries would have shown."""
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = self.entries.solver / np.maximum(np.abs(self.entries.values) - self.entries.own, 0.0)
        return float(np.nanmin(relative, initial=np.inf))

    @cached_property
    def defects(self) -> dict[str, KernelEntries]:
        """What planted defects would have put into the compared rows."""
        found = panel_defects(self.case.problem, self.case.declaration, self.columns)
        return {name: _among(entries, self.among) for name, entries in found.items()}


def _among(entries: KernelEntries, columns: np.ndarray) -> KernelEntries:
    """The same rows at some columns only."""
    return KernelEntries(entries.values[:, columns], entries.own[:, columns], entries.solver[:, columns])


def _terms(
    case: Case, oracle: Oracle, judged: list[_Rows], planned: int, executed: int
) -> tuple[Term, ...]:
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
        reason, order = f"it would change the compared entries by at most {ratio:.2g} of the bound", 1
        if not ratio > 2.0:
            idle = not differs(case.problem, name, compared, oracle)
            reason, order = ("it changes none of the compared entries", 2) if idle else (reason, 0)
        placed.append((order, planted_term(name, ratio, 1.0, planned, executed, reason)))
    return tuple(term for _, term in sorted(placed, key=lambda pair: pair[0]))


def _causes(judged: list[_Rows]) -> str:
    """The planted defect that reproduces all compared entries, if there is one, else the usual ones."""
    if not judged:
        return CAUSES
    suspects = set.intersection(
        *({n for n, m in rows.defects.items() if _fits(rows, m)} for rows in judged)
    )
    return f"{', '.join(sorted(suspects))} (reproduces the compared entries)" if suspects else CAUSES


def _fits(rows: _Rows, mutant: KernelEntries) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(rows.used - mutant.values) <= mutant.solver + mutant.own
        return bool((near | (rows.used == mutant.values)).all())


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="a short run of every s that exposes its panels, where the solver declares that it can",
    planted="entries that say nothing of the data, as if the kernel function were left out",
    runs=runs,
    judge=judge,
    bounds=("kernel_entries",),
    level=2,
    applies=lambda case, s: case.declaration.exposes,
    affordable=replayable,
)
