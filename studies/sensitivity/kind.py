"""Campaigns that measure power: the tables ``[[sensitivity]]``, and the studies that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sstep_verify.campaign.messages import State
from sstep_verify.campaign.model import Assembled, Definition, Kind, Plan, Unit
from sstep_verify.campaign.selection import chosen
from sstep_verify.power import deciding_digest
from sstep_verify.report import results as report
from sstep_verify.report.plain import grouped
from studies.adversary import cases as adversary
from studies.alarms import study as alarms
from studies.limits import rows as limit_rows
from studies.limits import study as limits
from studies.limits.outcomes import LimitOutcome
from studies.power import CAMPAIGNS, DIGEST, campaigns_judged
from studies.report.sensitivity.alarms import AdversaryDocument
from studies.report.sensitivity.corpus import CorpusDocument, Judged
from studies.report.sensitivity.document import Sensitivity
from studies.sensitivity import corpus
from studies.sensitivity.definition import Piece, Study, read_study, refuse_twice


@dataclass(frozen=True)
class StudyOutcome:
    """What came of one item of a study; the field of that study is set."""

    key: str
    corpus: Judged | None = None
    limits: LimitOutcome | None = None
    alarms: alarms.AlarmOutcome | None = None
    adversary: AdversaryDocument | None = None
    verdicts: tuple[()] = ()


@dataclass(frozen=True)
class Made:
    """A study by its functions: to its pieces, of an item what came of it, of all that its document."""

    pieces: Callable[[Study], Sequence[Piece]]
    run: Callable[[Any], Any]
    summary: Callable[[Sequence[Any]], Any]


def _alarm_pieces(study: Study) -> list[Piece]:
    pieces: list[Piece] = []
    for unit in alarms.units(study.runs, study.seed, study.design):
        in_a_second = 25.0 if unit.group.startswith("design") else 80.0  # roughly
        pieces.append(({f"{unit.group}, runs from {unit.first}": unit}, unit.runs / in_a_second))
    return pieces


def _limit_pieces(study: Study) -> list[Piece]:
    return [({unit.id: unit}, float(unit.wanted)) for unit in limits.units(study.seed, small=study.small)]


STUDIES = {
    "corpus": Made(corpus.corpus_pieces, corpus.judged, lambda found: CorpusDocument(tuple(found))),
    "limits": Made(_limit_pieces, limits.run, limit_rows.summary),
    "alarms": Made(_alarm_pieces, alarms.run, alarms.summary),
    "adversary": Made(
        lambda study: [({"worst cases found": None}, 20.0)],
        lambda _: adversary.replay(),
        lambda found: found[0],
    ),
}
"""The studies by name, which is that of a field of `StudyOutcome`."""


def _study_of(key: str) -> str:
    return key.partition("/")[0]


class SensitivityKind(Kind):
    """A unit is a piece of a study; an outcome is that of one solver, one stratum, some hundred runs.

    The work of a unit is what its outcomes are of, by their keys: the study, then a name.
    """

    outcome = StudyOutcome
    read = staticmethod(read_study)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """All pieces of all studies, those that take longest first."""
        refuse_twice(definition.families, definition.source)
        found = []
        for study in definition.families:
            for named, cost in STUDIES[study.study].pieces(study):
                items = {f"{study.study}/{name}": item for name, item in named.items()}
                found.append(Unit(tuple(items), items, cost=cost))
        wanted = chosen(only, [key for unit in found for key in unit.keys])
        left = [(unit, tuple(key for key in unit.keys if key in wanted)) for unit in found]
        return [Unit(keys, unit.work, cost=unit.cost) for unit, keys in left if keys]

    def run(self, unit: Unit, plan: Plan) -> Iterator[StudyOutcome]:
        """Make the pieces that are not finished yet."""
        for key in unit.keys:
            if key not in plan.finished:
                study = _study_of(key)
                yield StudyOutcome(key, **{study: STUDIES[study].run(unit.work[key])})

    def key(self, outcome: StudyOutcome) -> str:
        """Study and name."""
        return outcome.key

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """The document of every study, and what all of them say in one sentence."""
        order = {key: place for place, key in enumerate(key for unit in units for key in unit.keys)}
        outcomes = sorted(state.outcomes, key=lambda one: order[one.key])
        made = grouped(outcomes, lambda one: _study_of(one.key))
        document = Sensitivity(
            **{
                name: STUDIES[name].summary([getattr(one, name) for one in found])
                for name, found in made.items()
            }
        )
        return Assembled(
            report.Summary(
                sentence(document, len(order), len(outcomes), state),
                state.exit_code(bool(document.broken), len(outcomes) < len(order)),
            ),
            parameters={study.study: vars(study) for study in plan.definition.families}
            | {DIGEST: deciding_digest(), CAMPAIGNS: campaigns_judged()},
            seeds={
                f"study {study.study}": study.seed
                for study in plan.definition.families
                if study.study in ("limits", "alarms")
            },
            documents={"sensitivity": document},
        )


def sentence(found: Sensitivity, planned: int, made: int, state: State) -> str:
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
