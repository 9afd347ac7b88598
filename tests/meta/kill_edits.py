"""Plant each edit of the catalogue in a copy of the package and let a shipped campaign judge it.

Run as ``python tests/meta/kill_edits.py [--only TEXT] [--jobs N] [--out FILE] [--resume] [--unedited]``. Each edit is
judged in a fresh process on the case that runs the edited code, as the campaign's file has it. Printed, and
written as tab-separated values, is which check said FAIL at which s and the first wrong step it names, or
why an edit survives. The exit code is 0 iff at least 95 % are killed by a verdict and the survivors explained.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from catalogue import Edit, edits

import sstep_verify
from sstep_verify.campaign.definition import read_definition
from sstep_verify.campaign.verdicts.expand import expand

PACKAGE = Path(sstep_verify.__file__).parent
SECONDS = 600
"""Seconds a case may take, compilation included, before the edited run counts as hanging."""

WORDS = 130
"""Characters of a table's cell."""

SHARE = 0.95
"""Share of the edits that verdicts must kill."""


@dataclass(frozen=True)
class Outcome:
    """What became of one edit.

    Parameters
    ----------
    edit : Edit
        The edit.
    case : str
        Campaign and id of the case.
    end : {"killed", "error", "hang", "survived"}
        "error" is a run that raised: exit code 4 of the campaign.
    words : str
        Check and s with the first wrong step, message of the error, or verdicts that are not PASS.
    seconds : float
        Time it took.
    """

    edit: Edit
    case: str
    end: str
    words: str
    seconds: float

    @property
    def row(self) -> str:
        """One line of the table."""
        cells = (
            self.edit.name,
            self.edit.kind,
            self.case,
            self.end,
            self.words[:WORDS],
            f"{self.seconds:.0f}",
        )
        return "\t".join(" ".join(cell.split()) for cell in (*cells, self.edit.survives))


def case_of(edit: Edit) -> tuple[str, str]:
    """Campaign, and id of its first case that holds all words of the edit's."""
    campaign, *words = edit.case.split()
    ids = [spec.id for group in expand(read_definition(campaign)) for spec in group.specs]
    return campaign, next(name for name in ids if all(word in name for word in words))


def in_folder(folder: Path, edit: Edit, campaign: str, case: str) -> subprocess.CompletedProcess[str]:
    """Judge a case with the edit planted in the folder's copy of the package.

    Compiled code is kept from edit to edit: numba compiles a file anew whenever its time or size changes,
    and no compiled function of an edited file is called by one of another file.
    """
    copy = folder / "sstep_verify"
    if not copy.exists():
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    path = copy.joinpath(*edit.module.split(".")[1:]).with_suffix(".py")
    source = path.read_text("utf-8")
    if source.count(edit.before) != 1:
        raise SystemExit(
            f"{edit.name}: {edit.module} holds {edit.before!r} {source.count(edit.before)} times"
        )
    paths = [str(folder), str(PACKAGE.parent / "reference"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    program = str(Path(__file__).with_name("judge_case.py"))
    path.write_text(source.replace(edit.before, edit.after), "utf-8")
    try:
        return subprocess.run(
            [sys.executable, program, campaign, case],
            env=environment, cwd=folder, timeout=SECONDS, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        path.write_text(source, "utf-8")


def outcome_of(folder: Path, edit: Edit) -> Outcome:
    """Plant one edit and see what becomes of it."""
    campaign, case = case_of(edit)
    where, begin = f"{campaign} {case}", time.perf_counter()

    def ended(end: str, words: str) -> Outcome:
        return Outcome(edit, where, end, words, time.perf_counter() - begin)

    try:
        done = in_folder(folder, edit, campaign, case)
    except subprocess.TimeoutExpired:
        return ended("hang", f"no end after {SECONDS} s")
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return ended("error", f"exit code {done.returncode}: {done.stderr[-300:]}")
    found = json.loads(lines[-1])
    if "error" in found:
        return ended("error", found["error"])
    if "failed" not in found:
        return ended("survived", "; ".join(found["unsettled"]) or "all PASS")
    step = re.search(r"first is (step \d+)", found["reason"])
    return ended("killed", f"{found['failed']}, {step[1] if step else found['reason'][:160]}")


def main() -> int:
    """Judge the edits asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="edits whose name, kind, file or case holds TEXT")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("edits.tsv"))
    parser.add_argument("--unedited", action="store_true", help="judge the same cases, nothing planted")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the table has already")
    asked = parser.parse_args()
    chosen = [one for one in edits() if asked.only in f"{one.name} {one.kind} {one.module} {one.case}"]
    if asked.unedited:
        cases = {case_of(one): one for one in chosen}
        chosen = [one.unedited for one in cases.values()]
    if not asked.resume:
        asked.out.unlink(missing_ok=True)
    outcomes = rows(asked.out, chosen)
    judged = {found.edit for found in outcomes}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.jobs) as threads:
        free: SimpleQueue[Path] = SimpleQueue()
        for job in range(asked.jobs):
            free.put(Path(folder) / str(job))

        def work(edit: Edit) -> Outcome:
            own = free.get()
            own.mkdir(exist_ok=True)
            try:
                found = outcome_of(own, edit)
            finally:
                free.put(own)
            print(found.row, flush=True)
            with open(asked.out, "a", encoding="utf-8") as table:
                table.write(f"{found.row}\n")
            return found

        outcomes += threads.map(work, [one for one in chosen if one not in judged])
    return summed_up(outcomes)


def rows(table: Path, chosen: list[Edit]) -> list[Outcome]:
    """Outcomes that a table has of the edits asked for."""
    found = []
    lines = table.read_text("utf-8").splitlines() if table.exists() else []
    told = {cells[0]: cells for cells in (line.split("\t") for line in lines)}
    for edit in chosen:
        if edit.name in told:
            _, _, case, end, words, seconds, *_ = told[edit.name]
            found.append(Outcome(edit, case, end, words, float(seconds)))
    return found


def summed_up(outcomes: list[Outcome]) -> int:
    """Print the counts; the exit code."""
    ends = Counter(found.end for found in outcomes)
    share = ends["killed"] / max(len(outcomes), 1)
    print(f"{len(outcomes)} edits: {dict(ends)}; {share:.1%} killed by a verdict")
    unexplained = [
        one.edit.name for one in outcomes if one.end not in ("killed", "error") and not one.edit.survives
    ]
    for name in unexplained:
        print(f"  not explained: {name}")
    return int(share < SHARE or bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
