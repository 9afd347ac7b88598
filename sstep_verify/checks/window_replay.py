"""Check window-replay: every window of a run ends where exact arithmetic would, up to its own rounding.

A window is replayed from the solver's own a at its start, in balls, and compared at its end with the
bound on the rounding errors one window of any correct implementation can make. Errors of earlier
windows do not enter, so nothing is amplified and nothing is healed by later steps: a wrong correction
term shows at its full size. Some windows are replayed so; all, or as many as fit, are screened in float64,
of a solver without a trace by windows the first ones (checks/window/screen.py). A screen passes windows and
fails none: its bound is wider by the error of the judge's own steps, and what is beyond it is replayed, the
largest ratio first, and fails by its replay alone; what is not replayed makes the verdict INCONCLUSIVE. A
solver that exposes its kernel rows, and makes its steps from them, is replayed from these as well; one that
makes its steps from a state carried beside a, from a and that state (residual-gap judges the state).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from sstep_verify.checks.shared.case import Case, Check, plain_request, run_key
from sstep_verify.checks.shared.finding import Finding, Window, decisive, promising, unbounded
from sstep_verify.checks.shared.outcome import right_at_one, verdict_on
from sstep_verify.checks.window import screen
from sstep_verify.checks.window.choose import choose_windows
from sstep_verify.checks.window.ends import causes_of
from sstep_verify.checks.window.reasons import SOURCES, coverage, reason, term_records
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import KERNEL, core
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import NAMED, Status, Verdict

CHECK = "window-replay"

PANEL_WORDS = 1 << 24
"""Kernel entries that the runs of a case may expose for all their recorded windows: 128 MiB."""

PANEL_WORK = 1 << 18
"""Panel entries of a run's windows after which further windows are replayed from the data alone.

The first window is always replayed from both; where windows are small, so are many: 64 of them for m = 64.
"""

EFFECT_WORK = 1 << 14
"""Products in a window up to which the effect of every quantity is computed in every window."""

CONFIRMED = 4
"""Windows beyond the bound in a screen that have failed when replayed, after which no more of them are."""

REPLAY_WORK = 1 << 21
"""Products (`_work`) and kernel entries that replays of such windows may take, after the first: seconds."""

REPLAYED = 256
"""Such windows replayed at most."""

DIAGNOSED = 3
"""Failed windows of a run in which mistakes that reproduce them are looked for."""


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s, with its panels where the solver exposes them.

    Which windows are replayed depends on the run, so every recorded window exposes its panel, for the
    smaller s first, as long as all of them together stay within `PANEL_WORDS`.
    """
    requests, left = {}, PANEL_WORDS
    for s in sorted(case.s_values):
        request = plain_request(case, s)
        words = case.panel_words(s) * (len(request.stops) - 1)
        if case.declaration.panels and replayable(case, s) and words <= left:
            request, left = replace(request, expose_panels=True), left - words
        requests[run_key(s)] = request
    return requests


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Replay chosen windows of every plain run and compare.

    Parameters are those of `Check.judge`; the oracle replays windows exactly.

    Returns
    -------
    list of Verdict
        One per run whose windows are within the case's replay limit.
    """
    replays = WindowReplays(case, oracle)
    verdicts: list[Verdict] = []
    for s in filter(partial(replayable, case), case.s_values):
        between = s > 1 and right_at_one(case, verdicts)
        verdicts.append(_judge_run(case, s, trajectories, replays, between=between))
    return verdicts


def replayable(case: Case, s: int) -> bool:
    """Whether a window of this s stays within the case's limit of kernel entries."""
    return case.panel_words(s) <= case.replay_limit


