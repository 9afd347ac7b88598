"""Tables of a program file, each a record that refuses what no program can be; see docs/adapters.md."""

from __future__ import annotations

import math
import os
import re
import shlex
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from sstep_verify.errors import InputError, among
from sstep_verify.problems import IndexStream
from sstep_verify.problems.draws import GENERATORS, SEEDS
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks.interposer import INJECTED_FAULTS

WRITES = ("log", "trace", "final")
"""What a program may leave, from what is judged most sharply to what is judged least so."""

PLACES = (
    "dir", "np", "s", "b", "H", "m", "n", "data", "task", "kernel", "sigma", "degree", "offset",
    "parameter", "C", "lambda", "penalty", "seed",
)  # fmt: skip
"""What may stand in braces."""

LOGGED = "logged"
"""Kind of the draws that a program writes down itself."""

WAYS = (
    'Three ways: it reads {dir}/indices.txt; it logs values and coordinates (writes = "log", [stream] kind '
    '= "logged"); its result alone is judged (oracle --final). Lines of C: docs/adapters.md, "A program '
    'with draws of its own"'
)
"""What can be done about a program with draws of its own."""


def named_places(text: str) -> list[str]:
    """The places of a text, in order."""
    return [place for _, place, _, _ in string.Formatter().parse(text) if place is not None]


def exec_option(words: Iterable[str]) -> str:
    """The option of `check` that starts a program by these words, as a shell takes it; places unquoted."""
    bare = (word if re.fullmatch(r"[\w@%+=:,./{}-]+", word) else shlex.quote(word) for word in words)
    return f"--exec {shlex.quote(' '.join(bare))}"


def refuse_if(where: str, *faults: tuple[object, str]) -> None:
    """InputError with the first sentence whose fault is there."""
    for fault, told in faults:
        if fault:
            raise InputError(f"{where} {told}")


def _require_places(text: str, where: str) -> None:
    """Raise InputError unless a text can be handed to a program once its places are filled in."""
    where = f"{where} {text!r:.80}"
    if "\0" in text:
        raise InputError(f"{where} holds a NUL, which no argument may")
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise InputError(f"{where}: {error}; a brace itself is written twice") from error
    for _, place, form, how in parts:
        if place is not None and (place not in PLACES or form or how):
            raise InputError(
                f"{where}: {{{place}}} is unknown; known: {', '.join(f'{{{one}}}' for one in PLACES)}; "
                "a brace itself is written twice"
            )


def places_of(request: RunRequest, folder: Path, ranks: int, counted: int) -> dict[str, object]:
    """What stands for each of `PLACES` in a run, of `counted` iterations as the program counts them."""
    problem, stream = request.problem, request.stream
    kernel, loss = problem.kernel, problem.loss
    given = {name: getattr(kernel, name, 0) for name in ("sigma", "degree", "offset")}
    return {
        "dir": os.fspath(folder), "np": ranks, "s": request.s, "b": stream.block, "H": counted,
        "m": problem.samples, "n": problem.features, "data": os.fspath(folder / "data.svm"),
        "task": loss.task, "kernel": kernel.name, **given, "parameter": given["sigma"] or given["degree"],
        "C": loss.parameter, "lambda": loss.parameter, "penalty": loss.parameter, "seed": stream.seed,
    }  # fmt: skip


