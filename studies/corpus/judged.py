"""A solver of the corpus judged by a shipped campaign, every check and every run kept; and graded.

An edit of the production solver is judged in a copy of the package, in a process of its own: ``python -m
studies.corpus.judged CAMPAIGN CASE ROOM WHOLE`` judges whatever package PYTHONPATH names, and writes
what its cases came to to ``ROOM/found.json``.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import sstep_verify
from sstep_verify.campaign.artefact.files import read_artefact
from sstep_verify.campaign.artefact.verdicts import REPLAY
from sstep_verify.campaign.model import Definition, Plan, Unit, heard_by
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.execute import execute_group
from sstep_verify.campaign.verdicts.family import CaseSpec, expand
from sstep_verify.checks import box, contract, step_replay
from sstep_verify.checks.recorded import message_count, rank_coherence
from sstep_verify.files.records import convert
from sstep_verify.report.telling import telling
from sstep_verify.report.words import lacking
from sstep_verify.verdict import Status
from studies import ROOT, search_path
from studies.baselines import opinions
from studies.corpus.grading import CaseFound, graded, place_right
from studies.corpus.labelled import Made
from studies.corpus.listing import Edit, corpus, edited
from studies.report.sensitivity.corpus import Judged

PLAIN = (contract.ID, step_replay.ID, box.ID, rank_coherence.ID, message_count.ID)
"""Checks that need no runs but the plain ones and what continues these, and little time."""

SECONDS = 600
"""Seconds a case may take, compilation included, before an edited run counts as hanging."""

FOUND = "found.json"


def judged(name: str, whole: bool = True) -> Judged:
    """Judge a solver on its campaign, have the rivals look at the same runs, and grade all that.

    Of an edit not `whole`, checks other than the plain ones judge only if needed.
    """
    solver = corpus()[name]
    ranks = solver.ranks if isinstance(solver, Made) else case_of(solver)[2]
    again = ["python", "-m", "sstep_verify", "run", "sensitivity", "--only", f"corpus/{name}"]
    with tempfile.TemporaryDirectory(prefix="sstep-verify-") as held, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Wrong solvers divide by 0 and overflow.
        room = Path(held)
        # What its cases tell of themselves is no progress of this campaign.
        with heard_by(lambda _: None), _one_job() if ranks > 1 else nullcontext():
            found = list(_cases(solver, room, whole))
        said = [opinions(room / case.runs) for case in found if case.runs]
        place = False
        case = next((one for one in found if one.telling), None)
        if case and case.telling and case.runs and not solver.right:
            kept = read_artefact(room / case.runs).case
            place = place_right(solver.acts, case.telling, kept.stream, kept.start, kept.iterations)
        return graded(solver, found, said, place, shlex.join(again))


def _cases(solver: Made | Edit, room: Path, whole: bool) -> Iterator[CaseFound]:
    """The cases of a campaign with this solver, as `sstep-verify check` or `run` judges them."""
    if isinstance(solver, Made):
        made = solver.make(room) if solver.kind == "program" else solver.make()
        chosen, profile = Selection(tasks=solver.tasks, kernels=solver.kernels), solver.campaign
        definition = profile_of(profile, made, chosen, f"verify(..., {profile!r})")
        yield from judged_cases(definition, "", room)
        return
    campaign, case, _ = case_of(solver)
    if solver.right:
        yield from judged_cases(read_definition(campaign), case, room)
    else:
        yield from _judged_edited(solver, campaign, case, room, "whole" if whole else "plain")


def judged_cases(
    definition: Definition, only: str, room: Path, *, whole: bool = True
) -> Iterator[CaseFound]:
    """Judge cases of a campaign in this process; their runs are kept in an empty room.

    Figures are left out, checks are not: all of them judge, or where not `whole` those of `PLAIN`, and
    all where none of these fails and says which part of the solver is wrong.
    """
    for spec in (spec for unit in expand(definition, only) for spec in unit.work):
        family = replace(spec.family, drift=0)
        plain = tuple(check for check in family.checks if check in PLAIN)
        found, seconds = CaseFound(spec.id), 0.0
        for asked in (family,) if whole else (replace(family, checks=plain), family):
            known = found.status == Status.FAIL
            found = _judged(definition, replace(spec, family=asked), room)
            seconds += 0.0 if known else found.seconds
            if found.part_named:
                break
        yield replace(found, seconds=seconds)


def _judged(definition: Definition, spec: CaseSpec, room: Path) -> CaseFound:
    """One case."""
    begin = time.perf_counter()
    with heard_by(lambda _: None):
        plan = Plan(definition, artefacts=room, runs=True)
        messages = list(execute_group(Unit((spec.id,), (spec,), data=(spec.data,)), plan))
    seconds = time.perf_counter() - begin
    errors = [one.error.strip().splitlines()[-1] for one in messages if one.outcome is None]
    found = CaseFound(spec.id, error=(errors or [""])[0], seconds=seconds)
    for outcome in (one.outcome for one in messages if one.outcome is not None):
        short = outcome.too_few and outcome.case.status == Status.PASS
        failed = [one for one in outcome.verdicts if one.status is Status.FAIL]
        found = replace(
            found,
            status=Status.INCONCLUSIVE if short else outcome.case.status,
            reason="; ".join(map(lacking, outcome.too_few)) if short else outcome.case.reason,
            verdicts=outcome.verdicts,
            runs=outcome.runs.removeprefix(REPLAY),
            telling=telling(failed) if failed else None,
        )
    return found


@contextmanager
def _one_job() -> Iterator[None]:
    """One MPI job at a time, of all processes of this user: ranks that wait keep a core busy."""
    with open(Path(tempfile.gettempdir()) / f"sstep-verify-ranks-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def _cases_of(campaign: str) -> list[CaseSpec]:
    return [spec for unit in expand(read_definition(campaign)) for spec in unit.work]


def case_of(edit: Edit) -> tuple[str, str, int]:
    """Campaign, and id and ranks of its first case that holds all words of an edit's."""
    campaign, *parts = edit.case.split()
    spec = next(one for one in _cases_of(campaign) if all(part in one.id for part in parts))
    return campaign, spec.id, spec.family.ranks


