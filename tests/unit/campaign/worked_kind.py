"""A kind of campaign in one file: the largest norm of a sample, for every data set named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.campaign.cases import chosen, load_data, read_table
from sstep_verify.campaign.model import Assembled, Kind, Unit
from sstep_verify.report.case import Case
from sstep_verify.report.results import Summary


@dataclass(frozen=True)
class NormOutcome:
    """What is kept of a unit, and read back by --resume."""

    case: Case


@dataclass(frozen=True)
class NormTable:
    """A table ``[[norm]]``."""

    data: tuple[str, ...]


class NormKind(Kind):
    """A unit is a data set; its outcome is a case whose reason says the norm."""

    outcome = NormOutcome

    def read(self, table, where):
        return read_table(table, NormTable, where)["data"]

    def units(self, definition, only=""):
        names = [name for family in definition.families for name in family]
        wanted = chosen(only, names)
        return [Unit(keys=(name,), work=name) for name in names if name in wanted]

    def run(self, unit, plan):
        loaded = load_data(unit.work, plan.directory)
        largest = np.sqrt(np.asarray((loaded.data * loaded.data).sum(axis=1)).max())
        samples, features = loaded.data.shape
        yield NormOutcome(
            Case(
                id=unit.work, problem=unit.work, dataset=unit.work, kernel="linear", loss="none", task="norm",
                samples=samples, features=features, block=1, status="PASS", reason=f"largest norm {largest:.3g}",
            )
        )  # fmt: skip

    def assemble(self, plan, units, state):
        cases = [outcome.case for outcome in state.outcomes]
        code = state.exit_code(failed=False, incomplete=len(cases) < len(units))
        return Assembled(Summary(f"norms of {len(cases)} of {len(units)} data sets", code), cases)


KIND = NormKind()
