"""Words of a verdict of window-replay: what was compared, which replay failed, what follows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.shared.sample import RARE, missed
from sstep_verify.checks.window.screen import SCREEN, Screen
from sstep_verify.checks.window.terms import unseen
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.quantities import core
from sstep_verify.verdict import Status, Term

SOURCES = {"data": "data", "panel": "solver's own panel", SCREEN: "data, in float64"}

BOUND_ORIGIN = {
    True: "signed propagation of rounding errors over the window's coordinates (bounds/window/svm.py)",
    False: "sum of local rounding errors in the M-norm, and per coordinate (bounds/window/ridge*.py)",
}

UNBOUNDED = {
    True: (
        "The bound is infinite: a kernel entry, a curvature or a sum of errors may overflow in this "
        "precision, so no implementation is promised to come near the exact window."
    ),
    False: (
        "The bound is infinite: an entry may overflow, or a block system is so ill-conditioned that "
        "factorising in this precision may break down, so no implementation is promised to come near the "
        "exact window."
    ),
}


def coverage(windows: int, judged: int, screened: Screen, replayed: int) -> str:
    """How many of the windows of a run were judged, and the chance of missing what happens in few of them.

    Parameters
    ----------
    windows, judged : int
        All windows of the run (N), and those judged (K).
    screened : Screen
        What was screened of it.
    replayed : int
        How many of the windows beyond the bound of the screen were replayed.
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
    largest: Mapping[str, float],
    covered: str,
    causes: Sequence[Candidate],
) -> str:
    """The reason of a verdict.

    Parameters
    ----------
    case : Case
        The case.
    s : int
        Iterations per window, at most those of the run.
    status : Status
        Of the verdict.
    findings : sequence of Finding
        The compared windows.
    finding : Finding
        The comparison whose ratio is largest, be it in the screen.
    terms : sequence of Term
        The quantities of a step.
    largest : mapping of str to float
        Largest ratio by source, such as ``from data``.
    covered : str
        How many of the run's windows were judged (`coverage`).
    causes : sequence of Candidate
        What ends all diagnosed windows where the solver ended them.
    """
    said = [_compared(case, finding, largest)]
    if status is Status.FAIL:
        said += [f"{finding.note}." if finding.note else "", _follows(findings), _reproduced(causes)]
        said.append(_undeclared(case))
    elif status is Status.INCONCLUSIVE and finding.source == SCREEN:
        said.append(f"Beyond the bound of {SCREEN} and not replayed, so neither right nor wrong.")
    elif status is Status.INCONCLUSIVE:
        said.append(
            f"Nothing was replayed: {finding.note}."
            if finding.note
            else f"At {finding.bits} bits the enclosure still holds the bound."
        )
    elif status is Status.VACUOUS and all(one.status is Status.VACUOUS for one in findings):
        said.append(UNBOUNDED[case.problem.is_svm])
    elif status is Status.VACUOUS:
        missing = unseen(term for term in terms if term.name in core(s))
        said.append(f"The run could not have shown an error in the core of a step: {missing}.")
    said.append(covered)
    others = unseen(term for term in terms if term.name not in core(s))
    if status in (Status.PASS, Status.VACUOUS) and others:
        said.append(f"Not seen: {others}.")
    return " ".join(part for part in said if part)


def _compared(case: Case, finding: Finding, largest: Mapping[str, float]) -> str:
    ratios = ", ".join(f"{ratio:.3g} {source}" for source, ratio in largest.items())
    against, origin = "the exact replay in balls of", BOUND_ORIGIN[case.problem.is_svm]
    if finding.source == SCREEN:
        against, origin = "the judge's own steps in", "of solver and judge together (bounds/screen/)"
    return (
        f"{case.declaration.name} solver against {against} the window of iterations "
        f"{finding.window.begin + 1}..{finding.window.end}: measured {finding.measured:.3g}, "
        f"bound {finding.bound:.3g} ({origin}), the kernel taken from the "
        f"{SOURCES[finding.source]}. Largest ratios: {ratios}."
    )


def _undeclared(case: Case) -> str:
    """What a solver for the linear kernel is to declare if it carries weights from window to window."""
    if case.declaration.state or not case.problem.kernel.linear:
        return ""
    return (
        "If the solver carries weights w = A'(y a) or A'a from window to window, they drift from its a by "
        "rounding: declare and record them (Declaration.state = ('weights',)), or form them anew in every "
        "window."
    )


def _follows(findings: Sequence[Finding]) -> str:
    """Which of the two replays failed, and what is wrong therefore."""
    parts = [part for one in findings for part in one.parts or (one,)]
    failed = {part.source for part in parts if part.status is Status.FAIL}
    told = {part.source for part in parts if math.isfinite(part.bound)}
    if failed == {"data"} and "panel" in told:
        return (
            "Wrong from the data, right from the solver's own panel: the kernel's entries are wrong, the "
            "recurrence is right."
        )
    if failed == {"panel"} and "data" in told:
        return (
            "Wrong from the solver's own panel, and from the data within a bound that is wider by what the "
            "kernel's entries may be off: the recurrence is wrong, or the panel shown is not the one used."
        )
    if failed == {"data", "panel"}:
        return "Wrong from the data and from the solver's own panel too: the recurrence is wrong."
    return "The run exposed no panel to tell a wrong kernel entry from a wrong recurrence."


def _reproduced(causes: Sequence[Candidate]) -> str:
    named = ", ".join(sorted(one.words for one in causes))
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
