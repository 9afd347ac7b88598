"""A report made again from its kept runs, without the solver, and compared with what is in its folder.

The campaign runs as it did, with kept runs in place of the solver's: every verdict, the summary and
``results.json`` are made by the code that made them first. So a changed field is found because the file is
made again, whatever the field is.

On the same version and kind of machine ``results.json`` must be equal byte by byte, once times, memory,
paths, host and provenance are taken out. Elsewhere bounds may be rounded otherwise: statuses, terms,
defects and counts must be equal, numbers may differ by one unit of their second digit, and a place may
differ where ratios agree to 2^-20. Page, tables and figures must be those of ``results.json``.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from sstep_verify.campaign.kept import KeptCampaign, made_with, read_campaign
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.run import Progress, run_campaign
from sstep_verify.files import read_whole
from sstep_verify.report.case import Run
from sstep_verify.report.plain import plain
from sstep_verify.report.results import BEFORE, MOST_BYTES, Results, dumps, load, loads
from sstep_verify.report.write import ARTEFACTS, RUNS, write_report

RESULTS = "results.json"

CLOSE = 2.0**-20
"""Relative difference of two ratios up to which they may be met at different places elsewhere."""

MOST_PAGE = 1 << 30
"""Bytes of the largest page, table or figure that is compared."""


@dataclass(frozen=True)
class Difference:
    """A place at which a report is not what its kept runs give: a JSON path, or a file with its line.

    `stated` is what is there, `made` what is made again; None where there is nothing.
    """

    where: str
    stated: object
    made: object

    def __str__(self) -> str:
        return f"{self.where}: is {_shown(self.stated)}, made again {_shown(self.made)}"


class OfFile(Difference):
    """A file that is not what the results document of its folder gives, whatever the kept runs give."""

    def __str__(self) -> str:
        return f"{self.where}: is {_shown(self.stated)}, but {RESULTS} gives {_shown(self.made)}"


@dataclass(frozen=True)
class Proved:
    """What came of making a report again: the new results, and where the report differs from them.

    `elsewhere` says in which respects versions or machine are others; empty if in none. `unread` are files
    that were not compared, with the reason.
    """

    results: Results
    differences: tuple[Difference, ...]
    elsewhere: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def prove_again(
    folder: str | Path, directory: str | None = None, jobs: int = 1, progress: Progress = lambda *_: None
) -> Proved:
    """Make the report in a folder again from its kept runs, and compare the two.

    `directory` is that of the data sets, where it is another than it was. InputError if the folder holds no
    report or no kept runs, a kept file was changed or is missing, or the data are others.
    """
    there = Path(folder)
    text = read_whole(there / RESULTS, MOST_BYTES, "a results document")
    stated = load(there / RESULTS)
    kept = read_campaign(there / RUNS)
    with tempfile.TemporaryDirectory(prefix="sstep-verify-") as held:
        room = Path(held)
        made = _made_again(kept, there / RUNS, directory, jobs, progress, room / ARTEFACTS)
        elsewhere = tuple(_others(kept.made_with, made_with()))
        made = with_conditions_of(stated, made)
        differences = list(compared(stated, made, elsewhere=bool(elsewhere)))
        if not differences and not elsewhere and dumps(made).encode() != text:
            differences.append(Difference(RESULTS, "the same values, otherwise written", "as ever"))
        if kept.version == KeptCampaign.version:
            differences += _files(there, write_report(stated, room / "report"))
            return Proved(made, tuple(differences), elsewhere)
    pages = f"page, tables and figures: written by version {kept.version}"
    return Proved(made, tuple(differences), elsewhere, (pages,))


def _made_again(
    kept: KeptCampaign, runs: Path, directory: str | None, jobs: int, progress: Progress, artefacts: Path
) -> Results:
    """The results that the kept runs give."""
    plan = Plan(
        kept.definition(), directory or kept.directory, kept.only, jobs, artefacts=artefacts, again=runs,
        recorded=kept,
    )  # fmt: skip
    text = dumps(run_campaign(plan, progress))
    then, now = (shlex.join(["--data", one]) if one else "" for one in (kept.directory, plan.directory))
    # Commands that run a problem again name the folder of the data, which is a path.
    if then != now:
        here, there = (json.dumps(f" {one}".rstrip(), ensure_ascii=False)[1:-1] for one in (now, then))
        text = text.replace(here, there)
    return loads(text)


def with_conditions_of(stated: Results, made: Results) -> Results:
    """The results made again, with times, memory and provenance of those that are stated.

    What stands on other lines, such as the number of cases, is as it was made again.
    """
    summary = replace(
        made.summary, seconds=stated.summary.seconds, peak_memory_bytes=stated.summary.peak_memory_bytes
    )
    parameters = dict(made.campaign.parameters)
    for name in _CONDITIONS:
        if name in stated.campaign.parameters:
            parameters[name] = stated.campaign.parameters[name]
    times = {(case.id, run.s): run.seconds for case in stated.cases for run in case.runs}
    judging = {case.id: case.check_seconds for case in stated.cases}

    def timed(case: str, run: Run) -> Run:
        return replace(run, seconds=times.get((case, run.s), run.seconds))

    return replace(
        made,
        campaign=replace(made.campaign, parameters=parameters),
        summary=summary,
        provenance=stated.provenance,
        cases=tuple(
            replace(
                case,
                runs=tuple(timed(case.id, run) for run in case.runs),
                check_seconds=judging.get(case.id, case.check_seconds),
            )
            for case in made.cases
        ),
    )


_CONDITIONS = ("processes", BEFORE)
"""Parameters of a campaign that are conditions of its making, and no result."""


def compared(stated: Results, made: Results, *, elsewhere: bool) -> Iterator[Difference]:
    """Where two results differ, beyond what may differ `elsewhere`."""
    then, now = stated.as_dict(), made.as_dict()
    for where, one, other in unequal("", then, now):
        if elsewhere and _may_differ(where, one, other, then, now):
            continue
        yield Difference(where, one, other)


def unequal(where: str, stated: Any, made: Any) -> Iterator[tuple[str, Any, Any]]:
    """Places at which two plain values differ, and what stands there."""
    if isinstance(stated, dict) and isinstance(made, dict):
        for name in dict.fromkeys((*stated, *made)):
            yield from unequal(f"{where}.{name}".lstrip("."), stated.get(name), made.get(name))
    elif isinstance(stated, list) and isinstance(made, list) and len(stated) == len(made):
        for place, (one, other) in enumerate(zip(stated, made, strict=True)):
            yield from unequal(f"{where}[{place}]", one, other)
    elif stated != made or type(stated) is not type(made):
        yield where, stated, made


def _others(then: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    """Names of what differs between two environments, as `made_with` describes them."""
    known: Any = plain(dict(now))
    yield from (name for name in dict.fromkeys((*then, *known)) if then.get(name) != known.get(name))


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _may_differ(where: str, stated: Any, made: Any, then: dict, now: dict) -> bool:
    """Whether two values may differ on another machine, or by another version of a library."""
    if isinstance(stated, float) and isinstance(made, float):
        return is_near(stated, made) or _moved(where, then, now)
    if isinstance(stated, str) and isinstance(made, str):
        if _NUMBER.sub("", stated) != _NUMBER.sub("", made):
            return False
        pairs = zip(_NUMBER.findall(stated), _NUMBER.findall(made), strict=True)
        return _moved(where, then, now) or all(
            one == other or (not (one + other).isdigit() and is_near(float(one), float(other)))
            for one, other in pairs
        )
    return isinstance(stated, int) and isinstance(made, int) and _moved(where, then, now)


def _moved(where: str, then: dict, now: dict) -> bool:
    """Whether a value belongs to the place of a verdict, which may be another where ratios agree."""
    parts = re.match(r"verdicts\[(\d+)\]\.(place|reason|measured|bound|evidence)\b", where)
    if parts is None:
        return False
    one, other = (document["verdicts"][int(parts[1])]["ratio"] for document in (then, now))
    return None not in (one, other) and abs(one - other) <= CLOSE * max(abs(one), abs(other))


def is_near(stated: float, made: float) -> bool:
    """Whether two numbers agree to one unit of their second digit."""
    if stated == made:
        return True
    if not (math.isfinite(stated) and math.isfinite(made)) or stated * made <= 0:
        return False
    context = Context(prec=2)
    one, other = (context.create_decimal(Decimal(repr(abs(value)))) for value in (stated, made))
    return one in (other, *map(Decimal, map(repr, neighbours(float(other)))))


def neighbours(value: float) -> tuple[float, float]:
    """The numbers of two significant digits next to one."""
    context, number = Context(prec=2), Decimal(repr(value))
    return float(number.next_minus(context)), float(number.next_plus(context))


def _files(there: Path, made: Path) -> Iterator[Difference]:
    """Where page, tables and figures are not those that the stated results give."""
    for name in sorted({*_parts(there), *_parts(made)}):
        if not (there / name).exists():  # What is not there says nothing.
            continue
        if not (made / name).exists():
            yield OfFile(str(name), "a file", None)
            continue
        then = read_whole(there / name, MOST_PAGE, "part of a report")
        now = (made / name).read_bytes()
        if then == now:
            continue
        lines = [content.decode("utf-8", "replace").split("\n") for content in (then, now)]
        rows = zip(*(line + [""] * (max(map(len, lines)) - len(line)) for line in lines), strict=True)
        place, one, other = next((place, *row) for place, row in enumerate(rows, 1) if row[0] != row[1])
        yield OfFile(f"{name}, line {place}", *_around(one, other))


def _parts(report: Path) -> Iterator[Path]:
    """Page, tables and figures of a report, by their paths in it."""
    for name in ("index.html", "junit.xml"):
        if (report / name).is_file():
            yield Path(name)
    for folder in ("tables", "figures"):
        yield from (path.relative_to(report) for path in (report / folder).rglob("*") if path.is_file())


def _around(stated: str, made: str) -> tuple[str, str]:
    """Two lines from a little before the first character in which they differ."""
    place = next((k for k, (a, b) in enumerate(zip(stated, made, strict=False)) if a != b), len(made))
    begin = max(min(place, len(stated), len(made)) - 20, 0)
    return stated[begin : begin + 60], made[begin : begin + 60]


def _shown(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
