"""Campaigns that certify optima; no solver is run: the tables ``[[optimum]]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sstep_verify.campaign.certified.units import (
    OptimumOutcome,
    OptimumUnit,
    execute_unit,
    load_for,
    optimum_units,
    read_optimum,
)
from sstep_verify.campaign.messages import REFUSED, State
from sstep_verify.campaign.model import Assembled, Definition, Kind, Plan, Prepared, Setting, Unit
from sstep_verify.errors import InputError
from sstep_verify.oracle.memory import GIB, certificate_bytes, gibibytes
from sstep_verify.problems.data.datasets import DataSet
from sstep_verify.report import results as report
from sstep_verify.report.case import Certified
from sstep_verify.verdict import Status


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
                found[unit.data, unit.task] = load_for(unit, plan.directory)
            samples = found[unit.data, unit.task].data.shape[0]
            size = certificate_bytes(samples, svm=unit.task != "krr")
            line = f"{unit.case}: matrices of m = {samples} samples take about {gibibytes(size)} GiB"
            if size > unit.memory * GIB:
                raise InputError(
                    f"{line}, but its [[optimum]] table allows {unit.memory:g} a process; raise it there "
                    "(memory = GiB), or leave the data set out"
                )
            needs.append((size, line))
        at_once = f"{plan.jobs} process{'es' * (plan.jobs > 1)} at a time"
        plan.say(f"memory: {max(needs)[1]} a process, the most of all; {at_once}")
        return Prepared(units, {name: data.sha256 for (name, _), data in found.items()})

    def run(self, unit: Unit, setting: Setting) -> Iterator[OptimumOutcome]:
        """Certify the optimum, and prove the certificate anew."""
        yield execute_unit(unit.work, setting.directory)

    def key(self, outcome: OptimumOutcome) -> str:
        """Id of its case."""
        return outcome.case.id

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """One table of what is proved."""
        work = [unit.work for unit in units]
        outcomes = state.outcomes
        failures = len(state.internal)
        return Assembled(
            report.Summary(
                sentence(work, outcomes, failures, state.interrupted, len(state.errors[REFUSED])),
                state.exit_code(
                    False, sum(outcome.case.status == Status.PASS for outcome in outcomes) < len(work)
                ),
            ),
            [outcome.case for outcome in outcomes],
            parameters={"digits": sorted({unit.digits for unit in work})},
            documents={"certified": Certified(tuple(outcome.row for outcome in outcomes))},
        )


def sentence(
    work: Sequence[OptimumUnit],
    outcomes: Sequence[OptimumOutcome],
    failures: int,
    interrupted: bool,
    refused: int = 0,
) -> str:
    """One sentence on what is proved of how many optima."""
    enough = [outcome for outcome in outcomes if outcome.case.status == Status.PASS]
    unique = sum(outcome.row.uniqueness == "unique" for outcome in enough)
    parts = [f"{len(enough)} of {len(work)} optima certified to the digits asked and proved anew"]
    if enough:
        parts[0] += f" ({unique} unique, {len(enough) - unique} with uniqueness not proved)"
    if short := len(outcomes) - len(enough):
        parts.append(f"{short} to fewer digits")
    if refused:
        parts.append(f"{refused} refused")
    if failures:
        parts.append(f"{failures} internal errors")
    return ("interrupted: " if interrupted else "") + "; ".join(parts)


KIND = CertifiedKind()
