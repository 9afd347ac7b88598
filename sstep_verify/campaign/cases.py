"""Tables of campaign files, and the cases that they make: values and ranges, ids, data, which are run."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from sstep_verify.errors import InputError, closest, shown
from sstep_verify.files.records import convert, hints_of, strict
from sstep_verify.problems import Kernel, Problem, kernel_from, losses
from sstep_verify.problems.data.datasets import DataSet, knows, load
from sstep_verify.problems.kernels import describe, identify, shortest
from sstep_verify.problems.losses import LOSSES
from sstep_verify.report.case import Case

Unit = TypeVar("Unit", bound=Any)

MANY = 1_000
"""Most values in one list of a campaign file."""

LONG = 10**12
"""Most iterations; at a million a second they take eleven days."""

WORDS = 2**53
"""Largest count: what float64 still counts exactly."""


@dataclass(frozen=True)
class Range:
    """Least and largest value of a number; `open` leaves out the least, `reason` says why no more."""

    least: float
    most: float = sys.float_info.max
    reason: str = ""
    open: bool = False

    def refuse(self, where: str, key: str, value: float) -> None:
        """Raise InputError for a number outside."""
        if not (self.least <= value <= self.most) or (self.open and value == self.least):
            raise InputError(f"{where}: {key} = {shown(value)}, but it must be {self}")

    def __str__(self) -> str:
        least = f"{'>' if self.open else '>='} {self.least:g}"
        if self.most == sys.float_info.max:
            return f"finite and {least}"
        return f"{least} and <= {self.most:,.16g}" + f": {self.reason}" * bool(self.reason)


@dataclass(frozen=True, eq=False)
class OneOf:
    """Names that a text may be."""

    names: Collection[str]

    def refuse(self, where: str, key: str, value: str) -> None:
        """Raise InputError for another."""
        if value not in self.names:
            raise InputError(
                f"{where}: {key} {value!r:.60} is unknown{closest(value, self.names)}; known: "
                f"{', '.join(self.names)}"
            )


POSITIVE = Range(0, open=True)

Count = Annotated[int, Range(1, WORDS)]
Whole = Annotated[int, Range(0, WORDS)]
Memory = Annotated[float, Range(0, 1 << 20, "GiB", open=True)]


@dataclass(frozen=True)
class KernelTable:
    """A kernel in a file."""

    name: str
    degree: int = 3
    offset: float = 0.0
    sigma: float = 1.0


def read_table(table: dict, kind: type, where: str) -> dict[str, Any]:
    """The values that a table of TOML gives to the fields of a record, as its types and limits allow.

    A `Range` or `OneOf` that annotates a field of the dataclass `kind` is that of its value, or of each in
    a list. InputError, which names file and place (`where`), if a key is missing or unknown, a value of
    another type or beyond its limits, or a list is empty, too long, or holds a value twice.
    """
    given = convert(table, _type_of_table(kind), where)
    values = {key: getattr(given, key) for key in table}
    for key, hint in hints_of(kind).items():
        if hint == tuple[Kernel, ...] and key in values:
            values[key] = tuple(_kernel(item, where) for item in table[key])
    for key, found in values.items():
        if isinstance(found, tuple):
            _refuse_list(where, key, found)
    refuse_beyond(where, values, limits(kind))
    return values


@cache
def _type_of_table(kind: type) -> Any:
    return strict(kind, {Kernel: strict(KernelTable, {})})


def limits(kind: type) -> dict[str, Range | OneOf]:
    """The limits of a record's fields."""
    hints = hints_of(kind, include_extras=True)
    return {
        key: limit
        for key, hint in hints.items()
        for limit in getattr(hint, "__metadata__", ())
        if isinstance(limit, Range | OneOf)
    }


def refuse_beyond(where: str, values: Mapping[str, Any], allowed: Mapping[str, Range | OneOf]) -> None:
    """Raise InputError for the first value, or value of a list, that is beyond its limits."""
    for key, limit in allowed.items():
        found = values.get(key, ())
        for value in found if isinstance(found, tuple) else (found,):
            limit.refuse(where, key, value)


def most_ranks() -> Range:
    """Ranks that this machine can start at once: four a core, but sixteen in any case."""
    cores = os.cpu_count() or 1
    reason = f"this machine has {cores} cores, four ranks a core are the most, or 16"
    return Range(1, max(16, 4 * cores), reason)


def _kernel(table: dict[str, Any], where: str) -> Kernel:
    try:
        kernel = kernel_from(**table)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if unused := sorted(table.keys() - {"name", *vars(kernel)}):
        own = ", ".join(vars(kernel)) or "no number"
        raise InputError(f"{where}: kernel {kernel.name} has no {unused[0]}, it has {own}; leave it out")
    return kernel


def _refuse_list(where: str, key: str, found: tuple) -> None:
    if not found:
        raise InputError(f"{where}: {key} is empty; name at least one value, or leave {key} out")
    if len(found) > MANY:
        raise InputError(
            f"{where}: {key} has {len(found)} values, but at most {MANY} are run: each is run on every "
            "problem of the table"
        )
    for place, value in enumerate(found):
        if value in found[:place]:
            raise InputError(f"{where}: {key} holds {shown(value)} twice")


def matches(text: str, case_id: str) -> bool:
    """True if an id contains a text, and a number at an end of the text is whole there.

    ``C=1`` is part of ``duke/linear/svm-l1/C=1`` and of ``.../C=1/csr``, but not of ``C=100``, ``C=1.5``
    or ``C=1e-05``. A number that has letters before it, as in ``b=4`` or ``a9a``, begins where it does.

    The empty text is part of every id.
    """
    before = r"(?<![\d.])" if text[:1].isdigit() else ""
    after = r"(?![\d.]|[eE][-+]?\d)" if text[-1:].isdigit() else ""
    return re.search(before + re.escape(text) + after, case_id) is not None


def chosen(text: str, case_ids: Collection[str]) -> set[str]:
    """Ids that a text selects: the one that it is, or else all that it is part of; InputError if none."""
    found = {text} if text in case_ids else {one for one in case_ids if matches(text, one)}
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


def command_for(again: str, value: str | int, option: str = "only") -> str:
    """The command, or call, that runs one case again, or takes another option, given the one for all."""
    if again.endswith(")"):
        return f"{again[:-1]}, {option}={value!r})"
    return f"{again} --{option} {shlex.quote(str(value))}"


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
        inside = Path(os.path.expanduser(directory)) / name
        if inside.is_file():
            return load(inside, directory=directory, task=task)
    return load(name, directory=directory, task=task)


def out_of_range(problem: Problem) -> str:
    """Why float64 cannot hold the numbers of a problem; empty if it can.

    No correct run says anything where the largest value that the dual objective may take, m^2 K_ii times
    C^2 (K-SVM) or over lambda (K-RR), is beyond the largest number.
    """
    with np.errstate(over="ignore"):
        data: Any = problem.data
        squares = np.asarray((data * data).sum(axis=1))
        largest = np.float64(problem.kernel.largest(float(squares.max())))
        factor = (
            np.float64(problem.hinge.C) ** 2 if problem.is_svm else 1 / np.float64(problem.ridge.penalty)
        )
        reached = largest * factor * float(problem.samples) ** 2
    if np.isfinite(reached):
        return ""
    return (
        f"kernel entries reach {largest:.3g}, so with m = {problem.samples} and the parameter given the "
        "objective is beyond the range of float64 (1.8e308); scale the data or the parameter"
    )
