"""Campaigns that compare s-step runs with exact trajectories: the tables ``[[scenario]]``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sstep_verify.campaign.headline import roll_up
from sstep_verify.campaign.model import Assembled, Definition, Kind, Plan, State, Unit
from sstep_verify.campaign.summary import summarise
from sstep_verify.checks.window_replay import ID as WINDOWS
from sstep_verify.problems import kernels, loss_from, losses
from sstep_verify.report.case import Case
from sstep_verify.report.plain import grouped
from sstep_verify.verdict import SEVERITY, Note, NoteKind, Sensitivity, Status, Verdict
from studies.report.stability.document import Stability, power
from studies.stability.answers import answers
from studies.stability.definition import (
    ScenarioUnit,
    read_scenario,
    scenario_units,
)
from studies.stability.sentences import sentences
from studies.stability.units import UnitOutcome, execute_unit


class StabilityKind(Kind):
    """A unit is a scenario; an outcome has its runs and verdicts in every form."""

    outcome = UnitOutcome
    read = staticmethod(read_scenario)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """The scenarios; their data are generated."""
        return [
            Unit((unit.key,), unit, tuple(map(unit.case, unit.forms)), cost=expected_cost(unit))
            for unit in scenario_units(definition.families, only)
        ]

    def run(self, unit: Unit, plan: Plan) -> Iterator[UnitOutcome]:
        """Run the scenario."""
        yield execute_unit(unit.work, plan.definition.again, plan.artefacts)

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """Errors of all runs, the verdicts on them, and sentences on how the errors grow."""
        work: list[ScenarioUnit] = [unit.work for unit in units]
        owners = {unit.case(form): (unit, form) for unit in work for form in unit.forms}
        places = {case: place for place, case in enumerate(owners)}
        outcomes: list[UnitOutcome] = state.outcomes
        made = (run for outcome in outcomes for run in outcome.runs)
        runs = tuple(sorted(made, key=lambda run: places[run.case]))
        judged = grouped((one for outcome in outcomes for one in outcome.verdicts), lambda one: one[0])
        cases: list[Case] = []
        verdicts: list[Verdict] = []
        for name in dict.fromkeys(run.case for run in runs):
            unit, form = owners[name]
            loss, label = _loss(unit), _label(unit, form)
            own = merged(name, label, [item[1:] for item in judged.get(name, ())])
            cases.append(_case(name, label, loss, unit, form, own))
            verdicts += own
        too_few = [
            f"{verdict.case}, s = {verdict.s}: {verdict.executed} windows replayed, {least} needed"
            for verdict in verdicts
            if verdict.executed < (least := owners[verdict.case][0].family.minimum_windows)
        ]
        if left := len(work) - len(outcomes):
            too_few.append(f"{left} of {len(work)} scenarios not finished")
        summary = summarise(
            plan.definition,
            cases,
            verdicts,
            planned_cases=len(owners),
            planned_problems=len({_label(*owner) for owner in owners.values()}),
            steps=sum(owners[run.case][0].family.iterations for run in runs),
            too_few={"": too_few},
            state=state,
        )
        answered = answers(runs, cases)
        families = list({id(unit.family): unit.family for unit in work}.values())
        return Assembled(
            summary,
            cases,
            verdicts,
            parameters={
                "tolerated_vacuous": plan.definition.tolerated_vacuous,
                "minimum_executed": {WINDOWS: min(family.minimum_windows for family in families)},
                "data (samples, features, spectrum)": [
                    f"{m} x {n}, {spectrum}"
                    for m, n, spectrum in dict.fromkeys(
                        (one.samples, one.features, one.spectrum) for one in families
                    )
                ],
                "condition": sorted({unit.scenario.condition for unit in work}),
                "s": sorted({s for family in families for s in family.steps}),
                "index_stream": "uniform",
            },
            seeds={
                f"scenarios, seed {seed}": seed for seed in sorted({unit.scenario.seed for unit in work})
            },
            documents={"stability": Stability(sentences(runs, cases, answered), runs, answered)},
        )


def expected_cost(unit: ScenarioUnit) -> float:
    """Rough relative cost of a unit, to begin with the largest.

    What is replayed in exact arithmetic costs most, then what the reference runs.
    """
    family = unit.family
    slow = 20.0 if family.precision == "float32" else 1.0
    exact = 100.0 if unit.scenario.seed == family.seed[0] else 0.0
    return family.iterations * unit.scenario.block * (slow * len(family.steps) + exact)


def _loss(unit: ScenarioUnit) -> str:
    return losses.describe(loss_from(unit.scenario.task, unit.scenario.parameter))


def _label(unit: ScenarioUnit, form: str) -> str:
    one = unit.scenario
    return f"{_loss(unit)} / {kernels.describe(one.kernel)} / {one.precision}, {form}"


def _case(name: str, label: str, loss: str, unit: ScenarioUnit, form: str, verdicts: list[Verdict]) -> Case:
    family, one = unit.family, unit.scenario
    status, reason = roll_up(verdicts)
    conditions = family.condition
    return Case(
        id=name,
        problem=label,
        dataset=f"generated, condition {conditions[0]:g} to {conditions[-1]:g}",
        kernel=kernels.describe(one.kernel),
        loss=loss,
        task=one.task,
        samples=family.samples,
        features=family.features,
        block=one.block,
        status=status,
        s=family.steps,
        reason=reason,
        parameters={
            "lambda" if one.task == "krr" else "C": family.parameter,
            "precision": family.precision,
            "form": form,
        },
        facts={
            "solver": "production" if family.precision == "float64" else "reference",
            "iterations (H)": family.iterations,
            "conditions": list(conditions),
            "seeds": list(family.seed),
            "s replayed": list(unit.replayed) or "none",
        },
    )


def merged(case: str, label: str, judged: Sequence[tuple[float, Verdict]]) -> list[Verdict]:
    """Merge the verdicts of one case, each with its condition: one per check and s, in the order of s.

    FAIL and INCONCLUSIVE of any run stand; else the case passes if some run could have shown a missing
    term and none did, as it is with the windows of one run. Counts are added up, the smallest
    detectable error kept, and the comparison that is stated is the one with the largest ratio.
    """
    members = grouped(judged, lambda item: (item[1].s, item[1].check))
    return [_merged(case, label, members[key]) for key in sorted(members)]


def _merged(case: str, label: str, judged: list[tuple[float, Verdict]]) -> Verdict:
    ordered = sorted(judged, key=lambda item: item[0])
    verdicts = [verdict for _, verdict in ordered]
    found = {verdict.status for verdict in verdicts}
    status = next(
        (one for one in (Status.FAIL, Status.INCONCLUSIVE, Status.PASS) if one in found), Status.VACUOUS
    )
    condition, told = max(
        (item for item in ordered if item[1].status is status), key=lambda item: item[1].ratio
    )
    largest: dict[str, float] = {}
    steps: Counter[str] = Counter()
    for one, verdict in ordered:
        if isinstance(counted := verdict.evidence.get("steps"), dict):
            steps.update(counted)
        largest[power(one)] = max(largest.get(power(one), 0.0), verdict.ratio)
    terms = grouped((term for verdict in verdicts for term in verdict.terms), lambda term: term.name)
    return replace(
        told,
        case=case,
        problem=label,
        status=status,
        ratio=max(verdict.ratio for verdict in verdicts) if status is Status.PASS else told.ratio,
        planned=sum(verdict.planned for verdict in verdicts),
        executed=sum(verdict.executed for verdict in verdicts),
        terms=tuple(map(_term, terms.values())),
        notes=(*told.notes, Note(NoteKind.CONDITION, (condition,))),
        evidence={"ratio_by_condition": largest, **({"steps": dict(steps)} if steps else {})},
    )


def _term(terms: list[Sensitivity]) -> Sensitivity:
    seen = any(term.status is Status.PASS for term in terms)
    return replace(
        terms[0],
        status=Status.PASS if seen else max((term.status for term in terms), key=SEVERITY.index),
        detection_limit=min(term.detection_limit for term in terms),
        planned=sum(term.planned for term in terms),
        decided=sum(term.decided for term in terms),
        seen=sum(term.seen for term in terms),
        why=None if seen else terms[0].why,
        largest=max(term.largest for term in terms),
    )


KIND = StabilityKind()
