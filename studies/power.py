"""Campaigns that measure power: the tables ``[[sensitivity]]``, and the studies that they name.

``python -m studies.power reports/sensitivity/made.json`` writes what such a campaign measured. Without a
path it fails unless this version was measured (``tox -e release``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from sstep_verify.campaign.cases import OneOf, Range, Whole, chosen, read_table
from sstep_verify.campaign.model import Assembled, Definition, Kind, Plan, State, Unit
from sstep_verify.errors import InputError
from sstep_verify.files.writing import write_text
from sstep_verify.power import FILE, NOT_MEASURED, Measured, deciding_digest, measured
from sstep_verify.report.plain import grouped, plain
from sstep_verify.report.results import Summary
from studies.corpus.judged import case_of, judged
from studies.corpus.labelled import Labelled
from studies.corpus.listing import Edit, compiler, corpus
from studies.false_positives import study as alarms
from studies.limits import rows
from studies.limits import study as limits
from studies.report.sensitivity.corpus import CorpusDocument, Judged
from studies.report.sensitivity.false_positives import WorstCaseDocument
from studies.report.sensitivity.limits import LimitOutcome
from studies.report.sensitivity.part import SensitivityDocument
from studies.worst_case import cases as worst_case

DIGEST, CAMPAIGNS = "modules that decide", "campaigns judged"
"""Parameters of a campaign of power: digest of what was measured, campaigns that judged its corpus."""


@cache
def campaigns_judged() -> tuple[str, ...]:
    """Campaigns by which the solvers of the corpus are judged."""
    return tuple(sorted({one.campaign for one in corpus().values()}))


SECONDS = {"python": 3.0, "program": 8.0, "production": 15.0}
"""Rough time of one solver of the corpus, to begin with the largest pieces."""

TOGETHER = 6
"""Most solvers in a piece; edits of one module stand together, for compiled code is kept between them."""

Piece = tuple[Mapping[str, Callable[[], Any]], float]
"""What one process works on at a time: by name what makes an outcome, and rough cost in seconds."""

OneIn = Annotated[int, Range(1, 1_000)]

USED = {
    "corpus": ("every", "edits", "whole"),
    "limits": ("small", "seed"),
    "alarms": ("runs", "design", "seed"),
    "worst_case": (),
}
"""The studies, with the fields of `Study` that are theirs."""


@dataclass(frozen=True)
class Study:
    """One study of a campaign.

    Parameters
    ----------
    study : {"corpus", "limits", "alarms", "worst_case"}
        The labelled solvers; limits of detection with doses and rivals; runs of correct solvers; the worst
        cases that a search has found.
    every, edits : int
        Of corpus: one solver in so many is judged, spread over the corpus; one edit of the production
        modules in so many of these.
    whole : int
        Of corpus: one of those edits in so many is judged by all checks; the others by those on plain runs,
        and by all only where none of these fails and says which part of the solver is wrong.
    small : bool
        Of limits: whether only the small version is made.
    runs, design : int
        Of alarms: how many runs of correct solvers are drawn; how many more are made of a design in which
        every two values of two freedoms of a solver and a case meet.
    seed : int
        Of limits and alarms: the seed of the draws.
    """

    study: Annotated[str, OneOf(USED)]
    every: OneIn = 1
    edits: OneIn = 1
    whole: OneIn = 1
    small: bool = False
    runs: Annotated[int, Range(1, 10_000_000)] = 30_000
    design: Annotated[int, Range(0, 10_000_000)] = 1_000
    seed: Whole = 0


def read_study(table: dict, where: str) -> Study:
    """The study of one table; InputError if a key is missing, unknown or not of it, or a value unusable."""
    values = read_table(table, Study, where)
    if other := sorted(values.keys() - {"study", *USED[values["study"]]}):
        raise InputError(f"{where}: key {other[0]!r} is of another study than {values['study']}")
    return Study(**values)


def corpus_pieces(study: Study) -> Iterator[Piece]:
    """The solvers that a study asks for; edits of one case together."""
    solvers: dict[str, Labelled] = {}
    for one in corpus().values():
        # One unedited solver for each case that edits stand for; programs where they compile.
        if one.kind != "program" or compiler():
            solvers.setdefault(_together(one) if isinstance(one, Edit) and one.right else one.id, one)
    chosen_ones = list(solvers.values())[:: study.every]
    mistakes = [one.id for one in chosen_ones if isinstance(one, Edit) and not one.right]
    wanted = mistakes[:: study.edits]
    left_out, plain = set(mistakes) - set(wanted), set(wanted) - set(wanted[:: study.whole])
    for group in grouped((one for one in chosen_ones if one.id not in left_out), _together).values():
        for first in range(0, len(group), TOGETHER):
            part = group[first : first + TOGETHER]
            asked = {one.id: partial(judged, one.id, one.id not in plain) for one in part}
            yield asked, sum(SECONDS[one.kind] for one in part)


def _together(solver: Labelled) -> str:
    """What solvers of one piece share: a case, the compiler, nothing."""
    if isinstance(solver, Edit):
        return " ".join(case_of(solver)[:2])
    return "programs" if solver.kind == "program" else solver.id


Made = tuple[Callable[[Study], Iterable[Piece]], Callable[[Sequence[Any]], Any]]

STUDIES: dict[str, Made] = {
    "corpus": (corpus_pieces, lambda found: CorpusDocument(tuple(found))),
    "limits": (
        lambda study: (
            ({unit.id: partial(limits.run, unit)}, float(unit.wanted))
            for unit in limits.units(study.seed, small=study.small)
        ),
        rows.summary,
    ),
    "alarms": (
        lambda study: (
            (
                {f"{unit.group}, runs from {unit.first}": partial(alarms.run, unit)},
                unit.runs / (25.0 if unit.group.startswith("design") else 80.0),  # in a second, roughly
            )
            for unit in alarms.units(study.runs, study.seed, study.design)
        ),
        alarms.summary,
    ),
    "worst_case": (lambda study: [({"worst cases found": worst_case.replay}, 20.0)], itemgetter(0)),
}
"""By name, that of a field of `StudyOutcome`: the pieces of a study, and its document of all outcomes."""


@dataclass(frozen=True)
class StudyOutcome:
    """What came of one item of a study; the field of that study is set."""

    key: str
    corpus: Judged | None = None
    limits: LimitOutcome | None = None
    alarms: alarms.AlarmOutcome | None = None
    worst_case: WorstCaseDocument | None = None


class SensitivityKind(Kind):
    """A unit is a piece of a study; an outcome is that of one solver, one stratum, some hundred runs.

    The work of a unit is what makes its outcomes, by their keys: the study, then a name.
    """

    outcome = StudyOutcome
    read = staticmethod(read_study)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """All pieces of all studies; InputError if a study is there twice."""
        found = []
        for place, study in enumerate(definition.families):
            name = study.study
            if any(one.study == name for one in definition.families[:place]):
                raise InputError(f"{definition.source}: study {name} is in two [[sensitivity]] tables")
            for named, cost in STUDIES[name][0](study):
                items = {f"{name}/{item}": made for item, made in named.items()}
                found.append(Unit(tuple(items), items, cost=cost))
        wanted = chosen(only, [key for unit in found for key in unit.keys])
        left = [(unit, tuple(key for key in unit.keys if key in wanted)) for unit in found]
        return [Unit(keys, unit.work, cost=unit.cost) for unit, keys in left if keys]

    def run(self, unit: Unit, plan: Plan) -> Iterator[StudyOutcome]:
        """Make the pieces that are not finished yet."""
        for key in unit.keys:
            if key not in plan.finished:
                yield StudyOutcome(key, **{key.partition("/")[0]: unit.work[key]()})

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """The document of every study, and what all of them say in one sentence."""
        outcomes, planned = state.outcomes, sum(len(unit.keys) for unit in units)
        documents = {
            name: STUDIES[name][1]([getattr(one, name) for one in found])
            for name, found in grouped(outcomes, lambda one: one.key.partition("/")[0]).items()
        }
        document, families = SensitivityDocument(**documents), plan.definition.families
        return Assembled(
            Summary(
                sentence(document, planned, len(outcomes), state),
                state.exit_code(bool(document.broken), len(outcomes) < planned),
            ),
            parameters={study.study: vars(study) for study in families}
            | {DIGEST: deciding_digest(), CAMPAIGNS: campaigns_judged()},
            seeds={f"study {one.study}": one.seed for one in families if "seed" in USED[one.study]},
            documents={"sensitivity": document},
        )


def sentence(found: SensitivityDocument, planned: int, made: int, state: State) -> str:
    """One sentence on mistakes killed, limits and false alarms, what must not be, and what is missing."""
    parts = list(found.sentences) or ["too few runs for a limit" if made else "nothing was measured"]
    if broken := found.broken:
        parts.append(f"does not hold: {broken[0]}" + f", and {len(broken) - 1} more" * (len(broken) > 1))
    if made < planned:
        parts.append(f"{planned - made} of {planned} pieces not finished")
    if failures := len(state.internal):
        parts.append(f"{failures} internal errors")
    return ("interrupted: " if state.interrupted else "") + "; ".join(parts)


KIND = SensitivityKind()


def measured_by(stated: Mapping[str, Any], where: str) -> Measured:
    """What a campaign of power measured, by its ``made.json`` (`studies.committed`)."""
    told = stated["parameters"]
    if DIGEST not in told:
        raise SystemExit(f"{where}: measures no power; run python -m sstep_verify run sensitivity")
    return Measured(
        stated["sentences"][0], stated["git"]["commit"], tuple(told[CAMPAIGNS]), str(told[DIGEST])
    )


def main(path: str = "") -> None:
    """Write what a campaign measured; without a path, fail unless this version was measured."""
    if path:
        stated = json.loads(Path(path).read_text("utf-8"))
        write_text(FILE, json.dumps(plain(measured_by(stated, path)), indent=1) + "\n")
    elif deciding_digest() != measured().digest:
        raise SystemExit(
            f"{NOT_MEASURED}: run python -m sstep_verify run sensitivity, then studies.committed, "
            "then this with its made.json"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
