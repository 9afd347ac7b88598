"""Part of a results document on measured power: its studies, and what they amount to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sstep_verify.reporting.sensitivity.adversary import AdversaryDocument
from sstep_verify.reporting.sensitivity.alarms import AlarmsDocument
from sstep_verify.reporting.sensitivity.corpus import CorpusDocument
from sstep_verify.reporting.sensitivity.limits import LimitsDocument

OURS = "sstep-verify"
"""Stands for our checks where rivals are named."""


@dataclass(frozen=True)
class Sensitivity:
    """The studies that were made; None for one that was not."""

    corpus: CorpusDocument | None = None
    limits: LimitsDocument | None = None
    alarms: AlarmsDocument | None = None
    adversary: AdversaryDocument | None = None

    @property
    def holds(self) -> bool:
        """Whether every mistake was killed, nothing right was failed, and no certain dose was missed."""
        corpus, limits, alarms = self.corpus, self.limits, self.alarms
        wrong = corpus and (corpus.confusion.false_negative or corpus.confusion.false_positive)
        missed = limits and (limits.switches_missed or any(row.missed for row in limits.doses))
        failed = (limits and limits.alarms) or any(
            part and part.failed for part in (alarms, self.adversary)
        )
        return not (wrong or missed or failed)

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
            limits = {row.quantity: row.limit for row in self.limits.overall if row.precision == "float64"}
            told = [value for value in limits.values() if value]
            if told:
                kernel = limits.get("kernel-correction") or max(told)
                yield (
                    "relative errors seen in 95 % of the float64 runs in which they act, with 95 % "
                    f"confidence: {kernel:.1g} in the kernel correction, {max(told):.1g} in any quantity"
                )
        if self.alarms:
            yield (
                f"{self.alarms.failed} false alarms in {self.alarms.judged:,} correct runs (at most "
                f"{self.alarms.upper:.2g} of them, with 95 % confidence)"
            )
