"""Proves a statement anew, offline: its recorded runs, in the place of its solver, are judged again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from sstep_verify.campaign.again import elsewhere, judged_again, neighbours, unequal
from sstep_verify.campaign.run import Progress
from sstep_verify.campaign.statement.files import StatementError, read_statement
from sstep_verify.campaign.statement.make import Statement, detection_limit, make_statement
from sstep_verify.errors import InputError
from sstep_verify.report.plain import plain, rounded_up
from sstep_verify.report.results import TOO_FEW, Results
from sstep_verify.specification import specification

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
    asked, solver = stated.asked, stated.solver
    given = solver.program or solver.name
    try:
        again = judged_again(asked, given, solver.declaration, path, directory, jobs, progress)
    except InputError as error:
        raise StatementError("asked", f"cannot be judged again: {error}") from error
    return stated, compare(stated, results, again)


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
    for where, said, found in unequal("", shown(stated, results), shown(made, again)):
        fault = f"is {said!r:.80}, but the recorded runs give {found!r:.80}"
        beside = isinstance(said, float) and isinstance(found, float) and found > 0
        beside = beside and said in neighbours(found)
        if not (where.rpartition(".")[2] in BY_FLOAT64 and beside and elsewhere(results.provenance)):
            raise StatementError(where, fault)
        differences.append(f"{where} {fault}")
    return differences
