"""Which verdict stands for a case on the terminal and on the page: one choice for both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from sstep_verify.report.expected import Expected
from sstep_verify.report.words import BRIEF_HINTS, LARGEST, OF_A_VECTOR, REPLAYS, TRAJECTORY
from sstep_verify.specification import names_a_part
from sstep_verify.trajectory import RAISED
from sstep_verify.verdict import HintKind, Status, Verdict

OPTIMUM = "optimum"
"""The check of final vectors."""

SAME_BITS = LARGEST
"""The check that relates runs of scaled problems to each other."""

INSIDE = (*REPLAYS, TRAJECTORY)
"""Checks that compare the iterates of runs with exact ones."""

Judged = TypeVar("Judged", bound=Verdict)


class Standing(NamedTuple):
    """The verdict that stands for a case, and what else was found at its s.

    Parameters
    ----------
    verdict : dict
        The verdict, as plain values.
    here : list of dict
        The verdicts of its status at its s, itself included, in the order of the document.
    wrong : list of dict
        The verdicts of its status at every s; none that was expected to fail, where there are others.
    passed : list of str
        The checks of iterates that pass at its s.
    """

    verdict: dict[str, Any]
    here: list[dict[str, Any]]
    wrong: list[dict[str, Any]]
    passed: list[str]

    @property
    def others(self) -> list[str]:
        """The other checks that end so at its s."""
        return [*dict.fromkeys(one["check"] for one in self.here if one["check"] != self.verdict["check"])]


def standing(verdicts: Iterable[dict], status: str, expected: Expected) -> Standing | None:
    """Choose what stands for a case with these verdicts, of those with some status; None if there is none.

    A verdict that was expected to fail is taken where there is no other.
    """
    own = list(verdicts)
    every = [one for one in own if one["status"] == status]
    wrong = [one for one in every if expected.reason(one) is None] or every
    if not wrong:
        return None
    records = [record_of(one) for one in wrong]
    chosen = telling(records)
    told = next(values for values, one in zip(wrong, records, strict=True) if one is chosen)
    here = [one for one in wrong if one["s"] == told["s"]]
    passing = (one["check"] for one in own if one["status"] == Status.PASS and one["s"] == told["s"])
    return Standing(told, here, wrong, [check for check in passing if check in INSIDE])


def telling(verdicts: Sequence[Judged]) -> Judged:
    """One that is correct by another convention, or explains the answer; one on one part; else the first.

    What relates two runs tells less than what a run itself breaks, and so does an error that the solver
    raised in some run: it is what the solver says, where another verdict says what is wrong. A fault of a
    continued run tells nothing of continuing where a plain run is faulty, too. A verdict that explains
    nothing tells less than one at the same s that names known defects.
    """
    correct = next((one for one in verdicts if _hinted(one, HintKind.CONVENTION)), None)
    if correct is not None:
        return correct
    answers = (one for one in verdicts if one.check == OPTIMUM)
    if named := next((one for one in answers if one.hints or one.evidence.get(OF_A_VECTOR)), None):
        return named
    plain = any(one.check in REPLAYS and not _on_continued(one) for one in verdicts)
    runs = (one for one in verdicts if not (plain and _on_continued(one)))
    parts = (one for one in runs if one.check != SAME_BITS and on_one_part(one))
    told = next(parts, verdicts[0])
    if told.defects or any(hint.kind in BRIEF_HINTS for hint in told.hints):
        return told
    named_here = (one for one in verdicts if one.s == told.s and one.defects)
    return next(named_here, told)


def _on_continued(verdict: Verdict) -> bool:
    """Whether a verdict on steps or windows is on a run that continues a plain one."""
    return verdict.check in REPLAYS and verdict.place is not None and bool(verdict.place.run)


def on_one_part(verdict: Verdict) -> bool:
    """Whether a verdict says which part of a solver is wrong, not only that the solver gave up."""
    only = gave_up(verdict) and all(one.detail == RAISED for one in verdict.violations)
    return names_a_part(verdict.requirements) and not only


def gave_up(verdict: Verdict) -> bool:
    """Whether errors were raised in runs, all by the solver itself."""
    return bool(verdict.raised) and not any(one.quoted for one in verdict.raised)


def record_of(values: dict[str, Any]) -> Verdict:
    """A verdict of plain values, without its terms, as the record; missing numbers are infinite."""
    known = {
        name: math.inf if values[name] is None else values[name] for name in ("measured", "bound", "ratio")
    }
    return msgspec.convert({**values, **known, "terms": ()}, Verdict)


def _hinted(verdict: Verdict, kind: HintKind) -> bool:
    return any(hint.kind == kind for hint in verdict.hints)
