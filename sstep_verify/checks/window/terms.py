"""What the replayed windows say of each quantity of a step: seen, how small an error, or why not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sstep_verify import quantities
from sstep_verify.checks.window.choose import Window
from sstep_verify.verdict import Status, Term, worst

SEEN = 2.0
"""Effect of leaving a quantity out, over the bound, above which it must show (triangle inequality)."""


@dataclass(frozen=True)
class WindowFinding:
    """The comparison of one window.

    Parameters
    ----------
    window : Window
        The window.
    status : Status
        PASS, FAIL, INCONCLUSIVE (the enclosure is too wide) or VACUOUS (the bound is infinite).
    ratio, measured, bound : float
        At the coordinate where measured / bound is largest.
    note : str
        What else went wrong.
    dropped : dict of str to float
        Per quantity that can act: effect of leaving it out, over the bound.
    detectable : dict of str to float
        Per quantity that can act: smallest relative error that would have exceeded the bound.
    bits : int
        Precision of the replay.
    source : {"data", "panel"}
        Whether the kernel of the replay is that of the data or the solver's own panel.
    parts : tuple of WindowFinding
        The two findings that this one joins; empty where there is only one.
    suspects : tuple of str or None
        Mistakes that end the window where the solver ended it, within the bound; None if none were tried.
    """

    window: Window
    status: Status
    ratio: float
    measured: float
    bound: float
    note: str = ""
    dropped: dict[str, float] = field(default_factory=dict)
    detectable: dict[str, float] = field(default_factory=dict)
    bits: int = 0
    source: str = "data"
    parts: tuple[WindowFinding, ...] = ()
    suspects: tuple[str, ...] | None = None

    def saw(self, name: str) -> bool:
        """Whether leaving a quantity out would have been seen."""
        return decided(self) and self.dropped.get(name, 0.0) > SEEN

    def evidence(self) -> dict[str, object]:
        """Plain values for the report."""
        return {
            "begin": self.window.begin,
            "end": self.window.end,
            "tags": list(self.window.tags),
            "status": self.status.value,
            "ratio": self.ratio,
            "bits": self.bits,
            "detectable": self.detectable,
            **{f"from {part.source}": part.comparison() for part in self.parts or (self,)},
        }

    def comparison(self) -> dict[str, object]:
        """Status, ratio, both values and what would have shown, as plain values."""
        return {
            "status": self.status.value,
            "ratio": self.ratio,
            "measured": self.measured,
            "bound": self.bound,
            "bits": self.bits,
            "detectable": self.detectable,
        }


def joined(data: WindowFinding, panel: WindowFinding, *, sharp: bool) -> WindowFinding:
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
    status = worst(part.status for part in promising)
    decisive = max((part for part in promising if part.status is status), key=lambda part: part.ratio)
    telling = parts if sharp else (data,)
    names = dict.fromkeys(name for part in telling for name in part.dropped)
    return replace(
        decisive,
        bits=max(part.bits for part in parts),
        dropped={name: max(part.dropped.get(name, 0.0) for part in telling) for name in names},
        detectable={name: min(part.detectable.get(name, math.inf) for part in telling) for name in names},
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


def decided(finding: WindowFinding) -> bool:
    """Whether a comparison decided anything: not if its enclosure or its bound was too wide to."""
    return finding.status in (Status.PASS, Status.FAIL)


def term_records(
    names: Iterable[str], findings: list[WindowFinding], where: str = "replayed windows"
) -> tuple[Term, ...]:
    """One record per quantity: in how many comparisons leaving it out would have been seen.

    It would have been where its exact effect exceeds twice the bound: then a run without it is further
    than the bound from the exact end, wherever within the bound of its own exact end it is.

    Parameters
    ----------
    names : iterable of str
        Quantities of a step.
    findings : list of WindowFinding
        The comparisons.
    where : str
        What was compared, for reasons.
    """
    found = [finding for finding in findings if decided(finding)]
    return tuple(_record(name, len(findings), found, where) for name in names)


def _record(name: str, planned: int, findings: list[WindowFinding], where: str) -> Term:
    seen = sum(finding.saw(name) for finding in findings)
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
        detectable=min((finding.detectable.get(name, math.inf) for finding in findings), default=math.inf),
        planned=planned,
        decided=len(findings),
        seen=seen,
        reason=reason,
    )


def unseen(terms: Iterable[Term]) -> str:
    """The quantities that were not seen, each with its reason; empty if all were."""
    return "; ".join(f"{term.name} ({term.reason})" for term in terms if not term.seen)
