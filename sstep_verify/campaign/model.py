"""What a campaign is: its definition, its plan, its units, what they yield. Data only, but for `Kind`.

The loop (`campaign.loop`) has processes, shards, progress, what is kept of an interrupted run. A new kind
is a file with a class like those of `campaign.verdicts.kind` or `campaign.certified`, a line in
`campaign.read`, and a campaign file with its table.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from sstep_verify.campaign.messages import State
from sstep_verify.report import results as report
from sstep_verify.verdict import Verdict


@dataclass(frozen=True)
class Head:
    """The table ``[campaign]`` of a campaign file.

    Parameters
    ----------
    name, title, description : str
        For the report.
    notes : tuple of str
        Remarks that the report prints.
    tolerated_vacuous : tuple of str
        Ids of the cases that may turn out VACUOUS, or patterns of them (``*``, ``?``); any other makes the
        campaign incomplete.
    tolerated_vacuous_per_check : dict of str to tuple of str, or None
        The same for the verdicts of a check, as ``CASE`` or ``CASE, s=S``; none of a check that is not
        named. None: not limited by check.
    """

    name: str
    title: str
    description: str
    notes: tuple[str, ...] = ()
    tolerated_vacuous: tuple[str, ...] = ()
    tolerated_vacuous_per_check: dict[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Definition(Head):
    """A campaign as its file says.

    Parameters
    ----------
    families : tuple
        Its tables, as the kind reads them.
    source : str
        Where the definition was read from: a name or a path.
    kind : str
        Name of the tables, one of `kinds.KINDS`: a campaign has families of one kind.
    seed : int or None
        Seed from which further s were drawn (`campaign.profile`); None if there are none.
    command : str
        What runs it, as a shell takes it, where that is not ``sstep-verify run SOURCE``.
    expected : tuple
        Failures that are known (`campaign.summary.expected`).
    cut : object
        Of a profile its name and what it was cut to (`campaign.profile.Chosen`); None of a campaign file.
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

    Parameters
    ----------
    keys : tuple of str
        Names of the outcomes that it yields, each once in the campaign.
    work : object
        What it is about; for the kind alone, and sent to other processes.
    cases : tuple of str
        Ids of its cases, where they are not the keys.
    data : tuple of str
        Names of the data sets that it needs, as the campaign file has them.
    cost : float
        Rough relative cost; the largest begin first.
    ranks : int
        MPI ranks that it starts itself; 1 for none.
    foreign : bool
        Whether it runs code that is not of this package, and so always in a process of its own.
    crashed : tuple
        Runs that have ended the process that made them: key of the outcome, key of the run, and by what.
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


@dataclass(frozen=True)
class Setting:
    """What every unit of a campaign is run with.

    Parameters
    ----------
    again : str
        The command that runs the campaign, for replay commands.
    directory : str or None
        Folder of the data sets.
    artefacts : Path or None
        Where an artefact of every FAIL and INCONCLUSIVE is collected; None for nowhere.
    finished : frozenset of str
        Keys of outcomes that are not wanted again.
    runs : bool
        Whether all runs are collected there too, for a statement.
    """

    again: str
    directory: str | None = None
    artefacts: Path | None = None
    finished: frozenset[str] = frozenset()
    runs: bool = False


@dataclass(frozen=True)
class Plan:
    """What is run and how.

    Parameters
    ----------
    definition : Definition
        The campaign.
    directory, artefacts, runs
        See `Setting`.
    only : str
        Part of the ids of the cases to run; all if empty.
    jobs : int
        Processes; 1 runs in this one.
    command : tuple of str
        The command line, for the provenance.
    partial : campaign.loop.partial.Partial or None
        Where finished outcomes are kept, and may be found; None for nowhere.
    say, announce : callable
        Called with a line of text before the work begins; with one that is to be read even where only
        results are.
    shard : campaign.loop.run.Shard or None
        The part of the campaign that is run; all of it if None.
    """

    definition: Definition
    directory: str | None = None
    only: str = ""
    jobs: int = 1
    command: tuple[str, ...] = ()
    artefacts: Path | None = None
    partial: Any = None
    say: Callable[[str], None] = lambda line: None
    announce: Callable[[str], None] = lambda line: None
    shard: Any = None
    runs: bool = False


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

    Parameters
    ----------
    summary : Summary
        Sentence and exit code, and what is counted.
    cases, verdicts : sequences
        For the report.
    notes : sequence of str
        Remarks, beside those of the campaign file.
    parameters : mapping
        What governed the campaign.
    seeds : mapping of str to int
        For the provenance.
    documents : mapping
        Further parts of `Results`, by their names.
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

    Attributes
    ----------
    outcome : type
        Record that an outcome is; it is kept as JSON, see `campaign.loop.partial`.
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

    def run(self, unit: Unit, setting: Setting) -> Iterator[Any]:
        """Yield the outcomes of a unit, or messages (`messages.Finished`), one after the other."""
        ...

    def key(self, outcome: Any) -> str:
        """Key of an outcome: the id of its case, if the kind does not say otherwise."""
        return str(outcome.case.id)

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """Make a report of the outcomes (``state.outcomes``, in the order of the keys)."""
        ...
