"""Cases of a campaign: their ids, which of them are run, on which data, and what a report says of each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar

from sstep_verify.errors import InputError, closest
from sstep_verify.problems import Kernel, Problem, losses
from sstep_verify.problems.data.datasets import DataSet, knows, load
from sstep_verify.problems.kernels import describe, identify, shortest
from sstep_verify.problems.losses import LOSSES
from sstep_verify.report.case import Case

Unit = TypeVar("Unit", bound=Any)


def matches(text: str, case_id: str) -> bool:
    """True if an id contains a text, and a number at an end of the text is whole there.

    ``C=1`` is part of ``duke/linear/svm-l1/C=1`` and of ``.../C=1/csr``, but not of ``C=100``, ``C=1.5``
    or ``C=1e-05``. A number that has letters before it, as in ``b=4`` or ``a9a``, begins where it does.

    The empty text is part of every id.
    """
    before = r"(?<![\d.])" if text[:1].isdigit() else ""
    after = r"(?![\d.]|[eE][-+]?\d)" if text[-1:].isdigit() else ""
    return re.search(before + re.escape(text) + after, case_id) is not None


def selected(text: str, case_ids: Iterable[str]) -> set[str]:
    """Ids that a text selects: the one that it is, or else all that it is part of."""
    known = set(case_ids)
    return {text} if text in known else {case_id for case_id in known if matches(text, case_id)}


def chosen(text: str, case_ids: Collection[str]) -> set[str]:
    """Ids that a text selects, as `selected`; InputError if there is none."""
    found = selected(text, case_ids)
    if not found:
        near = closest(text, case_ids) or f"; ids look like {next(iter(case_ids))!r}"
        raise InputError(f"no case has an id that contains {text!r:.100}{near}; --list shows them all")
    return found


def chosen_units(units: Iterable[Unit], text: str, table: str) -> list[Unit]:
    """Units whose `case` a text selects, in their order; no two tables of this name hold the same case."""
    found: dict[str, Unit] = {}
    for unit in units:
        if found.setdefault(unit.case, unit) is not unit:
            raise InputError(f"case {unit.case} stands twice in the {table} tables")
    wanted = chosen(text, found)
    return [unit for case, unit in found.items() if case in wanted]


def command_for(again: str, case_id: str) -> str:
    """The command, or call, that runs one case again, given the one that runs all."""
    if again.endswith(")"):
        return f"{again[:-1]}, only={case_id!r})"
    return f"{again} --only {shlex.quote(case_id)}"


def case_id(data: str, kernel: Kernel, task: str, parameter: float, *more: str) -> str:
    """Unique name: ``duke/rbf,sigma=1/svm-l1/C=1`` or ``abalone/linear/krr/lambda=1/b=128``."""
    return "/".join((data, identify(kernel), task, f"{LOSSES[task].symbol}={shortest(parameter)}", *more))


def case_in_report(problem: Problem, **found: Any) -> Case:
    """A case of the report: what its problem says, and what was found."""
    return Case(
        problem=problem.label,
        dataset=problem.name,
        kernel=describe(problem.kernel),
        loss=losses.describe(problem.loss),
        task=problem.loss.task,
        samples=problem.samples,
        features=problem.features,
        parameters={problem.loss.symbol: problem.loss.parameter},
        **found,
    )


def load_data(name: str, directory: str | None, task: str | None = None) -> DataSet:
    """Load a data set as `problems.data.datasets.load` does; a file is first looked for in `directory`.

    `task`, "classification" or "regression", is what the targets are used for. InputError if the data
    cannot be had, or used.
    """
    if directory and not knows(name):
        inside = Path(directory).expanduser() / name
        if inside.is_file():
            return load(inside, directory=directory, task=task)
    return load(name, directory=directory, task=task)
