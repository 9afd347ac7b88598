"""What a check asks of a solver and a case before it decides anything: why cells of the table are empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.check import every_run
from studies.coverage.freedoms import NO, OWN_EXCHANGES, VALUES, YES
from studies.coverage.rules import SVM, Values, left_by, others

NOT_PRINTED = (
    *("step-replay", "window-replay", "metamorphic-exact", "metamorphic-bounded", "kernel-entries"),
    *("phases", "box", "optimum", "claim-honesty", "residual-gap"),
)
"""Checks that a campaign does not ask of a result that is known to a rounding only."""


@dataclass(frozen=True)
class Requirement:
    """What must be so for a check to decide a run.

    Parameters
    ----------
    checks : tuple of str
        Their ids.
    needs : dict of str to tuple of str
        Values by freedom, all of them.
    why : str
        The reason, where it is not so.
    given : dict of str to tuple of str
        Where this is required at all; everywhere if empty.
    """

    checks: tuple[str, ...]
    needs: Values
    why: str
    given: Values = field(default_factory=dict)


EXACT = tuple(check.id for check in CHECKS.values() if check.affordable is not every_run)
"""Checks that replay runs exactly, as far as the case's limit goes."""

ENDS = ("trajectory", "sstep-equals-classical", "metamorphic-bounded")
"""Checks whose bounds start from a and follow a run from there."""

REQUIRED = (
    Requirement(EXACT, {"replay_limit": ("exact",)}, "replays exactly, and the case's limit is none"),
    Requirement(NOT_PRINTED, {"written": ("binary",), "scaled": (NO,)}, "a is known to a rounding only"),
    Requirement(("box",), {"task": SVM}, "K-RR has no box"),
    Requirement(("step-replay", "phases"), {"log": (YES,)}, "judges steps that are written down"),
    Requirement(
        ("step-replay", "phases"),
        {"precision": others("precision", "longdouble")},
        "float64 holds no longdouble",
    ),
    Requirement(("step-replay", "phases"), {"state": ("", "weights")}, "starts from a or weights"),
    Requirement(("phases",), {"probes": (YES,)}, "judges what steps write down of their parts"),
    Requirement(
        ("message-count",), {"exchange": others("exchange", "")}, "counts are judged of a declared exchange"
    ),
    Requirement(("rank-coherence",), {"ranks": ("several",)}, "compares ranks"),
    Requirement(("residual-gap",), {"state": others("state", "")}, "judges what is carried"),
    Requirement(("residual-gap",), {"update": ("in-place",)}, "no bound here but in place", {"task": SVM}),
    Requirement(ENDS, {"state": ("", "weights")}, "a bound of a run is derived from a or weights alone"),
    Requirement(("optimum",), {"claims": (YES,)}, "judges runs that claim to have converged"),
    Requirement(
        ("claim-honesty",), {"exchange": others("exchange", *OWN_EXCHANGES)}, "its plain runs claim nothing"
    ),
    Requirement(
        ("claim-honesty",),
        {"precision": others("precision", "longdouble")},
        "an enclosure in float64 is wider",
    ),
    Requirement(("sstep-equals-classical",), {"s": others("s", "1")}, "compares with s = 1"),
)
"""All that is required."""


def left_for(check: str, values: Mapping[str, str]) -> tuple[Values, str]:
    """What is left of every freedom of runs that a check may decide, some values given; or why of none."""
    left, why = left_by(VALUES | {name: (value,) for name, value in values.items()})
    for one in () if why else REQUIRED:
        if check in one.checks and all(set(left[x]) <= set(known) for x, known in one.given.items()):
            kept = {name: tuple(x for x in left[name] if x in known) for name, known in one.needs.items()}
            left, why = left_by(left | kept)
            if why or not all(kept.values()):
                return left, one.why
    if why or check != "kernel-entries":
        return left, why
    for name in ("panels", "blocks"):
        kept, clash = left_by(left | {name: (YES,)}) if YES in left[name] else (left, name)
        if not clash:
            return kept, ""
    return left, "judges entries that are exposed"
