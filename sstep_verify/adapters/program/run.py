"""One run of somebody's program: its own process group, limits, and everything it said.

Processes that it left, in whichever session, become children of this one meanwhile, which ends them.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from sstep_verify.adapters.program.patience import Patience, processes
from sstep_verify.adapters.program.said import (
    LONGEST_LINE,
    Refusal,
    first_error,
    last_lines,
    may_name_rank,
    refusal,
    shortened,
)
from sstep_verify.adapters.program.tables import WAYS, Program
from sstep_verify.adapters.program.witness import witness_variables
from sstep_verify.errors import MACHINE, InputError, ProgramError, RefusedError
from sstep_verify.protocol import RunRequest, Solver
from sstep_verify.ranks import SlowError

REFUSED = 65
"""Exit code of a program that refuses its input (EX_DATAERR of sysexits.h)."""

TAIL = 4000
"""Bytes of the end of what a program printed that are kept."""

SETUP_LIMIT = 600.0
"""Seconds that a set-up may take."""

GRACE = 2.0
"""Seconds between the request to end and the end of a process group."""

TRIES = 4
"""Other indices that are tried on a program before it is said not to read them."""

PR_SET_CHILD_SUBREAPER = 36
"""Of Linux: who is orphaned below this process becomes its child, in whichever session it is."""

PATIENCE, POLL = 2.0, 0.002
"""Seconds that orphans that are ended have to be gone, and between two looks."""


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    `code` is its exit code, or minus the signal that ended it; `seconds` is wall-clock time; `timed_out`
    says that it was ended for its time, `started` whether there was such a program, `escaped` whether
    processes that had left its process group were still running, and were ended. `output` and `errors` are
    the ends of what it wrote to standard output and standard error.
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

    def with_place_of(self, folder: str) -> Ended:
        """The same, with {dir} in what it wrote instead of a run folder, whose name no two runs share."""
        output, errors = (text.replace(folder, "{dir}") for text in (self.output, self.errors))
        return replace(self, output=output, errors=errors)

    @property
    def said(self) -> tuple[str, ...]:
        """The last lines of what it said on standard error, or on standard output where that is empty."""
        lines, _ = self._last
        return tuple(line[:LONGEST_LINE] for line in lines)

    @property
    def last_words(self) -> str:
        """The last line of what it said, for messages; of a launcher's message the beginning."""
        lines, framed = self._last
        if not lines:
            return "; it said nothing"
        return f"; its last words: {shortened(lines if framed else lines[-1:])}"

    @property
    def first_words(self) -> str:
        """The first line that speaks of an error, for messages; empty where the last words hold it."""
        line = next(filter(None, map(first_error, (self.errors, self.output))), "")
        told = f"; it said: {shortened([line])}"
        return "" if not line or shortened([line]) in self.last_words else told

    @property
    def names_no_rank(self) -> bool:
        """Whether no rank is named in the ends of what it wrote, so that nobody says which one ended it."""
        return not any(map(may_name_rank, (self.output, self.errors)))

    @property
    def not_launched(self) -> Refusal | None:
        """What a launcher said of a program that it did not start; None if it said no such thing."""
        if self.timed_out or not self.code:
            return None
        return next(filter(None, map(refusal, (self.errors, self.output))), None)

    @property
    def _last(self) -> tuple[list[str], bool]:
        return next(
            filter(lambda found: found[0], map(last_lines, (self.errors, self.output))), ([], False)
        )


class _Ending(BaseException):
    """A signal that ends this process."""


