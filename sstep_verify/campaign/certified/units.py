"""Certifies one optimum, proves the certificate anew, and makes a row of it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sstep_verify.campaign.certified.definition import OptimumUnit
from sstep_verify.campaign.data import load_data
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.decimals import lower_decimal, upper_decimal
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.verify import record as words
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import Certificate, CertificateError, SvmCertificate
from sstep_verify.problems import Problem, kernels, losses
from sstep_verify.problems.data.datasets import DataSet
from sstep_verify.provenance import peak_memory
from sstep_verify.reporting import results as report
from sstep_verify.reporting.case import CertifiedRow
from sstep_verify.verdict import Status


@dataclass(frozen=True)
class OptimumOutcome:
    """Outcome of one unit.

    Parameters
    ----------
    case : reporting Case
        The problem; PASS if all digits asked are certified, else INCONCLUSIVE.
    row : CertifiedRow
        What is proved.
    sha256 : str
        Of the file of the data.
    """

    case: report.Case
    row: CertifiedRow
    sha256: str


def execute_unit(unit: OptimumUnit, directory: str | None) -> OptimumOutcome:
    """Certify one optimum and prove the certificate anew.

    Parameters
    ----------
    unit : OptimumUnit
        The problem and the digits asked for.
    directory : str or None
        Folder of the data sets.

    Returns
    -------
    OptimumOutcome

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
