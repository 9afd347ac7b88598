"""Families of predictions: the tables ``[[scaling]]`` of a campaign file, and their units, each a curve."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from sstep_verify.campaign.selection import chosen_units, load_data
from sstep_verify.campaign.tables import Count, OneOf, Range, limits, read_table, refuse_beyond
from sstep_verify.costs.prediction import Machine, read
from sstep_verify.costs.profiles import Profile, matrix_profile, read_counts, uniform_profile
from sstep_verify.errors import InputError
from sstep_verify.problems.data.datasets import FOLDER_VARIABLE, stored_file
from sstep_verify.problems.losses import TASKS
from sstep_verify.report import results as report
from sstep_verify.report.case import PREDICTED
from studies.report.scaling.part import PaperClaim, ScalingPoint
from studies.scaling.claims import claims_on
from studies.scaling.curve import KERNELS, RANKS, SHAPES, STEPS, Cell, points


@dataclass(frozen=True)
class DataItem:
    """Data of a family: a data set's name or file; or any name, with what is known of the data.

    That is m, n and nonzeros, every column as full as the others; or m and `counts`, a file of each
    column's nonzeros that is looked for in the folders of data sets.
    """

    name: str
    samples: Count = 0
    features: Annotated[int, Range(1, 1 << 27, "every column has a number")] = 0
    nonzeros: Count = 0
    counts: str = ""


@dataclass(frozen=True)
class ScalingFamily:
    """Predictions of every data set with every task, kernel (by name: its parameters take no time) and b.

    P ascends; s stands beside 1. The machine is a file, or the name of one that is shipped, fitted to the
    published programs.
    """

    data: tuple[DataItem, ...]
    task: Annotated[tuple[str, ...], OneOf(TASKS)]
    kernel: Annotated[tuple[str, ...], OneOf(KERNELS)]
    b: Annotated[tuple[int, ...], Range(1, 1 << 20)] = (1,)
    ranks: Annotated[tuple[int, ...], Range(1, 1 << 20)] = RANKS
    s: Annotated[tuple[int, ...], Range(2, 1 << 20, "s = 1, the classical method, is always predicted")] = (
        STEPS[1:]
    )
    machine: str = "perlmutter"


@dataclass(frozen=True)
class ScalingUnit:
    """One curve over P: what one process works on at a time; `refusal` says why it cannot be predicted."""

    family: ScalingFamily
    data: DataItem
    task: str
    kernel: str
    block: int
    refusal: str = ""

    @property
    def case(self) -> str:
        """Id of its case, such as ``duke/rbf/svm-l1`` or ``news20.binary/rbf/krr/b=4``."""
        block = [f"b={self.block}"] if self.task == "krr" else []
        return "/".join([self.data.name, self.kernel, self.task, *block])

    @property
    def label(self) -> str:
        """In words."""
        return f"{self.data.name} / {self.kernel} / " + (
            f"K-RR, b = {self.block}" if self.task == "krr" else "K-SVM"
        )

    @property
    def cell(self) -> Cell:
        """What the paper's claims and the published timings are looked up by."""
        return Cell(self.data.name, self.task != "krr", self.kernel, self.block)


def scaling_units(families: Sequence[ScalingFamily], only: str = "") -> list[ScalingUnit]:
    """All units whose case id `only` selects, in the order of the file, those of a data set together.

    Raises
    ------
    InputError
        If two tables hold the same case, or no case is left.
    """
    every = [unit for family in families for unit in _product(family)]
    order = list(dict.fromkeys(unit.data.name for unit in every))
    return sorted(chosen_units(every, only, "[[scaling]]"), key=lambda unit: order.index(unit.data.name))


def _product(family: ScalingFamily) -> list[ScalingUnit]:
    return [
        ScalingUnit(family, data, task, kernel, block)
        for data in family.data
        for task in family.task
        for block in family.b
        for kernel in family.kernel
    ]


def read_scaling(table: dict[str, Any], where: str) -> ScalingFamily:
    """The family of one ``[[scaling]]`` table; InputError if a key or a value cannot be used."""
    if isinstance(named := table.get("data"), list):
        table = table | {"data": [{"name": one} if isinstance(one, str) else one for one in named]}
    values = read_table(table, ScalingFamily, where)
    values["data"] = tuple(_item(one, where) for one in values["data"])
    family = ScalingFamily(**values)
    if family.b != (1,) and any(name != "krr" for name in family.task):
        raise InputError(f"{where}: b = {list(family.b)}, but K-SVM makes steps of one coordinate")
    if tuple(sorted(family.ranks)) != family.ranks:
        raise InputError(f"{where}: ranks = {list(family.ranks)}, but they must ascend")
    try:
        published = read(family.machine).published
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not published:
        raise InputError(f"{where}: machine {family.machine!r} was not fitted to the published programs")
    return family


