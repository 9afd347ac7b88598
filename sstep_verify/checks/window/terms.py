"""Quantities of a step in the replayed windows: seen, how small an error, or why not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from sstep_verify import quantities
from sstep_verify.checks.shared.finding import Finding, decisive
from sstep_verify.verdict import Status, Term


def joined(data: Finding, panel: Finding, *, sharp: bool) -> Finding:
    """One finding from the replays of a window from the data and from the solver's panel.

    The worse outcome counts, but where one of them promises nothing (VACUOUS: an infinite bound) the
    other stands. An error of a quantity shows if it exceeds either bound; but what shows from the panel
    counts only if the panel is `sharp`: if a wrong kernel in it would have shown. Else a replay from it
    says nothing of the data, and its PASS does not stand for that of the data.
    """
    if not sharp and panel.status is not Status.FAIL:
        return replace(data, parts=(data, panel))
    parts = (data, panel)
    promising = [part for part in parts if part.status is not Status.VACUOUS] or [data]
    telling = parts if sharp else (data,)
    names = dict.fromkeys(name for part in telling for name in part.dropped)
    return replace(
        decisive(promising),
        bits=max(part.bits for part in parts),
        dropped={name: max(part.dropped.get(name, 0.0) for part in telling) for name in names},
        detection_limit={
            name: min(part.detection_limit.get(name, math.inf) for part in telling) for name in names
        },
        parts=parts,
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
    """One record per quantity: in how many comparisons leaving it out would have been seen.

    It would have been where its exact effect exceeds twice the bound: then a run without it is further
    than the bound from the exact end, wherever within the bound of its own exact end it is.

    Parameters
    ----------
    names : iterable of str
        Quantities of a step.
    findings : list of Finding
        The comparisons.
    where : str
        What was compared, for reasons.
    """
    found = [finding for finding in findings if finding.decided]
    return tuple(_record(name, len(findings), found, where) for name in names)


def _record(name: str, planned: int, findings: list[Finding], where: str) -> Term:
    seen = sum(finding.shows(name) for finding in findings)
    most = max((finding.dropped.get(name, 0.0) for finding in findings), default=0.0)
    reason = ""
    if not findings:
        reason = f"none of {planned} {where} was decided"
    elif not seen and most == 0.0:
        reason = IDLE.get(name, "leaving it out changes nothing")
    elif not seen:
        reason = f"leaving it out changes a by at most {most:.2g} of the bound in {len(findings)} {where}"
    return Term(
        name=name,
        status=Status.PASS if seen else Status.VACUOUS,
        detection_limit=min(
            (finding.detection_limit.get(name, math.inf) for finding in findings), default=math.inf
        ),
        planned=planned,
        decided=len(findings),
        seen=seen,
        reason=reason,
    )


def unseen(terms: Iterable[Term]) -> str:
    """The quantities that were not seen, each with its reason; empty if all were."""
    return "; ".join(f"{term.name} ({term.reason})" for term in terms if not term.seen)