def _judge_run(
    case: Case, s: int, trajectories: Mapping[str, Trajectory], replays: WindowReplays, *, between: bool
) -> Verdict:
    trajectory = trajectories[run_key(s)]
    width = min(s, max(trajectory.length, 1))
    names = case.problem.quantities(case.declaration.update, width, case.stream.block)
    windows = choose_windows(case, trajectory)
    screened = screen.screen(case, s, trajectory, trajectories)
    chosen = [*((trajectory, window) for window in windows), *screened.notable]
    findings = _findings(case, chosen, screened.flagged, replays, names)
    replayed = len(findings) - len(chosen)
    findings += _unlike(case, trajectory, screened, replays)
    judged = {finding.window.begin for finding in findings if finding.decided and finding.bits}
    judged |= screened.judged
    terms = term_records(names, findings)
    if replayed < len(screened.flagged) and not _failed(findings):
        # Beyond a bound that decides nothing: that is neither right nor wrong.
        findings.append(screened.flagged[replayed][1])
    within = [screened.within] if screened.within else []
    if not findings and not within:
        findings.append(unbounded("a run of no steps, of which there is nothing to judge"))
    decided_by = findings or within  # A screen alone shows of no quantity that it could have been seen.
    status, compared = decisive(promising(decided_by)).status, [*findings, *within]
    largest = decisive([finding for finding in compared if finding.status is status])
    if status is Status.PASS and not all(term.seen for term in terms if term.name in core(width)):
        status = Status.VACUOUS
    planned = -(-trajectory.length // s)
    steps = sum(min(begin + s, trajectory.length) - begin for begin in judged)
    causes = causes_of(case, width, findings, between=between) if status is Status.FAIL else []
    named = sorted(cause.words for cause in causes) or list(largest.signs)
    sources, covered = _sources(compared), coverage(planned, len(judged), screened, replayed)
    return verdict_on(
        CHECK,
        case,
        s,
        status,
        largest,
        reason(case, width, status, decided_by, largest, terms, sources, covered, causes),
        units="absolute, largest coordinate" if case.problem.is_svm else "M-norm, or largest coordinate",
        planned=planned,
        executed=len(judged),
        terms=terms,
        evidence={
            **sources,
            "windows judged": {"judged": len(judged), "of": planned},
            "steps": {"judged": steps, "of": trajectory.length},
            "screen": {**screened.evidence(), "replayed": replayed},
            **({NAMED: named} if case.diagnose else {}),
            "windows": [finding.evidence() for finding in findings],
        },
        signs=[name for cause in causes for name in cause.names] or largest.signs,
        each=len(causes) == 1,
        claimed=case.diagnose,  # Steps that were lost are not wrong themselves: none is known to be.
    )


def _work(case: Case, window: Window) -> int:
    """Products of increments in the exact replay of a window."""
    drawn = (window.end - window.begin) * case.stream.block
    return drawn * (min(drawn, case.problem.samples) + case.stream.block)


def _findings(
    case: Case,
    chosen: list[tuple[Trajectory, Window]],
    flagged: list[tuple[Trajectory, Finding]],
    replays: WindowReplays,
    names: list[str],
) -> list[Finding]:
    """Replay chosen windows, then flagged ones as far as `CONFIRMED`, `REPLAYED` and `REPLAY_WORK` allow.

    Each comes with its run. The effect of a quantity costs a replay of its own. Where a window is short all
    are computed; where it is long, those of the kernel correction and of what no window before showed.
    """
    findings: list[Finding] = []
    left, unseen, spent = PANEL_WORK, set(names), 0
    further = [(run, finding.window) for run, finding in flagged]
    for place, (trajectory, window) in enumerate([*chosen, *further], -len(chosen)):
        work, words = _work(case, window), case.panel_words(window.end - window.begin)
        if place >= 0:
            spent += work + words
            confirmed = _failed(findings[len(chosen) :]) >= CONFIRMED
            if confirmed or place >= REPLAYED or (place and spent > REPLAY_WORK):
                break
        again = set(names) if work <= EFFECT_WORK else {KERNEL} & set(names)
        finding = replays.finding(
            trajectory,
            window,
            from_panel=left > 0,
            names=again | unseen,
            again=again,
            diagnose=case.diagnose and _failed(findings) < DIAGNOSED,
        )
        findings.append(finding)
        unseen = {name for name in unseen if not finding.shows(name)}
        left -= words
    return findings


def _failed(findings: list[Finding]) -> int:
    return sum(finding.status is Status.FAIL for finding in findings)


def _unlike(
    case: Case, plain: Trajectory, screened: screen.Screen, replays: WindowReplays
) -> list[Finding]:
    """Where the run made again was another one: what the plain run did there, if that may be wrong."""
    bridge = screened.bridge
    if bridge is None or not bridge.ratio > 1.0:
        return []
    window = bridge.window
    note = (
        f"made again with the end of every window recorded, the run has another a after iteration "
        f"{window.end}, and only that one is right: what the solver computes depends on what is recorded"
    )
    if _work(case, window) + case.panel_words(window.end - window.begin) > REPLAY_WORK:
        return [bridge]
    exact = replays.finding(plain, window, from_panel=False, names=(), diagnose=False)
    return [replace(exact, note=note) if exact.status is Status.FAIL else exact]


def _sources(findings: list[Finding]) -> dict[str, dict]:
    """Largest ratio from the data and from the panel with both values, and what either could have seen."""
    sources: dict[str, dict] = {}
    for source in SOURCES:
        parts = [part for whole in findings for part in whole.parts or (whole,) if part.source == source]
        if parts:
            limits: dict[str, float] = {}
            for part in parts:
                for name, limit in part.detection_limit.items():
                    limits[name] = min(limit, limits.get(name, math.inf))
            largest = max(parts, key=lambda part: part.ratio)
            sources[f"from {source}"] = {**largest.comparison(), "detection_limit": limits}
    return sources


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s, with its panels where the solver exposes them",
    planted="stale product or curvature left out of the steps, or, for s > 1, the kernel correction",
    runs=runs,
    continued=screen.requests,
    judge=judge,
    bounds=(
        "bounds/window/svm",
        "bounds/window/ridge",
        "bounds/screen",
    ),
    level=1,
    affordable=replayable,
    primary=True,
    by_windows=True,
)
