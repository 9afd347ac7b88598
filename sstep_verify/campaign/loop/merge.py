"""Merges the shards of a campaign into the report that one run would have made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sstep_verify.campaign.further import with_further_s
from sstep_verify.campaign.kinds import KINDS, units_of
from sstep_verify.campaign.loop.kept import SEED, artefact_names, difference, identity, read_outcome
from sstep_verify.campaign.loop.run import summed_up
from sstep_verify.campaign.loop.shards import ShardRecord, read_shard
from sstep_verify.campaign.messages import State
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import parse_definition
from sstep_verify.errors import InputError
from sstep_verify.reporting.results import Results
from sstep_verify.reporting.write import ARTEFACTS, copy_artefacts


def merge(folders: Sequence[str | Path], artefacts: Path, command: Sequence[str] = ()) -> Results:
    """Read all shards of a campaign and sum them up.

    Parameters
    ----------
    folders : sequence of str or Path
        What ``run --shard I/N`` left, I = 1..N, in any order.
    artefacts : Path
        Folder into which their artefacts are copied; made if there are any.
    command : sequence of str
        The command line, for the provenance.

    Returns
    -------
    Results
        Verdict for verdict that of an undivided run.

    Raises
    ------
    InputError
        If shards are missing, stand twice, were interrupted, are damaged, or belong to different
        campaigns, solvers, versions, commits, data or selections, or to another installation than this.
    """
    shards = {Path(folder): read_shard(Path(folder)) for folder in folders}
    if len(shards) < len(folders):
        raise InputError("a folder is named twice; name every shard once")
    _same(shards)
    _whole(shards)
    first = next(iter(shards.values()))
    seed = first.identity.get(SEED)
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        raise InputError(f"a shard names the seed {seed!r:.40}, which is none; run this shard again")
    definition = with_further_s(parse_definition(first.campaign.text, first.campaign.source), seed)
    if other := difference(first.identity, identity(definition, first.directory)):
        raise InputError(
            f"the shards were made by another installation than this, which would tell its own provenance: "
            f"{other}; merge them with the one that made them"
        )
    plan = Plan(
        definition,
        first.directory,
        first.only,
        max(document.jobs for document in shards.values()),
        tuple(command),
    )
    units, own = units_of(plan.definition, plan.only), KINDS[plan.definition.kind]
    planned = [key for unit in units for key in unit.keys]
    if sorted(planned) != sorted(key for document in shards.values() for key in document.keys):
        raise InputError("the shards do not hold every problem of their campaign once; run them again")
    state = State()
    data: dict[str, str] = {}
    for place, (folder, document) in enumerate(shards.items()):
        data |= document.data
        state.memory[place] = document.memory
        for kind, lines in document.errors.items():
            state.errors.setdefault(kind, []).extend(lines)
        for key in document.finished:
            outcome: Any
            try:
                outcome, text = read_outcome(folder, key, own.outcome, document.identity)
                if own.key(outcome) != key:
                    raise InputError(f"it is the problem {own.key(outcome)!r:.80}")
                copy_artefacts(folder / ARTEFACTS, artefacts, artefact_names(text))
            except (InputError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                raise InputError(f"{folder}, {key}: {error}; run this shard again") from error
            state.outcomes.append(outcome)
    seconds = sum(document.seconds for document in shards.values())
    return summed_up(plan, units, data, state, seconds)


def _same(shards: Mapping[Path, ShardRecord]) -> None:
    """Raise InputError unless all shards are of one campaign, version, commit and selection."""
    (first, wanted), *others = shards.items()
    for folder, document in others:
        pairs: dict[str, tuple[object, object]] = {"number of shards": (document.shard[1], wanted.shard[1])}
        pairs["--only"] = document.only, wanted.only
        for name in wanted.identity:
            pairs[name] = document.identity.get(name), wanted.identity[name]
        for name, (found, other) in pairs.items():
            if found != other:
                raise InputError(
                    f"{folder} and {first} are not shards of one run: other {name}: {found!r:.80} and "
                    f"{other!r:.80}; run all shards with the same campaign, options and installation"
                )


def _whole(shards: Mapping[Path, ShardRecord]) -> None:
    """Raise InputError unless every shard is there once, run to its end."""
    places: dict[int, Path] = {}
    for folder, document in shards.items():
        index, count = document.shard
        if index in places:
            raise InputError(f"{places[index]} and {folder} both hold shard {index}/{count}; name it once")
        places[index] = folder
        if document.interrupted:
            raise InputError(
                f"{folder}: shard {index}/{count} was interrupted; run it to its end with --resume"
            )
    if missing := [index for index in range(1, count + 1) if index not in places]:
        listed = ", ".join(f"{index}/{count}" for index in missing[:8]) + ", ..." * (len(missing) > 8)
        raise InputError(
            f"{len(missing)} of {count} shards are missing: {listed}; run them, then merge all"
        )
