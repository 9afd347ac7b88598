"""Program file: TOML that says how a program is started and read, and what it declares itself to be."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from sstep_verify.declaration import PER_WINDOW, Declaration
from sstep_verify.errors import InputError, closest
from sstep_verify.inputs import read_whole
from sstep_verify.inputs.records import convert, strict, table_from
from sstep_verify.solvers.adapters.program.conventions import Conventions
from sstep_verify.solvers.adapters.program.description import Program
from sstep_verify.solvers.adapters.program.draws import WAYS, Draws
from sstep_verify.solvers.adapters.program.fixed import Fixed
from sstep_verify.solvers.adapters.program.printed import Printed

SUFFIX = ".toml"
"""End of the name of a program file, by which a solver's name is known to be one."""

LARGEST = 1 << 16
"""Bytes of the largest program file."""

FOLLOWS = ("name", "log", "ranks", "level", "panels", "blocks", "probes", "scaled")
"""Fields of a `Declaration` that follow from what a program does."""


@dataclass(frozen=True)
class ProgramFile:
    """A program file.

    Parameters
    ----------
    program : Program
        How it is started.
    declaration : dict
        Fields of a `Declaration` other than `FOLLOWS`, which follow from the rest.
    final : Printed, optional
        Where it prints its result, if it does not leave it in the exchange folder.
    stream : Draws, optional
        How it draws coordinates, if it does not take them; it then starts from a = 0.
    conventions : Conventions
        Where its words for a differ from ours.
    fixed : dict
        What it knows no other values of, see `Fixed`.

    Raises
    ------
    InputError
        If these do not go together.
    """

    program: Program
    declaration: dict[str, object] = field(default_factory=dict)
    final: Printed | None = None
    stream: Draws | None = None
    conventions: Conventions = field(default_factory=Conventions)
    fixed: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where, writes = f"program {self.program.name!r}", self.program.writes
        Fixed(self.fixed)  # refuses
        if self.final and writes != "final":
            raise InputError(
                f"{where}: [final] is where it prints its result, so writes must be 'final', and not "
                f"{writes!r}"
            )
        if self.stream and self.stream.logged and writes != "log":
            raise InputError(
                f"{where}: [stream] kind = 'logged' says what each step drew, so writes must be 'log', and "
                f"not {writes!r}. {WAYS}"
            )
        if self.program.probes and (self.conventions.order != "given" or writes == "final"):
            raise InputError(
                f"{where}: probes = true is for a program that writes a log or a trace, and takes the "
                "samples in the order given"
            )
        if self.conventions.panel != "K" and not self.program.probes:
            raise InputError(
                f"{where}: panel = {self.conventions.panel!r} says what the kernel rows hold that it "
                "leaves, so probes must be true"
            )
        if self.stream and not self.stream.logged and self.conventions.order != "given":
            raise InputError(
                f"{where}: order = {self.conventions.order!r} is not known for the draws of "
                f"{self.stream.kind}; let the program log them ([stream] kind = 'logged')"
            )

    @property
    def fixed_values(self) -> Fixed:
        """What it has fixed."""
        return Fixed(self.fixed)

    @property
    def from_zero(self) -> bool:
        """Whether it starts from a = 0 at the beginning of the stream only."""
        return self.stream is not None or self.conventions.start == "zero" or not self.conventions.exact

    @property
    def rounded(self) -> bool:
        """Whether a is known up to a rounding only: no step and no window of it can be judged."""
        return self.final is not None or not self.conventions.exact

    @property
    def ends_apart(self) -> bool:
        """Whether it ends at whole epochs only, and shows nothing but ends, so that no window is seen."""
        return self.program.writes == "final" and self.conventions.counts == "epochs"

    @property
    def carries(self) -> bool:
        """Whether it carries weights."""
        return bool(self.declaration.get("state"))

    def declared(self, ranks: int) -> Declaration:
        """What it says it is, on so many ranks.

        Raises
        ------
        InputError
            If a field is unknown, or holds an unusable value.
        """
        given = self.program
        where = f"program {given.name!r}, [declaration]"
        for name in FOLLOWS:
            if name in self.declaration:
                raise InputError(f"{where}: {name} is not declared, but follows from what the program does")
        known = [item.name for item in fields(Declaration) if item.name not in FOLLOWS]
        for name in self.declaration:
            if name not in known:
                raise InputError(
                    f"{where}: {name!r} is unknown{closest(name, known)}; known: {', '.join(known)}"
                )
        counted = str(self.declaration.get("exchange", PER_WINDOW if given.witness else ""))
        if counted not in ("", PER_WINDOW):
            raise InputError(
                f"{where}: exchange = {counted!r}, but of a program only {PER_WINDOW!r} is judged"
            )
        fixed = {"exchange": counted} | {
            "name": given.name,
            "log": given.writes == "log" and not self.rounded,
            "ranks": ranks,
            "level": self._level,
            "panels": given.probes and self._level >= 2,
            "probes": given.probes and self._level >= 2 and self._steps_seen,
            "scaled": not self.conventions.exact,
        }
        made: Declaration = convert({**self.declaration, **fixed}, Declaration, where)
        self._require_state(made, where)
        return made

    @property
    def _level(self) -> int:
        """Of rounded results only the ends are judged; weights that are carried are not shown."""
        if self.rounded or self.ends_apart:
            return 0
        return 2 if self.program.writes in ("log", "trace") and not self.carries else 1

    @property
    def _steps_seen(self) -> bool:
        return self.program.writes == "log" and self.conventions.plain

    def _require_state(self, made: Declaration, where: str) -> None:
        if made.state and made.state != ("weights",):
            raise InputError(
                f"{where}: state = {list(made.state)}, but of what a program carries only ['weights'] is "
                "judged, by the drift that they may have"
            )
        if made.state and made.scaled:
            raise InputError(
                f"{where}: state = ['weights'] goes with a scale that is a power of two, and not with "
                f"{self.conventions.scale!r}: for weights no bound is derived with any other"
            )
        if made.state and self.program.writes == "trace":
            raise InputError(
                f"{where}: state = ['weights'] is judged step by step, or by the ends of runs, so writes "
                "must be 'log' or 'final', and not 'trace'"
            )


