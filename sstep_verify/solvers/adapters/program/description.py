"""Program file: TOML that says how a program is started, and what it declares itself to be."""

from __future__ import annotations

import math
import string
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from sstep_verify.declaration import PER_WINDOW, Declaration
from sstep_verify.errors import InputError, closest
from sstep_verify.inputs import read_whole
from sstep_verify.launch.interposer import NEMESES
from sstep_verify.records import convert, strict

SUFFIX = ".toml"
"""End of the name of a program file, by which a solver's name is known to be one."""

LARGEST = 1 << 16
"""Bytes of the largest program file."""

PLACES = (
    "dir", "np", "s", "b", "H", "m", "n", "data", "task", "kernel", "sigma", "degree", "offset",
    "parameter", "C", "lambda", "penalty", "seed",
)  # fmt: skip
"""What may stand in braces in a command, see docs/exchange.md."""

WRITES = ("log", "trace", "final")
"""What a program may leave, from what is judged most sharply to what is judged least so."""


@dataclass(frozen=True)
class Program:
    """How a program is started.

    Parameters
    ----------
    name : str
        For messages and tables.
    command : tuple of str
        Its arguments, the first the program itself; ``{dir}`` is the exchange folder, ``{np}`` the number
        of ranks, ``{s}``, ``{b}``, ``{H}``, ``{m}`` and ``{n}`` are sizes of the run. No shell sees them.
    writes : {"log", "trace", "final"}
        What it leaves, see docs/exchange.md. A program that leaves more is judged by this.
    setup : tuple of str
        Arguments of a command that is run once, before the first run; none if empty.
    time_limit : float
        Seconds that one run may take, > 0.
    memory : float
        GiB of address space that each of its processes may take; 0 for any number.
    witness : str
        Compiler wrapper of its MPI, such as ``mpicc``: its collectives are then counted from outside, and
        judged (see docs/exchange.md); empty if they are not.
    nemesis : {"", "delay", "order", "ulp"}
        What the witness does to the program, see `launch.interposer.NEMESES`; nothing if empty.

    Raises
    ------
    InputError
        If the command is empty or names an unknown place, or a limit is out of range.
    """

    name: str
    command: tuple[str, ...]
    writes: str = "log"
    setup: tuple[str, ...] = ()
    time_limit: float = 60.0
    memory: float = 0.0
    witness: str = ""
    nemesis: str = ""

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise InputError(f"program {self.name!r}: command is empty, but it must name a program")
        for word in (*self.command, *self.setup):
            self._require_places(word)
        if self.writes not in WRITES:
            raise InputError(
                f"program {self.name!r}: writes = {self.writes!r}{closest(self.writes, WRITES)}; known: "
                f"{', '.join(WRITES)}"
            )
        if self.nemesis and self.nemesis not in NEMESES:
            raise InputError(
                f"program {self.name!r}: nemesis = {self.nemesis!r}{closest(self.nemesis, NEMESES)}; "
                f"known: {', '.join(NEMESES)}"
            )
        if self.nemesis and not self.witness:
            raise InputError(
                f"program {self.name!r}: nemesis = {self.nemesis!r} is done by the witness, so name one: "
                "witness, or --witness, is the compiler wrapper of its MPI"
            )
        if not 0 < self.time_limit < math.inf:
            raise InputError(f"program {self.name!r}: time_limit = {self.time_limit}, but it must be > 0 s")
        if not 0 <= self.memory < math.inf:
            raise InputError(f"program {self.name!r}: memory = {self.memory}, but it must be >= 0 GiB")

    def _require_places(self, word: str) -> None:
        where = f"program {self.name!r}: {word!r}"
        if "\0" in word:
            raise InputError(f"{where} holds a NUL, which no argument may")
        try:
            named = [place for _, place, form, how in string.Formatter().parse(word) if place is not None]
            plain = not any(form or how for _, _, form, how in string.Formatter().parse(word))
        except ValueError as error:
            raise InputError(f"{where}: {error}; a brace itself is written twice") from error
        for place in named:
            if place not in PLACES or not plain:
                raise InputError(
                    f"{where}: {{{place}}} is unknown; known: {', '.join(f'{{{one}}}' for one in PLACES)}; "
                    "a brace itself is written twice"
                )

    @property
    def takes_ranks(self) -> bool:
        """Whether its command says how many ranks there are."""
        return any(
            place == "np" for word in self.command for _, place, _, _ in string.Formatter().parse(word)
        )

    def words(self, **places: object) -> list[str]:
        """The command's arguments, with the places filled in."""
        return [word.format(**places) for word in self.command]


