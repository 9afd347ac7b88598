"""The page and the tables of measured power: ours beside the rivals first, then each study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from sstep_verify.outputs import write_table
from sstep_verify.report.numbers import promised
from sstep_verify.report.results import Results
from studies.report.sensitivity.alarms import TightnessRow, VariantCount
from studies.report.sensitivity.corpus import Confusion, Judged
from studies.report.sensitivity.coverage import CROSSED
from studies.report.sensitivity.document import Sensitivity
from studies.report.sensitivity.limits import OURS, DoseRow, LimitRow
from studies.report.sensitivity.limits import RivalRow as RivalLimit

RECORD = Sensitivity

OUTCOMES = {
    0: ("MEASURED", "Of what is counted above, no mistake was missed and nothing that is right was failed"),
    1: ("FAIL", "Of what is counted above, a mistake was missed or something that is right was failed"),
    3: ("INCOMPLETE", "Pieces of a study are missing"),
}

RIVALS = "rivals.md"
"""Table of the judges, as the README has it."""


@dataclass(frozen=True)
class JudgeRow:
    """Ours or a rival, on the corpus, and on float64 doses over all quantities; None where not judged."""

    name: str
    counts: Confusion | None
    limit: RivalLimit | None

    @property
    def ours(self) -> bool:
        """Whether it is this package."""
        return self.name == OURS


@dataclass(frozen=True)
class KillRow:
    """Mistakes that a check killed, those that no other check did, and mistakes that it judged."""

    check: str
    killed: int
    alone: int
    judged: int


@dataclass(frozen=True)
class SensitivityPart:
    """Power part of a page; each piece is empty or None where its study was not made."""

    document: Sensitivity
    judges: tuple[JudgeRow, ...]
    kills: tuple[KillRow, ...]
    solvers: tuple[Judged, ...]
    wheres: tuple[tuple[str, int, int], ...]

    @property
    def doses(self) -> tuple[DoseRow, ...]:
        """Doses over all quantities."""
        return (
            tuple(row for row in self.document.limits.doses if not row.quantity)
            if self.document.limits
            else ()
        )


def drawn(results: Results) -> SensitivityPart:
    """What the page shows."""
    found: Sensitivity = results.sensitivity
    solvers = found.corpus.solvers if found.corpus else ()
    kills = found.corpus.kills if found.corpus else {}
    places = Counter((place, one.mistaken) for one in solvers for place in one.where)
    return SensitivityPart(
        found,
        judge_rows(found),
        tuple(
            KillRow(check, *counts)
            for check, counts in sorted(kills.items(), key=lambda item: (-item[1][0], item[0]))
        ),
        tuple(sorted(solvers, key=lambda one: (not one.mistaken, one.kind, one.where, one.id))),
        tuple(
            (place, places[place, True], places[place, False])
            for place in sorted({name for name, _ in places})
        ),
    )


def judge_rows(found: Sensitivity) -> tuple[JudgeRow, ...]:
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
    return tuple(JudgeRow(name, counts.get(name), limits.get(name)) for name in names)


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


def write(_: Results, part: SensitivityPart, folder: Path) -> None:
    """Write the tables of a report: corpus, kills, limits, doses, rivals, variants, tightness."""
    found, tables = part.document, folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    (tables / RIVALS).write_text(rivals_in_words(part.judges), encoding="utf-8")
    if found.corpus:
        checks = [row.check for row in part.kills]
        columns = (
            "id", "kind", "where", "label", "breaks", "acts", "found", "first", "sentences",
            "class right", "place right", "seconds to kill", "smaller problem", *checks,
        )  # fmt: skip
        write_table(tables / "corpus.csv", columns, (_corpus_line(one, checks) for one in part.solvers))
        _records(tables / "kills.csv", part.kills, KillRow)
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
