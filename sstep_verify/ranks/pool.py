"""A pool of ranks outside this process: started once, restarted after whatever a call did to it."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

from sstep_verify.ranks import task
from sstep_verify.ranks.environment import (
    START_LIMIT,
    implementation,
    launch_variables,
    launcher,
    short_folder,
    start_limit,
)
from sstep_verify.ranks.failures import HangError, LaunchError, NotStartedError, RankState, SlowError
from sstep_verify.ranks.patience import TIMES, Life, Patience
from sstep_verify.ranks.worker import ABORTED, GREETINGS, LOG_TAIL, PROGRAM, Traces, lost, not_started

GRACE = 0.5
"""Seconds that the other ranks get to end by themselves once one has raised."""

ANSWER = 0.5
"""Seconds within which a rank must say what it is doing."""

CRASH = 0.1
"""Seconds in which a fault handler writes a stack."""

END = 2.0
"""Seconds that the launcher gets to end by itself when its ranks are gone."""


class Pool:
    """Workers on P ranks, each reached by sockets of its own, with variables besides the usual ones."""

    def __init__(self, ranks: int, variables: dict[str, str]):
        self._ranks, self._variables = ranks, variables
        self._process: subprocess.Popen | None = None
        self._channels: dict[str, dict[int, Connection]] = {}
        self._pids: list[int] = []
        self._traces: Traces | None = None
        self._log: IO[bytes] | None = None
        self._fresh = False

    def call(self, function: Callable, arguments: tuple, limit: float) -> list[Any]:
        """Call a function on all ranks; see `sstep_verify.ranks.run`."""
        name = task.check_function(function)
        call = task.pack_call(function, arguments)
        try:
            if self._traces is None:
                self._start()
            assert self._traces is not None
            self._traces.begin()
            fresh, self._fresh = self._fresh, False
            for rank, channel in sorted(self._channels["tasks"].items()):
                life = Life(self._pids[rank])
                try:
                    _give(channel, limit)
                    channel.send((fresh, call))
                except BlockingIOError:
                    raise self._stuck(name, limit, life, [*range(rank + 1)], {}, rank) from None
                except OSError:
                    raise self._lost(f"{name}, before it began", rank) from None
            return self._collect(name, limit)
        except BaseException:
            # An interrupted call would leave answers that the next one would take for its own.
            if not self._fresh:
                self.kill()
            raise

    def _collect(self, name: str, limit: float) -> list[Any]:
        assert self._traces is not None
        channels, answers = self._channels["tasks"], dict[int, task.Answer]()
        patience, end = Patience(self._pids, self._traces.places, limit), float("inf")
        waiting = {channel.fileno(): rank for rank, channel in channels.items()}
        # epoll hands out events in the order in which they came, and a launcher kills all ranks once one
        # is gone: the first end of a socket is the rank to blame.
        with select.epoll() as events:
            for descriptor in waiting:
                events.register(descriptor, select.EPOLLIN)
            while waiting and (left := end - time.monotonic()) > 0:
                for descriptor, _ in events.poll(min(left, patience.pause)):
                    events.unregister(descriptor)
                    rank = waiting.pop(descriptor)
                    life = Life(self._pids[rank])
                    try:
                        _give(channels[rank], min(limit, end - time.monotonic()))
                        answers[rank] = task.read_answer(rank, channels[rank].recv_bytes())
                    except BlockingIOError:
                        if end < float("inf"):  # what another rank raised is what happened
                            waiting[descriptor] = rank
                            continue
                        silent = [rank, *waiting.values()]
                        raise self._stuck(name, limit, life, silent, answers, rank) from None
                    except (EOFError, OSError):
                        raise self._lost(name, rank) from None
                    if ABORTED.search(self._output(rank)):
                        raise self._lost(name, rank)
                    if answers[rank].failure:
                        end = min(end, time.monotonic() + GRACE)
                if waiting and end == float("inf"):
                    hangs = patience.hangs(waiting.values())
                    if hangs or patience.is_over:
                        states = self._all_states([*waiting.values()], answers)
                        raise _given_up(name, limit, states, None if hangs else TIMES * limit)
        unfinished = self._states(sorted(waiting.values()))
        failure = task.failure_of(name, answers, [*unfinished.values()])
        if failure:
            self._fresh = not waiting
            raise failure
        return [answers[rank].value for rank in range(self._ranks)]

    def _stuck(
        self,
        name: str,
        limit: float,
        life: Life,
        unfinished: list[int],
        answers: dict[int, task.Answer],
        rank: int,
    ) -> LaunchError:
        """The error for a rank of whose message nothing has moved for `limit` seconds of the clock."""
        hangs = life.more(longest=limit) >= limit
        states = self._all_states(unfinished, answers, rank)
        return _given_up(name, limit, states, None if hangs else limit)

    def _all_states(
        self, unfinished: list[int], answers: dict[int, task.Answer], stuck: int | None = None
    ) -> list[RankState]:
        """What every rank is doing; asked are those without an answer, and one `stuck` in a message."""
        tasks = self._channels["tasks"]
        asked = [rank for rank in sorted(unfinished) if rank == stuck or not tasks[rank].poll()]
        found = self._states(asked)
        idle = {rank: RankState(rank, finished=True) for rank in range(self._ranks)}
        return [*{**idle, **{rank: answer.state for rank, answer in answers.items()}, **found}.values()]

    def _lost(self, name: str, first: int) -> LaunchError:
        """End the ranks that are left; who is to blame, `first` being the rank that vanished first."""
        # What they wrote is read once all are gone: whoever crashed or aborted may have been slower to end.
        self._end()
        outputs = {rank: text for rank in range(self._ranks) if (text := self._output(rank))}
        states = [self._traces.state(rank, "lost") for rank in range(self._ranks)] if self._traces else []
        return lost(name, first, outputs, states, self.kill())

    def _output(self, rank: int) -> str:
        return self._traces.output(rank) if self._traces else ""

    def _states(self, unfinished: list[int]) -> dict[int, RankState]:
        """Ask ranks what they are doing."""
        for rank in unfinished:
            with contextlib.suppress(OSError):
                _give(self._channels["control"][rank], ANSWER)
                self._channels["control"][rank].send("state")
        states = {}
        for rank in unfinished:
            control = self._channels["control"][rank]
            try:
                states[rank] = control.recv() if control.poll(ANSWER) else self._silent(rank)
            except (EOFError, OSError):
                states[rank] = RankState(rank)
        return states

    def _silent(self, rank: int) -> RankState:
        """State of a rank that does not let its threads run: its fault handler knows the stack."""
        assert self._traces is not None
        before = len(self._output(rank))
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._pids[rank], signal.SIGUSR1)
        time.sleep(CRASH)
        return self._traces.state(rank, self._output(rank)[before:])

    def _start(self) -> None:
        # Nobody else may enter the folder, so no key is needed.
        folder = Path(tempfile.mkdtemp(prefix="sstep-verify-", dir=short_folder()))
        address = str(folder / "socket")
        variables = {
            **launch_variables(),
            **self._variables,
            "SSTEP_VERIFY_POOL": address,
            "SSTEP_VERIFY_POOL_PATH": os.pathsep.join(sys.path),
        }
        # Nothing stays on disk: this process may be killed at any time.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._traces = Traces(folder, self._ranks)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(address)
                listener.listen(len(GREETINGS) * self._ranks)
                listener.settimeout(0.1)
                self._process = subprocess.Popen(
                    [str(launcher()), "-n", str(self._ranks), sys.executable, "-c", PROGRAM],
                    env=variables, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )  # fmt: skip
                self._accept(listener)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _accept(self, listener: socket.socket) -> None:
        """Let every rank open its sockets: the first before MPI begins, the others once it has."""
        pids: dict[int, int] = {}
        self._channels = {kind: {} for kind in GREETINGS}
        end = time.monotonic() + start_limit()
        assert self._process is not None
        while sum(map(len, self._channels.values())) < len(GREETINGS) * self._ranks:
            try:
                channel = Connection(listener.accept()[0].detach())
                _give(channel, end - time.monotonic())
                kind, rank, size, pids[rank] = channel.recv()
            except (TimeoutError, EOFError, BlockingIOError, ConnectionError):
                gone = [rank for rank, life in self._channels["life"].items() if life.poll()]
                if self._process.poll() is None and time.monotonic() < end and not gone:
                    continue
                said = not_started(self._ranks, pids, gone)
                slow = f"if the ranks are merely slow to start, set {START_LIMIT} to more seconds"
                raise NotStartedError(self._ranks, said, f"{slow}\n{launcher()}:\n{self.kill()}") from None
            self._channels[kind][rank] = channel
            if kind != "life" and size != self._ranks:
                raise LaunchError(
                    f"{launcher()} ({implementation()}) started {self._ranks} processes, but each sees "
                    f"a world of {size}: it belongs to another MPI than mpi4py's"
                )
            if kind == "life":
                channel.send("read")
        self._pids = [pids[rank] for rank in range(self._ranks)]

    def _end(self) -> None:
        for channels in self._channels.values():
            for channel in channels.values():
                channel.close()  # the kernel kills the rank
        if self._process is not None:
            try:
                self._process.wait(END if self._channels else 0)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def kill(self) -> str:
        """End all ranks at once, whatever they do; returns the end of what they wrote."""
        self._end()
        log = ""
        if self._log is not None:
            log = os.pread(self._log.fileno(), 1 << 24, 0).decode(errors="replace")[-LOG_TAIL:]
            self._log.close()
        if self._traces is not None:
            self._traces.close()
        self._process, self._traces, self._log = None, None, None
        self._channels, self._pids, self._fresh = {}, [], False
        return log


def _given_up(name: str, limit: float, states: list[RankState], slow: float | None) -> LaunchError:
    """The error of a call that hangs, or is slow, after so many seconds of the clock."""
    return HangError(name, limit, states, "progress") if slow is None else SlowError(name, slow, states)


def _give(channel: Connection, seconds: float) -> None:
    """Let whatever is sent or received raise BlockingIOError once nothing has moved for so long."""
    whole, rest = divmod(max(seconds, CRASH), 1.0)
    with socket.socket(fileno=os.dup(channel.fileno())) as door:
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            door.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(whole), int(1e6 * rest)))


_pools: dict[tuple[int, tuple[tuple[str, str], ...]], Pool] = {}


def pool_of(ranks: int, variables: dict[str, str]) -> Pool:
    """The pool of a size and environment, kept until this process ends."""
    return _pools.setdefault((ranks, tuple(sorted(variables.items()))), Pool(ranks, variables))


def close_all() -> None:
    """End all pools."""
    for pool in _pools.values():
        pool.kill()
    _pools.clear()


atexit.register(close_all)
# A forked child must neither use nor end its parent's pools, nor keep their sockets open.
os.register_at_fork(after_in_child=_pools.clear)
