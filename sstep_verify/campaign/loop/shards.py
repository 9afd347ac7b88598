"""Shards of a campaign: parts for a job array (``run --shard I/N``), and their merger into one report.

A shard leaves its outcomes as an interrupted run does, and a file `SHARD` that says what it is part of.
Merging reads them back and sums them up as one run would have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sstep_verify.campaign.kind import Unit
from sstep_verify.campaign.loop.kept import identity
from sstep_verify.campaign.loop.messages import State
from sstep_verify.errors import InputError
from sstep_verify.outputs import write_text

if TYPE_CHECKING:
    from sstep_verify.campaign.loop.run import Plan

SHARD = "shard"
"""File that says what a shard is part of."""

SCHEMA = 1
MOST = 10_000
"""Most shards of a campaign."""


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


def keep_shard(plan: Plan, units: list[Unit], data: dict[str, str], state: State, seconds: float) -> None:
    """Write what a shard is part of beside its outcomes."""
    assert plan.shard is not None
    assert plan.partial is not None
    document = {
        "schema": SCHEMA,
        "shard": [plan.shard.index, plan.shard.count],
        "campaign": {"source": plan.definition.source, "text": plan.definition.text},
        "identity": identity(plan.definition, plan.directory),
        "only": plan.only,
        "directory": plan.directory,
        "data": data,
        "keys": [key for unit in units for key in unit.keys],
        "finished": sorted(plan.kind.key(outcome) for outcome in state.outcomes),
        "errors": state.errors,
        "memory": sum(state.memory.values()),
        "interrupted": state.interrupted,
        "seconds": seconds,
        "jobs": plan.jobs,
    }
    write_text(plan.partial.folder / SHARD, json.dumps(document, indent=1) + "\n")


def read_shard(folder: Path) -> dict[str, Any]:
    """What `keep_shard` wrote.

    Raises
    ------
    InputError
        If it is not there, cannot be read, or was made by another version.
    """
    try:
        document = json.loads((folder / SHARD).read_text("utf-8"))
        if document["schema"] != SCHEMA:
            raise InputError(
                f"{folder}: shard of schema {document['schema']}, but this version has {SCHEMA}"
            )
        Shard(*document["shard"])
        return document
    except InputError:
        raise
    except OSError as error:
        raise InputError(
            f"{folder}: holds no shard ({error.strerror}); name the folders of run --shard I/N"
        ) from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(
            f"{folder / SHARD}: cannot be read: {error!r:.100}; run this shard again"
        ) from error
