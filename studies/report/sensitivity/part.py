"""The part of a results document on measured power: its studies, its page and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

from markupsafe import Markup

from sstep_verify.report.plain import count, promised, short
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Column, Table, filed, text, words
from studies.report.sensitivity.corpus import Confusion, CorpusDocument, Judged
from studies.report.sensitivity.false_positives import CROSSED, AlarmsDocument, WorstCaseDocument
from studies.report.sensitivity.limits import OURS, LimitRow, LimitsDocument
from studies.report.sensitivity.limits import RivalRow as RivalLimit


@dataclass(frozen=True)
class SensitivityDocument:
    """The studies that were made; None for one that was not."""

    corpus: CorpusDocument | None = None
    limits: LimitsDocument | None = None
    alarms: AlarmsDocument | None = None
    worst_case: WorstCaseDocument | None = None
    named: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pieces of studies are no cases."""

    @property
    def _made(self) -> list[Any]:
        return [part for part in (self.corpus, self.limits, self.alarms, self.worst_case) if part]

    @property
    def broken(self) -> tuple[str, ...]:
        """What must not be, a line each: mistakes missed, and what is right and was failed."""
        return tuple(line for part in self._made for line in part.broken)

    @property
    def sentences(self) -> Iterator[str]:
        """What each study says, in a few words; of the worst cases where nothing else was made."""
        for part in self._made:
            if part is not self.worst_case or len(self._made) == 1:
                yield from part.sentences


RECORD = SensitivityDocument

OUTCOMES = {
    0: ("MEASURED", "No defect counted above was missed, and no correct solver or run failed"),
    1: ("FAIL", "A defect counted above was missed, or a correct solver or run failed"),
    3: ("INCOMPLETE", "Pieces of a study are missing"),
}

BASELINES = "methods.md"
"""Table of the methods, as the README has it."""


class JudgeRow(NamedTuple):
    """Ours or a rival, on the corpus, and on float64 doses over all quantities; None where not judged."""

    name: str
    counts: Confusion | None
    limit: RivalLimit | None


def _seen(limit: RivalLimit | None, value: Callable[[RivalLimit], float | None]) -> str:
    return ("above 1" if value(limit) is None else short(value(limit))) if limit else ""


def _bold(value: object, really: bool = True) -> Any:
    return Markup("<strong>{}</strong>").format(value) if really else value


JUDGES = (
    words("Method", lambda row: _bold(row.name, row.name == OURS)),
    Column("Faulty solvers detected", lambda row: row.counts and row.counts.words[0], text),
    Column("Correct solvers rejected", lambda row: row.counts and row.counts.words[1], text),
    Column("F1", lambda row: row.counts and f"{row.counts.f1:.2f}", text),
    Column("Detection limit", lambda row: _seen(row.limit, attrgetter("limit")), text),
    Column("Median error detected", lambda row: _seen(row.limit, attrgetter("median")), text),
)


def _class_and_place(one: Judged) -> str:
    told = ("right" if right else "other" for right in (one.class_right, one.place_right))
    return ", ".join(told) if one.mistaken else ""


SOLVERS = (
    words("Solver", "id", file="id"),
    *filed("kind", where=lambda one: " ".join(one.where)),
    words("Part", lambda one: ", ".join(one.where)),
    words("Label", "label", file="label", small=lambda one: " ".join(one.breaks)),
    *filed(breaks=lambda one: " ".join(one.breaks)),
    words("Has an effect", "acts", file="acts"),
    words(
        "Found",
        lambda one: _bold(one.found, one.mistaken != one.killed or one.found in ("open", "error")),
        small=lambda one: one.reason if one.mistaken != one.killed else "",
    ),
    *filed("found"),
    words("First check", "first", file="first"),
    words("Requirements", lambda one: " ".join(one.sentences), file="sentences"),
    words("Class, place", _class_and_place),
    *filed(**{"class right": "class_right", "place right": "place_right"}),
    Column("Seconds to kill", lambda one: one.seconds_to_kill if one.killed else None),
    *filed(**{"seconds to kill": lambda one: f"{one.seconds_to_kill:.2f}"}),
)


