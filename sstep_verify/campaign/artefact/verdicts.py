"""Artefacts of verdicts: kept of those that are not settled, and judged again, offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sstep_verify.campaign.artefact.files import EVERY, MALFORMED, Artefact, write_artefact
from sstep_verify.checks.registry import checks_of, verdicts_of
from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.shared.outcome import right_at_one
from sstep_verify.errors import InputError, counted
from sstep_verify.oracle.choice import oracle_named
from sstep_verify.protocol import RunRequest
from sstep_verify.report.plain import plain
from sstep_verify.report.write import ARTEFACTS
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import UNSETTLED, Status, Verdict

REPLAY = f"sstep-verify explain --again {ARTEFACTS}/"


def keep_artefacts(
    check: Check,
    case: Case,
    trajectories: Mapping[str, Trajectory],
    verdicts: Sequence[Verdict],
    parent: Path | None,
) -> list[Verdict]:
    """Write an artefact for every s with an unsettled verdict, and let those verdicts name it.

    `parent` is where artefacts are collected until the report is written, None for nowhere. The
    verdicts are the same but that one whose artefact was written has the command that judges it again
    (relative to the report's folder) as replay command, and the command that runs the solver again as
    evidence. An artefact that cannot be written is said in the evidence and ends nothing.
    """
    unsettled = {verdict.s for verdict in verdicts if verdict.status in UNSETTLED}
    if parent is None or not unsettled:
        return list(verdicts)
    named: dict[int, tuple[str, dict[str, object]]] = {}
    for s in sorted(unsettled):
        try:
            path = write_artefact(artefact_of(check, case, s, trajectories, verdicts), parent)
            named[s] = REPLAY + path.name, {"run_again": case.replay_command}
        except (OSError, InputError) as error:
            named[s] = case.replay_command, {"artefact": f"not written: {error}"}
    return [
        replace(one, replay=named[one.s][0], evidence={**one.evidence, **named[one.s][1]})
        if one.status in UNSETTLED
        else one
        for one in verdicts
    ]


def keep_runs(case: Case, trajectories: Mapping[str, Trajectory], parent: Path) -> str:
    """Write all runs of a case; the command that would name them, as of an artefact.

    InputError if they cannot be written.
    """
    try:
        path = write_artefact(
            Artefact(EVERY, 0, replace(case, replay_command=""), trajectories, ()), parent
        )
    except OSError as error:
        raise InputError(f"{case.id}: its runs cannot be kept: {error}") from error
    return REPLAY + path.name


def artefact_of(
    check: Check, case: Case, s: int, trajectories: Mapping[str, Trajectory], together: Sequence[Verdict]
) -> Artefact:
    """The artefact of a check's verdicts on one s, with no more runs than they rest on.

    Of the verdicts on the other s it keeps whether s = 1 is right, which tells causes apart.
    """
    narrow = _narrowed(check, case, s)
    if narrow is not case and s > 1:
        narrow = replace(narrow, classical_right=right_at_one(narrow, together))
    kept = check.wanted(narrow, trajectories)
    return Artefact(check.id, s, narrow, kept, tuple(one.as_dict() for one in together if one.s == s))


def _narrowed(check: Check, case: Case, s: int) -> Case:
    """The case with this s alone, if the check then asks for the very same runs of it; else the case."""
    if s not in case.s_values or len(case.s_values) == 1:
        return case
    narrow = replace(case, s_values=(s,))
    alone, together = check.runs(narrow), check.runs(case)
    same = alone and all(
        key in together and _described(request) == _described(together[key])
        for key, request in alone.items()
    )
    return narrow if same else case


def _described(request: RunRequest) -> tuple:
    return (
        request.s, request.iterations, request.start, request.record, request.variant,
        request.expose_panels, request.log, request.problem.label, request.stream,
    )  # fmt: skip


NUMBERS = ("ratio", "measured", "bound", "planned", "executed")


@dataclass(frozen=True)
class Rejudged:
    """New verdicts next to the stored ones.

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
            "these are all runs of a problem, with no verdict of their own; name the folder of the report"
        )
    (check,), case = checks_of((artefact.check,)), artefact.case
    try:
        found = verdicts_of(check, case, artefact.trajectories, oracle_named(case.oracle, case.problem))
    except MALFORMED as error:
        raise InputError(
            f"the check {artefact.check} cannot judge what the artefact holds: {error!r}; it holds "
            "other values than a campaign writes, or this is a defect of sstep_verify"
        ) from error
    verdicts = tuple(verdict for verdict in found if verdict.s == artefact.s)
    return Rejudged(verdicts, *_compare(artefact.verdicts, [plain(v.as_dict()) for v in verdicts]))


def _compare(stored: Sequence[dict], found: Sequence[dict]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(stored) != len(found):
        return (f"{counted(len(stored), 'verdict')} stored, {len(found)} now",), ()
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