@dataclass(frozen=True)
class Program:
    """How a program is started, and what it leaves; what no program can be is an InputError.

    Its `name` is for messages and tables. The arguments of `command`, of which no shell sees any, and the
    texts of `environment`, variables of a run besides our own, have `PLACES`; `setup` is a command that is
    run once, before the first run. `writes` is what it leaves (docs/run-folder.md): one that leaves more is
    judged by this; `panel` says that it leaves the kernel rows that it used in ``panel.bin``, as
    examples/sstep_trace.h does. A run may live `time_limit` seconds (`patience`) and take `memory` GiB of
    address space for each of its processes, 0 for any number; `s` are the iterations per window that it
    knows, any if empty.
    `witness` is the compiler wrapper of its MPI, such as ``mpicc``, if its collectives are to be counted
    from outside and judged, and `fault_injection` is what the witness then does to it
    (`ranks.interposer.INJECTED_FAULTS`).
    """

    name: str
    command: tuple[str, ...]
    writes: str = "log"
    setup: tuple[str, ...] = ()
    time_limit: float = 60.0
    memory: float = 0.0
    witness: str = ""
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    s: tuple[int, ...] = ()
    fault_injection: str = ""
    panel: bool = False

    def __post_init__(self) -> None:
        where = f"program {self.name!r}:"
        if not self.command or not self.command[0]:
            raise InputError(f"{where} command is empty, but it must name a program")
        for word in (*self.command, *self.setup):
            _require_places(word, where)
        for name, text in self.environment.items():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise InputError(
                    f"{where} no environment variable is named {name!r:.80}; letters, digits and _"
                )
            _require_places(text, f"{where} environment, {name} =")
        if self.witness and "LD_PRELOAD" in self.environment:
            raise InputError(f"{where} environment sets LD_PRELOAD, which the witness needs; leave one out")
        for key, value, known in (
            ("writes", self.writes, WRITES),
            ("fault_injection", self.fault_injection, INJECTED_FAULTS),
        ):
            if value not in known and (value or key == "writes"):
                raise InputError(f"{where} {key} = {value!r}{among(value, known)}")
        least = min(self.s, default=1)
        refuse_if(
            where,
            (
                self.fault_injection and not self.witness,
                f"fault_injection = {self.fault_injection!r} is done by the witness, so name one: witness "
                "is the compiler wrapper of its MPI",
            ),
            (not 0 < self.time_limit < math.inf, f"time_limit = {self.time_limit}, but it must be > 0 s"),
            (not 0 <= self.memory < math.inf, f"memory = {self.memory}, but it must be >= 0 GiB"),
            (least < 1, f"s = {least}, but a window holds at least one iteration"),
        )

    @property
    def takes_ranks(self) -> bool:
        """Whether its command or a variable says how many ranks there are."""
        return any("np" in named_places(text) for text in (*self.command, *self.environment.values()))

    def words(self, **places: object) -> list[str]:
        """The command's arguments, with the places filled in."""
        return [word.format(**places) for word in self.command]

    def variables(self, **places: object) -> dict[str, str]:
        """The environment variables, with the places filled in."""
        return {name: text.format(**places) for name, text in self.environment.items()}


@dataclass(frozen=True)
class Printed:
    """Where a program that knows nothing of the run folder prints its final a.

    The numbers follow the text `after`, where it stands last, between white space; it may be empty for a
    `file`, which then holds the numbers and nothing else: its name is relative to the run folder, with
    places, and empty for standard output. Printed are the `first` entries of a, all m if that is 0.
    """

    after: str = ""
    file: str = ""
    first: int = 0

    def __post_init__(self) -> None:
        if not self.after and not self.file:
            raise InputError(
                "[final] after is empty: nothing says where the numbers begin on standard output. Print a "
                'text before them, such as "alpha: 0.5 0.25", and set after = "alpha:"; or write bare '
                'numbers to a file, and set file = "{dir}/alpha.txt"'
            )
        where = f"[final] file = {self.file!r:.80}"
        if self.file.endswith(".bin"):
            raise InputError(
                f"{where}: [final] reads text; leave it out, and final.bin of the run folder is read "
                "as float64"
            )
        if self.first < 0:
            raise InputError(f"[final] first = {self.first}, but it must be >= 1, or 0 for all of a")
        _require_places(self.file, "[final] file =")
        inside = self.file.removeprefix("{dir}/")
        if ".." in PurePosixPath(inside).parts or inside.startswith("/") or "{dir}" in inside:
            raise InputError(
                f"{where} leaves the run folder; name a file in it, such as '{{dir}}/result.txt'"
            )

    def name(self, places: dict[str, object]) -> str:
        """The file's name in the run folder, with the places filled in; empty for standard output."""
        return self.file.removeprefix("{dir}/").format(**places)


@dataclass(frozen=True)
class Draws:
    """How a program draws its coordinates itself, from the first on.

    The kind is a generator of `problems.draws`, with a seed from 0 to 2^32 - 1, or logged: it leaves them
    in the run folder, as ``indices.txt`` or ``indices.bin``. With `replacement` a block may hold a
    coordinate several times (S-2.5); otherwise a number that its block has already is drawn again, and a
    log holds distinct ones. Anything else is an InputError.
    """

    kind: str
    seed: int = 0
    replacement: bool = False

    def __post_init__(self) -> None:
        known = (*GENERATORS, LOGGED)
        if self.kind not in known:
            raise InputError(
                f"kind = {self.kind!r:.40}{among(self.kind, known)}. If it draws otherwise: {WAYS}"
            )
        if not 0 <= self.seed < SEEDS:
            raise InputError(f"seed = {self.seed}, but it must lie in 0..{SEEDS - 1}")

    @property
    def logged(self) -> bool:
        """Whether the program itself says what it drew."""
        return self.kind == LOGGED

    def are_of(self, stream: IndexStream) -> bool:
        """Whether a stream is what the program draws."""
        same = (stream.kind, stream.replacement) == (self.kind, self.replacement)
        return same and stream.relabel is None and (self.logged or stream.seed == self.seed)

    def __str__(self) -> str:
        """For messages."""
        return self.kind if self.logged else f"{self.kind}, seed {self.seed}"
