"""One rank of a pool, started by `sstep_verify.ranks.pool`.

Three sockets lead to the runner. The first is opened before MPI begins, and nothing is said on it after
the greeting: when it closes, the kernel kills this process, even in ``MPI_Init`` or in the middle of a loop
that does not let go of the interpreter, so no rank outlives its runner; and the runner knows which ranks
have come. On the second, tasks come and results go, so an idle rank sleeps in a read. On the third a thread
answers what this rank is doing, even while the main thread waits in a collective. A crash, or SIGUSR1 where
the thread cannot answer, leaves the stack in this rank's output. That, and its place among its collectives,
are files of which nothing is left on disk once their folder is removed, so they outlive a crash: `Traces`.
"""

from __future__ import annotations

import faulthandler
import fcntl
import mmap
import os
import re
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Client, Connection
from pathlib import Path

from sstep_verify.ranks import task
from sstep_verify.ranks.environment import promised_rank, promised_size
from sstep_verify.ranks.failures import LaunchError, MismatchError, RankLostError, RankState, dissenters
from sstep_verify.ranks.heartbeat import CURRENT, WORDS, Progress, own_state
from sstep_verify.ranks.monitor_programs import state_and_parent

PROGRAM = (
    "import os, sys; sys.path[:] = os.environ['SSTEP_VERIFY_POOL_PATH'].split(os.pathsep); "
    "from sstep_verify.ranks.worker import main; main()"
)
"""The program that the runner starts as a rank."""

GREETINGS = ("life", "tasks", "control")
"""The sockets, in the order in which a rank opens them."""

ABORTED = re.compile(r"called MPI_Abort\(")
"""Words of MPICH on a rank that calls MPI_Abort, which then continues for a while as if nothing were."""

CRASHED = "Fatal Python error"
"""First words of a fault handler."""

ABORTED_ELSEWHERE = re.compile(r"MPI_ABORT was invoked (?:on|by process) rank (\d+)")
"""Words by which Open MPI's launcher names the rank that called MPI_Abort."""

LOG_TAIL = 8000
"""Characters of the ranks' output that an error quotes."""

COMPLAINED = re.compile(r"Fatal error in |An error occurred in MPI_")
"""Words of MPI libraries on a rank that met a collective it cannot complete."""


def main() -> None:
    """Serve tasks until told to end."""
    address = os.environ["SSTEP_VERIFY_POOL"]
    life = _greet(address, "life", promised_rank(), promised_size())
    _die_with(life)
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    leave_traces(os.path.dirname(address), world.rank)
    faulthandler.enable(2)
    faulthandler.register(signal.SIGUSR1, 2)
    # The first collective on objects makes a communicator of its own and holds the interpreter meanwhile.
    world.allreduce(0)
    tasks, control = (_greet(address, kind, world.rank, world.size) for kind in ("tasks", "control"))
    threading.Thread(target=_answer, args=(control, world.rank), daemon=True).start()
    # Calls never get this communicator, so that what one leaves behind cannot disturb the next.
    own = world.Dup()
    rooms = task.Rooms(own.Dup)
    while True:
        fresh, call = tasks.recv()
        tasks.send_bytes(task.execute(rooms.enter(fresh), call))


def _greet(address: str, kind: str, rank: int, size: int) -> Connection:
    connection = Client(address, "AF_UNIX")
    connection.send((kind, rank, size, os.getpid()))
    return connection


def _die_with(life: Connection) -> None:
    """Let the kernel kill this process when the socket closes."""
    life.recv()  # the greeting was read: from now on any sign of life on the socket is its end
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if life.poll():  # closed before the kernel was told
        os._exit(1)


def _answer(control: Connection, rank: int) -> None:
    while True:
        control.recv()
        control.send(own_state(rank))


class Traces:
    """What the ranks of a pool leave even if they crash: output, and their place in the call."""

    def __init__(self, folder: Path, ranks: int):
        self._output = [
            os.open(folder / f"output.{rank}", os.O_RDWR | os.O_CREAT | os.O_APPEND)
            for rank in range(ranks)
        ]
        self._read = [0] * ranks
        with open(folder / "progress", "w+b") as file:
            file.truncate(8 * WORDS * ranks)
            self._memory = mmap.mmap(file.fileno(), 0)
        words = memoryview(self._memory).cast("q")
        self._progress = [Progress(words[WORDS * rank : WORDS * (rank + 1)]) for rank in range(ranks)]

    def begin(self) -> None:
        """Begin a call, while no rank has one: output and collectives so far belong to earlier calls."""
        for progress in self._progress:
            progress.reset()
        self._read = [os.fstat(file).st_size for file in self._output]

    def output(self, rank: int) -> str:
        """Text that a rank has written in this call."""
        begin = self._read[rank]
        size = os.fstat(self._output[rank]).st_size - begin
        return os.pread(self._output[rank], size, begin).decode(errors="replace") if size else ""

    def state(self, rank: int, stack: str) -> RankState:
        """Where a rank stands that cannot answer; nowhere, if it does not even show a stack."""
        progress = self._progress[rank]
        return RankState(
            rank, progress.inside if stack else "", progress.entered, stack, False, progress.history
        )

    def places(self) -> tuple[tuple[int, int], ...]:
        """Where every rank stands among its collectives."""
        return tuple(progress.place for progress in self._progress)

    def close(self) -> None:
        """Give the files back."""
        for file in self._output:
            os.close(file)
        self._output = []


def leave_traces(folder: str, rank: int) -> None:
    """Write all output of this process, and its progress, where the runner reads it; on a rank."""
    file = os.open(os.path.join(folder, f"output.{rank}"), os.O_WRONLY | os.O_APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    with open(os.path.join(folder, "progress"), "r+b") as shared:
        words = memoryview(mmap.mmap(shared.fileno(), 0)).cast("q")
    CURRENT.share(words[WORDS * rank : WORDS * (rank + 1)])


def lost(
    name: str, first: int, outputs: Mapping[int, str], states: Sequence[RankState], log: str
) -> LaunchError:
    """Name the ranks that crashed or called for the end; the one that vanished first if none did.

    `name` is what was called, `first` the rank that vanished first; `outputs` is what ranks wrote in this
    call, `states` where every rank stood, `log` what the launcher wrote.
    """
    said = "".join(f"rank {rank} wrote:\n{text[-LOG_TAIL:]}\n" for rank, text in outputs.items()) + log
    crashed = [rank for rank, text in outputs.items() if CRASHED in text]
    aborted = [rank for rank, text in outputs.items() if ABORTED.search(text)]
    aborted = aborted or [int(rank) for rank in ABORTED_ELSEWHERE.findall(log)]
    complained = any(COMPLAINED.search(text) for text in outputs.values())
    if complained and not crashed and not aborted and dissenters(states):
        return MismatchError(name, states, log=said)
    return RankLostError(name, crashed or aborted[:1] or [first], said)


def not_started(size: int, pids: Mapping[int, int], gone: Sequence[int]) -> dict[int, str]:
    """Describe the ranks that keep a pool from starting.

    `pids` has the process of each rank, of `size`, that has come to where MPI begins, `gone` those of them
    that have ended since.
    """
    if gone:
        return dict.fromkeys(gone, "ended before MPI began")
    stopped = [rank for rank, pid in sorted(pids.items()) if state_and_parent(pid)[0] == "T"]
    absent = [rank for rank in range(size) if rank not in pids]
    return {
        **dict.fromkeys(absent, "did not come to where MPI begins: it ended or is stopped"),
        **dict.fromkeys(stopped, "is stopped"),
    }