def is_program(name: str) -> bool:
    """Whether a solver's name is that of a program file."""
    return name.endswith(SUFFIX)


def read_program(path: str | Path) -> ProgramFile:
    """Read a program file.

    Raises
    ------
    InputError
        If it cannot be read, is no TOML, or holds an unknown key or an unusable value.
    """
    content = read_whole(path, LARGEST, "a program file")
    table = table_from(content, str(path), "a program file")
    known = [item.name for item in fields(ProgramFile)]
    if unknown := set(table) - set(known):
        raise InputError(f"{path}: unknown table {min(unknown)!r}; known: {', '.join(known)}")
    kinds = {"program": Program, "final": Printed, "stream": Draws, "conventions": Conventions}
    for name, kind in kinds.items():
        if name in table:
            convert(table[name], strict(kind, {}), f"{path}, {name}")  # refuses unknown keys
    made: ProgramFile = convert(table, ProgramFile, str(path))
    made.declared(1)
    return made


def program_from(
    command: Sequence[str],
    setup: Sequence[str],
    writes: str,
    time_limit: float,
    declared: Sequence[str],
    witness: str = "",
    nemesis: str = "",
) -> ProgramFile:
    """A program described by options instead of a file.

    Parameters
    ----------
    command, setup, writes, time_limit, witness, nemesis
        See `Program`; it is named after the last file that its command names.
    declared : sequence of str
        Fields of a `Declaration` as ``name=value``; values as TOML has them, or words.

    Raises
    ------
    InputError
        As `read_program`.
    """
    fields: dict[str, object] = {}
    for text in declared:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--declare {text!r}: needed is NAME=VALUE, such as update=frozen")
        try:
            fields[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            fields[name] = value
    files = [word for word in command if Path(word).is_file()] or list(command[:1])
    name = Path(files[-1]).stem if files else ""
    made = ProgramFile(
        Program(name, tuple(command), writes, tuple(setup), time_limit, 0.0, witness, nemesis=nemesis),
        fields,
    )
    made.declared(1)
    return made
