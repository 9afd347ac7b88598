"""The part of a results document on measured power: its studies, its page and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

from sstep_verify.outputs import write_table
from sstep_verify.report.numbers import promised
from sstep_verify.report.results import Results
from studies.report.sensitivity.alarms import (
    CROSSED,
    AdversaryDocument,
    AlarmsDocument,
    TightnessRow,
    VariantCount,
)
from studies.report.sensitivity.corpus import Confusion, CorpusDocument, Judged
from studies.report.sensitivity.limits import OURS, DoseRow, LimitRow, LimitsDocument
from studies.report.sensitivity.limits import RivalRow as RivalLimit


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


RECORD = Sensitivity

OUTCOMES = {
    0: ("MEASURED", "Of what is counted above, no mistake was missed and nothing that is right was failed"),
    1: ("FAIL", "Of what is counted above, a mistake was missed or something that is right was failed"),
    3: ("INCOMPLETE", "Pieces of a study are missing"),
}

RIVALS = "rivals.md"
"""Table of the judges, as the README has it."""


class JudgeRow(NamedTuple):
    """Ours or a rival, on the corpus, and on float64 doses over all quantities; None where not judged."""

    name: str
    counts: Confusion | None
    limit: RivalLimit | None
    ours: bool


def drawn(results: Results) -> SimpleNamespace:
    """What the page shows: the document, and its rows in order, none where a study was not made.

    A row of ``kills`` is a check, the mistakes that it killed, those that no other did, and those that it
    judged; one of ``wheres`` a part of the system, and the mistakes and right solvers that need it.
    """
    found: Sensitivity = results.sensitivity
    solvers = found.corpus.solvers if found.corpus else ()
    kills = found.corpus.kills if found.corpus else {}
    places = Counter((place, one.mistaken) for one in solvers for place in one.where)
    return SimpleNamespace(
        document=found,
        judges=judge_rows(found),
        kills=[(check, *kills[check]) for check in sorted(kills, key=lambda one: (-kills[one][0], one))],
        solvers=sorted(solvers, key=lambda one: (not one.mistaken, one.kind, one.where, one.id)),
        wheres=[
            (place, places[place, True], places[place, False])
            for place in sorted({name for name, _ in places})
        ],
        doses=[row for row in found.limits.doses if not row.quantity] if found.limits else [],
    )


def judge_rows(found: Sensitivity) -> list[JudgeRow]:
    """Ours first, then every rival, by the mistakes that it finds."""
    counts = {OURS: found.corpus.confusion} if found.corpus else {}
    counts |= found.corpus.rivals if found.corpus else {}
    limits = {
        row.rival: row
        for row in (found.limits.rivals if found.limits else ())
        if row.precision == "float64" and not row.quantity
    }
    found_by = {name: -one.true_positive for name, one in counts.items()}
    rivals = sorted({*counts, *limits} - {OURS}, key=lambda name: (found_by.get(name, 0), name))
    names = [OURS, *rivals] if counts or limits else []
    return [JudgeRow(name, counts.get(name), limits.get(name), name == OURS) for name in names]


def rivals_in_words(judges: Iterable[JudgeRow]) -> str:
    """The table of the judges in Markdown."""
    lines = [
        "| judge | mistakes found | right solvers refused | smallest relative error that it sees |",
        "|---|---|---|---|",
    ]
    for row in judges:
        counts = row.counts
        found = f"{counts.true_positive} of {counts.wrong}" if counts else "not measured"
        refused = f"{counts.false_positive} of {counts.right}" if counts else "not measured"
        limit = "not measured"
        if row.limit:
            limit = "none up to 1" if row.limit.limit is None else promised(row.limit.limit)
        name = f"**{row.name}**" if row.ours else row.name
        lines.append(f"| {name} | {found} | {refused} | {limit} |")
    return "\n".join(lines) + "\n"


def write(_: Results, part: SimpleNamespace, folder: Path) -> None:
    """Write the tables of a report: corpus, kills, limits, doses, rivals, variants, tightness."""
    found, tables = part.document, folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    (tables / RIVALS).write_text(rivals_in_words(part.judges), encoding="utf-8")
    if found.corpus:
        checks = [row[0] for row in part.kills]
        columns = (
            "id", "kind", "where", "label", "breaks", "acts", "found", "first", "sentences",
            "class right", "place right", "seconds to kill", "smaller problem", *checks,
        )  # fmt: skip
        write_table(tables / "corpus.csv", columns, (_corpus_line(one, checks) for one in part.solvers))
        write_table(tables / "kills.csv", ("check", "killed", "alone", "judged"), part.kills)
        names = list(dict.fromkeys(name for one in part.solvers for name in one.rivals or {}))
        lines = (
            (one.id, one.mistaken, *((one.rivals or {}).get(name, "") for name in names))
            for one in part.solvers
        )
        write_table(tables / "rivals-on-corpus.csv", ("id", "mistaken", *names), lines)
    if found.limits:
        _records(tables / "limits.csv", [*found.limits.overall, *found.limits.strata], LimitRow)
        _records(tables / "doses.csv", found.limits.doses, DoseRow)
        _records(tables / "rival-limits.csv", found.limits.rivals, RivalLimit)
    if found.alarms:
        _records(tables / "variants.csv", found.alarms.variants, VariantCount)
        _records(tables / "tightness.csv", found.alarms.tightness, TightnessRow)
    if found.alarms and (crossed := found.alarms.coverage):
        (tables / "coverage.md").write_text(crossed.in_words, encoding="utf-8")
        columns = ("check", "freedom", "value", "largest ratio", *CROSSED)
        lines = ((row.check, row.freedom, row.value, row.largest, *row.texts) for row in crossed.rows)
        write_table(tables / "coverage.csv", columns, lines)


def _corpus_line(one: Judged, checks: Iterable[str]) -> tuple[object, ...]:
    label = "right" if one.right else "equivalent" if one.equivalent else "wrong"
    said = ["FAIL" if check in one.failed else "PASS" if check in one.judged else "" for check in checks]
    return (
        one.id, one.kind, " ".join(one.where), label, " ".join(one.breaks), one.acts, one.found, one.first,
        " ".join(one.sentences), one.class_right, one.place_right, f"{one.seconds_to_kill:.2f}",
        one.smaller, *said,
    )  # fmt: skip


def _records(path: Path, rows: Iterable[Any], kind: type) -> None:
    write_table(path, tuple(item.name for item in fields(kind)), map(astuple, rows))
