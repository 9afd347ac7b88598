"""Proves a statement anew, offline: its recorded runs, in the place of its solver, are judged again."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from sstep_verify.campaign.artefact.files import Artefact
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.profile import profile_of
from sstep_verify.campaign.run import Progress, run_campaign
from sstep_verify.campaign.statement.files import StatementError, read_statement, recorded_runs
from sstep_verify.campaign.statement.make import Statement, detection_limit, make_statement
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.provenance import collect
from sstep_verify.report.plain import neighbours, plain, rounded_up
from sstep_verify.report.results import TOO_FEW, Results
from sstep_verify.runs import asked_of
from sstep_verify.specification import specification
from sstep_verify.trajectory import Asked, Trajectory

BY_FLOAT64 = ("ratio", "detection_limit", "value")
"""Fields that are evaluated in float64, which another machine or version may round otherwise."""


def prove_statement(
    path: str | Path, directory: str | None = None, jobs: int = 1, progress: Progress = lambda *_: None
) -> tuple[Statement, list[str]]:
    """Judge every recorded run again, and compare what follows with what is stated.

    `directory` is that of the data sets, for a statement on data that do not come with the package.
    Returned are the statement, proved, and the numbers that differ in their last digit; only where versions
    or machine are others. InputError and StatementError as of `read_statement`, or if what is stated does
    not follow from the recorded runs.
    """
    stated, results = read_statement(path)
    if stated.specification != specification().version:
        raise StatementError(
            "specification",
            f"is {stated.specification}, but this version judges by {specification().version}; prove it by "
            "the version of sstep-verify that made it",
        )
    return stated, compare(stated, results, judged_again(stated, path, directory, jobs, progress))


def judged_again(
    stated: Statement, path: str | Path, directory: str | None, jobs: int, progress: Progress
) -> Results:
    """Results of the profile that is stated, with the recorded runs in the place of the solver's."""
    asked, solver = stated.asked, stated.solver
    source = functools.partial(RecordedRuns, str(path), solver.declaration)
    given = solver.program or solver.name
    try:
        definition = profile_of(asked.profile, given, asked.selection, "statement", source)
        return run_campaign(Plan(definition, directory, asked.only, jobs), progress)
    except InputError as error:
        raise StatementError("asked", f"cannot be judged again: {error}") from error


SUMMARY = ("exit_code", "right_at", "vacuous", "counts", "steps", "steps_judged")
CASE = ("id", "status", "s", "samples", "features")
VERDICT = ("check", "case", "s", "status", "planned", "executed", "sentences")


def shown(statement: Statement, results: Results) -> dict[str, Any]:
    """What recorded runs show of a statement and the results beside it, as plain values.

    Ratios and detection limits are rounded up to two digits. Reasons, evidence, curves and times are not
    here: they are words of those who made the results.
    """
    digests = cast("dict[str, str]", results.provenance["data"])
    found = {
        **vars(statement),
        "summary": {name: getattr(results.summary, name) for name in SUMMARY},
        "cases": [{name: getattr(case, name) for name in CASE} for case in results.cases],
        "verdicts": [
            {name: one[name] for name in VERDICT}
            | {"ratio": rounded_up(one["ratio"]), "detection_limit": rounded_up(detection_limit(one))}
            | {"terms": [[term["name"], term["status"]] for term in one["terms"]]}
            for one in results.verdicts
        ],
        "shortfalls": results.campaign.parameters.get(TOO_FEW, []),
        "data": {case.dataset: digests.get(case.dataset) for case in results.cases},
    }
    return cast("dict[str, Any]", plain(found))


def compare(stated: Statement, results: Results, again: Results) -> list[str]:
    """Numbers that differ as on another machine they may; StatementError if anything else does."""
    try:
        made = make_statement(again, stated.solver, stated.asked)
    except InputError as error:
        raise StatementError(
            "artefacts", f"the recorded runs are not those of the problems asked for: {error}"
        ) from error
    differences = []
    for where, said, found in _unequal("", shown(stated, results), shown(made, again)):
        fault = f"is {said!r:.80}, but the recorded runs give {found!r:.80}"
        beside = isinstance(said, float) and isinstance(found, float) and found > 0
        beside = beside and said in neighbours(found)
        if not (where.rpartition(".")[2] in BY_FLOAT64 and beside and _elsewhere(results.provenance)):
            raise StatementError(where, fault)
        differences.append(f"{where} {fault}")
    return differences


