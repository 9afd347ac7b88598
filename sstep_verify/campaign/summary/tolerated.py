"""VACUOUS cases and verdicts that a campaign does not tolerate, by the ids of the cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sstep_verify.reporting.results import Case
from sstep_verify.verdict import Status, Verdict

if TYPE_CHECKING:
    from sstep_verify.campaign.model import Definition


def vacuous_lines(definition: Definition, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[str]:
    """A line for the VACUOUS cases, and for the VACUOUS verdicts of each check, that are not tolerated.

    Parameters
    ----------
    definition : Definition
        The campaign: `tolerated_vacuous` and, if it limits them, `tolerated_vacuous_per_check`.
    cases, verdicts : sequences
        What was done.
    """
    lines = []
    beyond = [
        case.id
        for case in cases
        if case.status == Status.VACUOUS and not _matches(case.id, definition.tolerated_vacuous)
    ]
    if beyond:
        lines.append(f"vacuous and not tolerated: {_listed(beyond)}")
    if definition.tolerated_vacuous_per_check is not None:
        lines += _by_check(definition.tolerated_vacuous_per_check, verdicts)
    return lines


def _by_check(tolerated: Mapping[str, Sequence[str]], verdicts: Sequence[Verdict]) -> list[str]:
    beyond: dict[str, list[str]] = {}
    for verdict in verdicts:
        name = f"{verdict.case}, s={verdict.s}"
        patterns = tolerated.get(verdict.check, ())
        if verdict.status is Status.VACUOUS and not (
            _matches(verdict.case, patterns) or _matches(name, patterns)
        ):
            beyond.setdefault(verdict.check, []).append(name)
    return [
        f"vacuous verdicts of {check} that are not tolerated: {_listed(names)}"
        for check, names in sorted(beyond.items())
    ]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more
