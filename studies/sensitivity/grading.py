"""What the cases of a solver came to, graded against its label: found or not, its class, its place."""

from __future__ import annotations

from collections.abc import Sequence

from sstep_verify.problems import IndexStream
from sstep_verify.verdict import Status
from studies.corpus.labelled import Labelled
from studies.corpus.places import PLACES, Steps
from studies.report.sensitivity.corpus import Found, Judged, Opinion
from studies.sensitivity.cases import CaseFound, Said

LONGEST = 300
"""Characters of a reason that are kept."""


def place_right(acts: str, said: Said, stream: IndexStream, start: int, length: int) -> bool:
    """Whether a mistake that acts in this place does so in one of the steps that the verdict names.

    A verdict on a whole run names none, and so no wrong one.
    """
    steps = Steps(stream.blocks(start, start + length), said.s, start)
    return said.place is None or bool(PLACES[acts](steps)[slice(*said.place)].any())


def graded(
    solver: Labelled,
    cases: Sequence[CaseFound],
    opinions: Sequence[dict[str, Opinion]],
    place: bool,
    again: str,
) -> Judged:
    """The record of a solver: what its cases came to, as judged, and what rivals say of their runs.

    `place` says whether the telling verdict of the first failed case names the right place, `again` by
    which command it is judged again.
    """
    said = [one for case in cases for one in case.said]
    failed = [one.check for one in said if one.status is Status.FAIL]
    until = next((n for n, case in enumerate(cases, 1) if _fails(case)), 0)
    telling = cases[until - 1].telling if until else None
    found = _found(cases)
    return Judged(
        solver.id,
        solver.kind,
        solver.right,
        found,
        solver.breaks,
        solver.acts,
        solver.where,
        solver.equivalent,
        tuple(dict.fromkeys(failed)),
        tuple(dict.fromkeys(one.check for one in said if one.status in (Status.PASS, Status.FAIL))),
        f"{telling.check}, s = {telling.s}" if telling else "",
        telling.sentences if telling else (),
        telling is not None and telling.sentences[:1] != () and telling.sentences[0] in solver.breaks,
        place,
        "" if found == "PASS" else _reason(cases, until),
        until or len(cases),
        sum(case.seconds for case in cases),
        sum(case.seconds for case in cases[:until]),
        _together(opinions),
        again,
        cases[until - 1].smaller if until else "",
    )


def _fails(case: CaseFound) -> bool:
    return any(one.status is Status.FAIL for one in case.said)


def _found(cases: Sequence[CaseFound]) -> Found:
    if any(map(_fails, cases)):
        return "FAIL"
    if any(case.error for case in cases):
        return "error"
    return "PASS" if cases and all(case.status == Status.PASS for case in cases) else "open"


def _reason(cases: Sequence[CaseFound], until: int) -> str:
    """Why it is not a PASS: the first failure, error or case that is not settled."""
    unsettled = [case for case in cases if case.error or case.status != Status.PASS]
    case = cases[until - 1] if until else next(iter(unsettled), None)
    return "no case was judged" if case is None else f"{case.id}: {case.error or case.reason}"[:LONGEST]


def _together(opinions: Sequence[dict[str, Opinion]]) -> dict[str, Opinion]:
    """Of each rival: refuses if it does on some case, accepts if it accepts on some and refuses on none."""
    words: tuple[Opinion, ...] = ("refuses", "accepts", "not applicable")
    names = dict.fromkeys(name for one in opinions for name in one)
    return {name: min((one[name] for one in opinions if name in one), key=words.index) for name in names}
