"""Runs a campaign of certified optima: problems spread over processes, one table of what is proved."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sstep_verify.campaign.certified_definition import OptimumUnit, optimum_units
from sstep_verify.campaign.certified_units import OptimumOutcome, load_data, run_unit
from sstep_verify.campaign.partial import identity
from sstep_verify.campaign.pool import State, spread
from sstep_verify.campaign.runner import Plan
from sstep_verify.errors import InputError
from sstep_verify.oracle.memory import GIB, certificate_bytes, gibibytes
from sstep_verify.problems.datasets import DataSet
from sstep_verify.provenance import collect, peak_memory
from sstep_verify.reporting import results as report
from sstep_verify.reporting.certified_document import Certified
from sstep_verify.verdict import Status


def run_certified(
    plan: Plan, progress: Callable[[int, int, str], None] = lambda *_: None
) -> report.Results:
    """Certify all optima of a campaign, or until interrupted, and sum it up.

    Parameters
    ----------
    plan : Plan
        What is run and how.
    progress : callable
        Called with (optima done, optima planned, id of the case just done).

    Returns
    -------
    Results
        The document; only times and memory depend on the number of processes.

    Raises
    ------
    InputError
        If a data set cannot be read, or the matrices of an optimum exceed the memory allowed; found
        before anything is run.
    """
    begin = time.perf_counter()
    work = optimum_units(plan.definition.optima, plan.only)
    digests = _looked_through(work, plan)
    state = State()
    kept: dict[str, OptimumOutcome] = {}
    if plan.partial:
        kept = plan.partial.open(OptimumOutcome, identity(plan.definition, plan.directory), digests)
        state.outcomes += kept.values()
    left = [unit for unit in work if unit.case not in kept]
    arguments = [(unit, plan.directory) for unit in sorted(left, key=_begun_first)]
    try:
        for message in spread(run_unit, arguments, plan.jobs, state):
            state.add(message)
            if plan.partial and message.outcome:
                plan.partial.keep(message.outcome.case.id, message.outcome)
            label = message.outcome.case.id if message.outcome else "error"
            progress(len(state.outcomes), len(work), label)
    except KeyboardInterrupt:
        state.interrupted = True
    order = {unit.case: place for place, unit in enumerate(work)}
    outcomes = sorted(state.outcomes, key=lambda outcome: order[outcome.case.id])
    failures = [*state.errors, *state.disagreements]
    return report.Results(
        campaign=report.Campaign(
            plan.definition.name,
            plan.definition.title,
            plan.definition.description,
            (*plan.definition.notes, *(f"internal error: {line}" for line in failures)),
            {"processes": plan.jobs, "only": plan.only, "digits": sorted({unit.digits for unit in work})},
        ),
        summary=report.Summary(
            sentence=sentence(work, outcomes, len(failures), state.interrupted),
            exit_code=_exit_code(work, outcomes, failures),
            seconds=time.perf_counter() - begin,
            interrupted=state.interrupted,
            peak_memory_bytes=sum(state.memory.values()) or peak_memory(),
        ),
        provenance=collect(plan.command, {outcome.case.dataset: outcome.sha256 for outcome in outcomes}),
        cases=tuple(outcome.case for outcome in outcomes),
        certified=Certified(tuple(outcome.row for outcome in outcomes)),
    )


def sentence(
    work: Sequence[OptimumUnit], outcomes: Sequence[OptimumOutcome], failures: int, interrupted: bool
) -> str:
    """One sentence on what is proved of how many optima."""
    enough = [outcome for outcome in outcomes if outcome.case.status == Status.PASS]
    unique = sum(outcome.row.uniqueness == "unique" for outcome in enough)
    parts = [f"{len(enough)} of {len(work)} optima certified to the digits asked and proved anew"]
    if enough:
        parts[0] += f" ({unique} unique, {len(enough) - unique} with uniqueness not proved)"
    if short := len(outcomes) - len(enough):
        parts.append(f"{short} to fewer digits")
    if failures:
        parts.append(f"{failures} internal errors")
    return ("interrupted: " if interrupted else "") + "; ".join(parts)


def _looked_through(work: Sequence[OptimumUnit], plan: Plan) -> dict[str, str]:
    """SHA-256 of the data of every case, by its id; says the memory of the largest, or refuses it."""
    found: dict[tuple[str, str], DataSet] = {}
    needs = []
    for unit in work:
        if (unit.data, unit.task) not in found:
            found[unit.data, unit.task] = load_data(unit, plan.directory)
        samples = found[unit.data, unit.task].data.shape[0]
        size = certificate_bytes(samples, svm=unit.task != "krr")
        line = f"{unit.case}: matrices of m = {samples} samples take about {gibibytes(size)} GiB"
        if size > unit.memory * GIB:
            raise InputError(
                f"{line}, but its [[optimum]] table allows {unit.memory:g} a process; raise it there "
                "(memory = GiB), or leave the data set out"
            )
        needs.append((size, line))
    plan.say(f"memory: {max(needs)[1]} a process, the most of all; {plan.jobs} processes at a time")
    return {unit.case: found[unit.data, unit.task].sha256 for unit in work}


def _begun_first(unit: OptimumUnit) -> bool:
    """Sort key: K-RR first, which has the largest sets, the file's order otherwise kept."""
    return unit.task != "krr"


def _exit_code(
    work: Sequence[OptimumUnit], outcomes: Sequence[OptimumOutcome], failures: Sequence[str]
) -> int:
    if failures:
        return 4
    proved = sum(outcome.case.status == Status.PASS for outcome in outcomes)
    return 0 if proved == len(work) else 3