@cache
def _copy() -> Path:
    """A copy of the package for this process, removed when it ends.

    Compiled code is kept from edit to edit: a file is compiled again whenever it or one whose compiled
    functions it calls has changed, see `sstep_verify.compiled`.
    """
    folder = Path(tempfile.mkdtemp(prefix="sstep-verify-edited-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    package = Path(sstep_verify.__file__).parent
    shutil.copytree(package, folder / "sstep_verify", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _judged_edited(edit: Edit, campaign: str, case: str, room: Path, *asked: object) -> list[CaseFound]:
    """Judge a case of a shipped campaign with the edit in the package, as `judged_cases` does.

    InputError if the module does not hold the edit's text exactly once.
    """
    folder = _copy()
    path = (folder / "sstep_verify").joinpath(*edit.module.split(".")[1:]).with_suffix(".py")
    source = path.read_text("utf-8")
    where, advice = f"edit {edit.id!r}: {edit.module}", "; mend the edit in studies/corpus/production"
    environment = os.environ | {
        "PYTHONPATH": search_path(folder, ROOT / "reference"),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    path.write_text(edited(source, [(edit.before, edit.after)], where, advice), "utf-8")
    command = [sys.executable, "-m", __spec__.name, campaign, case, str(room), *map(str, asked)]
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            timeout=SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [CaseFound(edit.id, error=f"no end after {SECONDS} s")]
    finally:
        path.write_text(source, "utf-8")
    if not (room / FOUND).is_file():
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return [CaseFound(case, error=f"exit code {done.returncode}: {last}")]
    return convert(json.loads((room / FOUND).read_bytes()), list[CaseFound], case)


def main(campaign: str, case: str, room: str, whole: str) -> None:
    """Judge the case, and write down what it came to."""
    cases = judged_cases(read_definition(campaign), case, Path(room), whole=whole == "whole")
    found = [asdict(one) for one in cases]
    Path(room, FOUND).write_text(json.dumps(found, default=lambda value: value.tolist()))


if __name__ == "__main__":
    main(*sys.argv[1:5])
