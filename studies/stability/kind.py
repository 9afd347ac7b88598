"""Campaigns that compare s-step runs with exact trajectories: the tables ``[[scenario]]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sstep_verify.campaign.messages import State
from sstep_verify.campaign.model import Assembled, Definition, Kind, Plan, Setting, Unit
from sstep_verify.campaign.summary.summary import roll_up, summarise
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.problems import kernels, loss_from, losses
from sstep_verify.reporting import results as report
from sstep_verify.verdict import Verdict
from studies.reporting.stability.document import Stability, StabilityRun
from studies.stability.answers import answers
from studies.stability.definition import (
    ScenarioUnit,
    read_scenario,
    scenario_units,
)
from studies.stability.sentences import sentences
from studies.stability.units import UnitOutcome, execute_unit
from studies.stability.verdicts import merged


class StabilityKind(Kind):
    """A unit is a scenario; an outcome has its runs and verdicts in every form."""

    table = "scenario"
    outcome = UnitOutcome
    read = staticmethod(read_scenario)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """The scenarios; their data are generated."""
        return [
            Unit((unit.key,), unit, tuple(map(unit.case, unit.forms)), cost=expected_cost(unit))
            for unit in scenario_units(definition.families, only)
        ]

    def run(self, unit: Unit, setting: Setting) -> Iterator[UnitOutcome]:
        """Run the scenario."""
        yield execute_unit(unit.work, setting.again, setting.artefacts)

    def key(self, outcome: UnitOutcome) -> str:
        """As `ScenarioUnit.key`."""
        first = outcome.runs[0]
        cases = " + ".join(run.case for run in outcome.runs)
        return f"{cases}, condition {float(first.condition)!r}, seed {first.seed}"

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """Errors of all runs, the verdicts on them, and sentences on how the errors grow."""
        definition = plan.definition
        work = [unit.work for unit in units]
        ids = list(dict.fromkeys(case for unit in units for case in unit.cases))
        cases, verdicts = _cases(work, ids, state.outcomes)
        runs = _runs(work, ids, state.outcomes)
        answered = answers(runs, cases)
        left = len(work) - len(state.outcomes)
        unfinished = [f"{left} of {len(work)} scenarios not finished"] if left else []
        summary = summarise(
            definition,
            cases,
            verdicts,
            planned_cases=len(ids),
            steps=_steps(work, runs),
            too_few={"": [*_too_few(work, verdicts), *unfinished]},
            state=state,
        )
        return Assembled(
            summary,
            cases,
            verdicts,
            parameters=_parameters(definition, work),
            seeds={f"scenarios, seed {seed}": seed for seed in sorted({unit.seed for unit in work})},
            documents={"stability": Stability(sentences(runs, cases, answered), runs, answered)},
        )


def expected_cost(unit: ScenarioUnit) -> float:
    """Rough relative cost of a unit, to begin with the largest.

    What is replayed in exact arithmetic costs most, then what the reference runs.
    """
    family = unit.family
    slow = 20.0 if family.precision == "float32" else 1.0
    exact = 100.0 if unit.seed == family.seed[0] else 0.0
    return family.iterations * unit.block * (slow * len(family.steps) + exact)


def _parameters(definition: Definition, work: list[ScenarioUnit]) -> dict[str, object]:
    families = list({id(unit.family): unit.family for unit in work}.values())
    return {
        "tolerated_vacuous": definition.tolerated_vacuous,
        "minimum_executed": {WINDOWS: min(family.minimum_windows for family in families)},
        "data (samples, features, spectrum)": [
            f"{m} x {n}, {spectrum}"
            for m, n, spectrum in dict.fromkeys((f.samples, f.features, f.spectrum) for f in families)
        ],
        "condition": sorted({unit.condition for unit in work}),
        "s": sorted({s for family in families for s in family.steps}),
        "index stream": "uniform",
    }


def _runs(
    work: list[ScenarioUnit], ids: list[str], outcomes: list[UnitOutcome]
) -> tuple[StabilityRun, ...]:
    order = {
        (unit.case(form), unit.condition, unit.seed): place
        for place, unit in enumerate(work)
        for form in unit.forms
    }
    found = [run for outcome in outcomes for run in outcome.runs]
    found.sort(key=lambda run: (ids.index(run.case), order[run.case, run.condition, run.seed]))
    return tuple(found)


def _steps(work: list[ScenarioUnit], runs: Sequence[StabilityRun]) -> int:
    """Iterations made by all runs, judged or not."""
    length = {unit.case(form): unit.family.iterations for unit in work for form in unit.forms}
    return sum(length[run.case] * len(run.s) for run in runs)


def _cases(
    work: list[ScenarioUnit], ids: list[str], outcomes: list[UnitOutcome]
) -> tuple[list[report.Case], list[Verdict]]:
    """Cases with finished runs, and their verdicts, in the order of the ids."""
    judged: dict[str, list[tuple[float, Verdict]]] = {}
    for outcome in outcomes:
        for run in outcome.runs:
            judged.setdefault(run.case, [])
        for case, condition, verdict in outcome.verdicts:
            judged[case].append((condition, verdict))
    owners = {unit.case(form): (unit, form) for unit in work for form in unit.forms}
    cases, verdicts = [], []
    for name in (name for name in ids if name in judged):
        own = merged(name, _label(*owners[name]), judged[name])
        cases.append(_case(name, *owners[name], own))
        verdicts += own
    return cases, verdicts


def _case(name: str, unit: ScenarioUnit, form: str, verdicts: list[Verdict]) -> report.Case:
    family = unit.family
    status, reason = roll_up(verdicts)
    conditions = family.condition
    return report.Case(
        id=name,
        problem=_label(unit, form),
        dataset=f"generated, condition {conditions[0]:g} to {conditions[-1]:g}",
        kernel=kernels.describe(unit.kernel),
        loss=losses.describe(loss_from(unit.task, family.parameter)),
        task=unit.task,
        samples=family.samples,
        features=family.features,
        block=unit.block,
        status=status,
        s=family.steps,
        reason=reason,
        parameters={
            "lambda" if unit.task == "krr" else "C": family.parameter,
            "precision": family.precision,
            "form": form,
        },
        facts={
            "solver": "production" if family.precision == "float64" else "reference",
            "iterations (H)": family.iterations,
            "conditions": list(conditions),
            "seeds": list(family.seed),
            "s replayed": [s for s in family.replayed if s * unit.block <= family.replay_draws] or "none",
        },
    )


def _label(unit: ScenarioUnit, form: str) -> str:
    family = unit.family
    loss = losses.describe(loss_from(unit.task, family.parameter))
    return f"{loss} / {kernels.describe(unit.kernel)} / {family.precision}, {form}"


def _too_few(work: list[ScenarioUnit], verdicts: list[Verdict]) -> list[str]:
    needed = {unit.case(form): unit.family.minimum_windows for unit in work for form in unit.forms}
    return [
        f"{verdict.case}, s = {verdict.s}: {verdict.executed} windows replayed, {least} needed"
        for verdict in verdicts
        if verdict.executed < (least := needed[verdict.case])
    ]


KIND = StabilityKind()
