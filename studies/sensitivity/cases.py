"""A labelled solver on the cases of a shipped campaign, with every check and every run kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from sstep_verify.campaign.artefact.verdicts import REPLAY
from sstep_verify.campaign.messages import Step, heard_by
from sstep_verify.campaign.model import Definition, Plan, Unit
from sstep_verify.campaign.summary import telling
from sstep_verify.campaign.verdicts.execute import SHRINKING, execute_group
from sstep_verify.campaign.verdicts.expand import CaseSpec, expand
from sstep_verify.checks import box, contract, step_replay
from sstep_verify.checks.recorded import message_count, rank_coherence
from sstep_verify.specification import names_a_part
from sstep_verify.verdict import PLACE, Status, Verdict


@dataclass(frozen=True)
class Said:
    """What a verdict says, as far as it is graded."""

    check: str
    s: int
    status: Status
    sentences: tuple[str, ...]
    place: tuple[int, int] | None = None

    @classmethod
    def of(cls, verdict: Verdict) -> Said:
        """Of a verdict, with the iterations between which it names a wrong step."""
        place = tuple(cast(list, verdict.evidence.get(PLACE, ())))
        return cls(verdict.check, verdict.s, verdict.status, verdict.sentences, place or None)


@dataclass(frozen=True)
class CaseFound:
    """What one case has come to.

    Parameters
    ----------
    id : str
        Id of the case.
    status : str
        Its status; empty if an error left it without one.
    reason : str
        Why, as the report has it.
    said : tuple of Said
        Its verdicts.
    error : str
        What ended it, or kept a check from a verdict; empty if nothing did.
    runs : str
        Name of the folder with its runs; empty if there is none.
    seconds : float
        Time until it was known to fail, or had been judged; without the search of a smaller problem.
    telling : Said, optional
        The verdict that gives a failed case its reason.
    smaller : str
        Size of the smaller problem that fails alike; empty if none was found.
    """

    id: str
    status: str
    reason: str = ""
    said: tuple[Said, ...] = ()
    error: str = ""
    runs: str = ""
    seconds: float = 0.0
    telling: Said | None = None
    smaller: str = ""

    @property
    def part_named(self) -> bool:
        """Whether it failed, and the telling verdict's first sentence is on one part of a solver."""
        return self.telling is not None and names_a_part(self.telling.sentences)


PLAIN = (contract.CHECK, step_replay.CHECK, box.CHECK, rank_coherence.CHECK, message_count.CHECK)
"""Checks that need no runs but the plain ones, and little time."""


def judged_cases(
    definition: Definition, only: str, room: Path, *, whole: bool = True, shrink: float = 0.0
) -> Iterator[CaseFound]:
    """Judge cases of a campaign in this process; their runs are kept in an empty room.

    Figures are left out, checks are not: all of them judge, or where not `whole` those of `PLAIN`, and
    all where none of these fails and says which part of the solver is wrong. In so many seconds of
    `shrink` a smaller problem is looked for that fails as the first case that fails does.
    """
    for unit in expand(definition, only):
        for spec in unit.work:
            family = replace(spec.family, drift=0, shrink=shrink)
            found = CaseFound(spec.id, "")
            if not whole:
                plain = tuple(check for check in family.checks if check in PLAIN)
                found = _judged(definition, replace(spec, family=replace(family, checks=plain)), room)
            if not found.part_named:
                before, found = found, _judged(definition, replace(spec, family=family), room)
                known = before.status == Status.FAIL
                found = replace(found, seconds=before.seconds + (0.0 if known else found.seconds))
            if found.status == Status.FAIL:
                shrink = 0.0
            yield found


def _judged(definition: Definition, spec: CaseSpec, room: Path) -> CaseFound:
    """One case; the search of a smaller one is no part of its time."""
    found, errors, ends = CaseFound(spec.id, ""), [], []
    begin = time.perf_counter()

    def heard(step: Step) -> None:
        if step.what == SHRINKING:
            ends.append(time.perf_counter())

    with heard_by(heard):
        messages = list(
            execute_group(Unit((spec.id,), (spec,)), Plan(definition, artefacts=room, runs=True))
        )
    ends.append(time.perf_counter())
    for message in messages:
        outcome = message.outcome
        if outcome is None:
            errors.append(message.error)
            continue
        short = outcome.too_few and outcome.case.status == Status.PASS
        failed = [one for one in outcome.verdicts if one.status is Status.FAIL]
        found = CaseFound(
            spec.id,
            Status.INCONCLUSIVE if short else outcome.case.status,
            "; ".join(outcome.too_few) if short else outcome.case.reason,
            tuple(map(Said.of, outcome.verdicts)),
            runs=outcome.runs.removeprefix(REPLAY),
            telling=Said.of(telling(failed)) if failed else None,
            smaller=outcome.smaller,
        )
    error = errors[0].strip().splitlines()[-1] if errors else ""
    return replace(found, error=error, seconds=ends[0] - begin)
