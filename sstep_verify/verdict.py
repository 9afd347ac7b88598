"""Verdict: the outcome of one check on one case, with all it takes to judge it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec


class Status(StrEnum):
    """Four outcomes; a campaign is not green after FAIL, INCONCLUSIVE or a VACUOUS case not tolerated."""

    PASS = "PASS"
    FAIL = "FAIL"
    VACUOUS = "VACUOUS"
    INCONCLUSIVE = "INCONCLUSIVE"


SEEN = 2.0
"""Effect over bound above which an error is certain to show, by the triangle inequality.

A run with the error is within the bound of its own exact end, and that is more than twice the bound away
from the right one.
"""

PLACE = "place"
"""Key of a FAIL's evidence: iterations between which it names a step that is wrong; none of a whole run."""

NAMED = "likely causes"
"""Key of a FAIL's evidence: the class of mistakes that explain it, equally where there are several."""

TRIED = "mistakes tried"
"""Key of a FAIL's evidence: whether there are wrong windows in which all mistakes known here were tried."""

DOUBT = "doubt"
"""Key of a FAIL's evidence: why what it names is not told to be made; empty if it is.

That of a `Candidate`, or that a further run of the solver contradicts it (`told_apart`).
"""

SEVERITY = (Status.FAIL, Status.INCONCLUSIVE, Status.VACUOUS, Status.PASS)

UNSETTLED = SEVERITY[:2]
"""Outcomes that stop a campaign from being green."""


@dataclass(frozen=True)
class Term:
    """What one term of the recurrence contributed to a check, and how small an error showed.

    Parameters
    ----------
    name : str
        Quantity of a step (`sstep_verify.quantities`), or the name of a check's own planted defect.
    status : Status
        PASS if leaving the quantity out would have been seen in at least one comparison, else VACUOUS.
    detection_limit : float
        Smallest relative error of the quantity that some decided comparison was certain to show: twice the
        bound (`SEEN`) over the effect of a relative change. Infinite if the quantity never acts.
    planned, decided, seen : int
        Comparisons in which the quantity was to be looked at, those of them made with a finite bound, and
        those that would have shown it left out: its exact effect exceeds twice the bound.
    reason : str
        Why the term is vacuous; empty otherwise.
    """

    name: str
    status: Status
    detection_limit: float
    planned: int
    decided: int
    seen: int
    reason: str = ""


@dataclass(frozen=True)
class Verdict:
    """One claim about one case.

    Parameters
    ----------
    check : str
        Check id, such as ``window-replay``.
    case : str
        Id of the case in the campaign.
    problem : str
        Label of the problem.
    s, block : int
        Iterations per window and block size of the run that was judged.
    status : Status
        The outcome.
    ratio : float
        measured / bound of the comparison that the status rests on, the largest of such; FAIL only if
        above 1.
    measured, bound : float
        Both values of that comparison, in `units`.
    units : str
        Unit of measured and bound.
    planned, executed : int
        Comparisons planned and made.
    terms : tuple of Term
        One record per term of the recurrence.
    reason : str
        What was compared, both values, where the bound comes from, likely causes if it failed,
        and last the sentences that it breaks.
    replay : str
        Command that makes this verdict again.
    evidence : dict
        Further values for the report.
    sentences : tuple of str
        Numbers of the sentences of the specification (docs/spec.md) that it is about: of a FAIL those that
        it breaks or may break, the most specific first, else those that the check claims.
    """

    check: str
    case: str
    problem: str
    s: int
    block: int
    status: Status
    ratio: float
    measured: float
    bound: float
    units: str
    planned: int
    executed: int
    terms: tuple[Term, ...] = ()
    reason: str = ""
    replay: str = ""
    evidence: dict[str, object] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()

    def as_dict(self) -> dict:
        """Plain values for JSON; infinite or undefined numbers become None."""
        return msgspec.json.decode(msgspec.json.encode(self, enc_hook=lambda value: value.tolist()))


def worst(statuses) -> Status:
    """The most severe of several outcomes; VACUOUS if there is none."""
    present = set(statuses)
    return next((status for status in SEVERITY if status in present), Status.VACUOUS)
