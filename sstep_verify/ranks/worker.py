"""One rank of a pool, started by `sstep_verify.ranks.pool`.

Three sockets lead to the runner. The first is opened before MPI begins, and nothing is said on it after
the greeting: when it closes, the kernel kills this process, even in ``MPI_Init`` or in the middle of a loop
that does not let go of the interpreter, so no rank outlives its runner; and the runner knows which ranks
have come. On the second, tasks come and results go, so an idle rank sleeps in a read. On the third a thread
answers what this rank is doing, even while the main thread waits in a collective. A crash, or SIGUSR1 where
the thread cannot answer, leaves the stack in this rank's output.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import signal
import threading
from multiprocessing.connection import Client, Connection

from sstep_verify.ranks import task
from sstep_verify.ranks.environment import promised_rank, promised_size
from sstep_verify.ranks.traces import leave_traces

PROGRAM = (
    "import os, sys; sys.path[:] = os.environ['SSTEP_VERIFY_POOL_PATH'].split(os.pathsep); "
    "from sstep_verify.ranks.worker import main; main()"
)
"""The program that the runner starts as a rank."""

GREETINGS = ("life", "tasks", "control")
"""The sockets, in the order in which a rank opens them."""


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
        control.send(task.own_state(rank))
