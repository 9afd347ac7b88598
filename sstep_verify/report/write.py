"""Writes a whole report: into a temporary folder beside the target, then renamed into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from sstep_verify.errors import InputError
from sstep_verify.inputs import open_regular
from sstep_verify.outputs import Output, check, whole_folder
from sstep_verify.report import panels
from sstep_verify.report.chart import write_files
from sstep_verify.report.convergence import figure
from sstep_verify.report.junit import write_junit
from sstep_verify.report.page import write_html
from sstep_verify.report.results import Results, dumps, part_of
from sstep_verify.report.stability import losses
from sstep_verify.report.tables import certified_table, write_tables

ENTRIES = frozenset({"results.json", "junit.xml", "index.html", "figures", "tables"})

ARTEFACTS = "artefacts"
"""Folder inside a report with what it takes to judge its unsettled verdicts again."""

MINIMAL = "minimal"
"""Folder of a smaller problem in that of an artefact."""


def write_report(results: Results, folder: str | Path, artefacts: Path | None = None) -> Path:
    """Write ``results.json``, ``junit.xml``, ``index.html``, ``tables/`` and ``figures/``.

    Nothing half-written is left: all is made in a hidden sibling folder, which then takes the place
    of `folder`. An existing report is moved aside first and removed last (two renames: between them
    a reader finds no report, never a mixed one). The `artefacts` of unsettled verdicts, a folder that need
    not exist, are moved to ``artefacts/``. As from `check_destination`: errors, and the path returned.
    """
    target = check_destination(folder)
    with whole_folder(target) as partial:
        _write_all(results, partial)
        _move_artefacts(artefacts, partial / ARTEFACTS)
    return target


def check_destination(folder: str | Path) -> Path:
    """See, before hours of work, that a report can be written there; the absolute path, links resolved.

    Raises
    ------
    InputError
        If it is a file, lies in a folder that cannot be written, or holds anything but a report
        (which replacing it would destroy).
    """
    target = check(Output("--out", folder, replace=True, folder=True))
    known = ENTRIES | {ARTEFACTS}
    foreign = (
        sorted(entry.name for entry in target.iterdir() if entry.name not in known)
        if target.is_dir()
        else []
    )
    if foreign:
        raise InputError(
            f"{folder} holds {foreign[0]!r}, which is no part of a report; writing the report "
            "would remove it. Name another folder"
        )
    return target


def copy_artefacts(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy artefacts, folders of regular files with a smaller problem perhaps; links are copied by nobody.

    Raises
    ------
    InputError
        If one is a link or no folder, or holds anything but files, and that folder.
    """
    folders = [Path(name) for name in names]
    folders += [name / MINIMAL for name in folders if (source / name / MINIMAL).is_dir()]
    for name in folders:
        folder = source / name
        if any(path.is_symlink() for path in (source, folder.parent, folder)) or not folder.is_dir():
            raise InputError(f"{folder}: an artefact is a folder, and no link to one; take it away")
        (target / name).mkdir(parents=True, exist_ok=True)
        for entry in os.scandir(folder):
            if name / entry.name in folders:
                continue
            part = open_regular(entry.path, "part of an artefact", follow=False)
            with part, open(target / name / entry.name, "wb") as copy:
                shutil.copyfileobj(part, copy)


def _write_all(results: Results, folder: Path) -> None:
    groups = panels.groups(results)
    (folder / "results.json").write_text(dumps(results), encoding="utf-8")
    write_tables(results, groups, folder / "tables")
    studies = {name: part_of(name).drawn(results) for name in results.studies}
    for name, study in studies.items():
        part_of(name).write(results, study, folder)
    if results.certified is not None:
        certified_table(results).write(folder / "tables" / "certified.csv")
    if beside := losses(results):
        write_files(beside.figures, folder / "figures")
        beside.table.write(folder / "tables" / "stability.csv")
    write_junit(results, folder / "junit.xml")
    drawn = {panel.slug: figure(panel) for group in groups for panel in group.panels}
    write_files(drawn.values(), folder / "figures")
    write_html(results, groups, drawn, folder / "index.html", beside, studies)


def _move_artefacts(source: Path | None, target: Path) -> None:
    """Move finished artefacts; one that was being written when a campaign ended is hidden, and left."""
    if source is None or not source.is_dir():
        return
    for entry in sorted(source.iterdir()):
        if not entry.name.startswith("."):
            target.mkdir(exist_ok=True)
            shutil.move(entry, target / entry.name)
