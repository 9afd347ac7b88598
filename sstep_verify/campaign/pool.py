"""Spreads work over processes; what is finished is kept whatever happens."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from sstep_verify.errors import OracleDisagreementError
from sstep_verify.provenance import peak_memory

POLL_SECONDS = 0.2
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Finished:
    """One message of a worker: something finished, or an error with its kind."""

    outcome: Any = None
    error: str = ""
    disagreement: bool = False
    memory: int = 0


@dataclass
class State:
    """What a campaign has so far: outcomes, errors by kind, memory in bytes by process."""

    outcomes: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    memory: dict[int, int] = field(default_factory=dict)
    interrupted: bool = False

    def add(self, message: Finished) -> None:
        """File a message where it belongs."""
        if message.outcome is not None:
            self.outcomes.append(message.outcome)
        elif message.disagreement:
            self.disagreements.append(message.error)
        else:
            self.errors.append(message.error)


def attempted(work: Callable[[], Any], where: str) -> Finished:
    """Do a piece of work; an error becomes a message, and ends nothing else.

    Parameters
    ----------
    work : callable
        Returns the outcome, or a message of its own, which is passed on.
    where : str
        What it is done on, for the message of an internal error.
    """
    try:
        outcome = work()
    except OracleDisagreementError as error:
        return Finished(error=f"{where}: {error}", disagreement=True, memory=peak_memory() or 0)
    except Exception:
        return Finished(error=f"{where}:\n{traceback.format_exc()}", memory=peak_memory() or 0)
    return outcome if isinstance(outcome, Finished) else Finished(outcome, memory=peak_memory() or 0)


def finished(outcomes: Iterable[Any], where: str) -> Iterator[Finished]:
    """Pass outcomes on as messages; an error ends this piece of work, not the campaign.

    Parameters
    ----------
    outcomes : iterable
        What is done, one after the other; messages are passed on as they are.
    where : str
        What it is done on, for the message of an internal error.
    """
    begun, end = iter(outcomes), object()
    while (message := attempted(lambda: next(begun, end), where)).outcome is not end:
        yield message


def spread(
    work: Callable[..., Iterator[Finished]], arguments: Sequence[tuple], jobs: int, state: State
) -> Iterator[Finished]:
    """Call ``work(*argument)`` for each argument and yield what they yield, in any order.

    Parameters
    ----------
    work : callable
        Generator function of a module, so that other processes can import it.
    arguments : sequence of tuple
        Arguments of its calls, the longest work first.
    jobs : int
        Processes; 1 works in this one.
    state : State
        Gets the memory of the processes, and an error for a process that died.
    """
    if jobs == 1:
        for argument in arguments:
            yield from work(*argument)
        return
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    context = multiprocessing.get_context("spawn")
    channel = context.SimpleQueue()
    with ProcessPoolExecutor(jobs, context, _initialise, (channel,)) as executor:
        pending = {executor.submit(_work, work, *argument) for argument in arguments}
        try:
            while pending:
                done, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
                yield from _drain(channel, state)
                for future in done:
                    _collect_broken(future, state)
            yield from _drain(channel, state)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _collect_broken(future, state: State) -> None:
    """Note a worker that died (killed, out of memory) as an internal error."""
    try:
        future.result()
    except BrokenProcessPool as error:
        state.errors.append(f"a worker process died: {error}")


def _drain(channel, state: State) -> Iterator[Finished]:
    while not channel.empty():
        process, message = channel.get()
        state.memory[process] = max(state.memory.get(process, 0), message.memory)
        yield message


_channel: list = []


def _initialise(channel) -> None:
    """Set up a worker: the interrupt is the parent's business; a parent that was killed ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    _channel.append(channel)


def _end_with_parent() -> None:
    """Wait for the end of the parent, which may have been killed with no chance to say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(work: Callable[..., Iterator[Finished]], *arguments) -> None:
    for message in work(*arguments):
        _channel[0].put((os.getpid(), message))
