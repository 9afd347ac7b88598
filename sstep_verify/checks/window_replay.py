"""Check window-replay: every window of a run ends where exact arithmetic would, up to its own rounding.

A window is replayed from the solver's own a at its start, in balls, and compared at its end with the
bound on the rounding errors one window of any correct implementation can make. Errors of earlier
windows do not enter, so nothing is amplified and nothing is healed by later steps: a wrong correction
term shows at its full size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sstep_verify.bounds.kernel_entries import KernelEntries, kernel_entries
from sstep_verify.bounds.window_ridge import ridge_window_errors
from sstep_verify.bounds.window_ridge_components import ridge_component_bound
from sstep_verify.bounds.window_svm import SvmSteps, svm_window_bound
from sstep_verify.checks.case import Case, plain_request, run_key
from sstep_verify.checks.comparison import compare, resolution
from sstep_verify.checks.terms import WindowFinding, term_records
from sstep_verify.checks.windows import Window, choose_windows
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.replay import Replay
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict, worst

CHECK = "window-replay"

WHOLE_MATRIX = 1024
"""Samples up to which the float64 kernel rows of all samples are formed once for a case."""

BOUND_ORIGIN = {
    True: "signed propagation of rounding errors over the window's coordinates (bounds/window_svm.py)",
    False: "sum of local rounding errors in the M-norm, and per coordinate (bounds/window_ridge*.py)",
}

CAUSES = (
    "Likely causes: a correction term of the s-step recurrence is missing or wrong; a coordinate drawn "
    "twice in a window is not updated in between; the window is not s steps of this index stream; "
    "the kernel is not the declared one; the precision is not the declared one."
)


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s."""
    return {run_key(s): plain_request(case, s) for s in case.s_values}


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Replay chosen windows of every plain run and compare.

    Parameters
    ----------
    case : Case
        The case.
    trajectories : mapping of str to Trajectory
        The runs asked for by `runs`, by key.
    oracle : Oracle
        Replays windows exactly.

    Returns
    -------
    list of Verdict
        One per run whose windows are within the case's replay limit.
    """
    entries = _EntryCache(case)
    return [
        _judge_run(case, s, trajectories[run_key(s)], oracle, entries)
        for s in case.s_values
        if replayable(case, s)
    ]


def replayable(case: Case, s: int) -> bool:
    """Whether a window of this s stays within the case's limit of kernel entries."""
    samples = case.problem.samples
    return min(s * case.stream.block, samples) * samples <= case.replay_limit


def _judge_run(case: Case, s: int, trajectory: Trajectory, oracle: Oracle, entries: _EntryCache) -> Verdict:
    windows = choose_windows(case.problem, case.stream, trajectory, case.windows, case.seed)
    findings = [_replay(case, trajectory, window, oracle, entries) for window in windows]
    worst_finding = max(findings, key=lambda finding: finding.ratio)
    terms = term_records(case.problem, s, findings)
    bounded = [finding.status for finding in findings if finding.status is not Status.VACUOUS]
    status = worst(bounded)
    if status is Status.PASS and terms and terms[0].status is Status.VACUOUS:
        status = Status.VACUOUS
    return Verdict(
        check=CHECK,
        case=case.id,
        problem=case.problem.label,
        s=s,
        block=case.stream.block,
        status=status,
        ratio=worst_finding.ratio,
        measured=worst_finding.measured,
        bound=worst_finding.bound,
        units="absolute, largest coordinate" if case.problem.is_svm else "M-norm, or largest coordinate",
        planned=len(windows),
        executed=sum(finding.status is not Status.INCONCLUSIVE for finding in findings),
        terms=terms,
        reason=_reason(case, status, worst_finding, terms),
        replay=case.replay_command,
        evidence={"windows": [finding.evidence() for finding in findings]},
    )


