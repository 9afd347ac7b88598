"""Optima to certify: the tables ``[[optimum]]``, their units, and how one is certified and proved anew."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from sstep_verify.campaign.selection import chosen_units, load_data
from sstep_verify.campaign.tables import POSITIVE, Memory, OneOf, Range, read_table
from sstep_verify.errors import InputError, OracleDisagreementError
from sstep_verify.oracle.balls.decimals import lower_decimal, upper_decimal
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.verify import record as words
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import Certificate, CertificateError, SvmCertificate
from sstep_verify.problems import Kernel, Loss, Problem, kernels, loss_from, losses
from sstep_verify.problems.data.datasets import DataSet
from sstep_verify.problems.kernels import identify, shortest
from sstep_verify.problems.losses import TASKS
from sstep_verify.provenance import peak_memory
from sstep_verify.report import results as report
from sstep_verify.report.case import CertifiedRow
from sstep_verify.verdict import Status


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


@dataclass(frozen=True)
class OptimumOutcome:
    """Outcome of one unit: its problem, PASS if all digits asked are certified, else INCONCLUSIVE.

    `row` is what is proved, `sha256` that of the file of the data.
    """

    case: report.Case
    row: CertifiedRow
    sha256: str


def execute_unit(unit: OptimumUnit, directory: str | None) -> OptimumOutcome:
    """Certify one optimum and prove the certificate anew.

    Raises
    ------
    OracleDisagreementError
        If the certificate cannot be proved anew.
    """
    loaded = load_for(unit, directory)
    problem = Problem(loaded.name, loaded.data, loaded.targets, unit.kernel, unit.loss)
    problem = problem.with_finite_kernel()
    _forget_peak()
    begin = time.perf_counter()
    certificate = certify(problem, unit.digits)
    seconds, memory = time.perf_counter() - begin, _peak()
    begin = time.perf_counter()
    try:
        verify_certificate(certificate, loaded.data, loaded.targets)
    except CertificateError as error:
        raise OracleDisagreementError(f"{problem.label}: {error}") from error
    row = _row(unit, certificate, seconds, time.perf_counter() - begin, memory)
    return OptimumOutcome(_case(unit, problem, row), row, loaded.sha256)


def load_for(unit: OptimumUnit, directory: str | None) -> DataSet:
    """The data set of a unit, with the targets that its task needs."""
    task = "regression" if unit.task == "krr" else "classification"
    return load_data(unit.data, directory, task)


def _row(
    unit: OptimumUnit, certificate: Certificate, seconds: float, anew: float, memory: int | None
) -> CertifiedRow:
    counts: dict[str, int] = {}
    uniqueness = "unique"
    if isinstance(certificate, SvmCertificate):
        found = Counter(certificate.statuses)
        counts = {status: found[status] for status in words.STATUSES}
        if not certificate.unique:
            uniqueness = f"not proved: matrix on the remaining coordinates {certificate.remaining}"
    return CertifiedRow(
        case=unit.case,
        asked=unit.digits,
        digits=certificate.digits,
        objective=certificate.objective.middle,
        radius=certificate.objective.radius,
        gap_lower=lower_decimal(max(certificate.gap.lower, Fraction(0))),
        gap_upper=upper_decimal(certificate.gap.upper),
        distance=certificate.radius,
        zero=counts.get(words.ZERO),
        upper=counts.get(words.UPPER),
        free=counts.get(words.FREE),
        undecided=counts.get(words.UNDECIDED),
        uniqueness=uniqueness,
        how=certificate.how,
        seconds=round(seconds, 3),
        anew=round(anew, 3),
        memory=memory,
    )


def _case(unit: OptimumUnit, problem: Problem, row: CertifiedRow) -> report.Case:
    enough = row.digits >= unit.digits
    return report.Case(
        id=unit.case,
        problem=problem.label,
        dataset=problem.name,
        kernel=kernels.describe(problem.kernel),
        loss=losses.describe(problem.loss),
        task=unit.task,
        samples=problem.samples,
        features=problem.features,
        block=1,
        status=Status.PASS if enough else Status.INCONCLUSIVE,
        reason=f"{row.digits} digits certified, {unit.digits} asked; proved anew",
        parameters={"lambda" if unit.task == "krr" else "C": unit.parameter},
        facts={
            "optimal value": row.objective,
            "radius": row.radius,
            "gap, enclosure": [row.gap_lower, row.gap_upper],
            "distance from a*, at most": row.distance or None,
            "solution": row.uniqueness,
            "found by": row.how,
        },
    )


def _forget_peak() -> None:
    """Begin a new record of the largest resident memory, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _peak() -> int | None:
    """Largest resident memory in bytes since `_forget_peak`; elsewhere that of the whole process."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return peak_memory()
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024 if lines else peak_memory()
