"""The folder of a statement: the statement, the results of the check, its recorded runs, and digests.

``statement.json`` and ``results.json`` (as every campaign writes it), ``artefacts/`` with all runs of every
problem (as artefacts are kept), ``SHA256SUMS`` of these, and ``badge.svg``: two words on a coloured ground.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from sstep_verify.campaign.again import recorded_runs
from sstep_verify.campaign.artefact.files import (
    EVERY,
    RUNS_OF_A_CASE,
    SUMS,
    hold_digests,
    write_digests,
)
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.statement.make import SCHEMA, Statement, judged_of, make_statement
from sstep_verify.errors import InputError, SstepVerifyError
from sstep_verify.files import Output, check, read_whole, shortened, whole_folder
from sstep_verify.files.records import build, decode
from sstep_verify.provenance import without_names
from sstep_verify.report.plain import plain
from sstep_verify.report.results import Results, dumps, load
from sstep_verify.report.write import ARTEFACTS, copy_artefacts

STATEMENT, RESULTS, BADGE = "statement.json", "results.json", "badge.svg"

COLOURS = {"passed": "#2f7d32", "failed": "#b3261e", "inconclusive": "#6b6b6b"}
"""White text on each has a contrast of 5 or more."""

LEFT = "#3c3c3c"
WIDTH_OF_A_CHARACTER, PADDING, HEIGHT = 6.6, 8, 20


def badge(subject: str, words: str, outcome: str) -> str:
    """The SVG of a badge: subject on the left, words on the right in the colour of the outcome."""
    first, second = (round(len(text) * WIDTH_OF_A_CHARACTER + 2 * PADDING) for text in (subject, words))
    title = escape(f"{subject}: {words}")
    texts = "".join(
        f'<text x="{middle}" y="14" textLength="{width - 2 * PADDING}">{escape(text)}</text>\n'
        for middle, width, text in ((first / 2, first, subject), (first + second / 2, second, words))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(title, {chr(34): "&quot;"})}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{first}" height="{HEIGHT}" fill="{LEFT}"/>\n'
        f'<rect x="{first}" width="{second}" height="{HEIGHT}" fill="{COLOURS[outcome]}"/>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">\n'
        f"{texts}</g>\n</svg>\n"
    )


def badge_of(statement: Statement) -> str:
    """The badge of a statement."""
    words = {"passed": statement.right[0], "failed": "wrong"}.get(statement.outcome, "inconclusive")
    return badge(f"s-step solver, specification {statement.specification}", words, statement.outcome)


MOST_BYTES = 16 << 20
"""Largest statement that is read; one of profile ci has 6 kB."""


class StatementError(SstepVerifyError):
    """A statement that is refused: the field or file at fault, empty where the fault names it, and that."""

    def __init__(self, where: str, fault: str):
        super().__init__(f"statement refused: {f'{shortened(where)}: ' if where else ''}{fault}")


def check_place(path: str | Path, report: Path) -> None:
    """See, before hours of work, that a statement can be written; InputError if not.

    A statement that is there is replaced; a folder that holds anything else is not. It lies apart from the
    folder of the report: each is put in place as a whole.
    """
    entries = frozenset({STATEMENT, RESULTS, BADGE, ARTEFACTS, SUMS})
    target = check(Output("--statement", path, folder=True, entries=entries))
    if target.is_dir() and any(target.iterdir()) and not (target / STATEMENT).is_file():
        raise InputError(f"--statement {path}: holds other things, which would be lost; name another")
    if target.is_relative_to(report) or report.is_relative_to(target):
        raise InputError(f"--statement {path}: it or the report would hold the other; name another")


def state(
    path: str | Path,
    definition: Definition,
    only: str,
    results: Results,
    artefacts: Path,
    runs: Iterable[str],
) -> InputError | None:
    """Write the statement of a finished check, with its runs, which have these names among artefacts.

    `definition` is the profile with the solver, and `only` what of its cases was asked for. Returned is why
    no statement was written, if none was: the results do not speak of every problem, or a run is missing.
    """
    try:
        made = make_statement(results, judged_of(definition), replace(definition.cut, only=only))
        with whole_folder(path) as partial:
            (partial / ARTEFACTS).mkdir()
            copy_artefacts(artefacts, partial / ARTEFACTS, runs)
            text = json.dumps(plain(made), indent=1, allow_nan=False, ensure_ascii=False)
            (partial / STATEMENT).write_text(f"{text}\n", "utf-8")
            (partial / RESULTS).write_text(dumps(nameless(results, Path(path).name)), "utf-8")
            (partial / BADGE).write_text(badge_of(made), "utf-8")
            write_digests(partial, files_of(partial))
            hold_cases(partial, results)
    except InputError as error:
        return error
    return None


def nameless(results: Results, name: str) -> Results:
    """The results without names of persons in what is said and was run; proving judges verdicts again."""
    again = shlex.join(["sstep-verify", "statement", name, "--verify"])

    def left_out(**said: Any) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads(without_names(json.dumps(said)))
        return kept

    return replace(
        results,
        campaign=replace(results.campaign, notes=tuple(map(without_names, results.campaign.notes))),
        cases=tuple(replace(one, **left_out(reason=one.reason, facts=one.facts)) for one in results.cases),
        verdicts=tuple(
            one | left_out(reason=one["reason"], evidence=one["evidence"]) | {"replay": again}
            for one in results.verdicts
        ),
    )


def files_of(folder: Path) -> list[str]:
    """The files that the list of digests of a statement names; InputError for what is none of it."""
    with os.scandir(folder / ARTEFACTS) as entries:
        for entry in entries:
            if not RUNS_OF_A_CASE.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
                raise InputError(f"{ARTEFACTS}/{shortened(entry.name)}: is no folder of recorded runs")
    runs = sorted(os.listdir(folder / ARTEFACTS))
    return [STATEMENT, RESULTS, *(f"{ARTEFACTS}/{name}/{SUMS}" for name in runs)]


def hold_cases(folder: Path, results: Results) -> None:
    """Read the recorded runs of a statement: of every case one artefact, and those of the `results`.

    InputError if they cannot be read, have too many bytes, or are of other cases.
    """
    found = recorded_runs(folder)
    ids = sorted(one.case.id for one in found if one.check == EVERY)
    if ids != sorted(case.id for case in results.cases):
        missing = next((case.id for case in results.cases if case.id not in ids), "")
        told = (
            f"the runs of {missing} are not there" if missing else "there are runs of no problem, or twice"
        )
        raise InputError(f"{told}, so no statement rests on them")


def read_statement(path: str | Path) -> tuple[Statement, Results]:
    """Read a statement and the results beside it, and compare all files with their digests.

    InputError if it cannot be read, or is none of this version; StatementError if a file, the badge or a
    recorded run was changed.
    """
    folder = Path(path)
    if folder.is_file():
        raise InputError(
            f"{path}: is a file, but a statement is a folder, as check --statement FOLDER writes it"
        )
    if not os.path.lexists(folder):
        raise InputError(f"{path}: no such folder")
    where = str(folder / STATEMENT)
    values = decode(read_whole(where, MOST_BYTES, "a statement", follow=False), where)
    if not isinstance(values, dict) or values.get("schema") != SCHEMA or values["schema"] is True:
        raise InputError(f"{where}: schema: is no statement of schema {SCHEMA}")
    statement = build(values, Statement, where)
    try:
        hold_digests(folder, files_of(folder))
        results = load(folder / RESULTS)
        hold_cases(folder, results)
        if os.path.lexists(folder / BADGE):
            found = read_whole(folder / BADGE, 1 << 16, "a badge", follow=False)
            if found != badge_of(statement).encode():
                raise StatementError(BADGE, "is not the badge of this statement")
    except (InputError, OSError) as error:
        raise StatementError("", str(error).removeprefix(f"{folder}{os.sep}")) from error
    return statement, results
