"""What a check asks of a solver and a case before it decides anything: why cells of the table are empty."""

from __future__ import annotations

from dataclasses import dataclass, field

from sstep_verify.power.coverage.freedoms import NO, OWN_EXCHANGES, VALUES, YES
from sstep_verify.power.coverage.rules import SVM, Values, left_by

PRINTED = (
    *("contract", "trajectory", "sstep-equals-classical", "determinism", "rank-coherence", "message-count"),
)
"""Checks that a campaign asks of a result that is known to a rounding only."""

NOT_PRINTED = (
    *("step-replay", "window-replay", "metamorphic-exact", "metamorphic-bounded", "kernel-entries"),
    *("phases", "box", "optimum", "claim-honesty", "residual-gap"),
)
"""The others."""


@dataclass(frozen=True)
class Requirement:
    """What must be so for a check to decide a run.

    Parameters
    ----------
    checks : tuple of str
        Their ids.
    needs : dict of str to tuple of str
        Values by freedom, all of them; of several requirements in `either` one is enough.
    why : str
        The reason, where it is not so.
    given : dict of str to tuple of str
        Where this is required at all; everywhere if empty.
    """

    checks: tuple[str, ...]
    needs: Values
    why: str
    given: Values = field(default_factory=dict)


def _but(name: str, *values: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(value for value in VALUES[name] if value not in values)}


REQUIRED = (
    Requirement(NOT_PRINTED, {"written": ("binary",), "scaled": (NO,)}, "a is known to a rounding only"),
    Requirement(("box",), {"task": SVM}, "K-RR has no box"),
    Requirement(("step-replay", "phases"), {"log": (YES,)}, "judges steps that are written down"),
    Requirement(("step-replay", "phases"), _but("precision", "longdouble"), "float64 holds no longdouble"),
    Requirement(("step-replay", "phases"), {"state": ("", "weights")}, "starts from a or weights"),
    Requirement(("phases",), {"probes": (YES,)}, "judges what steps write down of their parts"),
    Requirement(("message-count",), _but("exchange", ""), "counts are judged of a declared exchange"),
    Requirement(("rank-coherence",), {"ranks": ("several",)}, "compares ranks"),
    Requirement(("residual-gap",), _but("state", ""), "judges what is carried"),
    Requirement(("optimum",), {"claims": (YES,)}, "judges runs that claim to have converged"),
    Requirement(("claim-honesty",), _but("exchange", *OWN_EXCHANGES), "its plain runs claim nothing"),
    Requirement(("sstep-equals-classical",), _but("s", "1"), "compares with s = 1"),
)  # fmt: skip
"""All that is required."""

EXPOSES = ({"panels": (YES,)}, {"blocks": (YES,)})
"""What check kernel-entries needs, one of them."""


def asked(check: str, row: dict[str, str]) -> bool:
    """Whether a campaign asks a check of a solver like that."""
    return check in PRINTED or (row["written"] == "binary" and row["scaled"] == NO)


def why_empty(check: str, values: dict[str, str]) -> str:
    """Why a check decides no run of some values of freedoms, or that there is none; empty if it may."""
    left, why = left_by(VALUES | {name: (value,) for name, value in values.items()})
    for one in () if why else REQUIRED:
        if check in one.checks and all(set(left[name]) <= set(known) for name, known in one.given.items()):
            kept = {name: tuple(x for x in left[name] if x in known) for name, known in one.needs.items()}
            left, why = left_by(left | kept)
            if why or not all(kept.values()):
                return one.why
    if not why and check == "kernel-entries" and all(left_by(left | one)[1] for one in EXPOSES):
        return "judges entries that are exposed"
    return why
