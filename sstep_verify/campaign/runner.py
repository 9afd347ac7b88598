"""Runs a campaign: groups spread over processes, finished cases kept whatever happens, one report."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from sstep_verify.campaign.definition import Definition
from sstep_verify.campaign.execute import CaseOutcome, execute_group
from sstep_verify.campaign.expand import CaseSpec, Group, expand, expected_cost, make_case
from sstep_verify.campaign.summary import summarise
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.problems.datasets import DataSet, load
from sstep_verify.provenance import collect, peak_memory
from sstep_verify.reporting.results import Campaign, Results
from sstep_verify.solver import Declaration

POLL_SECONDS = 0.2
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Finished:
    """One message of a worker: a finished case, or an error with its kind."""

    outcome: CaseOutcome | None = None
    error: str = ""
    disagreement: bool = False
    memory: int = 0


@dataclass
class _State:
    outcomes: list[CaseOutcome] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    memory: dict[int, int] = field(default_factory=dict)
    interrupted: bool = False

    def add(self, message: Finished) -> None:
        if message.outcome is not None:
            self.outcomes.append(message.outcome)
        elif message.disagreement:
            self.disagreements.append(message.error)
        else:
            self.errors.append(message.error)


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
    """

    definition: Definition
    directory: str | None = None
    only: str = ""
    jobs: int = 1
    command: tuple[str, ...] = ()


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
    state = _State()
    try:
        for message in _messages(plan, groups, state):
            state.add(message)
            label = message.outcome.case.id if message.outcome else "error"
            progress(len(state.outcomes), len(specs), label)
    except KeyboardInterrupt:
        state.interrupted = True
    order = {spec.id: place for place, spec in enumerate(specs)}
    outcomes = sorted(state.outcomes, key=lambda outcome: order[outcome.case.id])
    cases = [outcome.case for outcome in outcomes]
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    summary = summarise(
        plan.definition,
        cases,
        verdicts,
        planned_cases=len(specs),
        too_few=[line for outcome in outcomes for line in outcome.too_few],
        errors=state.errors,
        disagreements=state.disagreements,
        seconds=time.perf_counter() - begin,
        peak_memory=sum(state.memory.values()) or peak_memory(),
        interrupted=state.interrupted,
    )
    definition = plan.definition
    notes = [
        *definition.notes,
        *(f"internal error: {line}" for line in [*state.errors, *state.disagreements]),
    ]
    parameters = {
        "tolerated_vacuous": definition.tolerated_vacuous,
        "minimum_executed": {
            "window-replay": min(family.minimum_windows for family in definition.families)
        },
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
    loaded = {}
    for spec in specs:
        if spec.data not in loaded:
            loaded[spec.data] = load(spec.data, directory=plan.directory)
        make_case(spec, loaded[spec.data], Declaration("unused"), plan.definition.source, "")
    return loaded


def _messages(plan: Plan, groups: list[Group], state: _State) -> Iterator[Finished]:
    options = f"--data {plan.directory}" if plan.directory else ""
    arguments = [(group, plan.definition.source, plan.directory, options) for group in groups]
    if plan.jobs == 1:
        for argument in arguments:
            yield from _run_group(*argument)
        return
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    context = multiprocessing.get_context("spawn")
    channel = context.SimpleQueue()
    with ProcessPoolExecutor(plan.jobs, context, _initialise, (channel,)) as executor:
        pending = {executor.submit(_work, *argument) for argument in arguments}
        try:
            while pending:
                done, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
                yield from _drain(channel, state)
                for future in done:
                    _collect_broken(future, state)
            yield from _drain(channel, state)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _collect_broken(future, state: _State) -> None:
    """Note a worker that died (killed, out of memory) as an internal error."""
    try:
        future.result()
    except BrokenProcessPool as error:
        state.errors.append(f"a worker process died: {error}")


def _drain(channel, state: _State) -> Iterator[Finished]:
    while not channel.empty():
        process, message = channel.get()
        state.memory[process] = max(state.memory.get(process, 0), message.memory)
        yield message


_channel: list = []


def _initialise(channel) -> None:
    """Set up a worker: the interrupt is the parent's business, BLAS gets one thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _channel.append(channel)


def _work(*arguments) -> None:
    for message in _run_group(*arguments):
        _channel[0].put((os.getpid(), message))


def _run_group(group: Group, campaign: str, directory: str | None, options: str) -> Iterator[Finished]:
    """Run a group; an error ends the group, not the campaign."""
    try:
        for outcome in execute_group(group, campaign, directory, options):
            yield Finished(outcome=outcome, memory=peak_memory() or 0)
    except OracleDisagreementError as error:
        yield Finished(error=str(error), disagreement=True, memory=peak_memory() or 0)
    except Exception:
        where = f"{group.data} / {group.kernel.name}"
        yield Finished(error=f"{where}:\n{traceback.format_exc()}", memory=peak_memory() or 0)
