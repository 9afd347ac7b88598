"""Part of a results document on measured power: its studies, and what they amount to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from studies.report.sensitivity.alarms import AdversaryDocument, AlarmsDocument
from studies.report.sensitivity.corpus import CorpusDocument
from studies.report.sensitivity.limits import LimitsDocument


@dataclass(frozen=True)
class Sensitivity:
    """The studies that were made; None for one that was not."""

    corpus: CorpusDocument | None = None
    limits: LimitsDocument | None = None
    alarms: AlarmsDocument | None = None
    adversary: AdversaryDocument | None = None
    named: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pieces of studies are no cases."""

    @property
    def broken(self) -> tuple[str, ...]:
        """What must not be, a line each: mistakes missed, and what is right and was failed."""
        found = [line for part in (self.corpus, self.limits) if part for line in part.broken]
        if self.alarms and self.alarms.failed:
            found.append(f"correct runs failed: {self.alarms.failed} of {self.alarms.judged:,}")
        if self.alarms and self.alarms.coverage:
            found += self.alarms.coverage.missed
        if self.adversary and self.adversary.failed:
            found.append(f"worst cases failed: {self.adversary.failed} of {len(self.adversary.cases)}")
        return tuple(found)

    @property
    def sentences(self) -> Iterator[str]:
        """What each study says, in a few words."""
        if self.corpus:
            counts = self.corpus.confusion
            yield (
                f"{counts.true_positive} of {counts.wrong} mistakes found, {counts.false_positive} of "
                f"{counts.right} right solvers refused"
            )
        if self.limits:
            yield from self.limits.sentences
        if self.alarms:
            # Reports made before runs were crossed with freedoms count VACUOUS ones too.
            runs = "decided runs of correct solvers" if self.alarms.coverage else "correct runs"
            yield (
                f"{self.alarms.failed} false alarm{'s' * (self.alarms.failed != 1)} in "
                f"{self.alarms.judged:,} {runs}"
            )
        if self.alarms and self.alarms.coverage:
            yield self.alarms.coverage.sentence
        if self.adversary and not (self.corpus or self.limits or self.alarms):
            yield (
                f"{len(self.adversary.cases)} worst cases of correct runs made again, "
                f"{self.adversary.failed} failed; ratios up to {self.adversary.ratio:.2g}"
            )
