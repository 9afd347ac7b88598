"""Campaigns that run solvers on problems and judge every run: the tables ``[[family]]``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import cast

from sstep_verify.adapters.program import ProgramSolver, digests, set_up
from sstep_verify.adapters.python import digest_of_code, is_foreign
from sstep_verify.campaign.messages import Finished, State
from sstep_verify.campaign.model import Assembled, Definition, Kind, Plan, Prepared, Unit
from sstep_verify.campaign.selection import load_data
from sstep_verify.campaign.summary import steps_decided, summarise
from sstep_verify.campaign.verdicts.execute import REMARKS, CaseOutcome, execute_group
from sstep_verify.campaign.verdicts.expand import expand, expected_cost, make_case
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.campaign.verdicts.fitting import read_family
from sstep_verify.campaign.verdicts.measured import beside_classical
from sstep_verify.campaign.verdicts.memory import memory_of, require_cache
from sstep_verify.campaign.verdicts.runs import announce_starts, minimum_table, starts_of
from sstep_verify.power import power_statement
from sstep_verify.report.results import TOO_FEW, Case
from sstep_verify.specification import LEVELS
from sstep_verify.verdict import Verdict


class Verdicts(Kind):
    """A unit are the cases of a family on the same data and kernel; an outcome is that of one case."""

    outcome = CaseOutcome
    read = staticmethod(read_family)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """The cases, those on the same data and kernel together."""
        return expand(definition, only)

    def prepare(self, plan: Plan, units: list[Unit]) -> Prepared:
        """Load every data set and build every case once, so that bad input ends the run at once."""
        loaded, takes, prepared = {}, [], []
        code, starts = _code(units), 0
        first: dict[str, tuple] = {}
        for unit in units:
            name, family = unit.data[0], unit.work[0].family
            if name not in loaded:
                loaded[name] = load_data(name, plan.directory, family.targets)
            data = loaded[name]
            declaration = family.solvers()[""].declaration
            for spec in (spec for spec in unit.work if spec.id in unit.keys):
                case = make_case(spec, data, {"": declaration}, plan.definition.again, "")
                require_cache(spec, case)
                if spec.family.is_program and not spec.family.source:
                    first.setdefault(declaration.name, (spec.family, case))
                    starts += starts_of(spec.family, case)
                takes.append((memory_of(spec, case), spec.id))
            cost = expected_cost(unit.work, data.data.shape[0])
            prepared.append(replace(unit, cost=cost))
        largest, name = max(takes, key=lambda item: item[0].total)
        plan.say(f"memory: {name} {largest.words}; {plan.jobs} process{'es' * (plan.jobs > 1)} at a time")
        if starts:
            announce_starts(plan, starts, first.values())
        return Prepared(prepared, {name: data.sha256 for name, data in loaded.items()}, code)

    def run(self, unit: Unit, plan: Plan) -> Iterator[Finished]:
        """Run the cases, one after the other."""
        return execute_group(unit, plan)

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """Cases, verdicts, and what they show."""
        definition = plan.definition
        cases = [outcome.case for outcome in state.outcomes]
        verdicts = [verdict for outcome in state.outcomes for verdict in outcome.verdicts]
        short = [line for outcome in state.outcomes for line in outcome.too_few]
        families: tuple[Family, ...] = definition.families
        under_test = [unit.work[0].family for unit in units]
        limited = definition.tolerated_vacuous_per_check
        summary = summarise(
            definition,
            cases,
            verdicts,
            planned_cases=sum(len(unit.keys) for unit in units),
            steps=sum(run.iterations for case in cases for run in case.runs),
            too_few={outcome.case.id: outcome.too_few for outcome in state.outcomes},
            state=state,
        )
        summary = replace(summary, power=_power(plan, verdicts))
        if (level := families[0].level) is not None:
            judged = f"judged up to level L{level} ({LEVELS[level]})"
            summary = replace(summary, sentence=f"{judged}: {summary.sentence}")
        return Assembled(
            summary=summary,
            cases=cases,
            verdicts=verdicts,
            notes=[*_remarked(cases), *(f"too few comparisons: {line}" for line in short)],
            parameters={
                TOO_FEW: short,
                "tolerated_vacuous": definition.tolerated_vacuous,
                "tolerated_vacuous_per_check": limited or "not limited by check",
                "expected_failures": [asdict(one) for one in definition.expected],
                "planned": [key for unit in units for key in unit.keys],
                "minimum_executed": minimum_table(min(family.minimum_windows for family in families)),
            },
            documents={"against_classical": beside_classical(cases, _compared(units))},
            seeds=({} if definition.seed is None else {"further s": definition.seed})
            | {f"streams, seed {seed}": seed for seed in sorted({one.seed for one in under_test})},
        )


def _code(units: list[Unit]) -> dict[str, str]:
    """Digests of what is under test and not ours; programs are set up first."""
    found: dict[str, str] = {}
    families = (unit.work[0].family for unit in units)
    for family in (one for one in families if one.source is None):
        solver = family.solvers()[""]
        if isinstance(solver, ProgramSolver) and f"program file {family.solver}" not in found:
            program = solver.described.program
            set_up(program)
            found[f"program file {family.solver}"] = hashlib.sha256(
                repr(solver.described).encode()
            ).hexdigest()
            found |= {f"program {name}": sha for name, sha in digests(program).items()}
        elif is_foreign(family.solver) and family.given is None:
            found[f"code of {family.solver}"] = digest_of_code(family.solver)
    return found


def _compared(units: Sequence[Unit]) -> dict[str, str]:
    """Precisions by the ids of the cases whose runs are compared with those of s = 1."""
    return {
        key: family.solvers()[""].declaration.precision
        for unit in units
        if (family := unit.work[0].family).stability
        for key in unit.keys
    }


def _power(plan: Plan, verdicts: Sequence[Verdict]) -> str:
    """What was measured of a campaign, if it was run whole, as it was measured, and a step was decided."""
    cut = plan.definition.cut
    other = cut is not None and (cut.selection.s or cut.selection.data or cut.selection.level is not None)
    if plan.only or other or not steps_decided(verdicts):
        return ""
    return power_statement(plan.definition.source)


def _remarked(cases: Sequence[Case]) -> list[str]:
    """What was seen of runs that no check judges, each once, with the first case that it was seen in."""
    told: dict[str, list[str]] = {}
    for case in cases:
        for line in cast(list[str], case.facts.get(REMARKS, [])):
            told.setdefault(line, []).append(case.id)
    return [f"{ids[0]}{f' and {len(ids) - 1} more' * bool(ids[1:])}: {line}" for line, ids in told.items()]


KIND = Verdicts()
