"""The end of what a program printed: its own last lines, and what its launcher adds.

Launchers frame what they say by rules, or put their name before every line of it; what happened is said
first in both.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

LAST_LINES, LONGEST_LINE = 3, 200
"""Lines of the end of what a program printed that a verdict shows, and characters of each."""

RULE = re.compile(r"[-=*#_]{8,}")
"""A line across a launcher's message."""

SPEAKER = re.compile(r"(?:mpirun|mpiexec|orterun|prterun|prun)\b")
"""Beginning of a message of Open MPI that has a rule below only."""

TAGGED = re.compile(r"\[(?:mpiexec|proxy:[^]@]*)@[^]]*\]|(?:srun|slurmstepd|mpirun|mpiexec): ")
"""Beginning of a line of MPICH's Hydra, of SLURM, and of others that name themselves."""

SOURCE = re.compile(r" \(\S+\.c:\d+\)")
"""Place in a launcher's own source."""

FILLER = re.compile(r"This typically refers to a problem with your application|Please see the FAQ page")
"""Lines of Hydra that say nothing of what happened."""

RANKED = re.compile(r"\bRANK \d+|\brank \d+ with PID")
"""Where a launcher names the rank that ended."""

ERROR = re.compile(
    r"(?i)\berror\b|\bfatal\b|no space left|undefined reference|no such file|not found|cannot\b"
)
"""Where a line speaks of an error, in words of compilers, linkers, shells and the system."""

OF_MAKE = re.compile(r"g?make(\[\d+\])?: (\*\*\*|Entering|Leaving)")
"""Beginning of a line of make that says that a command failed, or where it is."""

NAMED = re.compile(r"(?i)\b(?:rank|process|task|node|proc|pe)s?\b\W{0,3}\d|\[\d+\]")
"""Where a text may name a rank, in words of MPI libraries, launchers and programs."""

OF_COMMAND = (
    # Open MPI.
    "has detected an attempt to run as root",
    "unable to (launch the specified application|find the specified executable)",
    "unrecognized option was included on the .*command line",
    "Error: unknown option",
    # Hydra, of MPICH and Intel MPI.
    r"\[proxy:[^]]*\].*execvp error on file",
    r"\[mpiexec@[^]]*\].*(unrecognized argument|error parsing|unable to parse)",
    # SLURM.
    "srun: (unrecognized|invalid) option",
    r"(srun|slurmstepd): error: .*execve\(\)",
)
"""Patterns of what launchers say of a command that can start nothing: no such program, no such option."""

OF_MACHINE = (
    # Open MPI.
    "not enough slots available",
    "daemon failed to report back after being spawned",
    "was unable to reliably start one or more daemons",
    # Hydra, of MPICH and Intel MPI.
    r"\[mpiexec@[^]]*\].*Launch proxy failed",
    # SLURM.
    "srun: error: (Unable to|Invalid)",
)
"""Patterns of what launchers say of a machine on which they start no rank, or not every one."""


OTHER_MPI = (
    r"Runtime environment uses unsupported PMI version[^.\n]*",  # MPICH under the launcher of Open MPI
    "appears to have been direct launched using [^,\n]*",  # Open MPI under another launcher
)
"""Patterns of what an MPI says that was started by the launcher of another one."""

NO_PROGRAM = (
    r"execvp error on file (\S+) \(",
    r"Executable: (\S+)",
    r"execve\(\): (\S+): ",
)
"""Patterns of what launchers say of a program that is not there, with its path."""


def last_lines(text: str) -> tuple[list[str], bool]:
    """The last lines of a text that say something, and whether they are a launcher's message.

    Such a message stands between two rules, or above or below one, in a few lines; of several one after the
    other the first says what happened. Or each of its lines begins with the name of who speaks. Before it
    is kept what stands above it last, which is the program's own.
    """
    lines = [stripped for line in text.splitlines() if not FILLER.match(stripped := line.strip())]
    begin, message = _tagged(lines)
    if not message:
        begin, message = _framed(lines)
    if not message:
        return _telling(lines)[-LAST_LINES:], False
    above = [line for line in _telling(lines[:begin]) if not line.startswith("=")]
    if not any(map(RANKED.search, message)):
        message = [*[line.strip("= ") for line in lines if RANKED.search(line)][:1], *message]
    return [*above[-1:], *message][:LAST_LINES], True


def first_error(text: str) -> str:
    """The first line of a text that speaks of an error, such as a compiler's; empty where none does.

    What make says of its own is passed over: it repeats that a command failed.
    """
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if ERROR.search(line) and not OF_MAKE.match(line)), "")


def may_name_rank(text: str) -> bool:
    """Whether a text may name a rank; one of which this is False names none."""
    return NAMED.search(text) is not None


def shortened(lines: Sequence[str]) -> str:
    """Lines as one, which is cut where it is long."""
    return textwrap.shorten(" ".join(lines), LONGEST_LINE, placeholder=" ...")


@dataclass(frozen=True)
class Refusal:
    """What a launcher says where it starts no rank, or not every one.

    `words` are its own. Where the command is at fault, and not the machine, `of_command` says so;
    `program` is the path of a program that is not there, empty where none is named.
    """

    words: str
    of_command: bool = False
    program: str = ""


def refusal(text: str) -> Refusal | None:
    """What a launcher says where it starts no rank, or not every one; None where it says no such thing."""
    said = " ".join(text.split())
    if found := _first(OTHER_MPI, said):
        words = f"it belongs to another MPI than the program: {shortened([found[0]])}"
        return Refusal(words, of_command=True)
    of_command = _first(OF_COMMAND, said)
    if not (of_command or _first(OF_MACHINE, said)):
        return None
    missing = _first(NO_PROGRAM, said)
    return Refusal(shortened(last_lines(text)[0]), bool(of_command), missing[1] if missing else "")


def _first(patterns: Sequence[str], said: str) -> re.Match[str] | None:
    return next(filter(None, (re.search(one, said) for one in patterns)), None)


def _tagged(lines: Sequence[str]) -> tuple[int, list[str]]:
    """Where the lines of a launcher that names itself begin, at a text's end, and the first of them."""
    begin = len(lines)
    while begin and (not _telling(lines[begin - 1 : begin]) or TAGGED.match(lines[begin - 1])):
        begin -= 1
    message = _telling(lines[begin:])[:1]
    return begin, [SOURCE.sub("", line) for line in message]


def _framed(lines: Sequence[str]) -> tuple[int, list[str]]:
    """Where a message with a rule above or below it begins, at the end of a text, and its paragraphs."""
    rules = [place for place, line in enumerate(lines) if RULE.fullmatch(line)]
    if not rules:
        return 0, []
    below = _telling(lines[rules[-1] :])
    if below:
        return rules[-1], below if len(below) <= LAST_LINES else []
    end = rules.pop()
    if rules:
        begin = rules.pop()
        while len(rules) > 1 and not _telling(lines[rules[-1] : begin]):
            end, begin = rules.pop(), rules.pop()
        begin += 1
    else:
        spoken = (place for place, line in enumerate(lines) if SPEAKER.match(line))
        begin = next(spoken, end)
    paragraphs = "\n".join(lines[begin:end]).split("\n\n")
    return begin, [" ".join(told) for one in paragraphs if (told := _telling(one.splitlines()))]


def _telling(lines: Sequence[str]) -> list[str]:
    """Lines that hold a letter or a digit."""
    return [line for line in lines if any(map(str.isalnum, line))]
