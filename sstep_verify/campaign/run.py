"""Runs a campaign of any kind: units spread out, finished outcomes kept whatever happens, one report.

A kept outcome says what it must share with the run that reads it back.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from sstep_verify.campaign.model import (
    INTERNAL,
    NOTED,
    REFUSED,
    UNUSABLE,
    Definition,
    Finished,
    Plan,
    Said,
    State,
    Step,
    Unit,
    silent,
)
from sstep_verify.campaign.pool import spread
from sstep_verify.campaign.read import kind_of, units_of
from sstep_verify.compiled import compiling_in_words
from sstep_verify.errors import CommandError
from sstep_verify.floating_point import in_own_state
from sstep_verify.provenance import collect, peak_memory
from sstep_verify.report.results import BEFORE, ERRORS, Campaign, Results

CAMPAIGN = "content or path of the campaign file, or options that choose problems or runs (such as --np)"
"""Words of a message for what decides which problems there are, and how each is run."""


SEED = "seed of values and further s (--seed)"
FOLDER = "folder of data (--data)"


def identity(
    definition: Definition, directory: str | None, code: Mapping[str, str] | None = None
) -> dict[str, object]:
    """What must be the same for an outcome to be read back, besides the data of its own problem.

    Plain values by the words a message uses for them: the campaign with its solver options, whose source
    replay commands name as they do the folder of the data sets, and the `code` of `model.Prepared`.
    """
    made = collect()
    return {
        SEED: definition.seed,
        CAMPAIGN: digest(repr(definition)),
        FOLDER: str(directory) if directory else None,
        "version of sstep-verify": made["package"],
        "commit of the checkout": made["git"],
        "version of Python": made["python"],
        "version of a package": made["packages"],
        **(code or {}),
    }


def asked_for() -> tuple[str, ...]:
    """How a difference begins that another command makes, and not other versions."""
    return tuple(f"other {name}" for name in (SEED, CAMPAIGN, FOLDER))


def difference(found: Mapping[str, object], wanted: Mapping[str, object]) -> str:
    """What differs first between two identities, in words; empty if nothing does."""
    for name, value in json.loads(json.dumps(wanted)).items():
        if found.get(name) != value:
            shown = "" if name == CAMPAIGN else f": {found.get(name)!r:.80}, now {value!r:.80}"
            return f"other {name}{shown}"
    return ""


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


Progress = Callable[[float, int, str], None]
"""Called with (outcomes done and parts of those begun, outcomes planned, what was just done)."""


def enough(units: Sequence[Unit], workers: int) -> list[Unit]:
    """The units, cut up if they are too few to keep so many workers busy."""
    if len(units) >= workers:
        return list(units)
    return [replace(unit, keys=(key,)) for unit in units for key in unit.keys]


def begun_apart(units: Sequence[Unit]) -> list[Unit]:
    """The units, largest first, after the largest of each name of what they compile."""
    ordered = sorted(units, key=lambda unit: unit.cost, reverse=True)
    first: dict[str, Unit] = {}
    for unit in ordered:
        first.setdefault(unit.compiles, unit)
    return [*first.values(), *(unit for unit in ordered if unit is not first[unit.compiles])]


@in_own_state
def run_campaign(plan: Plan, progress: Progress = lambda *_: None) -> Results:
    """Run a campaign to its end, or until interrupted, and sum it up.

    ``summary.exit_code`` of the document is the exit code; only times and memory depend on the processes
    that made it. InputError, before anything is run, if the campaign's data or parameters cannot be used;
    CommandError as soon as a launcher says that it cannot start a program by its command.
    """
    begin = time.perf_counter()
    units, kind = units_of(plan.definition, plan.only), kind_of(plan.definition.kind)
    prepared = kind.prepare(plan, units)
    if plan.remark:  # What is refused is not run, and nothing is to be told of it.
        plan.say(plan.remark)
    units = prepared.units
    state = State()
    kept: dict[str, object] = {}
    if plan.partial:
        digests = {
            key: " ".join(prepared.data[name] for name in unit.data) for unit in units for key in unit.keys
        }
        common = identity(plan.definition, plan.directory, prepared.code)
        commands = shlex.join(plan.command), plan.definition.again
        found: dict[str, Any] = plan.partial.open(kind.outcome, common, digests, *commands)
        kept = {key: one for key, one in found.items() if not plan.keep or one.kept}
        state.outcomes += kept.values()
    recorded, keys = plan.recorded, {key for unit in units for key in unit.keys}
    wanted = keys - kept.keys() if recorded is None else keys.intersection(recorded.cases)
    left = enough([unit for unit in units if not wanted.isdisjoint(unit.keys)], plan.jobs)
    left = begun_apart(left)
    prepared.announce(wanted)
    planned, begun = sum(len(unit.keys) for unit in units), dict[str, float]()

    def tell(what: str) -> None:
        progress(len(state.outcomes) + sum(begun.values()), planned, what)

    said: set[str] = set()

    def heard(step: Step | Said) -> None:
        if isinstance(step, Said):
            if (about := step.about or step.line) not in said:
                said.add(about)
                plan.say(step.line)
            return
        begun[step.key] = step.part
        tell(f"{step.key}, {step.what}")

    def take(message: Finished) -> None:
        if plan.partial and message.outcome is not None and message.keep:
            outcome = plan.partial.keep(kind.key(message.outcome), message.outcome)
            message = replace(message, outcome=outcome)
        state.add(message)
        if message.outcome is not None and planned > 1:
            line, at_once = kind.told(message.outcome, plan)
            if line and (at_once or not told):
                plan.say(line if told else f"{line} (the first of {len(wanted)})")
            told.append(line)

    told: list[str] = []
    last = Finished()
    try:
        done = frozenset(keys - wanted)
        alone = replace(plan, partial=None, say=silent, announce=silent, finished=done, recorded=None)
        with closing(spread(kind, left, alone, heard)) as messages:
            for last in messages:
                if last.kind == UNUSABLE:
                    raise CommandError(last.error)
                take(last)
                key = kind.key(last.outcome) if last.outcome is not None else ""
                begun.pop(key, None)
                tell(key or "error")
    except KeyboardInterrupt:
        state.interrupted = True
        # What had come is finished, wherever the interrupt fell: --resume takes what is kept of it.
        if last.outcome is not None and kind.key(last.outcome) not in map(kind.key, state.outcomes):
            take(last)
    if recorded is not None:
        state.take_over(recorded.errors, recorded.interrupted)
    seconds = time.perf_counter() - begin
    if compiling := [seconds for seconds in state.compiling.values() if seconds]:
        where = f"in {len(compiling)} process{'es' * (len(compiling) > 1)}"
        plan.say(compiling_in_words(sum(compiling), where))
    order = {key: place for place, key in enumerate(key for unit in units for key in unit.keys)}
    state.outcomes.sort(key=lambda outcome: order[kind.key(outcome)])
    made = kind.assemble(plan, units, state)
    refused = (f"{REFUSED}: {line}" for line in state.errors[REFUSED])
    internal = (f"{INTERNAL}: {line}" for line in state.internal)
    definition = plan.definition
    notes = (*definition.notes, *made.notes, *state.errors[NOTED], *refused, *internal)
    parameters = {**made.parameters, "processes": plan.jobs, "only": plan.only}
    if kept:
        parameters[BEFORE] = len(kept)
    if errors := {name: lines for name, lines in state.errors.items() if lines}:
        parameters[ERRORS] = errors
    return Results(
        campaign=Campaign(
            definition.name, made.title or definition.title, definition.description, notes, parameters
        ),
        summary=replace(
            made.summary,
            seconds=seconds,
            interrupted=state.interrupted,
            peak_memory_bytes=sum(state.memory.values()) or peak_memory(),
        ),
        provenance=collect(plan.command, made.seeds, prepared.data | prepared.code),
        cases=tuple(made.cases),
        verdicts=tuple(verdict.as_dict() for verdict in made.verdicts),
        **made.documents,
    )
