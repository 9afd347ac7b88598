"""Families of optima to certify: the tables ``[[optimum]]`` of a campaign file, and their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from sstep_verify.campaign.selection import chosen_units
from sstep_verify.campaign.tables import POSITIVE, Memory, OneOf, Range, read_table
from sstep_verify.errors import InputError
from sstep_verify.problems import Kernel, Loss, loss_from
from sstep_verify.problems.kernels import identify, shortest
from sstep_verify.problems.losses import TASKS


@dataclass(frozen=True)
class OptimumFamily:
    """Optima of every data set with every task, kernel and parameter.

    Parameters
    ----------
    data, task : tuple of str
        Names of data sets or files; tasks, of `TASKS`.
    kernel : tuple of Kernel
        Kernels.
    parameter : tuple of float
        Values of lambda (K-RR) or C (K-SVM), each > 0.
    digits : int
        Decimal digits asked for.
    memory : float
        GiB that a process may take for the matrices of an optimum; above it the campaign is refused.
    """

    data: tuple[str, ...]
    task: Annotated[tuple[str, ...], OneOf(TASKS)]
    kernel: tuple[Kernel, ...]
    parameter: Annotated[tuple[float, ...], POSITIVE]
    digits: Annotated[int, Range(1, 130, "the search ends there")] = 30
    memory: Memory = 4.0


@dataclass(frozen=True)
class OptimumUnit:
    """One optimum: what one process works on at a time."""

    data: str
    task: str
    kernel: Kernel
    parameter: float
    digits: int
    memory: float

    @property
    def case(self) -> str:
        """Id of its case, such as ``duke/rbf,sigma=1/svm-l1/C=10``."""
        name = "lambda" if self.task == "krr" else "C"
        return f"{self.data}/{identify(self.kernel)}/{self.task}/{name}={shortest(self.parameter)}"

    @property
    def loss(self) -> Loss:
        """Loss with its parameter."""
        return loss_from(self.task, self.parameter)


def optimum_units(families: Sequence[OptimumFamily], only: str = "") -> list[OptimumUnit]:
    """All units whose case id `only` selects, in the order of the file.

    Raises
    ------
    InputError
        If two tables hold the same case, or no case is left.
    """
    return chosen_units((unit for family in families for unit in _product(family)), only, "[[optimum]]")


def _product(family: OptimumFamily) -> list[OptimumUnit]:
    return [
        OptimumUnit(data, task, kernel, parameter, family.digits, family.memory)
        for data in family.data
        for task in family.task
        for kernel in family.kernel
        for parameter in family.parameter
    ]


def read_optimum(table: dict, where: str) -> OptimumFamily:
    """The family of one ``[[optimum]]`` table; InputError, with `where`, if it cannot be used."""
    family = OptimumFamily(**read_table(table, OptimumFamily, where))
    for unit in _product(family):
        try:
            _ = unit.loss
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    return family
