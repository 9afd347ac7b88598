"""What the windows of a run showed of each quantity, and the words of a verdict of window-replay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from sstep_verify import quantities
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, term_of
from sstep_verify.checks.shared.outcome import NOT_AGAIN, RARE, TOO_MANY, missed, unseen
from sstep_verify.checks.window.screen import SCREEN, Screen
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.verdict import Status, Term

SOURCES = {"data": "data", "panel": "solver's own panel", SCREEN: "data, in float64"}

BOUND_ORIGIN = {
    True: "signed propagation of rounding errors over the window's coordinates (bounds/window/svm.py)",
    False: "sum of local rounding errors in the M-norm, and per coordinate (bounds/window/ridge.py)",
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

UNDECLARED = (
    "If the solver carries weights w = A'(y a) or A'a from window to window, they drift from its a by "
    "rounding: declare and record them (Declaration.state = ('weights',)), or form them anew in every "
    "window."
)
"""What a solver for the linear kernel is to declare that has declared no state."""


def coverage(windows: int, judged: int, screened: Screen, replayed: int) -> str:
    """How many of the windows of a run were judged, and the chance of missing what happens in few of them.

    Of those beyond the bound of the screen so many were replayed.
    """
    words = f"{judged} of {windows} windows judged"
    if judged < windows:
        words += (
            f"; a defect that strikes each window by itself with probability {RARE:g} is missed with "
            f"probability {missed(judged):.2g}, one confined to a part of the run unless a window is there"
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
    causes: Sequence[Candidate],
) -> str:
    """The reason of a verdict on a run with windows of s iterations, at most those of the run.

    It is about one of its comparisons, be it in the screen. The largest ratio stands there by source, such
    as ``from data``; causes are what ends all diagnosed windows where the solver ended them.
    """
    sentences = [_compared(case, finding, sources)]
    if status is Status.FAIL:
        sentences.append(f"{finding.note}." if finding.note else "")
        sentences += [_follows(findings), reproduced(case, findings, causes)]
        if case.problem.kernel.linear and not case.declaration.state:
            sentences.append(UNDECLARED)
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
        missing = unseen(term for term in terms if term.name in quantities.core(s))
        sentences.append(f"The run could not have shown an error in the core of a step: {missing}.")
    sentences.append(covered)
    others = unseen(term for term in terms if term.name not in quantities.core(s))
    if status in (Status.PASS, Status.VACUOUS) and others:
        sentences.append(f"Not seen: {others}.")
    return " ".join(part for part in sentences if part)


def _compared(case: Case, finding: Finding, sources: Mapping[str, Mapping]) -> str:
    ratios = ", ".join(f"{largest['ratio']:.3g} {source}" for source, largest in sources.items())
    against, origin = "the exact replay in balls of", BOUND_ORIGIN[case.problem.is_svm]
    if finding.source == SCREEN:
        against, origin = "the judge's own steps in", "of solver and judge together (bounds/screen.py)"
    return (
        f"{case.declaration.name} solver against {against} the window of iterations "
        f"{finding.window.begin + 1}..{finding.window.end}: measured {finding.measured:.3g}, "
        f"bound {finding.bound:.3g} ({origin}), the kernel taken from the "
        f"{SOURCES[finding.source]}. Largest ratios: {ratios}."
    )


def _follows(findings: Sequence[Finding]) -> str:
    """Which of the two replays failed, and what is wrong therefore."""
    parts = [part for finding in findings for part in finding.parts or (finding,)]
    failed = {part.source for part in parts if part.status is Status.FAIL}
    bounded = {part.source for part in parts if math.isfinite(part.bound)}
    if failed == {"data"} and "panel" in bounded:
        return (
            "Wrong from the data, right from the solver's own panel: the kernel's entries are wrong, the "
            "recurrence is right."
        )
    if failed == {"panel"} and "data" in bounded:
        return (
            "Wrong from the solver's own panel, and from the data within a bound that is wider by what the "
            "kernel's entries may be off: the recurrence is wrong, or the panel shown is not the one used."
        )
    if failed == {"data", "panel"}:
        return "Wrong from the data and from the solver's own panel too: the recurrence is wrong."
    return "The run exposed no panel to tell a wrong kernel entry from a wrong recurrence."


def reproduced(case: Case, findings: Sequence[Finding], causes: Sequence[Candidate]) -> str:
    """What explains a failure; nothing where no mistakes were tried, as its note alone tells it."""
    if not case.diagnose:
        return NOT_AGAIN
    parts = [part for finding in findings for part in finding.parts or (finding,)]
    if not any(part.status is Status.FAIL and part.end is not None for part in parts):
        return ""
    named = ", ".join(sorted(cause.words for cause in causes))
    if causes and len(causes[0].names) > 1:
        return (
            f"No single mistake known here reproduces it. Likely causes, two at once: {named} (each pair "
            "ends the failed windows there, within the bound)."
        )
    if causes:
        return f"Likely causes: {named} (each ends the failed windows there, within the bound)."
    return (
        "No mistake known here reproduces it. Likely causes: a quantity off by some factor; the window is "
        "not s steps of this index stream; the kernel or a parameter is not the declared one; the "
        "precision is not the declared one."
    )


IDLE = {
    quantities.KERNEL: "no window has two coordinates that act on each other",
    quantities.SAME: "no coordinate is drawn twice in a window and then needs its first increment",
    quantities.OVERLAP: "no coordinate is drawn twice in a window and then needs its first increment",
    quantities.UPPER: "no step would go beyond C",
    quantities.LOWER: "no step would go below 0",
    quantities.TAIL: "no window is shorter than s",
    quantities.OMEGA: "every coordinate drawn is 0 or clipped",
    quantities.OFF_DIAGONAL: "the blocks' coordinates do not act on each other",
}
"""Why a quantity has no effect at all, where that is known."""


def term_records(
    names: Iterable[str], findings: list[Finding], where: str = "replayed windows"
) -> tuple[Term, ...]:
    """One record per quantity of a step: in how many comparisons leaving it out would have been seen.

    It would have been where its exact effect exceeds twice the bound: then a run without it is further than
    the bound from the exact end, wherever within the bound of its own exact end it is. Where these
    comparisons were made is said in reasons.
    """
    decided = [finding for finding in findings if finding.decided]
    return tuple(_term(name, len(findings), decided, where) for name in names)


def _term(name: str, planned: int, findings: list[Finding], where: str) -> Term:
    seen = sum(finding.shows(name) for finding in findings)
    most = max((finding.dropped.get(name, 0.0) for finding in findings), default=0.0)
    if not findings:
        reason = f"none of {planned} {where} was decided" if planned else f"there were no {where}"
    elif most == 0.0:
        reason = IDLE.get(name, "leaving it out changes nothing")
    else:
        reason = f"leaving it out changes a by at most {most:.2g} of the bound in {len(findings)} {where}"
    limit = min((finding.detection_limit.get(name, math.inf) for finding in findings), default=math.inf)
    return term_of(name, limit, planned, len(findings), seen, reason)
