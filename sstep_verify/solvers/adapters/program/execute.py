"""One run of somebody's program: its own process group, limits, and everything it said."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from sstep_verify.errors import InputError
from sstep_verify.solvers.adapters.program.description import Program
from sstep_verify.solvers.adapters.program.orphans import adopting

REFUSED = 65
"""Exit code of a program that refuses its input (EX_DATAERR of sysexits.h)."""

TAIL = 4000
"""Bytes of the end of what a program printed that are kept."""

SETUP_LIMIT = 600.0
"""Seconds that a set-up may take."""

GRACE = 2.0
"""Seconds between the request to end and the end of a process group."""

MOST_MILLISECONDS = 2**31 - 1
"""Longest time that a poll may be told, 24 days."""


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Parameters
    ----------
    code : int
        Exit code; negative: the signal that ended it.
    seconds : float
        Wall-clock time.
    timed_out : bool
        Whether it was ended for its time.
    output, errors : str
        The ends of what it wrote to standard output and standard error.
    started : bool
        Whether there was such a program.
    escaped : bool
        Whether processes that had left its process group were still running, and were ended.
    """

    code: int
    seconds: float
    timed_out: bool = False
    output: str = ""
    errors: str = ""
    started: bool = True
    escaped: bool = False

    @property
    def reason(self) -> str:
        """Why this is no finished run; empty if it is one."""
        if self.timed_out:
            return f"hang: did not end within {self.seconds:.3g} s, so its process group was ended"
        if self.code < 0:
            killed = "; memory ran out, or somebody killed it" if self.code == -signal.SIGKILL else ""
            return f"crash: ended by signal {-self.code} ({signal.Signals(-self.code).name}){killed}"
        if self.code == REFUSED:
            return f"refused: exit code {REFUSED} refuses this input"
        return f"exit code {self.code}" if self.code else ""

    @property
    def told(self) -> str:
        """The last line of what it said, for messages; empty if it said nothing."""
        lines = [line.strip() for line in (self.errors or self.output).splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


def execute(
    words: Sequence[str],
    time_limit: float,
    memory: float = 0.0,
    variables: Mapping[str, str] | None = None,
    tail: int = TAIL,
) -> Ended:
    """Run a program to its end, or for as long as it may.

    Parameters
    ----------
    words : sequence of str
        Arguments; the first names the program. No shell sees them.
    time_limit : float
        Seconds.
    memory : float
        GiB of address space for each of its processes; 0 for any number.
    variables : mapping of str to str, optional
        Environment variables beside our own.
    tail : int
        Bytes of the end of each of its outputs that are kept.

    Returns
    -------
    Ended
        A program that cannot be started has the exit code 127 or 126, as in a shell.
    """

    def limit() -> None:
        if memory:
            most = int(memory * 2**30)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    begin = time.monotonic()
    # Files without a name: nothing can be put in their place.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, adopting() as orphans:
        try:
            process = subprocess.Popen(
                list(words), stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                start_new_session=True, env={**os.environ, **(variables or {})},
                preexec_fn=limit if memory else None,
            )  # fmt: skip
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return Ended(code, 0.0, errors=f"{words[0]}: cannot be started: {error}", started=False)
        orphans.group, timed_out = process.pid, False
        try:
            _await_end(process, time_limit)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            seconds = time.monotonic() - begin
            # Also where it has ended: what it started and left behind goes with it.
            _end_group(process, timed_out)
        said = _tail(output, tail), _tail(errors, tail)
    return Ended(process.returncode, seconds, timed_out, *said, escaped=orphans.ended)


def _await_end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for the end of a process, which `Popen.wait` with a limit would see up to 0.05 s late.

    Raises
    ------
    subprocess.TimeoutExpired
        If it has not ended by then.
    """
    end = time.monotonic() + seconds
    with contextlib.suppress(OSError):  # A kernel, or a sandbox, without such descriptors.
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(min(1e3 * seconds, MOST_MILLISECONDS))
        finally:
            os.close(descriptor)
    process.wait(max(0.0, end - time.monotonic()))


def _end_group(process: subprocess.Popen[bytes], ask: bool) -> None:
    """End all that is left of a process group; a launcher that is asked first ends its ranks elsewhere."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if ask:
            os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(file: IO[bytes], most: int) -> str:
    size = os.fstat(file.fileno()).st_size
    file.seek(max(0, size - most))
    return file.read(most).decode("utf-8", "replace")


def set_up(program: Program) -> None:
    """Run a program's set-up command, if it has one; the program is there afterwards.

    Raises
    ------
    InputError
        If the command fails, with its last words; if there is no program to start, of which nothing could
        be said.
    """
    where, word = f"program {program.name!r}: its", program.command[0]
    if program.setup and (ended := execute(program.setup, SETUP_LIMIT)).reason:
        told = f": {ended.told}" if ended.told else ""
        raise InputError(f"{where} setup {list(program.setup)} failed, {ended.reason}{told}")
    if "{" not in word and shutil.which(word) is None:
        raise InputError(
            f"{where} command cannot be started: {word!r} is no executable file here, nor the name of one "
            "on PATH; give its path, or what builds it (setup)"
        )


def digests(program: Program) -> dict[str, str]:
    """SHA-256 of every file that a program's command names, by its name: it may be another next time."""
    found = {}
    for word in program.command:
        path = shutil.which(word) if word == program.command[0] else word
        if path and os.path.isfile(path):
            with open(path, "rb") as file:
                found[word] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
