"""Families of predictions: the tables ``[[scaling]]`` of a campaign file, and their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sstep_verify.campaign.ranges import WORDS, Range, known, refuse_lists, within
from sstep_verify.campaign.selection import chosen_units
from sstep_verify.campaign.toml_values import expect, refuse_rest, take, take_several
from sstep_verify.costs.model.machine import read
from sstep_verify.errors import InputError
from sstep_verify.problems.losses import TASKS
from studies.scaling.curve import RANKS, STEPS
from studies.scaling.timed import KERNELS, Cell

_COUNT = Range(1, WORDS)
_ITEM_RANGES = dict.fromkeys(("samples", "features", "nonzeros"), _COUNT) | {
    "features": Range(1, 1 << 27, "every column has a number")
}
_RANGES = {
    "b": Range(1, 1 << 20),
    "ranks": Range(1, 1 << 20),
    "s": Range(2, 1 << 20, "s = 1, the classical method, is always predicted"),
}


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
    samples: int = 0
    features: int = 0
    nonzeros: int = 0
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
    task: tuple[str, ...]
    kernel: tuple[str, ...]
    b: tuple[int, ...] = (1,)
    ranks: tuple[int, ...] = RANKS
    s: tuple[int, ...] = STEPS[1:]
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


def read_scaling(table: dict, where: str) -> ScalingFamily:
    """The family of one ``[[scaling]]`` table as TOML gives it, which is emptied.

    Raises
    ------
    InputError
        If a key is missing or unknown, or a value cannot be used.
    """
    data = tuple(_item(one, where) for one in take(table, "data", list, where))
    task, kernel = (take_several(table, key, str, where) for key in ("task", "kernel"))
    given = {key: take_several(table, key, int, where) for key in ("b", "ranks", "s") if key in table}
    machine = take(table, "machine", str, where) if "machine" in table else ScalingFamily.machine
    refuse_rest(table, where, "[[scaling]] table")
    refuse_lists(where, {"data": data, "task": task, "kernel": kernel, **given})
    within(where, given, _RANGES)
    for name in task:
        known(where, "task", name, TASKS)
    for name in kernel:
        known(where, "kernel", name, KERNELS)
    if given.get("b", (1,)) != (1,) and any(name != "krr" for name in task):
        raise InputError(f"{where}: b = {list(given['b'])}, but K-SVM makes steps of one coordinate")
    if tuple(sorted(ranks := given.get("ranks", RANKS))) != ranks:
        raise InputError(f"{where}: ranks = {list(ranks)}, but they must ascend")
    try:
        published = read(machine).published
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not published:
        raise InputError(f"{where}: machine {machine!r} was not fitted to the published programs")
    return ScalingFamily(data, task, kernel, machine=machine, **given)


def _item(given: object, where: str) -> DataItem:
    """One entry of ``data``: a name, or a table that says what the data are."""
    if isinstance(given, str):
        return DataItem(given)
    expect(given, dict, f"{where}, data")
    table = dict(given) if isinstance(given, dict) else {}
    name = take(table, "name", str, f"{where}, data")
    if not name or "/" in name:
        raise InputError(f"{where}, data: name = {name!r:.60}, but it is part of an id: no / in it")
    keys = ("samples", "counts") if "counts" in table else ("samples", "features", "nonzeros")
    values = {
        key: take(table, key, str if key == "counts" else int, f"{where}, data {name}") for key in keys
    }
    refuse_rest(table, f"{where}, data {name}", "table")
    within(f"{where}, data {name}", values, _ITEM_RANGES)
    if "nonzeros" in values and values["nonzeros"] > values["samples"] * values["features"]:
        raise InputError(f"{where}, data {name}: nonzeros = {values['nonzeros']}, more than m n entries")
    return DataItem(name, **values)
