"""A copy of the package with one edit in it, judged in a process of its own.

``python -m studies.sensitivity.edited CAMPAIGN CASE ROOM WHOLE SHRINK`` is that process:
whatever package PYTHONPATH names is judged, and what its cases came to is written to ``ROOM/found.json``.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

import sstep_verify
from sstep_verify.errors import InputError
from studies import ROOT, search_path
from studies.corpus.listing import Edit
from studies.sensitivity.cases import CaseFound, judged_cases

PACKAGE = Path(sstep_verify.__file__).parent

SECONDS = 600
"""Seconds a case may take, compilation included, before an edited run counts as hanging."""

FOUND = "found.json"


class HangError(Exception):
    """An edited package that did not come to an end."""


@functools.cache
def _copy() -> Path:
    """A copy of the package for this process, removed when it ends.

    Compiled code is kept from edit to edit: a file is compiled anew whenever it or one whose compiled
    functions it calls has changed, see `sstep_verify.compiled`.
    """
    folder = Path(tempfile.mkdtemp(prefix="sstep-verify-edited-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(PACKAGE, folder / "sstep_verify", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def judged_edited(
    edit: Edit, campaign: str, case: str, room: Path, whole: bool, shrink: int = 0
) -> list[CaseFound]:
    """Judge a case of a shipped campaign with the edit in the package, as `judged_cases` does.

    Raises
    ------
    HangError
        If it has not ended after `SECONDS`.
    InputError
        If the module does not hold the edit's text exactly once.
    """
    folder = _copy()
    path = (folder / "sstep_verify").joinpath(*edit.module.split(".")[1:]).with_suffix(".py")
    source = path.read_text("utf-8")
    if (count := source.count(edit.before)) != 1:
        raise InputError(
            f"edit {edit.id!r}: {edit.module} holds {edit.before!r} {count} times, and must hold it "
            "once; mend the edit in studies/corpus/production"
        )
    environment = os.environ | {
        "PYTHONPATH": search_path(folder, ROOT / "reference"),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    path.write_text(source.replace(edit.before, edit.after), "utf-8")
    asked = [campaign, case, str(room), "whole" if whole else "plain", str(shrink)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, *asked],
            env=environment,
            cwd=folder,
            timeout=SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise HangError(f"no end after {SECONDS} s") from error
    finally:
        path.write_text(source, "utf-8")
    if not (room / FOUND).is_file():
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return [CaseFound(case, "", error=f"exit code {done.returncode}: {last}")]
    return msgspec.json.decode((room / FOUND).read_bytes(), type=list[CaseFound])


def main(campaign: str, case: str, room: str, whole: str, shrink: str) -> None:
    """Judge the case, and write down what it came to."""
    from sstep_verify.campaign.read import read_definition

    definition, wanted = read_definition(campaign), whole == "whole"
    found = list(judged_cases(definition, case, Path(room), whole=wanted, shrink=int(shrink)))
    Path(room, FOUND).write_bytes(msgspec.json.encode(found))


if __name__ == "__main__":
    main(*sys.argv[1:6])
