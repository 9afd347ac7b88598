"""Check kernel-entries: the panel a solver used holds kernel values, up to the rounding of its formula.

The run exposes the kernel rows of its first and last window; a solver that has no whole rows exposes their
entries among the window's own coordinates. All exposed entries of up to `IN_FLOAT64` of those rows are
compared with float64 values of known error; whole rows are then compared with balls: the one with the worst
entry, the one with the largest, and a seeded sample. The bound is rounding/kernel/entries.py for the
declared formulas, whatever the order of summation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.checks.recorded.panel_rows import PanelRows
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.check import check_of_each_s
from sstep_verify.checks.shared.finding import decisive, unknown
from sstep_verify.checks.shared.outcome import planted_term, record
from sstep_verify.checks.window_replay import replayable
from sstep_verify.diagnosis.candidates import Candidate, Suspects
from sstep_verify.diagnosis.kernel_rows import differs, shown
from sstep_verify.diagnosis.search import explanations
from sstep_verify.oracle.facade import Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import NAMED, Status, Term, Verdict

CHECK = "kernel-entries"

WINDOWS = 4
"""Windows of the run: first and last are exposed, and the buffers have been used in between."""

CAUSES = "part of the features lost, rows of other samples, another kernel or precision than declared"
ORIGIN = "rounding of the declared kernel formula in any order of summation (rounding/kernel/entries.py)"


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """A short run that exposes its panels."""
    iterations = min(max(case.short, s), WINDOWS * s, case.iterations)
    ends = {min(s, iterations), max((iterations - 1) // s * s, 0)}
    record_at = tuple(sorted(ends))
    short = RunRequest(case.problem, case.stream, s, iterations, record=record_at, expose_panels=True)
    return {f"panels/s={s}": short}


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> Iterator[Verdict]:
    """Compare exposed panels with the oracle's exact kernel values; INCONCLUSIVE where there are none."""
    panels = sorted((begin, panel) for begin, panel in trajectory.panels.items() if panel.entries.size)
    judged = [PanelRows(case, begin, panel, oracle) for begin, panel in panels]
    findings = [finding for rows in judged for finding in rows.findings()]
    if not findings:
        lacks = f"{case.declaration.name} declares that it exposes its panels, but the run left none"
        findings = [unknown(lacks)]
    fails = decisive(findings).status is Status.FAIL
    suspects = _suspects(case, judged) if fails else []
    named = [one.words for one in suspects]
    executed = sum(rows.compared for rows in judged)
    planned = executed or case.problem.samples
    yield record(
        CHECK,
        case,
        s,
        *findings,
        units="absolute",
        planned=planned,
        executed=executed,
        origin=ORIGIN,
        causes=f"{', '.join(named)} (reproduces the compared entries)" if suspects else _causes(case),
        terms=_terms(case, oracle, judged, planned, executed),
        evidence={
            "panels": [rows.evidence() for rows in judged],
            NAMED: named,
        },
        signs=[name for one in suspects for name in one.names],
        each=len(suspects) == 1,
    )


def _terms(
    case: Case, oracle: Oracle, judged: list[PanelRows], planned: int, executed: int
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
        reason = f"it is certain to change no compared entry by more than {ratio:.2g} of its bound"
        order = 1
        if not ratio > 2.0:
            idle = not differs(case.problem, name, compared, oracle)
            reason, order = ("it changes none of the compared entries", 2) if idle else (reason, 0)
        placed.append((order, planted_term(name, ratio, 1.0, planned, executed, reason)))
    return tuple(term for _, term in sorted(placed, key=lambda pair: pair[0]))


def _suspects(case: Case, judged: list[PanelRows]) -> list[Candidate]:
    """What reproduces all compared entries; of candidates that have the same entries the first."""
    # Single ones cost little: they are looked for though another check has told a cause.
    named = explanations(Suspects(case.problem, ()), judged, pairs=case.diagnose)
    same = {(id(one.problem.data), one.problem.kernel, one.rows): one for one in reversed(named)}
    return [one for one in named if one in same.values()]


def _causes(case: Case) -> str:
    """The usual causes that this kernel, task and number of ranks can have."""
    problem, causes = case.problem, []
    if problem.is_svm:
        causes.append("labels inside the kernel")
    if problem.kernel.of_distance and case.declaration.rbf == "norm-expansion":
        causes.append("squared norms dropped or not reduced")
    if case.declaration.ranks > 1 and not problem.kernel.linear:
        causes.append("a kernel function applied before the reduction")
    return ", ".join([*causes, CAUSES])


DECLARED = check_of_each_s(
    _judge,
    _requests,
    id=CHECK,
    text=__doc__,
    needs="a short run of every s that exposes its panels, where the solver declares that it can",
    planted="entries that say nothing of the data, as if the kernel function were left out",
    bounds=("rounding/kernel/entries",),
    level=2,
    applies=lambda case, s: case.declaration.exposes,
    affordable=replayable,
)
