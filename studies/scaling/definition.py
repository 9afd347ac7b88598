"""Families of predictions: the tables ``[[scaling]]`` of a campaign file, and their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from sstep_verify.campaign.selection import chosen_units
from sstep_verify.campaign.tables import Count, OneOf, Range, limits, read_table, refuse_beyond
from sstep_verify.costs.machine import read
from sstep_verify.errors import InputError
from sstep_verify.problems.losses import TASKS
from studies.scaling.curve import RANKS, STEPS
from studies.scaling.timed import KERNELS, Cell


@dataclass(frozen=True)
class DataItem:
    """Data of a family: a data set, or what is known of one.

    Parameters
    ----------
    name : str
        A data set's name or file; any name where the rest says what the data are.
    samples, features, nonzeros : int
        m, n, nonzeros, every column as full as the others; 0 where the data set or `counts` says it.
    counts : str
        File of each column's nonzeros, looked for in the folders of data sets; empty for none.
    """

    name: str
    samples: Count = 0
    features: Annotated[int, Range(1, 1 << 27, "every column has a number")] = 0
    nonzeros: Count = 0
    counts: str = ""


@dataclass(frozen=True)
class ScalingFamily:
    """Predictions of every data set with every task, kernel and b.

    Parameters
    ----------
    data : tuple of DataItem
        Data.
    task, kernel : tuple of str
        Tasks, of `TASKS`; kernels by name, whose parameters take no time.
    b : tuple of int
        Coordinates a step; 1 for K-SVM.
    ranks, s : tuple of int
        P, ascending; iterations a window, beside 1.
    machine : str
        Machine file, or the name of one that is shipped, fitted to the published programs.
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