@dataclass(frozen=True)
class Printed:
    """Where a program that knows nothing of the exchange folder prints its final a.

    Parameters
    ----------
    after : str
        Text on standard output after which the m numbers follow, between white space.
    """

    after: str


@dataclass(frozen=True)
class Draws:
    """How a program draws its coordinates itself, from the first on.

    Parameters
    ----------
    kind : {"glibc-rand"}
        ``srand(seed)``, then ``rand() % m``; within a block a number that it has already is drawn again.
    seed : int
        The seed, from 0 to 2^32 - 1.
    """

    kind: Literal["glibc-rand"]
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed = {self.seed}, but it must lie in 0..{2**32 - 1}")


@dataclass(frozen=True)
class ProgramFile:
    """A program file.

    Parameters
    ----------
    program : Program
        How it is started.
    declaration : dict
        Fields of a `Declaration` other than name, log, ranks and level, which follow from the rest.
    final : Printed, optional
        Where it prints its result, if it does not leave it in the exchange folder.
    stream : Draws, optional
        How it draws coordinates, if it does not take them; it then starts from a = 0.

    Raises
    ------
    InputError
        If it prints a result, but is said to leave something else.
    """

    program: Program
    declaration: dict[str, object] = field(default_factory=dict)
    final: Printed | None = None
    stream: Draws | None = None

    def __post_init__(self) -> None:
        if self.final and self.program.writes != "final":
            raise InputError(
                f"program {self.program.name!r}: [final] is where it prints its result, so writes must be "
                f"'final', and not {self.program.writes!r}"
            )
        if self.final and not self.final.after:
            raise InputError(f"program {self.program.name!r}: [final] after is empty")

    def declared(self, ranks: int) -> Declaration:
        """What it says it is, on so many ranks.

        Raises
        ------
        InputError
            If a field is unknown, or holds an unusable value.
        """
        given = self.program
        where = f"program {given.name!r}, [declaration]"
        for name in ("name", "log", "ranks", "level", "panels", "blocks", "state"):
            if name in self.declaration:
                raise InputError(f"{where}: {name} is not declared, but follows from what the program does")
        known = [item.name for item in fields(Declaration)]
        for name in self.declaration:
            if name not in known:
                raise InputError(f"{where}: {name!r} is unknown{closest(name, known)}")
        level = 2 if given.writes in ("log", "trace") else 1
        counted = str(self.declaration.get("exchange", PER_WINDOW if given.witness else ""))
        if counted not in ("", PER_WINDOW):
            raise InputError(
                f"{where}: exchange = {counted!r}, but of a program only {PER_WINDOW!r} is judged"
            )
        fixed = {"exchange": counted} | {
            "name": given.name,
            "log": given.writes == "log",
            "ranks": ranks,
            "level": level,
        }
        made: Declaration = convert({**self.declaration, **fixed}, Declaration, where)
        return made


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
    try:
        table = tomllib.loads(read_whole(path, LARGEST, "a program file").decode())
    except RecursionError as error:
        raise InputError(f"{path}: is nested too deeply for a program file") from error
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, integers of very many digits
        raise InputError(f"{path}: not a TOML file: {error}") from error
    made: ProgramFile = convert(table, ProgramFile, str(path))
    known = [item.name for item in fields(ProgramFile)]
    if unknown := set(table) - set(known):
        raise InputError(f"{path}: unknown table {min(unknown)!r}; known: {', '.join(known)}")
    for name, kind in (("program", Program), ("final", Printed), ("stream", Draws)):
        if name in table:
            convert(table[name], strict(kind, {}), f"{path}, {name}")  # refuses unknown keys
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
        Program(name, tuple(command), writes, tuple(setup), time_limit, 0.0, witness, nemesis), fields
    )
    made.declared(1)
    return made
