"""Check window-replay: every window of a run ends where exact arithmetic would, up to its own rounding.

A window is replayed from the solver's own a at its start, in balls, and compared at its end with the
bound on the rounding errors one window of any correct implementation can make. Errors of earlier
windows do not enter, so nothing is amplified and nothing is healed by later steps: a wrong correction
term shows at its full size. A solver that exposes its kernel rows is replayed from these as well; one that
makes its steps from a state carried beside a, from a and that state (residual-gap judges the state).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from sstep_verify.checks.case import Case, plain_request, run_key
from sstep_verify.checks.check import Check
from sstep_verify.checks.window.choose import choose_windows
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.checks.window.terms import WindowFinding, term_records
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import LinearKernel
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict, worst

CHECK = "window-replay"

PANEL_WORDS = 1 << 24
"""Kernel entries that the runs of a case may expose for all their recorded windows: 128 MiB."""

BOUND_ORIGIN = {
    True: "signed propagation of rounding errors over the window's coordinates (bounds/window_svm.py)",
    False: "sum of local rounding errors in the M-norm, and per coordinate (bounds/window_ridge*.py)",
}

PANEL_WORK = 1 << 18
"""Panel entries of a run's windows after which further windows are replayed from the data alone.

The first window is always replayed from both; where windows are small, as they are for m <= 64, so are all.
"""

SOURCES = {"data": "data", "panel": "solver's own panel"}

CAUSES = (
    "Likely causes: a correction term of the s-step recurrence is missing or wrong; a coordinate drawn "
    "twice in a window is not updated in between; the window is not s steps of this index stream; "
    "the kernel is not the declared one; the precision is not the declared one."
)


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s, with its panels where the solver exposes them.

    Which windows are replayed depends on the run, so every recorded window exposes its panel, for the
    smaller s first, as long as all of them together stay within `PANEL_WORDS`.
    """
    requests, left = {}, PANEL_WORDS
    for s in sorted(case.s_values):
        request = plain_request(case, s)
        words = _panel_words(case, s) * (len(request.stops) - 1)
        if case.declaration.panels and replayable(case, s) and words <= left:
            request, left = replace(request, expose_panels=True), left - words
        requests[run_key(s)] = request
    return requests


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
    replays = WindowReplays(case, oracle)
    return [
        _judge_run(case, s, trajectories[run_key(s)], replays) for s in case.s_values if replayable(case, s)
    ]


def replayable(case: Case, s: int) -> bool:
    """Whether a window of this s stays within the case's limit of kernel entries."""
    return _panel_words(case, s) <= case.replay_limit


def _panel_words(case: Case, steps: int) -> int:
    """Most kernel entries of a window of some steps: distinct coordinates times m."""
    samples = case.problem.samples
    return min(steps * case.stream.block, samples) * samples


def _judge_run(case: Case, s: int, trajectory: Trajectory, replays: WindowReplays) -> Verdict:
    windows = choose_windows(case.problem, case.stream, trajectory, case.windows, case.seed)
    findings, left = [], PANEL_WORK
    for window in windows:
        findings.append(replays.finding(trajectory, window, from_panel=left > 0))
        left -= _panel_words(case, window.end - window.begin)
    worst_finding = max(findings, key=lambda finding: finding.ratio)
    terms = term_records(case.problem, s, findings)
    bounded = [finding.status for finding in findings if finding.status is not Status.VACUOUS]
    status, sources = worst(bounded), _sources(findings)
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
        reason=_reason(case, status, worst_finding, terms, sources),
        replay=case.replay_command,
        evidence={
            **sources,
            **_judged(s, trajectory, findings),
            "windows": [finding.evidence() for finding in findings],
        },
    )


def _judged(s: int, trajectory: Trajectory, findings: list[WindowFinding]) -> dict[str, dict[str, int]]:
    """Windows and steps that were decided, of all that the run made."""
    decided = [one.window for one in findings if one.status in (Status.PASS, Status.FAIL)]
    steps = sum(window.end - window.begin for window in decided)
    return {
        "windows judged": {"judged": len(decided), "of": -(-trajectory.length // s)},
        "steps": {"judged": steps, "of": trajectory.length},
    }


def _undeclared(case: Case) -> str:
    """What a solver for the linear kernel is to declare if it carries weights from window to window."""
    if case.declaration.state or not isinstance(case.problem.kernel, LinearKernel):
        return ""
    return (
        " If the solver carries weights w = A'(y a) or A'a from window to window, they drift from its a by "
        "rounding: declare and record them (Declaration.state = ('weights',)), or form them anew in every "
        "window."
    )


def _sources(findings: list[WindowFinding]) -> dict[str, dict]:
    """Largest ratio from the data and from the panel with both values, and what either could have seen."""
    found: dict[str, dict] = {}
    for source in SOURCES:
        parts = [part for one in findings for part in one.parts or (one,) if part.source == source]
        if parts:
            names = dict.fromkeys(name for part in parts for name in part.detectable)
            least = {name: min(part.detectable.get(name, math.inf) for part in parts) for name in names}
            worst_part = max(parts, key=lambda part: part.ratio)
            found[f"from {source}"] = {**worst_part.comparison(), "detectable": least}
    return found


def _reason(case: Case, status: Status, finding: WindowFinding, terms, sources: dict[str, dict]) -> str:
    largest = ", ".join(f"{found['ratio']:.3g} {source}" for source, found in sources.items())
    compared = (
        f"{case.declaration.name} solver against the exact replay in balls of the window of iterations "
        f"{finding.window.begin + 1}..{finding.window.end}: measured {finding.measured:.3g}, "
        f"bound {finding.bound:.3g} ({BOUND_ORIGIN[case.problem.is_svm]}), the kernel taken from the "
        f"{SOURCES[finding.source]}. Largest ratios: {largest}."
    )
    if status is Status.FAIL:
        return f"{compared} {finding.note} {CAUSES}{_undeclared(case)}".replace("  ", " ")
    if status is Status.VACUOUS and not math.isfinite(finding.bound):
        return (
            f"{compared} The bound is infinite: a number of the window may overflow the precision"
            + (
                "."
                if case.problem.is_svm
                else ", or factorising an ill-conditioned block system break down."
            )
            + " No implementation is promised to come near the exact window."
        )
    if status is Status.VACUOUS:
        return f"{compared} The run could not have shown a missing kernel correction: {terms[0].reason}"
    if status is Status.INCONCLUSIVE and finding.note:
        return f"{compared} Nothing was replayed: {finding.note}."
    if status is Status.INCONCLUSIVE:
        return f"{compared} At {finding.bits} bits the enclosure still holds the bound."
    return compared


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s, with its panels where the solver exposes them",
    planted="the kernel correction of the s-step recurrence left out (gradients stay stale)",
    runs=runs,
    judge=judge,
    bounds=("window_svm", "window_ridge", "window_ridge_components", "window_ridge_panel"),
    level=1,
    affordable=replayable,
    primary=True,
    by_windows=True,
)