def _replay(
    case: Case, trajectory: Trajectory, window: Window, oracle: Oracle, entries: _EntryCache
) -> WindowFinding:
    problem = case.problem
    begin, end = trajectory.at(window.begin), trajectory.at(window.end)
    draws = case.stream.blocks(trajectory.start + window.begin, trajectory.start + window.end)
    if not np.isfinite(begin).all():
        return WindowFinding(window, Status.FAIL, math.inf, math.inf, 0.0, "a is not finite at its start")
    if not np.isfinite(end).all():
        return _not_finite(case, window, begin, draws, oracle, entries)
    bits = FIRST_BITS
    while True:
        replay, bound = _bounded(case, oracle.replay(problem, begin, end, draws, bits), begin, entries)
        resolved = resolution(case.declaration, replay, begin, end)
        finding = compare(window, replay, bound, resolved)
        if finding.status is not Status.INCONCLUSIVE or bits >= MOST_BITS:
            break
        bits *= 2
    outside = np.ones(problem.samples, dtype=bool)
    outside[replay.places] = False
    if not np.array_equal(begin[outside], end[outside]):
        moved = int(np.flatnonzero(outside & (begin != end))[0])
        return WindowFinding(
            window, Status.FAIL, math.inf, float(abs(end[moved] - begin[moved])), 0.0,
            f"coordinate {moved}, not drawn in this window, went from {begin[moved]!r} to {end[moved]!r}",
        )  # fmt: skip
    return finding


def _not_finite(case: Case, window: Window, begin, draws, oracle: Oracle, entries) -> WindowFinding:
    """A wrong end, unless the bound itself promises nothing there."""
    # The end does not enter the exact steps that the bound is made of.
    replay = oracle.replay(case.problem, begin, begin, draws)
    promised = np.isfinite(_bounded(case, replay, begin, entries)[1]).all()
    status = Status.FAIL if promised else Status.VACUOUS
    bound = 0.0 if promised else math.inf
    return WindowFinding(window, status, math.inf, math.inf, bound, "a is not finite at its end")


def _bounded(
    case: Case, replay: Replay, begin: np.ndarray, entries: _EntryCache
) -> tuple[Replay, np.ndarray]:
    """The replay with its bound, shape (k,).

    K-SVM: per distinct coordinate. K-RR: the M-norm, followed by the coordinates where the window is
    small enough to propagate its errors one by one.
    """
    problem, declaration, places = case.problem, case.declaration, replay.places
    rows = entries.rows(places)
    if isinstance(replay.steps, SvmSteps):
        loss = problem.hinge
        bound = svm_window_bound(
            rows, places, begin, replay.steps, loss.shift, loss.upper, declaration
        ).radius
        return replay, bound
    penalty = problem.ridge.penalty
    errors = ridge_window_errors(rows, places, begin, problem.targets, replay.steps, penalty, declaration)
    components = ridge_component_bound(rows, places, errors, penalty)
    if components is None:
        return replay, np.array([errors.norm])
    return replay.with_components(), np.concatenate([[errors.norm], components])


def _reason(case: Case, status: Status, finding: WindowFinding, terms) -> str:
    compared = (
        f"{case.declaration.name} solver against the exact replay in balls of the window of iterations "
        f"{finding.window.begin + 1}..{finding.window.end}: measured {finding.measured:.3g}, "
        f"bound {finding.bound:.3g} ({BOUND_ORIGIN[case.problem.is_svm]})."
    )
    if status is Status.FAIL:
        return f"{compared} {finding.note} {CAUSES}".replace("  ", " ")
    if status is Status.VACUOUS and not math.isfinite(finding.bound):
        return (
            f"{compared} The bound is infinite: a block system is so ill-conditioned that factorising in "
            "this precision may break down, so no implementation is promised to come near the exact window."
        )
    if status is Status.VACUOUS:
        return f"{compared} The run could not have shown a missing kernel correction: {terms[0].reason}"
    if status is Status.INCONCLUSIVE:
        return f"{compared} At {finding.bits} bits the enclosure still holds the bound."
    return compared


class _EntryCache:
    """Float64 kernel rows with bounds, formed once for all samples of a small problem."""

    def __init__(self, case: Case):
        self._case = case
        self._all: KernelEntries | None = None

    def rows(self, places: np.ndarray) -> KernelEntries:
        """Rows of the given samples."""
        problem, declaration = self._case.problem, self._case.declaration
        if problem.samples > WHOLE_MATRIX:
            return kernel_entries(problem, declaration, places)
        if self._all is None:
            self._all = kernel_entries(problem, declaration, np.arange(problem.samples))
        return self._all.at(places)
