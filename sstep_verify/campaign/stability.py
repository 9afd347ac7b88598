"""Runs a stability campaign: scenarios spread over processes, one report of errors and verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from sstep_verify.campaign.partial import identity
from sstep_verify.campaign.pool import State, spread
from sstep_verify.campaign.runner import Plan
from sstep_verify.campaign.selection import matches
from sstep_verify.campaign.stability_definition import ScenarioFamily, Unit, case_ids, units
from sstep_verify.campaign.stability_sentences import sentences
from sstep_verify.campaign.stability_units import UnitOutcome, run_unit
from sstep_verify.campaign.stability_verdicts import merged
from sstep_verify.campaign.summary import roll_up, summarise
from sstep_verify.problems import kernels, loss_from, losses
from sstep_verify.provenance import collect, peak_memory
from sstep_verify.reporting import results as report
from sstep_verify.reporting.stability_document import Stability, StabilityRun
from sstep_verify.verdict import Verdict


def run_stability(
    plan: Plan, progress: Callable[[int, int, str], None] = lambda *_: None
) -> report.Results:
    """Run a campaign of scenarios to its end, or until interrupted, and sum it up.

    Parameters
    ----------
    plan : Plan
        What is run and how; `directory` is not used.
    progress : callable
        Called with (scenarios done, scenarios planned, id of the case just done).

    Returns
    -------
    Results
        The document; it does not depend on the number of processes.
    """
    begin = time.perf_counter()
    definition = plan.definition
    work = units(definition.scenarios, plan.only)
    state = State()
    kept: dict[str, UnitOutcome] = {}
    keys = {unit: _key_of_unit(unit, plan.only) for unit in work}
    if plan.partial:
        common = identity(definition, plan.directory)
        kept = plan.partial.open(UnitOutcome, common, dict.fromkeys(keys.values(), ""))
        state.outcomes += [kept[keys[unit]] for unit in work if keys[unit] in kept]
    arguments = [
        (unit, plan.only, definition.source, plan.artefacts)
        for unit in sorted(work, key=expected_cost, reverse=True)
        if keys[unit] not in kept
    ]
    try:
        for message in spread(run_unit, arguments, plan.jobs, state):
            state.add(message)
            if plan.partial and message.outcome:
                plan.partial.keep(_key_of_outcome(message.outcome), message.outcome)
            label = message.outcome.runs[0].case if message.outcome else "error"
            progress(len(state.outcomes), len(work), label)
    except KeyboardInterrupt:
        state.interrupted = True
    ids = case_ids(definition.scenarios, plan.only)
    cases, verdicts = _cases(definition.scenarios, ids, state.outcomes)
    runs = _runs(work, ids, state.outcomes)
    summary = summarise(
        definition,
        cases,
        verdicts,
        planned_cases=len(ids),
        steps=_steps(work, runs),
        too_few=[*_too_few(work, verdicts), *_unfinished(work, state)],
        errors=state.errors,
        disagreements=state.disagreements,
        seconds=time.perf_counter() - begin,
        peak_memory=sum(state.memory.values()) or peak_memory(),
        interrupted=state.interrupted,
    )
    failures = (f"internal error: {line}" for line in [*state.errors, *state.disagreements])
    return report.Results(
        campaign=report.Campaign(
            definition.name,
            definition.title,
            definition.description,
            (*definition.notes, *failures),
            _parameters(plan, work),
        ),
        summary=summary,
        provenance=collect(plan.command, {f"scenarios, seed {seed}": seed for seed in _seeds(work)}),
        cases=tuple(cases),
        verdicts=tuple(verdict.as_dict() for verdict in verdicts),
        stability=Stability(sentences(runs, cases), runs),
    )


def expected_cost(unit: Unit) -> float:
    """Rough relative cost of a unit, to begin with the largest.

    The reference corrects one gradient entry by one increment at a time: s b^2 / 2 of them a step.
    """
    family = unit.family
    corrections = sum(s * unit.block**2 / 2 for s in family.steps) * (family.precision == "float32")
    return family.iterations * (corrections + unit.block * family.samples)


def _key_of_unit(unit: Unit, only: str) -> str:
    cases = [case for form in unit.family.form if matches(only, case := unit.case(form))]
    return _key(cases, unit.condition, unit.seed)


def _key_of_outcome(outcome: UnitOutcome) -> str:
    first = outcome.runs[0]
    return _key([run.case for run in outcome.runs], first.condition, first.seed)


def _key(cases: list[str], condition: float, seed: int) -> str:
    """What sets the outcome of a unit apart; an outcome of fewer forms (--only) is another one."""
    return f"{' + '.join(cases)}, condition {float(condition)!r}, seed {seed}"


def _parameters(plan: Plan, work: list[Unit]) -> dict[str, object]:
    families = list({id(unit.family): unit.family for unit in work}.values())
    return {
        "tolerated_vacuous": plan.definition.tolerated_vacuous,
        "minimum_executed": {"window-replay": min(family.minimum_windows for family in families)},
        "processes": plan.jobs,
        "only": plan.only,
        "data (samples, features, spectrum)": [
            f"{m} x {n}, {spectrum}"
            for m, n, spectrum in dict.fromkeys((f.samples, f.features, f.spectrum) for f in families)
        ],
        "condition": sorted({unit.condition for unit in work}),
        "s": sorted({s for family in families for s in family.steps}),
        "index stream": "uniform",
    }


def _seeds(work: list[Unit]) -> list[int]:
    return sorted({unit.seed for unit in work})


def _runs(work: list[Unit], ids: list[str], outcomes: list[UnitOutcome]) -> tuple[StabilityRun, ...]:
    order = {
        (unit.case(form), unit.condition, unit.seed): place
        for place, unit in enumerate(work)
        for form in unit.family.form
    }
    found = [run for outcome in outcomes for run in outcome.runs]
    found.sort(key=lambda run: (ids.index(run.case), order[run.case, run.condition, run.seed]))
    return tuple(found)


def _steps(work: list[Unit], runs: Sequence[StabilityRun]) -> int:
    """Iterations made by all runs, judged or not."""
    length = {unit.case(form): unit.family.iterations for unit in work for form in unit.family.form}
    return sum(length[run.case] * len(run.s) for run in runs)


def _cases(
    families: Iterable[ScenarioFamily], ids: list[str], outcomes: list[UnitOutcome]
) -> tuple[list[report.Case], list[Verdict]]:
    """Cases with finished runs, and their verdicts, in the order of the ids."""
    judged: dict[str, list[tuple[float, Verdict]]] = {}
    for outcome in outcomes:
        for run in outcome.runs:
            judged.setdefault(run.case, [])
        for case, condition, verdict in outcome.verdicts:
            judged[case].append((condition, verdict))
    owners = {unit.case(form): (unit, form) for unit in units(tuple(families)) for form in unit.family.form}
    cases, verdicts = [], []
    for name in (name for name in ids if name in judged):
        own = merged(name, _label(*owners[name]), judged[name])
        cases.append(_case(name, *owners[name], own))
        verdicts += own
    return cases, verdicts


def _case(name: str, unit: Unit, form: str, verdicts: list[Verdict]) -> report.Case:
    family = unit.family
    status, reason = roll_up(verdicts)
    conditions = family.condition
    return report.Case(
        id=name,
        problem=_label(unit, form),
        dataset=f"generated, condition {conditions[0]:g} to {conditions[-1]:g}",
        kernel=kernels.describe(unit.kernel),
        loss=losses.describe(loss_from(unit.task, C=family.parameter, penalty=family.parameter)),
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


def _label(unit: Unit, form: str) -> str:
    family = unit.family
    loss = losses.describe(loss_from(unit.task, C=family.parameter, penalty=family.parameter))
    return f"{loss} / {kernels.describe(unit.kernel)} / {family.precision}, {form}"


def _too_few(work: list[Unit], verdicts: list[Verdict]) -> list[str]:
    needed = {unit.case(form): unit.family.minimum_windows for unit in work for form in unit.family.form}
    return [
        f"{verdict.case}, s = {verdict.s}: {verdict.executed} windows replayed, {least} needed"
        for verdict in verdicts
        if verdict.executed < (least := needed[verdict.case])
    ]


def _unfinished(work: list[Unit], state: State) -> list[str]:
    left = len(work) - len(state.outcomes)
    return [f"{left} of {len(work)} scenarios not finished"] if left else []
