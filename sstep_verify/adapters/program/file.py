"""Program file: TOML that says how a program is started and read, and what it declares itself to be."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sstep_verify.adapters.program.tables import (
    LOGGED,
    WAYS,
    Draws,
    Printed,
    Program,
    exec_option,
    named_places,
    refuse_if,
)
from sstep_verify.adapters.program.translate import Conventions
from sstep_verify.declaration import PER_WINDOW, Declaration, Exchange
from sstep_verify.errors import InputError, among
from sstep_verify.files import read_whole
from sstep_verify.files.records import build, convert, table_from
from sstep_verify.problems import Kernel
from sstep_verify.problems.kernels import KERNELS
from sstep_verify.problems.losses import TASKS

LARGEST = 1 << 16
"""Bytes of the largest program file."""

KINDS: dict[str, Any] = {
    "program": Program, "declaration": Declaration, "final": Printed, "stream": Draws,
    "conventions": Conventions,
}  # fmt: skip
"""Tables of a program file that are records."""

UNNAMED = ("program", "conventions", "declaration")
"""Tables whose keys a setting may give without their name."""

FOLLOWS = ("name", "log", "ranks", "level", "panels")
"""Fields of a `Declaration` that follow from what a program does."""


WHOLE, ABOVE, FINITE = ("degree", "b", "H", "m", "n"), ("sigma", "C", "lambda"), ("offset",)
"""Numbers that may be fixed: whole ones from 1, real ones above 0, and any real ones."""

WORDS = {"task": tuple(TASKS), "kernel": tuple(KERNELS)}
"""Names that may be fixed: one, or a list."""

FIXABLE = (*WORDS, *WHOLE, *ABOVE, *FINITE)


@dataclass(frozen=True)
class ProgramFile:
    """A program file; what does not go together in it is an InputError.

    `program` is how it is started; `declaration` has fields of a `Declaration` other than `FOLLOWS`, which
    follow from the rest; `final` is where it prints its result, if it does not leave it in the exchange
    folder; `stream` how it draws coordinates, if it does not take them: it then starts from a = 0;
    `conventions` where its words for a differ from ours; `fixed` what it knows no other values of, such as
    constants of its source, by the names that stand for these in the braces of a command: only problems
    that have them are made.
    """

    program: Program
    declaration: dict[str, object] = field(default_factory=dict)
    final: Printed | None = None
    stream: Draws | None = None
    conventions: Conventions = field(default_factory=Conventions)
    fixed: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        writes, words, own = self.program.writes, self.conventions, self.stream
        drawn = own.kind if own else ""
        for name, value in self.fixed.items():
            if name not in FIXABLE:
                raise InputError(f"fixed: {name!r} is unknown{among(name, FIXABLE)}")
            if wanted := self._wanted(name, value):
                raise InputError(f"fixed: {name} = {value!r:.40}, but it must be {wanted}")
        refuse_if(
            f"program {self.program.name!r}:",
            (
                self.final and writes != "final",
                f"[final] is where it prints its result, so writes must be 'final', and not {writes!r}",
            ),
            (
                drawn == LOGGED and writes != "log",
                "[stream] kind = 'logged' says what each step drew, so writes must be 'log', and not "
                f"{writes!r}. {WAYS}",
            ),
            (
                self.program.panel and (words.order != "given" or writes == "final"),
                "panel = true is for a program that writes a log or a trace, and takes the samples in the "
                "order given",
            ),
            (
                words.rows != "K" and not self.program.panel,
                f"rows = {words.rows!r} says what the kernel rows hold that it leaves, so panel must be "
                "true",
            ),
            (
                drawn not in ("", LOGGED) and words.order != "given",
                f"order = {words.order!r} is not known for the draws of {drawn}; let the program "
                "log them ([stream] kind = 'logged')",
            ),
        )

    def _wanted(self, name: str, value: Any) -> str:
        """What a value that is fixed must be; empty if it is that."""
        if name in WORDS:
            right = self.names(name) and set(self.names(name)) <= set(WORDS[name])
            return "" if right else f"one or several of {', '.join(WORDS[name])}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "a number"
        if name in WHOLE:
            return "" if isinstance(value, int) and 0 < value < 2**31 else "a whole number, 1 to 2^31 - 1"
        if name in ABOVE:
            return "" if 0 < value <= sys.float_info.max else "a number > 0"
        return "" if abs(value) <= sys.float_info.max else "a finite number"

    def names(self, name: str) -> tuple[str, ...]:
        """Tasks or kernels that are fixed; all if none is."""
        value = self.fixed.get(name, WORDS[name])
        return tuple(value) if isinstance(value, list | tuple) else (value,)

    def kernel(self, given: Kernel) -> Kernel:
        """A kernel with the parameters that are fixed."""
        own = {item.name for item in fields(given)} & {"degree", "offset", "sigma"}
        return replace(given, **{name: self.fixed[name] for name in own & set(self.fixed)})

    def misfit(self, samples: int, features: int) -> str:
        """The first size of data that is fixed otherwise, as ``m = 4, not 5``; empty if it fits."""
        sizes = {"m": samples, "n": features}
        wrong = [name for name, size in sizes.items() if self.fixed.get(name, size) != size]
        return f"{wrong[0]} = {self.fixed[wrong[0]]}, not {sizes[wrong[0]]}" if wrong else ""

    def penalty(self, task: str) -> tuple[float, ...]:
        """C or lambda of a task, if it is fixed."""
        name = "lambda" if task == "krr" else "C"
        return (float(self.fixed[name]),) if name in self.fixed else ()

    def require_problem(self) -> None:
        """InputError if a run has no way to know its problem, as no argument or variable names its folder.

        A program that prints its result may know its data itself.
        """
        given = self.program
        texts = (*given.command, *given.environment.values())
        printed = self.final is not None and not self.final.file
        if printed or {"dir", "data"} & {place for text in texts for place in named_places(text)}:
            return
        raise InputError(
            f"program {given.name!r}: its command names neither {{dir}} nor {{data}}, so it cannot find "
            "its problem. Add the folder of a run as an argument, such as "
            f"{exec_option((*given.command, '{dir}'))}, or as a variable (environment)"
        )

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
        """Whether it maintains weights."""
        return "weights" in self.declaration

    def declared(self, ranks: int) -> Declaration:
        """What it says it is, on so many ranks; InputError if a field is unknown or unusable."""
        given = self.program
        where = f"program {given.name!r}, [declaration]"
        known = [item.name for item in fields(Declaration) if item.name not in FOLLOWS]
        for name in self.declaration:
            if name in FOLLOWS:
                raise InputError(f"{where}: {name} is not declared, but follows from what the program does")
            if name not in known:
                raise InputError(f"{where}: {name!r} is unknown{among(name, known)}")
        told = self.declaration.get("exchange", PER_WINDOW if given.witness else "")
        exchange = _exchange(told, f"{where}: exchange")
        if exchange and exchange.kind != PER_WINDOW:
            raise InputError(
                f"{where}: exchange = {exchange.kind!r}, but of a program only {PER_WINDOW!r} is judged"
            )
        # Of rounded results only the ends are judged; weights that are maintained are not shown.
        level = 2 if given.writes in ("log", "trace") and not self.carries else 1
        level = 0 if self.rounded or self.ends_apart else level
        fixed = {
            "exchange": exchange, "name": given.name, "log": given.writes == "log" and not self.rounded,
            "ranks": ranks, "level": level, "panels": given.panel and level >= 2,
        }  # fmt: skip
        made: Declaration = convert({**self.declaration, **fixed}, Declaration, where)
        refuse_if(
            f"{where}:",
            (
                self.carries and not self.conventions.exact,
                f"weights goes with a scale that is a power of two, and not with "
                f"{self.conventions.scale!r}: for weights no bound is derived with any other",
            ),
            (
                self.carries and given.writes == "trace",
                "weights are judged step by step, or by the ends of runs, so writes must be 'log' or "
                "'final', and not 'trace'",
            ),
        )
        return made


def _exchange(told: object, where: str) -> Exchange | None:
    """An exchange from a file: its kind, or a table of its fields; an empty text if none is declared."""
    if told == "":
        return None
    return build({"kind": told} if isinstance(told, str) else told, Exchange, where)


def read_program(path: str | Path, settings: Sequence[str] = ()) -> ProgramFile:
    """Read a program file; `settings` hold in place of what it says, see `program_from`.

    InputError if it cannot be read, is no TOML, or holds an unknown key or an unusable value.
    """
    content = read_whole(path, LARGEST, "a program file")
    return _described(table_from(content, str(path), "a program file"), settings, str(path))


def program_from(command: Sequence[str], settings: Sequence[str] = ()) -> ProgramFile:
    """A program described by its command instead of a file; it is named after the last file named there.

    `settings` are what a file would say besides, as ``KEY=VALUE``: a key of its tables [program],
    [conventions] and [declaration], or ``TABLE.KEY`` for any; values as TOML has them, or words.
    """
    files = [word for word in command if Path(word).is_file()] or list(command[:1])
    name = Path(files[-1]).stem if files else ""
    where = "--exec with --set" if settings else "--exec"
    return _described({"program": {"name": name, "command": list(command)}}, settings, where)


def _described(table: dict[str, Any], settings: Sequence[str], where: str) -> ProgramFile:
    """What the tables of a program file say, with settings in place of some of it."""
    for text in settings:
        part, key, value = _setting(text)
        table[part] = {**table.get(part, {}), key: value}
    known = [item.name for item in fields(ProgramFile)]
    if unknown := set(table) - set(known):
        raise InputError(f"{where}: unknown table {min(unknown)!r}; known: {', '.join(known)}")
    described = build(table, ProgramFile, where)
    described.declared(1)
    return described


def _setting(text: str) -> tuple[str, str, object]:
    """Table, key and value of a ``KEY=VALUE``."""
    name, equals, word = text.partition("=")
    part, _, key = name.rpartition(".")
    tables = {table: [item.name for item in fields(kind)] for table, kind in KINDS.items()}
    plain = [one for table in UNNAMED for one in tables[table]]
    if not equals:
        raise InputError(f"--set {text!r:.80}: it has no value; write KEY=VALUE, such as writes=final")
    if part and key not in tables.get(part, [key]):
        raise InputError(f"--set {text!r:.80}: [{part}] has no key {key!r:.80}{among(key, tables[part])}")
    if not part and key not in plain:
        named = ", ".join(f"[{table}]" for table in UNNAMED)
        raise InputError(
            f"--set {text!r:.80}: none of {named} has the key {key!r:.80}"
            f"{among(key, [*dict.fromkeys(plain)])}; keys of other tables are written TABLE.KEY=VALUE "
            "(sstep-verify explain program-file)"
        )
    part = part or next(table for table in UNNAMED if key in tables[table])
    if key in ("command", "setup") and not word.startswith("["):
        try:
            return part, key, shlex.split(word)
        except ValueError as error:
            raise InputError(f"--set {text!r:.80}: {error}") from error
    try:
        return part, key, tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return part, key, word
