"""The studies of power: the pieces that each is made of, how one is made, and what all of them say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from studies.adversary import corpus as adversary
from studies.alarms import study as alarms
from studies.limits import study as limits
from studies.reporting.sensitivity.adversary import AdversaryDocument
from studies.reporting.sensitivity.alarms import AlarmOutcome
from studies.reporting.sensitivity.corpus import CorpusDocument, Judged
from studies.reporting.sensitivity.limit_outcomes import LimitOutcome
from studies.sensitivity import corpus
from studies.sensitivity.definition import Piece, Study


@dataclass(frozen=True)
class StudyOutcome:
    """What came of one item of a study; the field of that study is set."""

    key: str
    corpus: Judged | None = None
    limits: LimitOutcome | None = None
    alarms: AlarmOutcome | None = None
    adversary: AdversaryDocument | None = None
    verdicts: tuple[()] = ()


@dataclass(frozen=True)
class Made:
    """A study by its functions: to its pieces, of an item what came of it, of all that its document."""

    pieces: Callable[[Study], Sequence[Piece]]
    run: Callable[[Any], Any]
    summary: Callable[[Sequence[Any]], Any]


def _alarm_pieces(study: Study) -> list[Piece]:
    return [
        ({f"{unit.group}, runs from {unit.first}": unit}, unit.runs / per_second(unit.group))
        for unit in alarms.units(study.runs, study.seed, study.design)
    ]


def per_second(group: str) -> float:
    """Runs of a group of the study of false alarms in a second, roughly."""
    return 25.0 if group.startswith("design") else 80.0


def _limit_pieces(study: Study) -> list[Piece]:
    return [({unit.id: unit}, float(unit.wanted)) for unit in limits.units(study.seed, small=study.small)]


STUDIES = {
    "corpus": Made(corpus.corpus_pieces, corpus.judged, lambda found: CorpusDocument(tuple(found))),
    "limits": Made(_limit_pieces, limits.run, limits.summary),
    "alarms": Made(_alarm_pieces, alarms.run, alarms.summary),
    "adversary": Made(
        lambda study: [({"worst cases found": None}, 20.0)],
        lambda _: adversary.replay(),
        lambda found: found[0],
    ),
}
"""The studies by name, which is that of a field of `StudyOutcome`."""
