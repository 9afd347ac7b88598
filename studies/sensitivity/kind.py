"""Campaigns that measure power: the tables ``[[sensitivity]]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sstep_verify.campaign.kind import Assembled, Kind, Setting, Unit
from sstep_verify.campaign.loop.messages import State
from sstep_verify.campaign.selection import chosen
from sstep_verify.power.statement import deciding_digest
from sstep_verify.reporting import results as report
from studies import grouped
from studies.power import CAMPAIGNS, DIGEST, campaigns_judged
from studies.reporting.sensitivity.document import Sensitivity
from studies.sensitivity.definition import Study, read_study, refuse_twice
from studies.sensitivity.studies import STUDIES, StudyOutcome

if TYPE_CHECKING:
    from sstep_verify.campaign.definition import Definition
    from sstep_verify.campaign.loop.run import Plan


@dataclass(frozen=True)
class Work:
    """A piece of a study; `items` by the key of the outcome of each."""

    study: str
    items: dict[str, Any]


class SensitivityKind(Kind):
    """A unit is a piece of a study; an outcome is that of one solver, one stratum, some hundred runs."""

    table = "sensitivity"
    outcome = StudyOutcome

    def read(self, table: dict, where: str) -> Study:
        """See `read_study`."""
        return read_study(table, where)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """All pieces of all studies, those that take longest first."""
        refuse_twice(definition.families, definition.source)
        found = []
        for study in definition.families:
            for named, cost in STUDIES[study.study].pieces(study):
                items = {f"{study.study}/{name}": item for name, item in named.items()}
                found.append(Unit(tuple(items), Work(study.study, items), cost=cost))
        wanted = chosen(only, [key for unit in found for key in unit.keys])
        left = [(unit, tuple(key for key in unit.keys if key in wanted)) for unit in found]
        return [Unit(keys, unit.work, cost=unit.cost) for unit, keys in left if keys]

    def run(self, unit: Unit, setting: Setting) -> Iterator[StudyOutcome]:
        """Make the pieces that are not finished yet."""
        work: Work = unit.work
        for key in unit.keys:
            if key not in setting.finished:
                yield StudyOutcome(key, **{work.study: STUDIES[work.study].run(work.items[key])})

    def key(self, outcome: StudyOutcome) -> str:
        """Study and name."""
        return outcome.key

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """The document of every study, and what all of them say in one sentence."""
        order = {key: place for place, key in enumerate(key for unit in units for key in unit.keys)}
        outcomes = sorted(state.outcomes, key=lambda one: order[one.key])
        made = grouped(outcomes, lambda one: one.key.partition("/")[0])
        document = Sensitivity(
            **{
                name: STUDIES[name].summary([getattr(one, name) for one in found])
                for name, found in made.items()
            }
        )
        return Assembled(
            report.Summary(
                sentence(document, len(order), len(outcomes), state),
                state.exit_code(bool(document.broken), len(outcomes) < len(order)),
            ),
            parameters={study.study: vars(study) for study in plan.definition.families}
            | {DIGEST: deciding_digest(), CAMPAIGNS: campaigns_judged()},
            seeds={
                f"study {study.study}": study.seed
                for study in plan.definition.families
                if study.study in ("limits", "alarms")
            },
            documents={"sensitivity": document},
        )


def sentence(found: Sensitivity, planned: int, made: int, state: State) -> str:
    """One sentence on mistakes killed, limits and false alarms, what must not be, and what is missing."""
    parts = list(found.sentences) or ["too few runs for a limit" if made else "nothing was measured"]
    if broken := found.broken:
        parts.append(f"does not hold: {broken[0]}" + f", and {len(broken) - 1} more" * (len(broken) > 1))
    if made < planned:
        parts.append(f"{planned - made} of {planned} pieces not finished")
    if failures := len(state.internal):
        parts.append(f"{failures} internal errors")
    return ("interrupted: " if state.interrupted else "") + "; ".join(parts)


KIND = SensitivityKind()
