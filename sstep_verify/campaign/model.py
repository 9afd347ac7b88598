"""What a campaign is: its definition, its plan, its units, what whoever runs these says, and its kinds.

Processes, progress and what is kept of an interrupted run are in `campaign.run`, `campaign.pool`
and `campaign.partial`. A new kind is a file with a class like those of `campaign.verdicts.kind` or
`campaign.certified`, a line in `campaign.read`, and a campaign file with its table.
"""

from __future__ import annotations

import os
import shlex
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sstep_verify.compiled import compile_seconds
from sstep_verify.errors import (
    CommandError,
    InputError,
    MissingExtraError,
    NotMadeError,
    OracleDisagreementError,
    UnwritableError,
    machine_error,
)
from sstep_verify.provenance import peak_memory
from sstep_verify.report.case import Case
from sstep_verify.report.results import Summary
from sstep_verify.verdict import Verdict

INTERNAL, DISAGREEMENT, REFUSED, NOTED = "internal error", "disagreement", "not judged", "noted"
UNUSABLE = "unusable command"
"""Kinds of errors: a defect of this package; two oracles that differ; a problem that cannot be run; a loss
that takes nothing from what was judged; a command by which no problem can be run, which ends a campaign."""

INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT), whatever had been found by then."""


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
    that is not ``sstep-verify run SOURCE``. `seed` is that from which values or further s were drawn
    (`campaign.profile`), None if there are none; `expected` are failures that are known
    (`campaign.summary`); `cut` says of a profile what was asked for (`campaign.profile.Chosen`).
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
    rough and relative, the largest begin first. Units of other names in `compiles` compile other functions:
    one of each name begins first, so that processes need not all compile the same ones. It starts so many
    MPI `ranks` itself, 1 for none. One that is `external` runs code that is not of this package, and so
    always in a process of its own. Runs that have `crashed` have ended the process that made them: key of
    the outcome, key of the run, and by what.
    """

    keys: tuple[str, ...]
    work: Any
    cases: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    cost: float = 0.0
    compiles: str = ""
    ranks: int = 1
    external: bool = False
    crashed: tuple[tuple[str, str, str], ...] = ()


def silent(line: str) -> None:
    """Say nothing; by its name, so that a plan can be sent to other processes."""


def unannounced(wanted: Set[str]) -> None:
    """Announce nothing of the keys that are run."""


