"""Judges an artefact again, offline, and compares with the verdicts it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sstep_verify.campaign.artefact.files import EVERY, MALFORMED, Artefact
from sstep_verify.checks.registry import checks_of
from sstep_verify.errors import InputError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.report.plain import plain
from sstep_verify.verdict import Status, Verdict

NUMBERS = ("ratio", "measured", "bound", "planned", "executed")


@dataclass(frozen=True)
class Rejudged:
    """New verdicts beside the stored ones.

    `disagreements` are other counts of verdicts, or other statuses of a verdict or a term;
    `differences` are numbers that changed while the statuses did not: bounds are evaluated in float64,
    which another machine, library or version may round otherwise.
    """

    verdicts: tuple[Verdict, ...]
    disagreements: tuple[str, ...]
    differences: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """4 if the verdicts disagree with the stored ones; else 1 with a FAIL, 3 if inconclusive, 0."""
        statuses = {verdict.status for verdict in self.verdicts}
        if self.disagreements:
            return 4
        if Status.FAIL in statuses:
            return 1
        return 3 if Status.INCONCLUSIVE in statuses else 0


def rejudge(artefact: Artefact) -> Rejudged:
    """Let the check judge the stored runs again, with an oracle that knows nothing of the first time.

    InputError if its check is unknown to this version, or cannot judge such values.
    """
    if artefact.check == EVERY:
        raise InputError(
            "these are the runs of a statement and hold no verdict of their own; prove the statement anew "
            "by sstep-verify statement FILE --verify"
        )
    (check,) = checks_of((artefact.check,))
    try:
        found = check.judge(artefact.case, artefact.trajectories, Oracle(artefact.case.problem))
    except MALFORMED as error:
        raise InputError(
            f"the check {artefact.check} cannot judge what the artefact holds: {error!r}; it holds "
            "other values than a campaign writes, or this is a defect of sstep_verify"
        ) from error
    verdicts = tuple(verdict for verdict in found if verdict.s == artefact.s)
    return Rejudged(verdicts, *_compare(artefact.verdicts, [plain(v.as_dict()) for v in verdicts]))


def _compare(stored: Sequence[dict], found: Sequence[dict]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(stored) != len(found):
        return (f"{len(stored)} verdicts stored, {len(found)} now",), ()
    disagreements: list[str] = []
    differences: list[str] = []
    for place, (then, now) in enumerate(zip(stored, found, strict=True), 1):
        name = f"verdict {place}: " if len(stored) > 1 else ""
        terms = [{term["name"]: term for term in verdict["terms"]} for verdict in (then, now)]
        statuses = [("status", then["status"], now["status"])]
        numbers = [(key, then[key], now[key]) for key in NUMBERS]
        for term in dict.fromkeys([*terms[0], *terms[1]]):
            before, after = (known.get(term, {}) for known in terms)
            statuses.append((f"status of {term}", before.get("status"), after.get("status")))
            numbers.append(
                (f"detection limit of {term}", before.get("detection_limit"), after.get("detection_limit"))
            )
        for changed, values in ((disagreements, statuses), (differences, numbers)):
            changed += [f"{name}{key} was {old}, is {new}" for key, old, new in values if old != new]
        if then["reason"] != now["reason"] and not differences:
            differences.append(f"{name}the reason has other words")
    return tuple(disagreements), tuple(differences)
