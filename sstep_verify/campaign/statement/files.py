"""The files of a statement: NAME.json, its badge NAME.svg, and the folder NAME.runs of recorded runs.

A badge is two words on a coloured ground, as an SVG that needs nothing else.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from sstep_verify.campaign.artefact.files import EVERY, SUMS, read_artefact
from sstep_verify.campaign.headline import right_in_words
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.statement.make import Runs, judged_of, make_statement, refuse_partial
from sstep_verify.campaign.statement.record import Statement, statement_text
from sstep_verify.errors import InputError
from sstep_verify.inputs import read_whole
from sstep_verify.outputs import Output, check, whole_folder, write_text

if TYPE_CHECKING:
    from sstep_verify.report.results import Results

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


ENDING = ".json"

MOST_ARRAYS = 256 << 20
"""Bytes of the arrays of one file: a thousand times what profile ci has."""

MOST_FOLDER = 256 << 20
"""Bytes of all recorded runs together, as they are stored."""

FOLDER = re.compile(rf"[A-Za-z0-9_=+-][A-Za-z0-9._=+-]{{0,150}}-{EVERY}-s0(-\d+)?", re.ASCII)
"""Names of folders of recorded runs: no separators, not hidden."""


def places_of(path: str | Path) -> tuple[Path, Path, Path]:
    """Statement, badge and folder of runs of a statement's name; InputError if that is no ``NAME.json``."""
    path = Path(path)
    if path.suffix != ENDING or path.name == ENDING:
        raise InputError(
            f"{path}: a statement is a file NAME{ENDING}; NAME.svg and NAME.runs stand beside it"
        )
    return path, path.with_suffix(".svg"), path.with_suffix(".runs")


def check_places(path: str | Path, definition: Definition) -> None:
    """See, before hours of work, that a statement can be made and written; InputError if not.

    A statement that is there is replaced; a folder NAME.runs that holds anything but recorded runs is not.
    """
    if definition.cut is None:
        raise InputError("a statement is made of a solver on a profile, and of nothing else")
    statement, picture, runs = places_of(path)
    for place, folder in ((statement, False), (picture, False), (runs, True)):
        check(Output("--statement", place, replace=True, folder=folder))
    for entry in runs.iterdir() if runs.is_dir() else ():
        if not FOLDER.fullmatch(entry.name):
            raise InputError(f"{runs} holds {entry.name!r}, which is no part of a statement; name another")


def recorded_in(folder: Path) -> Runs:
    """The recorded runs in a folder by the ids of their cases; InputError if there are too many bytes."""
    names = sorted(entry.name for entry in folder.glob(f"*-{EVERY}-s0*")) if folder.is_dir() else []
    size = sum(file.stat().st_size for name in names for file in (folder / name).iterdir())
    if size > MOST_FOLDER:
        raise InputError(
            f"the recorded runs have {size} bytes, but a statement holds at most {MOST_FOLDER}; state "
            "fewer problems, by --profile, --task, --kernel or --only"
        )
    return {
        read_artefact(folder / name, MOST_ARRAYS).case.id: (name, digest_of(folder / name))
        for name in names
    }


def digest_of(folder: Path) -> str:
    """SHA-256 of the list of digests of a folder of recorded runs."""
    return hashlib.sha256(read_whole(folder / SUMS, 1 << 16, "a list of digests", follow=False)).hexdigest()


def write_statement(statement: Statement, path: str | Path, recorded: Path) -> Path:
    """Write the three, the statement itself last, and copy its recorded runs; its absolute path."""
    place, picture, runs = (Path(os.path.realpath(one)) for one in places_of(path))
    with whole_folder(runs) as partial:
        for problem in statement.problems:
            shutil.copytree(recorded / problem.runs, partial / problem.runs)
    write_text(picture, badge_of(statement))
    write_text(place, statement_text(statement))
    return place


def state(definition: Definition, only: str, results: Results, recorded: Path, path: str | Path) -> Path:
    """Make the statement of a finished check, and write it under the name `path`.

    `definition` is the profile with the solver, `only` what of its cases was asked for, and `recorded` the
    folder with the runs of every case. InputError if the results do not speak of every problem.
    """
    refuse_partial(results)
    asked = replace(definition.cut, only=only)
    made = make_statement(results, judged_of(definition), asked, recorded_in(recorded))
    return write_statement(made, path, recorded)


def stated(
    write: Callable[[Results, Path], object], results: Results, artefacts: Path
) -> InputError | None:
    """Have a statement written from results and a folder, and leave none of its runs there for the report.

    Why no statement was written, if none was.
    """
    try:
        write(results, artefacts)
    except InputError as error:
        return error
    finally:
        for kept in artefacts.glob(f"*-{EVERY}-s0*"):
            shutil.rmtree(kept)
    return None


def right_words(statement: Statement) -> list[str]:
    """For which s it is right on how many problems."""
    return right_in_words({problem.id: problem.right_at for problem in statement.problems})


def badge_of(statement: Statement) -> str:
    """The badge of a statement."""
    words = {
        "passed": right_words(statement)[0],
        "failed": "wrong",
        "inconclusive": "inconclusive",
    }[statement.outcome]
    return badge(f"s-step solver, specification {statement.specification}", words, statement.outcome)