def _of_acting(name: str, row: LimitRow) -> float | str | None:
    """Limit, median or largest of a quantity; of a switch in how many runs it is seen."""
    if not row.switch:
        return short(getattr(row, name))
    return f"left out: detected in {row.seen}" if name == "limit" else None


LIMITS = (
    words("Quantity", "quantity", file="quantity"),
    words("Precision", "precision", file="precision"),
    *filed("task", "kernel", "samples", "s", "switch"),
    Column("Runs drawn", "draws", count, "draws"),
    Column("It has an effect in", "acted", count, "acted"),
    *filed("share", "share_low", "share_high", "rank", "limit", "median", "largest", "seen"),
    words(
        "Share, 95 % interval",
        lambda row: f"{short(row.share)} ({short(row.share_low)} to {short(row.share_high)})",
        label="share",
    ),
    Column("Detection limit", partial(_of_acting, "limit"), text, label="limit"),
    Column("Median", partial(_of_acting, "median"), text),
    Column("Largest", partial(_of_acting, "largest"), text),
)

DOSES = (
    words("Check", "check", file="check"),
    words("Precision", "precision", file="precision"),
    *filed("quantity"),
    Column("Trials", "trials", count, "trials"),
    Column("Within a factor 2", "within", count, "within"),
    *filed("smallest", "median", "largest", "unresolved"),
    words(
        "Found over predicted: least, median, most",
        lambda row: ", ".join(map(short, (row.smallest, row.median, row.largest))),
        label="found over predicted",
    ),
    Column("Errors certain to show", "certain", count, "certain", label="certain"),
    Column("Missed", "missed", str, "missed"),
)

VARIANTS = (
    words("Solver", "variant", file="variant"),
    Column("PASS", "passed", count, "passed"),
    *filed("failed"),
    Column("VACUOUS", "vacuous", count, "vacuous"),
    Column("INCONCLUSIVE", "inconclusive", count, "inconclusive"),
    Column("FAIL", "failed", str),
    Column("No derived bound", "undecided", count, "undecided"),
    Column("Not made", "absent", count, "absent"),
)

TIGHTNESS = (
    words("Check", "check", file="check"),
    *filed("task", "kernel", "precision"),
    words("Task, kernel, precision", lambda row: f"{row.task}, {row.kernel}, {row.precision}", label="of"),
    Column("Verdicts", "runs", count, "runs"),
    *filed("acted", "least", "lower"),
    Column("Median", "median", short, "median"),
    *filed("upper"),
    Column("99 %", "ninety_ninth", short, "ninety_ninth"),
    Column("Largest", "most", short, "most"),
    Column("Longest sum", "length", short, "length"),
    Column("Median × sum", lambda row: _bold(short(row.product), row.wanted), text),
    *filed("product", "wanted"),
    words("Largest part of the bound", "dominates", file="dominates", label="largest part"),
)


def _corpus(found: CorpusDocument) -> dict[str, Table]:
    """Solvers, mistakes first, by every check; what checks killed, rivals say, and parts of the system."""
    kills = sorted(
        ((check, *told) for check, told in found.kills.items()), key=lambda one: (-one[1], one[0])
    )
    solvers = sorted(found.solvers, key=lambda one: (not one.mistaken, one.kind, one.where, one.id))
    places = Counter((place, one.mistaken) for one in solvers for place in one.where)
    said = {
        check: lambda one, check=check: (
            "FAIL" if check in one.failed else "PASS" if check in one.judged else ""
        )
        for check, *_ in kills
    }
    rivals = {
        name: lambda one, name=name: one.rivals.get(name, "") for one in solvers for name in one.rivals
    }
    return {
        "kills": Table(
            (
                words("Check", itemgetter(0), file="check"),
                Column("Kills", itemgetter(1), str, "killed"),
                Column("Alone", itemgetter(2), str, "alone"),
                Column("Judged", itemgetter(3), str, "judged"),
            ),
            kills,
        ),
        "corpus": Table((*SOLVERS, *filed(**said)), solvers),
        "methods-on-corpus": Table(tuple(filed("id", faulty="mistaken", **rivals)), solvers),
        "wheres": Table(
            (
                words("Part", itemgetter(0)),
                Column("Faulty", itemgetter(1), str),
                Column("Correct", itemgetter(2), str),
            ),
            [(one, places[one, True], places[one, False]) for one in sorted({one for one, _ in places})],
        ),
    }