def _item(given: Any, where: str) -> DataItem:
    """Data of a family, which are a data set or said by three numbers, or by one and a file."""
    item = DataItem(given.name, given.samples, given.features, given.nonzeros, given.counts)
    if item == DataItem(item.name):
        return item
    if not item.name or "/" in item.name:
        raise InputError(f"{where}, data: name = {item.name!r:.60}, but it is part of an id: no / in it")
    where = f"{where}, data {item.name}"
    if item.counts and (item.features or item.nonzeros):
        raise InputError(f"{where}: counts says features and nonzeros; leave these out")
    needed = {"samples": item.samples}
    if not item.counts:
        needed |= {"features": item.features, "nonzeros": item.nonzeros}
    refuse_beyond(where, needed, limits(DataItem))
    if item.nonzeros > item.samples * item.features:
        raise InputError(f"{where}: nonzeros = {item.nonzeros}, more than m n entries")
    return item


Loaded = tuple[Profile, str]
"""A profile, and the SHA-256 of the file that it is from; empty if it is stated."""


def load_profile(item: DataItem, directory: str | None) -> Loaded:
    """The profile of an entry of a family's data, from the folder of the data sets.

    Raises
    ------
    InputError
        If it is not to be had, or cannot be used.
    """
    return _kept(item, directory, os.environ.get(FOLDER_VARIABLE))


@lru_cache(maxsize=4)
def _kept(item: DataItem, directory: str | None, _folder: str | None) -> Loaded:
    """Read once for all units of a data set; what cannot be read is tried again."""
    if item.counts:
        path = stored_file(item.counts, directory)
        if path is None:
            raise InputError(_absent(item, directory))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return Profile(item.name, item.samples, read_counts(path, item.samples)), digest
    if item.features:
        return uniform_profile(item.name, item.samples, item.features, item.nonzeros), ""
    loaded = load_data(item.name, directory)
    return matrix_profile(item.name, loaded.data), loaded.sha256


def _absent(item: DataItem, directory: str | None) -> str:
    """What is said where a file of counts is nowhere."""
    folders = {
        "the folder given (--data)": directory,
        f"${FOLDER_VARIABLE}": os.environ.get(FOLDER_VARIABLE),
    }
    tried = [f"{origin} ({Path(folder)}) holds none" for origin, folder in folders.items() if folder]
    return (
        f"the column counts of {item.name!r} are not at hand: {'; '.join(tried) or 'no folder was named'}. "
        f"Ways out: give the folder that holds the file {item.counts} with --data DIR; "
        f"or name it in ${FOLDER_VARIABLE}"
    )


@dataclass(frozen=True)
class ScalingOutcome:
    """Predictions of one unit and the paper's claims on its case, whose status is no verdict."""

    case: report.Case
    points: tuple[ScalingPoint, ...]
    claims: tuple[PaperClaim, ...]


def execute_unit(unit: ScalingUnit, directory: str | None) -> ScalingOutcome:
    """Predict one curve.

    Raises
    ------
    InputError
        If its data are not to be had.
    """
    if unit.refusal:
        raise InputError(unit.refusal)
    profile, _ = load_profile(unit.data, directory)
    machine, family = read(unit.family.machine), unit.family
    cell = unit.cell
    if SHAPES.get(cell.data) != (profile.samples, profile.features):
        cell = cell._replace(data="")  # Of the same name as one of the paper's, but other data.
    curve = tuple(points(unit.case, machine, profile, cell, family.ranks, (1, *family.s)))
    claims = tuple(claims_on(unit.case, machine, profile, cell))
    return ScalingOutcome(_case(unit, profile, machine, curve[-1]), curve, claims)


def _case(unit: ScalingUnit, profile: Profile, machine: Machine, last: ScalingPoint) -> report.Case:
    item = unit.data
    source = f"counted in {item.counts}" if item.counts else "of the data set"
    return report.Case(
        id=unit.case,
        problem=unit.label,
        dataset=item.name,
        kernel=unit.kernel,
        loss="K-RR" if unit.task == "krr" else "K-SVM",
        task=unit.task,
        samples=profile.samples,
        features=profile.features,
        block=unit.block,
        status=PREDICTED,
        s=(1, *sorted(unit.family.s)),
        reason=(
            f"at P = {last.ranks:,}, microseconds per iteration: classical {last.classical:g}, s-step "
            f"{last.s_step:g} (s = {last.s}), ours {last.ours:g} ({last.exchange}, s = {last.our_s})"
        ),
        facts={
            "nonzeros": round(profile.nonzeros),
            "nonzeros of a column": "stated as even" if item.features else source,
            "P": list(unit.family.ranks),
            "machine": machine.name,
        },
    )