def _unequal(where: str, stated: Any, made: Any) -> Iterator[tuple[str, Any, Any]]:
    """Places at which two plain values differ, and what stands there."""
    if isinstance(stated, dict) and isinstance(made, dict):
        for name in dict.fromkeys((*stated, *made)):
            yield from _unequal(f"{where}.{name}".lstrip("."), stated.get(name), made.get(name))
    elif isinstance(stated, list) and isinstance(made, list) and len(stated) == len(made):
        for place, (one, other) in enumerate(zip(stated, made, strict=True)):
            yield from _unequal(f"{where}[{place}]", one, other)
    elif stated != made or type(stated) is not type(made):
        yield where, stated, made


def _elsewhere(there: dict[str, Any]) -> bool:
    """Whether versions or machine are others than those of some results."""
    known: list[dict[str, Any]] = [cast("dict[str, Any]", plain(collect())), there]
    here, there = ({**one, "machine": (one.get("machine") or {}).get("cpu")} for one in known)
    return any(here.get(name) != there.get(name) for name in ("package", "python", "packages", "machine"))


@functools.lru_cache(maxsize=1)
def _read(folder: str) -> tuple[Artefact, ...]:
    """All that is kept, read once in a process."""
    return recorded_runs(Path(folder))


class RecordedRuns:
    """Runs of so many ranks of the statement in a folder, in the place of a solver's.

    Nothing is read before the first. Each is given for an equal request, in the order in which they were
    made. A run is never bent to a request: problem, stream, s, start, a0, iterations and recorded points
    must be those that it was asked for. What the run had changed of its inputs is changed again.
    """

    foreign = True

    def __init__(self, folder: str, declaration: Declaration, ranks: int):
        self.declaration, self._folder = replace(declaration, ranks=ranks), folder
        self._left: dict[tuple[object, ...], list[Trajectory]] = {}

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """The recorded run; RefusedError if none is left that was asked for this."""
        mine = (one for one in _read(self._folder) if one.case.declaration == self.declaration)
        for artefact in mine if not self._left else ():
            for run in artefact.trajectories.values():
                if run.asked is not None:
                    self._left.setdefault(_key(artefact.case.stream, run.asked), []).append(run)
        found = self._left.get(_key(request.stream, asked_of(request)), [])
        if not found:
            raise RefusedError(
                f"no such run is recorded: {request.problem.label}, s = {request.s}, {request.iterations} "
                f"iterations from position {request.start} of the stream"
            )
        run = found.pop(0)
        asked = run.asked
        if asked is not None and asked.ended is not None:
            _observed(run, asked.ended, observe)
        for name in asked.changed if asked else ():
            _change(request, name)
        return replace(
            run,
            asked=None,
            log=run.log if request.log else None,
            probes=run.probes if request.probes else None,
        )


def _observed(run: Trajectory, ended: int, observe: Observer | None) -> None:
    """Show the observer what it saw; whether it ends the run there is for it to say."""
    for iteration, alpha in zip(run.iterations.tolist(), run.alphas, strict=False):
        if observe is None or observe(iteration, alpha) or iteration >= ended:
            return


def _key(stream: IndexStream, asked: Asked) -> tuple[object, ...]:
    """What a run was asked for; of the stream what all runs of a case share, relabelled ones too."""
    return (
        stream.kind, stream.seed, stream.block, asked.s, asked.start, asked.iterations, asked.points,
        np.asarray(asked.initial, dtype=np.float64).tobytes(), asked.problem, asked.features, asked.panels,
        asked.variant,
    )  # fmt: skip


def _change(request: RunRequest, name: str) -> None:
    """Change a bit of an input, a copy, as the recorded run did; RefusedError where no copy is at hand."""
    first, _, part = name.partition(".")
    array = request.initial if first == "a0" else getattr(request.problem, first, None)
    array = getattr(array, part, None) if part else array
    if not isinstance(array, np.ndarray) or not array.size:
        raise RefusedError(f"the recorded run changed its {name}, which cannot be done again")
    array.setflags(write=True)
    array.reshape(-1).view(np.uint8)[0] ^= 1
