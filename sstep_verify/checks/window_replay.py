"""Check window-replay: every window of a run ends where exact arithmetic would, up to its own rounding.

A window is replayed from the solver's own a at its start, in balls, and compared at its end with the bound
on the rounding errors one window of any correct implementation can make. Errors of earlier windows do not
enter, so nothing is amplified and nothing is healed by later steps: a wrong correction term shows at its
full size. Some windows are replayed so; all, or as many as fit, are screened in float64, of a solver
without a trace by windows the first ones; of a K-SVM that adds its increments, and beside
maintained weights none. A screen (sstep_verify/checks/window/screen.py) passes windows and fails none: its
bound is wider by the judge's own error; what is beyond it is replayed, largest ratio first, or
INCONCLUSIVE.
The first window of a run that is continued at a window's end, from the alpha recorded there, is replayed
too. Between the results of two runs, of a solver that is run anew for every length, a window fails only
where the longer run is beyond its bound from its own start as well
(sstep_verify/checks/window/ends_apart.py). The kernel is that of the data; rows that a solver exposes are
judged by kernel-entries. A solver that makes its steps from maintained weights is replayed from a and these
(residual-gap judges the weights).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from sstep_verify.checks.shared.case import Case, Check, plain_request, run_key
from sstep_verify.checks.shared.continued import continued_key, continued_request, joined
from sstep_verify.checks.shared.finding import (
    Finding,
    Window,
    any_tried,
    decisive,
    promising,
    term_records,
    unbounded,
)
from sstep_verify.checks.shared.outcome import (
    RARE,
    TOO_MANY,
    explained,
    facts,
    missed,
    right_at_one,
    unseen,
    verdict_on,
)
from sstep_verify.checks.window.choose import (
    choose_windows,
    failed,
    replayed_otherwise,
    replayed_windows,
    screenable,
)
from sstep_verify.checks.window.ends_apart import EndsApart
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.checks.window.screen import SCREEN, WITHIN, Screen, requests, screen
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import core
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Defect, Hint, HintKind, Status, Term, Verdict

CHECK = "window-replay"

SOURCES = {"data": "data", SCREEN: "data, in float64"}

BOUND_ORIGIN = {
    True: (
        "signed propagation of rounding errors over the window's coordinates "
        "(sstep_verify/bounds/window/svm.py)"
    ),
    False: (
        "sum of local rounding errors in the M-norm, and per coordinate "
        "(sstep_verify/bounds/window/ridge.py)"
    ),
}

UNBOUNDED = {
    True: (
        "The bound is infinite: a kernel entry, a curvature or a sum of errors may overflow in this "
        f"precision, or {TOO_MANY}, so no implementation is promised to come near the exact window."
    ),
    False: (
        "The bound is infinite: an entry may overflow, a block system is so ill-conditioned that "
        f"factorising in this precision may break down, or {TOO_MANY}, so no implementation is promised to "
        "come near the exact window."
    ),
}


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s."""
    return {run_key(s): plain_request(case, s) for s in sorted(case.s_values)}


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """The plain runs again, for their screen, and continued at a window's end."""
    wanted = requests(case, trajectories) if screenable(case) else {}
    for s in filter(partial(replayable, case), case.s_values):
        wanted |= continued_request(case, s, trajectories, window=True)
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Replay chosen windows of every plain run whose windows are within the case's replay limit."""
    replays = WindowReplays(case, oracle)
    verdicts: list[Verdict] = []
    for s in filter(partial(replayable, case), case.s_values):
        between = s > 1 and right_at_one(case, verdicts)
        started = _started(case, s, trajectories, replays)
        verdict = _judge_run(case, s, trajectories, replays, started, between=between)
        if started is not None:
            plain, after = trajectories[run_key(s)], trajectories[continued_key(s)]
            verdict = joined(verdict, case, plain, after, started)
        verdicts.append(verdict)
    return verdicts


def _started(
    case: Case, s: int, trajectories: Mapping[str, Trajectory], replays: WindowReplays
) -> Finding | None:
    """The finding on the first window of the continued run of an s; None where there is no such run.

    What it could have shown is computed where other windows lie between the results of two runs.
    """
    after = trajectories.get(continued_key(s))
    if after is None:
        return None
    names = () if case.formulas.level >= 2 else None
    window = Window(0, min(s, after.length))
    return replays.finding(after, window, names=names, diagnose=False, afresh=True)


