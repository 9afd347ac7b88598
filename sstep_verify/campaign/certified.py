"""Campaigns that certify optima; no solver is run: the tables ``[[optimum]]``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Annotated

from sstep_verify.campaign.cases import (
    POSITIVE,
    Memory,
    OneOf,
    Range,
    case_id,
    case_in_report,
    chosen_units,
    load_data,
    read_table,
)
from sstep_verify.campaign.memory import certificate_need
from sstep_verify.campaign.model import REFUSED, Assembled, Definition, Kind, Plan, Prepared, State, Unit
from sstep_verify.errors import InputError, OracleDisagreementError
from sstep_verify.oracle.balls.decimals import lower_decimal, upper_decimal
from sstep_verify.oracle.certificate.certify import propose, prove
from sstep_verify.oracle.certificate.memory import GIB
from sstep_verify.oracle.verify import record as words
from sstep_verify.oracle.verify.record import CertificateError, SvmCertificate
from sstep_verify.problems import Kernel, Problem, loss_from
from sstep_verify.problems.data.datasets import DataSet
from sstep_verify.problems.losses import TASKS
from sstep_verify.provenance import peak_memory
from sstep_verify.report.case import Case, Certified, CertifiedRow
from sstep_verify.report.results import Summary
from sstep_verify.verdict import Status


@dataclass(frozen=True)
class OptimumFamily:
    """Optima of every data set with every task, kernel and parameter, which is lambda (K-RR) or C (K-SVM).

    Decimal `digits` are asked for; above so many GiB of `memory` a process the campaign is refused.
    """

    data: tuple[str, ...]
    task: Annotated[tuple[str, ...], OneOf(TASKS)]
    kernel: tuple[Kernel, ...]
    parameter: Annotated[tuple[float, ...], POSITIVE]
    digits: Annotated[int, Range(1, 130, "the search ends there")] = 30
    memory: Memory = 4.0


@dataclass(frozen=True)
class OptimumUnit:
    """One optimum of a family: what one process works on at a time."""

    data: str
    task: str
    kernel: Kernel
    parameter: float
    family: OptimumFamily

    @property
    def case(self) -> str:
        """Id of its case, such as ``duke/rbf,sigma=1/svm-l1/C=10``."""
        return case_id(self.data, self.kernel, self.task, self.parameter)

    def load(self, directory: str | None) -> DataSet:
        """Its data set, with the targets that its task needs."""
        return load_data(self.data, directory, "regression" if self.task == "krr" else "classification")


def optimum_units(families: Sequence[OptimumFamily], only: str = "") -> list[OptimumUnit]:
    """The units whose case id `only` selects, in order; InputError if two coincide, or there is none."""
    units = (
        OptimumUnit(*one, family)
        for family in families
        for one in product(family.data, family.task, family.kernel, family.parameter)
    )
    return chosen_units(units, only, "[[optimum]]")


def read_optimum(table: dict, where: str) -> OptimumFamily:
    """The family of one ``[[optimum]]`` table; InputError, with `where`, if it cannot be used."""
    family = OptimumFamily(**read_table(table, OptimumFamily, where))
    for task, parameter in product(family.task, family.parameter):
        try:
            loss_from(task, parameter)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    return family


@dataclass(frozen=True)
class OptimumOutcome:
    """Outcome of one unit: its problem, PASS if all digits asked are certified, else INCONCLUSIVE.

    `row` is what is proved.
    """

    case: Case
    row: CertifiedRow


def execute_unit(unit: OptimumUnit, directory: str | None) -> OptimumOutcome:
    """Certify one optimum and prove the certificate again; OracleDisagreementError if it cannot be."""
    loaded = unit.load(directory)
    loss = loss_from(unit.task, unit.parameter)
    problem = Problem(loaded.name, loaded.data, loaded.targets, unit.kernel, loss).with_finite_kernel()
    _forget_peak()
    begin = time.perf_counter()
    proposal = propose(problem, unit.family.digits)
    seconds, memory = time.perf_counter() - begin, _peak()
    begin = time.perf_counter()
    try:
        certificate = prove(problem, proposal, unit.family.digits)
    except CertificateError as error:
        raise OracleDisagreementError(f"{problem.label}: {error}") from error
    anew, asked = time.perf_counter() - begin, unit.family.digits
    counts: dict[str, int] = {}
    uniqueness = "unique"
    if isinstance(certificate, SvmCertificate):
        found = Counter(certificate.statuses)
        counts = {status: found[status] for status in words.STATUSES}
        if not certificate.unique:
            uniqueness = f"not proved: matrix on the remaining coordinates {certificate.remaining}"
    row = CertifiedRow(
        case=unit.case,
        asked=asked,
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
    case = case_in_report(
        problem,
        id=unit.case,
        block=1,
        status=Status.PASS if row.digits >= asked else Status.INCONCLUSIVE,
        reason=f"{row.digits} digits certified, {asked} asked; proved again",
        facts={
            "optimal_value": row.objective,
            "radius": row.radius,
            "gap, enclosure": [row.gap_lower, row.gap_upper],
            "distance from a*, at most": row.distance or None,
            "solution": row.uniqueness,
            "found by": row.how,
        },
    )
    return OptimumOutcome(case, row)


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


class CertifiedKind(Kind):
    """A unit is a problem; an outcome is what is proved of its optimum."""

    outcome = OptimumOutcome
    read = staticmethod(read_optimum)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """The problems; K-RR begin first, which have the largest sets."""
        return [
            Unit((unit.case,), unit, data=(unit.data,), cost=unit.task == "krr")
            for unit in optimum_units(definition.families, only)
        ]

    def prepare(self, plan: Plan, units: list[Unit]) -> Prepared:
        """Load every data set; say the memory of the largest problem, or refuse it."""
        found: dict[tuple[str, str], DataSet] = {}
        needs = []
        for unit in (unit.work for unit in units):
            if (unit.data, unit.task) not in found:
                found[unit.data, unit.task] = unit.load(plan.directory)
            data = found[unit.data, unit.task].data
            size, line = certificate_need(unit.case, data, svm=unit.task != "krr")
            if size > unit.family.memory * GIB:
                raise InputError(
                    f"{line}, but its [[optimum]] table allows {unit.family.memory:g} a process; raise it "
                    "there (memory = GiB), or leave the data set out"
                )
            needs.append((size, line))
        if 10 * max(needs)[0] > min(unit.work.family.memory for unit in units) * GIB:
            at_once = f"{plan.jobs} process{'es' * (plan.jobs > 1)} at a time"
            plan.say(f"memory: {max(needs)[1]} a process, the most of all; {at_once}")
        return Prepared(units, {name: data.sha256 for (name, _), data in found.items()})

    def run(self, unit: Unit, plan: Plan) -> Iterator[OptimumOutcome]:
        """Certify the optimum, and prove the certificate again."""
        yield execute_unit(unit.work, plan.directory)

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """One table of what is proved."""
        outcomes, planned = state.outcomes, len(units)
        enough = [outcome for outcome in outcomes if outcome.case.status == Status.PASS]
        unique = sum(outcome.row.uniqueness == "unique" for outcome in enough)
        told = f"{len(enough)} of {planned} optima certified to the digits asked and proved again"
        if enough:
            told += f" ({unique} unique, {len(enough) - unique} with uniqueness not proved)"
        counts = (len(outcomes) - len(enough), len(state.errors[REFUSED]), len(state.internal))
        words = zip(counts, ("to fewer digits", "refused", "internal errors"), strict=True)
        parts = [told, *(f"{count} {what}" for count, what in words if count)]
        return Assembled(
            Summary(
                "interrupted: " * state.interrupted + "; ".join(parts),
                state.exit_code(failed=False, incomplete=len(enough) < planned),
            ),
            [outcome.case for outcome in outcomes],
            parameters={"digits": sorted({unit.work.family.digits for unit in units})},
            documents={"certified": Certified(tuple(outcome.row for outcome in outcomes))},
        )


KIND = CertifiedKind()
