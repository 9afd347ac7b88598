"""Runs a campaign: groups spread over processes, finished cases kept whatever happens, one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sstep_verify.campaign.definition import Definition
from sstep_verify.campaign.execute import CaseOutcome, execute_group
from sstep_verify.campaign.expand import CaseSpec, Group, expand, expected_cost, make_case
from sstep_verify.campaign.memory import memory_of
from sstep_verify.campaign.minimums import minimum_table
from sstep_verify.campaign.partial import Partial, identity
from sstep_verify.campaign.pool import Finished, State, finished, spread
from sstep_verify.campaign.summary import summarise
from sstep_verify.problems.datasets import DataSet, load
from sstep_verify.provenance import collect, peak_memory
from sstep_verify.reporting.results import Campaign, Results


@dataclass(frozen=True)
class Plan:
    """What is run and how.

    Parameters
    ----------
    definition : Definition
        The campaign.
    directory : str or None
        Folder of the data sets.
    only : str
        Part of the ids of the cases to run; all if empty.
    jobs : int
        Processes; 1 runs in this one.
    command : tuple of str
        The command line, for the provenance.
    artefacts : Path or None
        Where an artefact of every FAIL and INCONCLUSIVE is collected for the report; None for nowhere.
    partial : Partial or None
        Where finished outcomes are kept, and may be found; None for nowhere.
    say : callable
        Called with a line of text before the work begins.
    """

    definition: Definition
    directory: str | None = None
    only: str = ""
    jobs: int = 1
    command: tuple[str, ...] = ()
    artefacts: Path | None = None
    partial: Partial | None = None
    say: Callable[[str], None] = lambda line: None


def run_campaign(plan: Plan, progress: Callable[[int, int, str], None] = lambda *_: None) -> Results:
    """Run a campaign to its end, or until interrupted, and sum it up.

    Parameters
    ----------
    plan : Plan
        What is run and how.
    progress : callable
        Called with (cases done, cases planned, id of the case just done).

    Returns
    -------
    Results
        The document; `summary.exit_code` is the exit code.

    Raises
    ------
    InputError
        If the campaign's data or parameters cannot be used; found before anything is run.
    """
    begin = time.perf_counter()
    groups = expand(plan.definition, plan.only)
    specs = [spec for group in groups for spec in group.specs]
    loaded = _validate(plan, specs)
    groups.sort(key=lambda group: expected_cost(group, loaded[group.data].data.shape[0]), reverse=True)
    state = State()
    kept: dict[str, CaseOutcome] = {}
    if plan.partial:
        digests = {spec.id: loaded[spec.data].sha256 for spec in specs}
        kept = plan.partial.open(CaseOutcome, identity(plan.definition, plan.directory), digests)
        state.outcomes += kept.values()
    try:
        for message in _messages(plan, groups, state, frozenset(kept)):
            state.add(message)
            for failure in message.outcome.failures if message.outcome else ():
                state.add(failure)
            if plan.partial and message.outcome and not message.outcome.failures:
                plan.partial.keep(message.outcome.case.id, message.outcome)
            label = message.outcome.case.id if message.outcome else "error"
            progress(len(state.outcomes), len(specs), label)
    except KeyboardInterrupt:
        state.interrupted = True
    order = {spec.id: place for place, spec in enumerate(specs)}
    outcomes = sorted(state.outcomes, key=lambda outcome: order[outcome.case.id])
    cases = [outcome.case for outcome in outcomes]
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    short = [line for outcome in outcomes for line in outcome.too_few]
    summary = summarise(
        plan.definition,
        cases,
        verdicts,
        planned_cases=len(specs),
        steps=sum(run.iterations for case in cases for run in case.runs),
        too_few=short,
        errors=state.errors,
        disagreements=state.disagreements,
        seconds=time.perf_counter() - begin,
        peak_memory=sum(state.memory.values()) or peak_memory(),
        interrupted=state.interrupted,
    )
    definition = plan.definition
    notes = [
        *definition.notes,
        *(f"too few comparisons: {line}" for line in short),
        *(f"internal error: {line}" for line in [*state.errors, *state.disagreements]),
    ]
    parameters: dict[str, object] = {
        "tolerated_vacuous": definition.tolerated_vacuous,
        "tolerated_vacuous_per_check": definition.tolerated_vacuous_per_check or "not limited by check",
        "minimum_executed": minimum_table(min(family.minimum_windows for family in definition.families)),
        "processes": plan.jobs,
        "only": plan.only,
    }
    return Results(
        campaign=Campaign(
            definition.name, definition.title, definition.description, tuple(notes), parameters
        ),
        summary=summary,
        provenance=collect(
            plan.command,
            {f"streams, seed {seed}": seed for seed in sorted({spec.family.seed for spec in specs})},
            {name: data.sha256 for name, data in loaded.items()},
        ),
        cases=tuple(cases),
        verdicts=tuple(verdict.as_dict() for verdict in verdicts),
    )


def _validate(plan: Plan, specs: list[CaseSpec]) -> dict[str, DataSet]:
    """Load every data set and build every case once, so that bad input ends the run before it begins."""
    loaded, takes = {}, []
    for spec in specs:
        if spec.data not in loaded:
            loaded[spec.data] = load(spec.data, directory=plan.directory)
        declaration = spec.family.solvers()[""].declaration
        case = make_case(spec, loaded[spec.data], {"": declaration}, plan.definition.source, "")
        takes.append((memory_of(spec, case), spec.id))
    largest, name = max(takes, key=lambda item: item[0].total)
    plan.say(f"memory: {name} {largest.words}; {plan.jobs} processes at a time")
    return loaded


def _messages(
    plan: Plan, groups: list[Group], state: State, finished: frozenset[str]
) -> Iterator[Finished]:
    options = f"--data {plan.directory}" if plan.directory else ""
    shared = (plan.definition.source, plan.directory, options, plan.artefacts, finished)
    left = [group for group in groups if any(spec.id not in finished for spec in group.specs)]
    arguments = [(group, *shared) for group in left]
    yield from spread(_run_group, arguments, plan.jobs, state)


def _run_group(
    group: Group,
    campaign: str,
    directory: str | None,
    options: str,
    artefacts: Path | None,
    done: frozenset[str],
) -> Iterator[Finished]:
    """Run a group; an error in a case ends that case, one in what its cases share the group."""
    messages = execute_group(group, campaign, directory, options, artefacts, done)
    yield from finished(messages, f"{group.data} / {group.kernel.name}")