@dataclass(frozen=True)
class Plan:
    """What is run and how; without what only its own process can use it is sent to others, with each unit.

    `directory` is the folder of the data sets, `only` a part of the ids of the cases to run, all if empty.
    `jobs` are processes; 1 runs in this one. `command` is the command line, for the provenance. An artefact
    of every FAIL and INCONCLUSIVE is collected in `artefacts` (None for nowhere) and, if `runs`, all runs
    of a case. In `keep` all runs are kept for a report that can be made again (`campaign.kept`), and from
    `again` such runs are taken: no solver runs then, and how the campaign ended stands in `recorded`. In
    `partial` (`campaign.partial.Partial`) finished outcomes are kept, and may be found: keys of these are
    `finished`, and not wanted again. `say` is called with a line of text before the work begins, such as
    the `remark`, `announce` with one that is to be read even where only results are.
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
    runs: bool = False
    keep: Path | None = None
    again: Path | None = None
    recorded: Any = None
    remark: str = ""
    finished: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Prepared:
    """Units that can be run, with their cost, and SHA-256 by name of their data sets.

    `code` has that of what solvers under test are that are not ours, by the words of a message: outcomes of
    other code are never read back. `announce` is called with the keys that are run, before they are: those
    of finished outcomes are not among them.
    """

    units: list[Unit]
    data: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    announce: Callable[[Set[str]], None] = unannounced


@dataclass(frozen=True)
class Finished:
    """Something finished, or an error of a kind; `keep` is whether --resume may rely on the outcome.

    Besides, the bytes and the seconds spent on compiling that its process has had so far.
    """

    outcome: Any = None
    error: str = ""
    kind: str = INTERNAL
    keep: bool = True
    memory: int = field(default_factory=lambda: peak_memory() or 0)
    compiling: float = field(default_factory=compile_seconds)
    process: int = field(default_factory=os.getpid)


@dataclass(frozen=True)
class Step:
    """How far an outcome has come: its key, the part done (0 to 1), what is done now.

    `limit` is the seconds that this may take; 0 for any. Past them its process is ended. `run` is the key
    of the run that is made, if one is.
    """

    key: str
    part: float
    what: str
    limit: float = 0.0
    run: str = ""


@dataclass(frozen=True)
class Said:
    """A line of the process that runs a unit, which is said once, whichever process says it first.

    Of lines `about` the same, only the first is said.
    """

    line: str
    about: str = ""


@dataclass
class State:
    """What a campaign has so far: outcomes, errors by kind; by process bytes and compiling seconds."""

    outcomes: list[Any] = field(default_factory=list)
    errors: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    memory: dict[int, int] = field(default_factory=dict)
    compiling: dict[int, float] = field(default_factory=dict)
    interrupted: bool = False

    def add(self, message: Finished) -> None:
        """File a message where it belongs."""
        self.memory[message.process] = max(self.memory.get(message.process, 0), message.memory)
        self.compiling[message.process] = max(self.compiling.get(message.process, 0.0), message.compiling)
        if message.outcome is not None:
            self.outcomes.append(message.outcome)
        else:
            self.errors[message.kind].append(message.error)

    def take_over(self, errors: Mapping[str, Sequence[str]], interrupted: bool) -> None:
        """Take over what was met where the runs were made, besides what is met again."""
        for kind in dict.fromkeys((*errors, *self.errors)):
            known = list(errors.get(kind, ()))
            self.errors[kind] = known + [line for line in self.errors[kind] if line not in known]
        self.interrupted = self.interrupted or interrupted

    @property
    def internal(self) -> list[str]:
        """Errors that are no property of a problem: internal ones, and disagreements of oracles."""
        return [*self.errors[INTERNAL], *self.errors[DISAGREEMENT]]

    def exit_code(self, failed: bool, incomplete: bool) -> int:
        """130 if interrupted, else 4 after an internal error, 1 if it failed, 3 if incomplete, 0."""
        if self.interrupted:
            return INTERRUPTED
        if self.internal:
            return 4
        return 1 if failed else 3 * incomplete


def attempted(work: Callable[[], Any], where: str) -> Finished:
    """Do a piece of work; an error becomes a message that says `where`, and ends nothing else.

    The work returns the outcome, or a message of its own, which is passed on.
    """
    try:
        outcome = work()
    except OracleDisagreementError as error:
        return Finished(error=f"{where}: {error}", kind=DISAGREEMENT)
    except CommandError as error:
        return Finished(error=str(error), kind=UNUSABLE)
    except (NotMadeError, UnwritableError) as error:
        return Finished(error=f"{where}: {error}")
    except (InputError, MissingExtraError) as error:
        return Finished(error=f"{where}: {error}", kind=REFUSED)
    except OSError as error:
        told = machine_error(error, "an error of the operating system, met by this package")
        return Finished(error=f"{where}: {told}\n{traceback.format_exc()}")
    except (OverflowError, FloatingPointError) as error:
        words = f"a number is beyond the range of float64 ({error}); scale the data"
        return Finished(error=f"{where}: {words}", kind=REFUSED)
    except MemoryError as error:
        words = f"out of memory ({str(error) or 'no size told'}); lower memory, replay_limit or --jobs"
        return Finished(error=f"{where}: {words}", kind=REFUSED)
    except Exception:
        return Finished(error=f"{where}:\n{traceback.format_exc()}")
    return outcome if isinstance(outcome, Finished) else Finished(outcome)


Heard = Callable[["Step | Said"], None]

_listeners: list[Heard] = []


def tell(key: str, part: float, what: str, limit: float = 0.0, run: str = "") -> None:
    """Tell whoever runs this unit how far an outcome has come; see `Step`."""
    if _listeners:
        _listeners[-1](Step(key, part, what, limit, run))


def say(line: str, about: str = "") -> None:
    """Say a line where this campaign was started; see `Said`."""
    if _listeners:
        _listeners[-1](Said(line, about))


@contextmanager
def heard_by(listener: Heard) -> Iterator[None]:
    """Let a function hear what this process reports."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()


@dataclass(frozen=True)
class Assembled:
    """What a kind makes of the outcomes; the loop adds times, errors and provenance.

    The `title` takes the place of the campaign's, where it must say more. `notes` are remarks besides those
    of the campaign file, `parameters` what governed the campaign, `seeds` for the provenance, `documents`
    further parts of `Results` by their names.
    """

    summary: Summary
    cases: Sequence[Case] = ()
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    documents: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""


class Kind(Protocol):
    """A kind of campaign, without state: it is sent to other processes.

    `outcome` is the record that an outcome is; it is kept as JSON, see `campaign.partial`.
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
        """Yield the outcomes of a unit, or messages (`Finished`), one after the other."""
        ...

    def key(self, outcome: Any) -> str:
        """Key of an outcome: the one that it has, or the id of its case."""
        return str(getattr(outcome, "key", "") or outcome.case.id)

    def told(self, outcome: Any, plan: Plan) -> tuple[str, bool]:
        """A line on an outcome, and whether it is to be said as soon as it is known; else the first is."""
        return "", False

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """Make a report of the outcomes (``state.outcomes``, in the order of the keys)."""
        ...
