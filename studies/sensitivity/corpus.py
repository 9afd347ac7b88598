"""The study of the labelled corpus: every solver judged by a shipped campaign, and graded."""

from __future__ import annotations

import fcntl
import os
import shlex
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sstep_verify.campaign.artefact import read_artefact
from sstep_verify.campaign.loop.messages import heard_by
from studies import grouped
from studies.corpus.c_solvers import c_solvers, compiler
from studies.corpus.labelled_set import EQUIVALENT, LABELLED
from studies.corpus.listing import PRODUCTION, Entry, corpus
from studies.corpus.production_edits import Edit, edits, unedited
from studies.reporting.sensitivity.corpus import Judged
from studies.sensitivity.cases import CaseFound, judged_cases
from studies.sensitivity.definition import Piece, Study
from studies.sensitivity.edited import HangError, judged_edited
from studies.sensitivity.grading import graded, place_right
from studies.sensitivity.rivalry import opinions

SECONDS = {"python": 3.0, "program": 8.0, "production": 15.0}
"""Rough time of one solver, to begin with the largest pieces."""

TOGETHER = 6
"""Most solvers in a piece; edits of one module stand together, for compiled code is kept between them."""


@dataclass(frozen=True)
class Asked:
    """A solver of the corpus.

    Parameters
    ----------
    entry : Entry
        The solver and its label.
    whole : bool
        Whether all checks judge it, or others than the plain ones only if needed.
    shrink : int
        Seconds in which a smaller problem is looked for on which its mistake is found alike.
    """

    entry: Entry
    whole: bool = True
    shrink: int = 0


def corpus_pieces(study: Study) -> list[Piece]:
    """The solvers that a study asks for; edits of one case together."""
    chosen = _distinct()[:: study.every]
    edited = [entry.id for entry in chosen if entry.kind == "production" and not entry.right]
    judged_edits = edited[:: study.edits]
    left_out, plain = set(edited) - set(judged_edits), set(judged_edits) - set(judged_edits[:: study.whole])
    chosen = [entry for entry in chosen if entry.id not in left_out]
    asked = {entry.id: Asked(entry, entry.id not in plain, study.shrink) for entry in chosen}
    pieces: list[Piece] = []
    for group in grouped(chosen, _together).values():
        for first in range(0, len(group), TOGETHER):
            part = group[first : first + TOGETHER]
            cost = sum(SECONDS[entry.kind] for entry in part)
            pieces.append(({entry.id: asked[entry.id] for entry in part}, cost))
    return pieces


def _distinct() -> list[Entry]:
    """The corpus: one unedited entry for each case that edits stand for, programs where they compile."""
    seen: set[str] = set()
    found = []
    programs = compiler() is not None
    for entry in corpus():
        if entry.kind == "program" and not programs:
            continue
        if entry.kind == "production" and entry.right:
            if (case := _together(entry)) in seen:
                continue
            seen.add(case)
        found.append(entry)
    return found


def _together(entry: Entry) -> str:
    """What entries of one piece share: a case, the compiler, nothing."""
    if entry.kind == "production":
        return " ".join(_case_of(_edit(entry).case))
    return "programs" if entry.kind == "program" else entry.id


def judged(asked: Asked) -> Judged:
    """Judge a solver on its campaign, have the rivals look at the same runs, and grade all that."""
    entry = asked.entry
    with tempfile.TemporaryDirectory(prefix="sstep-verify-") as held, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Wrong solvers divide by 0 and overflow.
        room = Path(held)
        again = shlex.join(
            ["python", "-m", "sstep_verify", "run", "sensitivity", "--only", f"corpus/{entry.id}"]
        )
        try:
            # What its cases tell of themselves is no progress of this campaign.
            with heard_by(lambda _: None), _one_job() if _ranks(entry) > 1 else nullcontext():
                found = list(_cases(asked, room))
        except HangError as error:
            found = [CaseFound(entry.id, "", error=str(error))]
        said = [opinions(room / case.runs) for case in found if case.runs]
        return graded(entry, found, said, _place(entry, found, room), again)


def _cases(asked: Asked, room: Path) -> Iterator[CaseFound]:
    """The cases of a campaign with this solver, as `sstep-verify check` or `run` judges them."""
    from sstep_verify.campaign.definition import read_definition
    from sstep_verify.campaign.profile import Selection, profile_of

    entry = asked.entry
    if entry.kind == "production":
        campaign, case = _case_of(_edit(entry).case)
        if entry.right:
            yield from judged_cases(read_definition(campaign), case, room)
        else:
            yield from judged_edited(_edit(entry), campaign, case, room, asked.whole, asked.shrink)
        return
    source = (*LABELLED, *EQUIVALENT) if entry.kind == "python" else c_solvers(room)
    solver = next(one for one in source if one.id == entry.id)
    chosen = Selection(tasks=solver.tasks, kernels=solver.kernels)
    profile = solver.profile("smoke")
    definition = profile_of(profile, solver.make(), chosen, f"verify(..., {profile!r})")
    yield from judged_cases(definition, "", room, shrink=asked.shrink)


@contextmanager
def _one_job() -> Iterator[None]:
    """One MPI job at a time, of all processes of this user: ranks that wait keep a core busy."""
    with open(Path(tempfile.gettempdir()) / f"sstep-verify-ranks-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def _edits() -> dict[str, Edit]:
    return {f"{PRODUCTION}{one.name}": one for one in (*edits(), *unedited())}


def _edit(entry: Entry) -> Edit:
    return _edits()[entry.id]


@cache
def _ids(campaign: str) -> dict[str, int]:
    """Ids of a campaign's cases, with their ranks."""
    from sstep_verify.campaign.definition import read_definition
    from sstep_verify.campaign.verdicts.expand import expand

    specs = [spec for group in expand(read_definition(campaign)) for spec in group.specs]
    return {spec.id: spec.family.ranks for spec in specs}


def _case_of(words: str) -> tuple[str, str]:
    """Campaign, and id of its first case that holds all words of an edit's."""
    campaign, *parts = words.split()
    return campaign, next(name for name in _ids(campaign) if all(part in name for part in parts))


def _ranks(entry: Entry) -> int:
    if entry.kind != "production":
        return 2 if entry.kind == "program" else 1
    campaign, case = _case_of(_edit(entry).case)
    return _ids(campaign)[case]


def _place(entry: Entry, cases: Sequence[CaseFound], room: Path) -> bool:
    """Whether the first failed case names a place where the mistake acts."""
    case = next((one for one in cases if one.telling), None)
    if case is None or case.telling is None or not case.runs or entry.right:
        return False
    whole = read_artefact(room / case.runs).case
    return place_right(entry.acts, case.telling, whole.stream, whole.start, whole.iterations)
