"""Program: what is started, with which arguments and variables, and within which limits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from sstep_verify.errors import InputError, closest
from sstep_verify.launch.interposer import NEMESES
from sstep_verify.solvers.adapters.program.places import named_places, require_places

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
    environment : dict of str to str
        Environment variables of a run beside our own, with places as in the command.
    s : tuple of int
        Iterations per window that it knows; any number if empty.
    probes : bool
        Whether it leaves the kernel rows that it used in ``probe.bin``, as examples/sstep_trace.h does.
    nemesis : {"", "delay", "order", "ulp"}
        What the witness does to the program, see `launch.interposer.NEMESES`; nothing if empty.

    Raises
    ------
    InputError
        If the command is empty or names an unknown place, no variable can have such a name or text, or a
        limit is out of range.
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
    nemesis: str = ""
    probes: bool = False

    def __post_init__(self) -> None:
        where = f"program {self.name!r}"
        if not self.command or not self.command[0]:
            raise InputError(f"{where}: command is empty, but it must name a program")
        for word in (*self.command, *self.setup):
            require_places(word, f"{where}:")
        for name, text in self.environment.items():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise InputError(
                    f"{where}: no environment variable is named {name!r:.80}; letters, digits and _"
                )
            require_places(text, f"{where}: environment, {name} =")
        if self.witness and "LD_PRELOAD" in self.environment:
            raise InputError(
                f"{where}: environment sets LD_PRELOAD, which the witness needs; leave one out"
            )
        if self.writes not in WRITES:
            raise InputError(
                f"{where}: writes = {self.writes!r}{closest(self.writes, WRITES)}; known: "
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
            raise InputError(f"{where}: time_limit = {self.time_limit}, but it must be > 0 s")
        if not 0 <= self.memory < math.inf:
            raise InputError(f"{where}: memory = {self.memory}, but it must be >= 0 GiB")
        if any(s < 1 for s in self.s):
            raise InputError(f"{where}: s = {min(self.s)}, but a window holds at least one iteration")

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
