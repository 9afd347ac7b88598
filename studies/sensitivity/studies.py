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
from studies.sensitivity.definition import Study
from studies.sensitivity.piece import Piece


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
    """A study by its functions.

    Parameters
    ----------
    name : str
        Its name, and that of its field in `StudyOutcome`.
    pieces : callable
        `Study` to pieces.
    run : callable
        An item to what came of it.
    summary : callable
        What came of all items to the study's document.
    """

    name: str
    pieces: Callable[[Study], Sequence[Piece]]
    run: Callable[[Any], Any]
    summary: Callable[[Sequence[Any]], Any]

    def made(self, key: str, item: Any) -> StudyOutcome:
        """The outcome of an item."""
        return StudyOutcome(key, **{self.name: self.run(item)})

    def document(self, outcomes: Sequence[StudyOutcome]) -> Any:
        """The document; None if nothing came of it."""
        found = [getattr(one, self.name) for one in outcomes]
        return self.summary(found) if found else None


def _alarm_pieces(study: Study) -> list[Piece]:
    return [
        Piece({f"{unit.group}, runs from {unit.first}": unit}, unit.runs / per_second(unit.group))
        for unit in alarms.units(study.runs, study.seed, study.design)
    ]


def per_second(group: str) -> float:
    """Runs of a group of the study of false alarms in a second, roughly."""
    return 25.0 if group.startswith("design") else 80.0


def _limit_pieces(study: Study) -> list[Piece]:
    return [
        Piece({unit.id: unit}, float(unit.wanted)) for unit in limits.units(study.seed, small=study.small)
    ]


STUDIES = {
    one.name: one
    for one in (
        Made(
            "corpus",
            corpus.corpus_pieces,
            corpus.judged,
            lambda found: CorpusDocument(tuple(found)),
        ),
        Made("limits", _limit_pieces, limits.run, limits.summary),
        Made("alarms", _alarm_pieces, alarms.run, alarms.summary),
        Made(
            "adversary",
            lambda study: [Piece({"worst cases found": None}, 20.0)],
            lambda _: adversary.replay(),
            lambda found: found[0],
        ),
    )
}
"""The studies by name."""
