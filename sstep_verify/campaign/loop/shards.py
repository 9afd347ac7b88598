"""Shards of a campaign: parts for a job array (``run --shard I/N``), and their merger into one report.

A shard leaves its outcomes as an interrupted run does, and a file `SHARD` that says what it is part of.
Merging reads them back and sums them up as one run would have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sstep_verify.campaign.kinds import KINDS
from sstep_verify.campaign.messages import State
from sstep_verify.campaign.model import Plan, Unit
from sstep_verify.errors import InputError
from sstep_verify.inputs import read_whole
from sstep_verify.inputs.records import build, decode
from sstep_verify.outputs import write_text

SHARD = "shard"
"""File that says what a shard is part of."""

SCHEMA = 1
MOST = 10_000
"""Most shards of a campaign."""

MOST_BYTES = 64 << 20
"""Largest file of a shard: of some hundred thousand problems."""


@dataclass(frozen=True)
class Shard:
    """The part with number `index` of `count`, counted from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``I/N``; InputError unless 1 <= I <= N."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]) <= MOST:
            raise InputError(
                f"--shard {text!r}, but it must be I/N with 1 <= I <= N <= {MOST}, such as 1/8"
            )
        return cls(int(found[1]), int(found[2]))

    @property
    def words(self) -> str:
        """As on the command line: I/N."""
        return f"{self.index}/{self.count}"

    def of(self, units: Sequence[Unit]) -> list[Unit]:
        """The units of this shard: every N-th, cut up if there are fewer than N.

        Raises
        ------
        InputError
            If there are fewer problems than shards.
        """
        parts = enough(units, self.count)
        if self.count > len(parts):
            raise InputError(
                f"--shard {self.words}: the campaign has {len(parts)} problem{'s' * (len(parts) > 1)}, so "
                "at most that many shards"
            )
        return parts[self.index - 1 :: self.count]


def enough(units: Sequence[Unit], workers: int) -> list[Unit]:
    """The units, cut up if they are too few to keep so many workers busy."""
    if len(units) >= workers:
        return list(units)
    return [part for unit in units for part in unit.parts()]


@dataclass(frozen=True)
class ShardText:
    """The campaign of a shard: where it was read from, and its file."""

    source: str
    text: str


@dataclass(frozen=True)
class ShardRecord:
    """What a shard is part of, and what it has left.

    Parameters
    ----------
    schema : int
        `SCHEMA`.
    shard : (int, int)
        Its number and how many there are.
    campaign : ShardText
        The campaign.
    identity : dict
        From `sstep_verify.campaign.loop.kept.identity`.
    only, directory : str, str or None
        See `sstep_verify.campaign.model.Plan`.
    data : dict of str to str
        SHA-256 of the data sets and programs by name.
    keys, finished : tuple of str
        Problems that it was to run, and those that it finished.
    errors : dict
        Errors by kind.
    memory, jobs : int
        Bytes; processes.
    interrupted : bool
        Whether it was.
    seconds : float
        Wall time.
    """

    shard: tuple[int, int]
    campaign: ShardText
    identity: dict[str, Any]
    only: str
    directory: str | None
    data: dict[str, str]
    keys: tuple[str, ...]
    finished: tuple[str, ...]
    errors: dict[str, tuple[str, ...]]
    memory: int
    interrupted: bool
    seconds: float
    jobs: int
    schema: int = SCHEMA


def keep_shard(
    plan: Plan,
    units: list[Unit],
    common: Mapping[str, object],
    data: dict[str, str],
    state: State,
    seconds: float,
) -> None:
    """Write what a shard is part of beside its outcomes; `common` is the identity of its run."""
    assert plan.shard is not None
    assert plan.partial is not None
    record = ShardRecord(
        (plan.shard.index, plan.shard.count),
        ShardText(plan.definition.source, plan.definition.text),
        dict(common),
        plan.only,
        plan.directory,
        data,
        tuple(key for unit in units for key in unit.keys),
        tuple(sorted(KINDS[plan.definition.kind].key(outcome) for outcome in state.outcomes)),
        {kind: tuple(lines) for kind, lines in state.errors.items()},
        sum(state.memory.values()),
        state.interrupted,
        seconds,
        plan.jobs,
    )
    write_text(plan.partial.folder / SHARD, json.dumps(asdict(record), indent=1) + "\n")


def read_shard(folder: Path) -> ShardRecord:
    """What `keep_shard` wrote.

    Raises
    ------
    InputError
        If it is not there, cannot be read, or was made by another version.
    """
    path = folder / SHARD
    if not path.exists():
        raise InputError(f"{folder}: holds no shard; name the folders of run --shard I/N")
    try:
        values = decode(read_whole(path, MOST_BYTES, "a shard", follow=False), str(path))
        schema = values.get("schema") if isinstance(values, dict) else None
        if schema != SCHEMA:
            raise InputError(f"{path}: shard of schema {schema!r:.40}, but this version has {SCHEMA}")
        record = build(values, ShardRecord, str(path))
        Shard.parse("{}/{}".format(*record.shard))
        return record
    except InputError as error:
        raise InputError(f"{error}; run this shard again") from error
