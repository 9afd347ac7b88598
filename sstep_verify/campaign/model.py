"""What a campaign is: its definition, its plan, its units, what they yield. Data only, but for `Kind`.

The loop (`campaign.loop`) has processes, shards, progress, what is kept of an interrupted run. A new kind
is a file with a class like those of `campaign.verdicts.kind` or `campaign.certified`, a line in
`campaign.read`, and a campaign file with its table.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from sstep_verify.campaign.messages import State
from sstep_verify.report import results as report
from sstep_verify.verdict import Verdict


@dataclass(frozen=True)
class Head:
    """The table ``[campaign]`` of a campaign file: what the report says of it, and what may stay unshown.

    `tolerated_vacuous` are ids of the cases that may turn out VACUOUS, or patterns of them (``*``, ``?``);
    any other makes the campaign incomplete. `tolerated_vacuous_per_check` says the same for the verdicts of
    a check, as ``CASE`` or ``CASE, s=S``; none of a check that is not named; None: not limited by check.
    """

    name: str
    title: str
    description: str
    notes: tuple[str, ...] = ()
    tolerated_vacuous: tuple[str, ...] = ()
    tolerated_vacuous_per_check: dict[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Definition(Head):
    """A campaign as its file says, and as a command changes it.

    `families` are its tables as the kind reads them, all of one `kind`, which is a name of `read.KINDS`;
    `source` is the name or path that it was read from, `command` what runs it, as a shell takes it, where
    that is not ``sstep-verify run SOURCE``. `seed` is that from which further s were drawn
    (`campaign.profile`), None if there are none; `expected` are failures that are known
    (`campaign.expected`); `cut` says of a profile what was asked for (`campaign.profile.Chosen`).
    """

    families: tuple[Any, ...] = ()
    source: str = field(default="", compare=False)
    kind: str = "family"
    seed: int | None = None
    command: str = field(default="", compare=False, repr=False)
    expected: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    cut: Any = field(default=None, compare=False, repr=False)

    @property
    def again(self) -> str:
        """The command that runs it, as a shell takes it."""
        return self.command or shlex.join(["sstep-verify", "run", self.source])


@dataclass(frozen=True)
class Unit:
    """A piece of a campaign: what one process works on at a time.

    `keys` are the names of the outcomes that it yields, each once in the campaign, and `cases` the ids of
    its cases where these are not the keys. `work` is what it is about; for the kind alone, and sent to
    other processes. `data` are the data sets that it needs, as the campaign file names them; `cost` is
    rough and relative, the largest begin first. It starts so many MPI `ranks` itself, 1 for none. One that
    is `foreign` runs code that is not of this package, and so always in a process of its own. Runs that
    have `crashed` have ended the process that made them: key of the outcome, key of the run, and by what.
    """

    keys: tuple[str, ...]
    work: Any
    cases: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    cost: float = 0.0
    ranks: int = 1
    foreign: bool = False
    crashed: tuple[tuple[str, str, str], ...] = ()

    def parts(self) -> list[Unit]:
        """The unit cut up into one for every outcome; each yields what the whole would."""
        return [replace(self, keys=(key,)) for key in self.keys]


def silent(line: str) -> None:
    """Say nothing; by its name, so that a plan can be sent to other processes."""


@dataclass(frozen=True)
class Plan:
    """What is run and how; without what only its own process can use it is sent to others, with each unit.

    `directory` is the folder of the data sets, `only` a part of the ids of the cases to run, all if empty.
    `jobs` are processes; 1 runs in this one. `command` is the command line, for the provenance. An artefact
    of every FAIL and INCONCLUSIVE is collected in `artefacts` (None for nowhere) and, if `runs`, all runs,
    for a statement. In `partial` (`campaign.loop.partial.Partial`) finished outcomes are kept, and may be
    found: keys of these are `finished`, and not wanted again. `say` is called with a line of text before
    the work begins, `announce` with one that is to be read even where only results are. `shard`
    (`campaign.loop.run.Shard`) is the part of the campaign that is run, all of it if None.
    """

    definition: Definition
    directory: str | None = None
    only: str = ""
    jobs: int = 1
    command: tuple[str, ...] = ()
    artefacts: Path | None = None
    partial: Any = None
    say: Callable[[str], None] = silent
    announce: Callable[[str], None] = silent
    shard: Any = None
    runs: bool = False
    finished: frozenset[str] = frozenset()

    def alone(self, finished: Iterable[str]) -> Plan:
        """What units are run with, where some outcomes are not wanted again."""
        return replace(self, partial=None, say=silent, announce=silent, finished=frozenset(finished))


@dataclass(frozen=True)
class Prepared:
    """Units that can be run, with their cost, and SHA-256 by name of their data sets.

    `code` has that of what solvers under test are that are not ours, by the words of a message: outcomes of
    other code are never read back.
    """

    units: list[Unit]
    data: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Assembled:
    """What a kind makes of the outcomes; the loop adds times, errors and provenance.

    `notes` are remarks beside those of the campaign file, `parameters` what governed the campaign, `seeds`
    for the provenance, `documents` further parts of `Results` by their names.
    """

    summary: report.Summary
    cases: Sequence[report.Case] = ()
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    documents: Mapping[str, Any] = field(default_factory=dict)


class Kind(Protocol):
    """A kind of campaign, without state: it is sent to other processes.

    `outcome` is the record that an outcome is; it is kept as JSON, see `campaign.loop.partial`.
    """

    outcome: type

    @staticmethod
    def read(table: dict[str, Any], where: str) -> Any:
        """The family of one table; InputError, with `where`, if it cannot be used."""
        ...

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """The units whose case `only` selects, in the order of the report; InputError if there is none."""
        ...

    def prepare(self, plan: Plan, units: list[Unit]) -> Prepared:
        """Load the data and refuse what cannot be run, with InputError, before anything is."""
        return Prepared(units)

    def run(self, unit: Unit, plan: Plan) -> Iterator[Any]:
        """Yield the outcomes of a unit, or messages (`messages.Finished`), one after the other."""
        ...

    def key(self, outcome: Any) -> str:
        """Key of an outcome: the one that it has, or the id of its case."""
        return str(getattr(outcome, "key", "") or outcome.case.id)

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """Make a report of the outcomes (``state.outcomes``, in the order of the keys)."""
        ...
