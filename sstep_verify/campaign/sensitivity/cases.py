"""A labelled solver on the cases of a shipped campaign, with every check and every run kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sstep_verify.campaign.artefact_keep import REPLAY
from sstep_verify.checks import box, contract, message_count, rank_coherence, step_replay
from sstep_verify.verdict import Status

if TYPE_CHECKING:
    from sstep_verify.campaign.definition import Definition
    from sstep_verify.campaign.verdicts.expand import CaseSpec, Group


@dataclass(frozen=True)
class Said:
    """What a verdict says, as far as it is graded."""

    check: str
    s: int
    status: Status
    sentences: tuple[str, ...]
    reason: str


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
        Time it took.
    """

    id: str
    status: str
    reason: str = ""
    said: tuple[Said, ...] = ()
    error: str = ""
    runs: str = ""
    seconds: float = 0.0

    @property
    def telling(self) -> Said | None:
        """The verdict that gives a failed case its reason."""
        failed = (one for one in self.said if one.status is Status.FAIL)
        starts = ((one, f"{one.check}, s = {one.s}: ") for one in failed)
        return next((one for one, start in starts if self.reason.startswith(start)), None)


PLAIN = (contract.CHECK, step_replay.CHECK, box.CHECK, rank_coherence.CHECK, message_count.CHECK)
"""Checks that need no runs but the plain ones, and little time."""


def judged_cases(
    definition: Definition, only: str, room: Path, *, whole: bool = True
) -> Iterator[CaseFound]:
    """Judge the cases of a campaign one after the other in this process; their runs are kept in `room`.

    Parameters
    ----------
    definition : Definition
        The campaign; its figures are left out, its checks are not.
    only : str
        What selects its cases.
    room : Path
        An empty folder.
    whole : bool
        Whether all checks judge; else those of `PLAIN` do, and all of them where none of these fails.
    """
    # Not above: definitions know all kinds of campaigns, this one included.
    from sstep_verify.campaign.verdicts.expand import expand

    for group in expand(definition, only):
        for spec in group.specs:
            begin = time.perf_counter()
            family = replace(spec.family, drift=0)
            found = CaseFound(spec.id, "")
            if not whole:
                plain = tuple(check for check in family.checks if check in PLAIN)
                found = _judged(
                    definition, group, replace(spec, family=replace(family, checks=plain)), room
                )
            if found.status != Status.FAIL:
                found = _judged(definition, group, replace(spec, family=family), room)
            yield replace(found, seconds=time.perf_counter() - begin)


def _judged(definition: Definition, group: Group, spec: CaseSpec, room: Path) -> CaseFound:
    """One case."""
    from sstep_verify.campaign.verdicts.execute import execute_group

    found, errors = CaseFound(spec.id, ""), []
    for message in execute_group(
        replace(group, specs=(spec,)), definition.again, None, "", room, runs=True
    ):
        outcome = message.outcome
        if outcome is None:
            errors.append(message.error)
            continue
        short = outcome.too_few and outcome.case.status == Status.PASS
        found = CaseFound(
            spec.id,
            Status.INCONCLUSIVE if short else outcome.case.status,
            "; ".join(outcome.too_few) if short else outcome.case.reason,
            tuple(
                Said(each.check, each.s, each.status, each.sentences, each.reason)
                for each in outcome.verdicts
            ),
            runs=outcome.runs.removeprefix(REPLAY),
        )
    return replace(found, error=errors[0].strip().splitlines()[-1] if errors else "")