def drawn(results: Results) -> SimpleNamespace:
    """What the page shows: the document, and its tables, none of a study that was not made."""
    found: SensitivityDocument = results.sensitivity
    judges = judge_rows(found)
    tables = _corpus(found.corpus) if found.corpus else {}
    told = {BASELINES: rivals_in_words(judges)}
    if limits := found.limits:
        doses = [row for row in limits.doses if not row.quantity]
        tables["limits"] = Table(LIMITS, limits.overall, every=[*limits.overall, *limits.strata])
        tables["doses"] = Table(DOSES, doses, every=limits.doses)
        tables["method-limits"] = Table(
            (
                *filed(method="rival"),
                *filed("precision", "quantity", "pairs", **{"false alarms": "alarms"}),
                *filed("never", "rank", "limit", "median"),
            ),
            limits.rivals,
        )
    if alarms := found.alarms:
        tables["variants"] = Table(VARIANTS, alarms.variants)
        tables["tightness"] = Table(TIGHTNESS, alarms.tightness)
    if alarms and (crossed := alarms.coverage):
        told["coverage.md"] = crossed.in_words
        tables["coverage"] = Table(
            (
                *filed("check", choice="freedom"),
                *filed("value", **{"largest ratio": "largest"}),
                *filed(**{name: lambda row, at=at: row.texts[at] for at, name in enumerate(CROSSED)}),
            ),
            crossed.rows,
        )
    if found.worst_case:
        tables["cases"] = Table(
            (
                words("Solver", "case.solver"),
                words("Measure", "case.measure"),
                words("Problem", "case.scenario", Markup("<code>{}</code>").format),
                words("Verdict", "status"),
                Column("Value", "value"),
                Column("Random draws", "case.random"),
            ),
            found.worst_case.cases,
        )
    return SimpleNamespace(
        document=found, judges=Table(JUDGES, judges), figures=(), tables=tables, texts=told
    )


def judge_rows(found: SensitivityDocument) -> list[JudgeRow]:
    """Ours first, then every rival, by the mistakes that it finds."""
    counts = {OURS: found.corpus.confusion} | found.corpus.rivals if found.corpus else {}
    limits = {
        row.rival: row
        for row in (found.limits.rivals if found.limits else ())
        if row.precision == "float64" and not row.quantity
    }
    order = {name: -one.true_positive for name, one in counts.items()}
    names = sorted({*counts, *limits}, key=lambda name: (name != OURS, order.get(name, 0), name))
    return [JudgeRow(name, counts.get(name), limits.get(name)) for name in names]


def rivals_in_words(judges: Iterable[JudgeRow]) -> str:
    """The table of the methods in Markdown: solvers detected and rejected, detection limit and median."""
    unknown = "not measured"
    lines = [
        "| method | faulty solvers detected | correct solvers rejected | detection limit | median |",
        "|---|---|---|---|---|",
    ]
    for name, counts, limit in judges:
        told = counts.words if counts else (unknown, unknown)
        least = [
            unknown if limit is None else "above 1" if value is None else promised(value)
            for value in ((limit.limit, limit.median) if limit else (None, None))
        ]
        lines.append("| " + " | ".join((f"**{name}**" if name == OURS else name, *told, *least)) + " |")
    return "\n".join(lines) + "\n"
