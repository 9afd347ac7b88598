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
from sstep_verify.campaign.messages import heard_by
from sstep_verify.report.plain import grouped
from studies.corpus.c_solvers import Program, compiler
from studies.corpus.listing import Edit, Entry, corpus
from studies.report.sensitivity.corpus import Judged
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
    id : str
        Its name.
    whole : bool
        Whether all checks judge it, or others than the plain ones only if needed.
    shrink : int
        Seconds in which a smaller problem is looked for on which its mistake is found alike.
    """

    id: str
    whole: bool = True
    shrink: int = 0


def corpus_pieces(study: Study) -> list[Piece]:
    """The solvers that a study asks for; edits of one case together."""
    chosen = _distinct()[:: study.every]
    edited = [one.id for one in chosen if isinstance(one, Edit) and not one.right]
    judged_edits = edited[:: study.edits]
    left_out, plain = set(edited) - set(judged_edits), set(judged_edits) - set(judged_edits[:: study.whole])
    pieces: list[Piece] = []
    for group in grouped((one for one in chosen if one.id not in left_out), _together).values():
        for first in range(0, len(group), TOGETHER):
            part = group[first : first + TOGETHER]
            cost = sum(SECONDS[one.kind] for one in part)
            pieces.append(
                ({one.id: Asked(one.id, one.id not in plain, study.shrink) for one in part}, cost)
            )
    return pieces


def _distinct() -> list[Entry]:
    """The corpus: one unedited solver for each case that edits stand for, programs where they compile."""
    solvers: dict[str, Entry] = {}
    for one in corpus().values():
        if compiler() or not isinstance(one, Program):
            solvers.setdefault(_together(one) if isinstance(one, Edit) and one.right else one.id, one)
    return list(solvers.values())


def _together(solver: Entry) -> str:
    """What solvers of one piece share: a case, the compiler, nothing."""
    if isinstance(solver, Edit):
        return " ".join(_case_of(solver)[:2])
    return "programs" if isinstance(solver, Program) else solver.id


def judged(asked: Asked) -> Judged:
    """Judge a solver on its campaign, have the rivals look at the same runs, and grade all that."""
    solver = corpus()[asked.id]
    ranks = solver.ranks if isinstance(solver, Program) else 1
    if isinstance(solver, Edit):
        ranks = _case_of(solver)[2]
    with tempfile.TemporaryDirectory(prefix="sstep-verify-") as held, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Wrong solvers divide by 0 and overflow.
        room = Path(held)
        again = shlex.join(
            ["python", "-m", "sstep_verify", "run", "sensitivity", "--only", f"corpus/{asked.id}"]
        )
        try:
            # What its cases tell of themselves is no progress of this campaign.
            with heard_by(lambda _: None), _one_job() if ranks > 1 else nullcontext():
                found = list(_cases(solver, asked, room))
        except HangError as error:
            found = [CaseFound(asked.id, "", error=str(error))]
        said = [opinions(room / case.runs) for case in found if case.runs]
        return graded(solver, found, said, _place(solver, found, room), again)


def _cases(solver: Entry, asked: Asked, room: Path) -> Iterator[CaseFound]:
    """The cases of a campaign with this solver, as `sstep-verify check` or `run` judges them."""
    from sstep_verify.campaign.profile import Selection, profile_of
    from sstep_verify.campaign.read import read_definition

    if isinstance(solver, Edit):
        campaign, case, _ = _case_of(solver)
        if solver.right:
            yield from judged_cases(read_definition(campaign), case, room)
        else:
            yield from judged_edited(solver, campaign, case, room, asked.whole, asked.shrink)
        return
    made = solver.made(room) if isinstance(solver, Program) else solver.make()
    chosen, profile = Selection(tasks=solver.tasks, kernels=solver.kernels), solver.campaign
    definition = profile_of(profile, made, chosen, f"verify(..., {profile!r})")
    yield from judged_cases(definition, "", room, shrink=asked.shrink)


@contextmanager
def _one_job() -> Iterator[None]:
    """One MPI job at a time, of all processes of this user: ranks that wait keep a core busy."""
    with open(Path(tempfile.gettempdir()) / f"sstep-verify-ranks-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def _ranks(campaign: str) -> dict[str, int]:
    """Ranks of a campaign's cases, by id."""
    from sstep_verify.campaign.read import read_definition
    from sstep_verify.campaign.verdicts.expand import expand

    specs = [spec for unit in expand(read_definition(campaign)) for spec in unit.work]
    return {spec.id: spec.family.ranks for spec in specs}


def _case_of(edit: Edit) -> tuple[str, str, int]:
    """Campaign, and id and ranks of its first case that holds all words of an edit's."""
    campaign, *parts = edit.case.split()
    cases = _ranks(campaign).items()
    return next((campaign, *case) for case in cases if all(part in case[0] for part in parts))


def _place(solver: Entry, cases: Sequence[CaseFound], room: Path) -> bool:
    """Whether the first failed case names a place where the mistake acts."""
    case = next((one for one in cases if one.telling), None)
    if case is None or case.telling is None or not case.runs or solver.right:
        return False
    whole = read_artefact(room / case.runs).case
    return place_right(solver.acts, case.telling, whole.stream, whole.start, whole.iterations)