@contextlib.contextmanager
def cleared_before_the_end() -> Iterator[None]:
    """Let a signal that would end this process at once do so after the block, which clears what it began.

    Children that were ignored would have no exit code. Signals are handled in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    met: list[int] = []

    def end(number: int, _frame: object) -> None:
        met.append(number)
        raise _Ending

    handlers: dict[int, Any] = {
        one: end for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) == signal.SIG_DFL
    }
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        handlers[signal.SIGCHLD] = signal.SIG_DFL
    before = {one: signal.signal(one, handler) for one, handler in handlers.items()}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        if met:
            os.kill(os.getpid(), met[0])


@cleared_before_the_end()
def execute(
    words: Sequence[str],
    time_limit: float,
    memory: float = 0.0,
    variables: Mapping[str, str] | None = None,
    tail: int = TAIL,
) -> Ended:
    """Run a program to its end, or for as long as it may; of the words no shell sees any.

    It may live `time_limit` seconds and take `memory` GiB of address space for each of its processes, 0 for
    any number, has `variables` besides our own, and of the end of each of its outputs `tail` bytes are
    kept. One that cannot be started has the exit code 127 or 126, as in a shell. OSError where that lies
    with the machine (`MACHINE`), as where it has too many processes; SlowError where it took too long and
    had too little of the processors (`patience`).
    """

    def limit() -> None:
        if memory:
            most = int(memory * 2**30)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    begin = time.monotonic()
    # Files without a name: nothing can be put in their place.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, _adopting() as orphans:
        try:
            process = subprocess.Popen(
                list(words), stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                start_new_session=True, env={**os.environ, **(variables or {})},
                preexec_fn=limit if memory else None,
            )  # fmt: skip
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            if isinstance(error, OSError) and error.errno in MACHINE:
                raise
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return Ended(code, 0.0, errors=f"{words[0]}: cannot be started: {error}", started=False)
        orphans.group, timed_out, patience = process.pid, True, Patience(process.pid, time_limit)
        try:
            timed_out = not _ends(process, patience)
        finally:
            seconds = time.monotonic() - begin
            # Also where it has ended: what it started and left behind goes with it.
            _end_group(process, timed_out)
        if timed_out and not patience.hung:
            raise SlowError(words[0], seconds, [], option="time_limit")
        said = _tail(output, tail), _tail(errors, tail)
    return Ended(process.returncode, seconds, timed_out, *said, escaped=orphans.running)


def _ends(process: subprocess.Popen[bytes], patience: Patience) -> bool:
    """Wait until a process has ended, or may take no longer; whether it has ended."""
    with contextlib.ExitStack() as held:
        poll = None
        with contextlib.suppress(OSError):  # A kernel, or a sandbox, without such descriptors.
            descriptor = os.pidfd_open(process.pid)
            held.callback(os.close, descriptor)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
        while True:
            pause = patience.pause
            if poll is not None:  # `Popen.wait` with a limit sees an end up to 0.05 s late.
                poll.poll(1e3 * pause)
                pause = 0.0
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause)
                return True
            if patience.hangs() or patience.is_over:
                return False


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


@dataclass
class _Orphans:
    """The process group of a program, once it is started; whether others were running at its end."""

    group: int = 0
    running: bool = False


@contextlib.contextmanager
def _adopting() -> Iterator[_Orphans]:
    """End, when the block ends, all processes that became orphans meanwhile, and say if there were any.

    Of those that ended by themselves, or are of the group that the caller ends, nothing is said; nor is
    anything where the system knows no such thing.
    """
    orphans, before = _Orphans(), _children()
    _adopt(1)
    try:
        yield orphans
    finally:
        limit = time.monotonic() + PATIENCE
        while (left := _children(before)) and time.monotonic() < limit:
            for process, (state, group) in left.items():
                orphans.running |= state != "Z" and group != orphans.group
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, os.WNOHANG)
            time.sleep(POLL)  # One that is ended leaves its own children to us.
        _adopt(0)


def _adopt(whether: int) -> None:
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0)


def _children(but: Container[int] = ()) -> dict[int, tuple[str, int]]:
    """State and process group of the children of this process in other sessions than its own, but some."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return {}  # Mostly there is none at all, and no need to look at every process.
    own, session = os.getpid(), os.getsid(0)
    return {
        pid: (one.state, one.group)
        for pid, one in processes().items()
        if one.parent == own and one.session != session and pid not in but
    }


def set_up(program: Program) -> None:
    """Run a program's set-up command, if it has one; the program is there afterwards.

    InputError if the command fails, with its last words, or if there is no program to start, or no witness
    to be made for it, so that nothing could be said of it.
    """
    where, word = f"program {program.name!r}: its", program.command[0]
    if program.setup and (ended := execute(program.setup, SETUP_LIMIT)).reason:
        said = ended.first_words + ended.last_words
        raise InputError(f"{where} setup {list(program.setup)} failed, {ended.reason}{said}")
    if "{" not in word and shutil.which(word) is None:
        raise InputError(
            f"{where} command cannot be started: {word!r} is no executable file here, nor the name of one "
            f"on PATH; {'the setup did not make it' if program.setup else 'install it, or give its path'}"
        )
    if script := _lacking_script(program.command):
        raise InputError(
            f"{where} command names the script {script!r}, which does not exist here; give its path, or "
            "what makes it (setup)"
        )
    if program.witness:
        try:
            witness_variables(program.witness, program.fault_injection, Path())
        except RefusedError as error:
            raise InputError(f"{where} {error}") from error


def _lacking_script(command: Sequence[str]) -> str:
    """The Python script that a command runs and that does not exist; empty if there is none such."""
    for interpreter, script in itertools.pairwise(command):
        named = re.fullmatch(r"python[0-9.]*", os.path.basename(interpreter))
        if named and script.endswith(".py") and "{" not in script and not os.path.exists(script):
            return script
    return ""


def digests(program: Program) -> dict[str, str]:
    """SHA-256 of every file that a program's command names, by its name: it may be another next time."""
    found = {}
    for word in program.command:
        path = shutil.which(word) if word == program.command[0] else word
        if path and os.path.isfile(path):
            with open(path, "rb") as file:
                found[word] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def seconds_of_a_start(solver: Solver, request: RunRequest) -> float:
    """Start a program that leaves its result a few times, with other indices each time; seconds of a start.

    The program is to take its coordinates from the run folder; the request is a short run from zero.
    If a run fails the seconds are 0, and nothing is said of it here. An InputError says that all end in the
    same a, which is not 0, whatever the indices.
    """
    own = set(request.stream.blocks(0, 1)[0].tolist())
    others = (replace(request.stream, relabel=seed) for seed in range(1, 64))
    streams = [one for one in others if set(one.blocks(0, 1)[0].tolist()) != own]
    found: list[np.ndarray] = []
    begin = time.perf_counter()
    try:
        for stream in [request.stream, *streams[: TRIES - 1]]:
            found.append(solver.run(replace(request, stream=stream)).final)
            if not np.array_equal(found[0], found[-1]) or not found[0].any():
                break
    except (ProgramError, RefusedError):
        return 0.0
    seconds = (time.perf_counter() - begin) / len(found)
    if found[0].any() and len(found) > 1 and np.array_equal(found[0], found[-1]):
        raise InputError(
            f"program {solver.declaration.name!r}: it does not read the indices: {len(found)} runs of "
            f"{request.iterations} iterations on other coordinates ended in the same a. {WAYS}"
        )
    return seconds
