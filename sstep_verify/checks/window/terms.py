"""What the replayed windows say of each term of the recurrence: seen, how small, or never acting."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from sstep_verify.checks.window.choose import Window
from sstep_verify.problems import Problem
from sstep_verify.verdict import Status, Term, worst


@dataclass(frozen=True)
class WindowFinding:
    """The comparison of one window.

    Parameters
    ----------
    window : Window
        The window.
    status : Status
        PASS, FAIL or INCONCLUSIVE.
    ratio, measured, bound : float
        At the coordinate where measured / bound is largest.
    note : str
        What else went wrong.
    dropped : dict of str to float
        Per term that can act: effect of leaving it out, over the bound.
    detectable : dict of str to float
        Per term that can act: smallest relative error that would have exceeded the bound.
    bits : int
        Precision of the replay.
    source : {"data", "panel"}
        Whether the kernel of the replay is that of the data or the solver's own panel.
    parts : tuple of WindowFinding
        The two findings that this one joins; empty where there is only one.
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


def joined(data: WindowFinding, panel: WindowFinding) -> WindowFinding:
    """One finding from the replays of a window from the data and from the solver's panel.

    The worse outcome counts, but where one of them promises nothing (VACUOUS: an infinite bound) the
    other stands. An error of a term shows if it exceeds either bound.
    """
    parts = (data, panel)
    promising = [part for part in parts if part.status is not Status.VACUOUS] or [data]
    status = worst(part.status for part in promising)
    decisive = max((part for part in promising if part.status is status), key=lambda part: part.ratio)
    return replace(
        decisive,
        bits=max(part.bits for part in parts),
        dropped={name: max(part.dropped.get(name, 0.0) for part in parts) for name in data.dropped},
        detectable={
            name: min(part.detectable.get(name, math.inf) for part in parts) for name in data.detectable
        },
        parts=parts,
    )


def term_records(problem: Problem, s: int, findings: list[WindowFinding]) -> tuple[Term, ...]:
    """One record per term that the recurrence has at this s; the kernel correction first.

    A term is VACUOUS if in no replayed window leaving it out would have exceeded the bound.
    """
    names = ["kernel-correction", "overlap"] if s > 1 else []
    if problem.is_svm and problem.hinge.shift:
        names.append("omega")
    executed = [finding for finding in findings if finding.status is not Status.INCONCLUSIVE]
    return tuple(_record(name, len(findings), executed) for name in names)


def _record(name: str, planned: int, findings: list[WindowFinding]) -> Term:
    seen = [finding for finding in findings if finding.dropped.get(name, 0.0) > 1.0]
    reason = ""
    if not seen:
        present = [finding.dropped[name] for finding in findings if name in finding.dropped]
        if not present:
            reason = f"the {name} term is absent from all {len(findings)} replayed windows"
        elif max(present) == 0.0:
            reason = (
                f"leaving out the {name} term changes nothing in any of {len(findings)} replayed windows"
            )
        else:
            reason = (
                f"leaving out the {name} term changes a by at most {max(present):.2g} of the bound "
                f"in {len(findings)} replayed windows"
            )
    return Term(
        name=name,
        status=Status.PASS if seen else Status.VACUOUS,
        detectable=min((finding.detectable.get(name, math.inf) for finding in findings), default=math.inf),
        planned=planned,
        decided=len(findings),
        seen=len(seen),
        reason=reason,
    )