def replayable(case: Case, s: int) -> bool:
    """Whether a window of this s stays within the case's limit of kernel entries."""
    return case.panel_words(s) <= case.replay_limit


def _judge_run(
    case: Case,
    s: int,
    trajectories: Mapping[str, Trajectory],
    replays: WindowReplays,
    started: Finding | None,
    *,
    between: bool,
) -> Verdict:
    trajectory = trajectories[run_key(s)]
    width = min(s, max(trajectory.length, 1))
    names = case.problem.quantities(case.formulas.update, width, case.stream.block)
    windows = choose_windows(case, trajectory)
    screened = screen(case, s, trajectory, trajectories) if screenable(case) else Screen()
    chosen = [*((trajectory, window) for window in windows), *screened.notable]
    confirm = EndsApart(case, replays).decided
    findings = replayed_windows(case, chosen, screened.flagged, replays, names, confirm)
    tried = len(findings) - len(chosen)
    replayed = sum(finding.bits > 0 for finding in findings[len(chosen) :])
    findings += replayed_otherwise(case, trajectory, screened.bridge, replays, right=not screened.flagged)
    judged = {one.window.begin for one in findings if one.decided and one.bits} | screened.judged
    showing = [started] if started is not None and case.formulas.level < 2 else []
    terms = term_records(names, findings + showing)
    if tried < len(screened.flagged) and not failed(findings):
        # Beyond a bound that decides nothing: that is neither right nor wrong.
        findings.append(screened.flagged[tried][1])
    within = [screened.within] if screened.within else []
    if not findings and not within:
        findings.append(unbounded("There is nothing to judge: the run is of no steps."))
    decided_by = findings or within  # A screen alone shows of no quantity that it could have been seen.
    status, compared = decisive(promising(decided_by)).status, [*findings, *within]
    largest = decisive([finding for finding in compared if finding.status is status])
    if status is Status.PASS and not all(term.seen for term in terms if term.name in core(width)):
        status = Status.VACUOUS
    planned = -(-trajectory.length // s)
    steps = sum(min(begin + s, trajectory.length) - begin for begin in judged)
    defects: tuple[Defect, ...] = ()
    hints: tuple[Hint, ...] = ()
    told: list[str] = []
    diagnosed = case.diagnose and any_tried(findings)
    if status is Status.FAIL:
        from sstep_verify.checks.window.ends import causes_of
        from sstep_verify.diagnosis.defects import diagnosis_of

        causes = causes_of(case, width, findings, between=between)
        found = diagnosis_of(case.problem.loss.task, causes)
        defects, hints = found.defects, (*facts(largest.signs), *found.hints)
        if case.problem.kernel.linear and case.formulas.weights is None:
            hints = *hints, Hint(HintKind.DECLARE_WEIGHTS)
        # Where nothing was tried, the note alone tells it.
        if diagnosed or not case.diagnose:
            told.append(explained(defects, hints, diagnosed=diagnosed))
    sources, covered = _sources(compared), coverage(planned, len(judged), screened, replayed)
    seen = next(iter([*(finding for _, finding in screened.flagged), *within]), None)
    return verdict_on(
        CHECK,
        case,
        s,
        status,
        largest,
        reason(case, width, status, decided_by, largest, terms, sources, covered, told),
        units="absolute, largest coordinate" if case.problem.is_svm else "M-norm, or largest coordinate",
        planned=planned,
        executed=len(judged),
        terms=terms,
        evidence={
            **sources,
            "windows judged": {"judged": len(judged), "of": planned},
            "steps": {"judged": steps, "of": trajectory.length},
            "screen": {
                "windows": len(screened.judged) + len(screened.flagged),
                "largest ratio": seen.ratio if seen else 0.0,
                "distance": seen.upper if seen else 0.0,
                "bound": seen.bound if seen else math.inf,
                "beyond the bound": len(screened.flagged),
                "unlike the plain run": screened.unlike,
                "replayed": replayed,
            },
            "windows": [finding.evidence() for finding in findings],
        },
        defects=defects,
        hints=hints,
        diagnosed=diagnosed,
        signs=largest.signs,
        claimed=case.diagnose,  # Steps that were lost are not wrong themselves: none is known to be.
    )


def _sources(findings: list[Finding]) -> dict[str, dict]:
    """Largest ratio in exact replays and in the screen, with both values and what these could have seen."""
    sources: dict[str, dict] = {}
    for source in SOURCES:
        parts = [finding for finding in findings if finding.source == source]
        if parts:
            known = [part.detection_limit for part in parts]
            limits = {name: min(one.get(name, math.inf) for one in known) for one in known for name in one}
            largest = max(parts, key=lambda part: part.ratio)
            sources[f"from {source}"] = {**largest.comparison(), "detection_limit": limits}
    return sources


def coverage(windows: int, judged: int, screened: Screen, replayed: int) -> str:
    """How many of the windows of a run were judged, and the chance of missing what happens in few of them.

    Of those beyond the bound of the screen so many were replayed.
    """
    words = f"{judged} of {counted(windows, 'window')} judged"
    if judged < windows:
        words += (
            f"; a defect that strikes each window by itself with probability {RARE:g} is missed with "
            f"probability {missed(judged):.3g}, one confined to a part of the run unless a window is there"
        )
    if screened.flagged:
        words += (
            f"; {len(screened.flagged)} beyond the bound of the screen, which decides nothing, {replayed} "
            "of them replayed exactly"
        )
    if screened.unlike:
        words += f"; the screen did not see what this run did: {screened.unlike}"
    return f"{words}."


def reason(
    case: Case,
    s: int,
    status: Status,
    findings: Sequence[Finding],
    finding: Finding,
    terms: Sequence[Term],
    sources: Mapping[str, Mapping],
    covered: str,
    told: Sequence[str],
) -> str:
    """The reason of a verdict on a run with windows of s iterations, at most those of the run.

    It is about one of its comparisons, be it in the screen. The largest ratio stands there by source, such
    as ``from data``; of a failure it says what ends all diagnosed windows where the solver ended them.
    """
    if finding.what:
        return finding.what
    sentences = [_compared(case, finding, sources)]
    if status is Status.FAIL:
        sentences += [f"{finding.note}." if finding.note else "", *told]
    elif status is Status.INCONCLUSIVE and finding.source == SCREEN:
        sentences.append(f"Beyond the bound of {SCREEN} and not replayed, so neither right nor wrong.")
    elif status is Status.INCONCLUSIVE:
        sentences.append(
            f"It was not replayed: {finding.note}."
            if finding.note
            else f"At {finding.bits} bits the enclosure still holds the bound."
        )
    elif status is Status.VACUOUS and all(compared.status is Status.VACUOUS for compared in findings):
        sentences.append(UNBOUNDED[case.problem.is_svm])
    elif status is Status.VACUOUS:
        missing = unseen(term for term in terms if term.name in core(s))
        sentences.append(f"The run could not have shown an error in the core of a step: {missing}.")
    sentences.append(covered)
    others = unseen(term for term in terms if term.name not in core(s))
    if status in (Status.PASS, Status.VACUOUS) and others:
        sentences.append(f"Not seen: {others}.")
    return " ".join(part for part in sentences if part)


def _compared(case: Case, finding: Finding, sources: Mapping[str, Mapping]) -> str:
    ratios = ", ".join(
        f"{one['ratio']:.3g} {source}" + WITHIN * (SCREEN in source and one["ratio"] <= 1.0)
        for source, one in sources.items()
    )
    against, origin = "the exact replay in balls of", BOUND_ORIGIN[case.problem.is_svm]
    if finding.source == SCREEN:
        against = "the judge's own steps in"
        origin = "of solver and judge together (sstep_verify/bounds/screen.py)"
    elif not finding.bits:  # Its note says what is wrong, or why nothing is known, before any replay.
        return (
            f"{case.formulas.name} solver, window of iterations {finding.window.begin + 1}.."
            f"{finding.window.end}: measured {finding.measured:.3g}, bound {finding.bound:.3g} (not "
            "replayed)."
        )
    return (
        f"{case.formulas.name} solver against {against} the window of iterations "
        f"{finding.window.begin + 1}..{finding.window.end}: measured {finding.measured:.3g}, "
        f"bound {finding.bound:.3g} ({origin}), the kernel taken from the "
        f"{SOURCES[finding.source]}. Largest ratios: {ratios}."
    )


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    exact=True,
    needs="the plain run of every s, made again with every window's end recorded, and one continued from "
    "it at a window's end",
    planted="stale product or curvature left out of the steps, or, for s > 1, the kernel correction",
    runs=runs,
    continued=continued,
    judge=judge,
    bounds=("bounds/window/svm", "bounds/window/ridge", "bounds/screen"),
    level=1,
    affordable=replayable,
    primary=True,
    by_windows=True,
)
