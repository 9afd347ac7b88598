"""Spreads units over local processes; one that vanishes or hangs loses its case and no other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

from sstep_verify.campaign.model import (
    INTERNAL,
    NOTED,
    REFUSED,
    Finished,
    Heard,
    Kind,
    Plan,
    Said,
    Step,
    Unit,
    attempted,
    heard_by,
    say,
)
from sstep_verify.compiled import compiling_told, unkept
from sstep_verify.files.streams import lossy_output, open_standard_streams
from sstep_verify.floating_point import in_own_state
from sstep_verify.protocol import is_of_solver
from sstep_verify.provenance import THREAD_VARIABLES
from sstep_verify.standard_library import SAFE_PATH

POLL_SECONDS = 0.2
GRACE_SECONDS = 5.0
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
"""Signals by which a process ends for what it did itself."""


def spread(
    kind: Kind, units: Sequence[Unit], plan: Plan, heard: Heard = lambda _: None
) -> Generator[Finished, None, None]:
    """Run units of a kind and yield their messages, in any order.

    They begin in their order, in as many processes as jobs; 1 works in this one, unless a unit runs
    external code. `heard` hears how far outcomes have come.
    """
    if plan.jobs == 1 and not any(unit.external for unit in units):
        with heard_by(heard), compiling_told(_say_compiling):
            for unit in units:
                yield from run_unit(kind, unit, plan)
        return
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    open_standard_streams()  # A pipe must not get the number of a closed one, to which a solver prints.
    waiting = deque(units)
    workers = [_Worker(kind, heard) for _ in range(min(plan.jobs, len(units)))]
    try:
        while waiting or any(worker.busy for worker in workers):
            for worker in workers:
                if waiting and not worker.busy:
                    worker.begin(waiting.popleft(), plan)
            busy = [worker for worker in workers if worker.busy]
            ready = wait([worker.pipe for worker in busy], POLL_SECONDS)
            for worker in busy:
                if worker.pipe in ready or worker.overdue:
                    yield from worker.hear(waiting)
        for worker in workers:
            if told := worker.dismiss():
                yield Finished(error=told, kind=NOTED)
    except BaseException:
        for worker in workers:
            worker.process.terminate()
        raise
    finally:
        for worker in workers:
            worker.end()


def run_unit(kind: Kind, unit: Unit, plan: Plan) -> Iterator[Finished]:
    """Run a unit; an error ends this unit, not the campaign."""
    more = f" and {len(unit.keys) - 1} more" if unit.keys[1:] else ""
    begun, end = iter(kind.run(unit, plan)), object()
    while (message := attempted(lambda: next(begun, end), unit.keys[0] + more)).outcome is not end:
        yield message


@dataclass(frozen=True)
class _Escaped:
    """What a solver raised that is no error, such as KeyboardInterrupt: its process ends by it."""

    error: str


class _Worker:
    """A process that runs one unit after the other, and is replaced if it is lost."""

    def __init__(self, kind: Kind, heard: Heard):
        self._kind, self._heard = kind, heard
        self.busy = False
        self._step: Step | None = None
        self._deadline, self._ended_by = 0.0, ""
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        safe = os.environ.get(SAFE_PATH)
        self.process = context.Process(target=_serve, args=(other, self._kind, safe), daemon=True)
        # Python's own modules are those of the library until the process has our list of folders.
        os.environ[SAFE_PATH] = "1"
        try:
            # An interrupt of the terminal reaches it, too. Until it ignores that, the interrupt must wait;
            # the tracker, which the first start would begin, lets interrupts through.
            resource_tracker.ensure_running()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self.process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        finally:
            _set_safe_path(safe)
        other.close()  # So that the end of the process is the end of the pipe.

    def begin(self, unit: Unit, plan: Plan) -> None:
        """Hand a unit over."""
        self.busy, self._step, self._deadline, self._ended_by = True, None, 0.0, ""
        self._unit, self._done = unit, set(plan.finished)
        if not self.process.is_alive():  # It ended with nothing to do, so that no problem is lost by it.
            self.end()
            self._start()
        with contextlib.suppress(OSError):  # of a process that is gone, whose end `hear` finds
            self.pipe.send((unit, plan))

    @property
    def overdue(self) -> bool:
        """Whether what it does now takes longer than it may."""
        return bool(self._deadline) and time.monotonic() > self._deadline

    def hear(self, waiting: deque[Unit]) -> Iterator[Finished]:
        """Take one message; of a process that is lost, give the rest of its unit back."""
        try:
            if self.overdue and not self.pipe.poll():
                self.process.kill()
                raise EOFError
            message = self.pipe.recv()
        except (EOFError, OSError):
            yield from self._lost(waiting)
            return
        if isinstance(message, Said):
            self._heard(message)  # The time that it has for its step continues.
            return
        if isinstance(message, _Escaped):
            self._ended_by = message.error
            return
        self._deadline = 0.0
        if message is None:
            self.busy = False
        elif isinstance(message, Step):
            self._step = message
            self._deadline = time.monotonic() + message.limit if message.limit else 0.0
            self._heard(message)
        else:
            if message.outcome is not None:
                self._done.add(self._kind.key(message.outcome))
            yield message

    def _lost(self, waiting: deque[Unit]) -> Iterator[Finished]:
        overdue, step = self.overdue, self._step
        self.process.join(GRACE_SECONDS)
        code = self.process.exitcode
        self.end()
        self.busy = False
        self._start()
        left = [key for key in self._unit.keys if key not in self._done]
        told = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        if self._ended_by:
            told = f"it raised {self._ended_by}, which ends a process"
        if step and step.run and code is not None and -code in CRASHES:
            crashed = (*self._unit.crashed, (step.key, step.run, told))
            waiting.appendleft(replace(self._unit, keys=tuple(left), crashed=crashed))
            return
        lost = [step.key] if step and step.key in left else left
        if rest := [key for key in left if key not in lost]:
            waiting.appendleft(replace(self._unit, keys=tuple(rest)))
        where = f"{lost[0] if lost else self._unit.keys[0]}{f', {step.what}' if step else ''}"
        if overdue and step:
            told = f"did not end within {step.limit:g} s (time_limit), so its process was ended"
            yield Finished(error=f"{where}: {told}", kind=REFUSED)
        elif self._unit.external:
            yield Finished(error=f"{where}: the process of the solver ended ({told})", kind=REFUSED)
        else:
            yield Finished(error=f"{where}: a worker process died ({told})", kind=INTERNAL)

    def dismiss(self) -> str:
        """Let it end; what is to be said of one that has already ended by itself, else an empty text."""
        try:
            self.pipe.send(None)
        except OSError:
            self.process.join(GRACE_SECONDS)
            told = f"a worker process had ended (exit code {self.process.exitcode}) after its last problem"
            return f"{told}; all that it finished was judged before, and stands"
        return ""

    def end(self) -> None:
        """Wait for the end of the process; one that does not come to it is killed."""
        self.process.join(GRACE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


def _set_safe_path(value: str | None) -> None:
    """Give the variable the value that the user's environment has; programs of a solver get it, too."""
    if value is None:
        os.environ.pop(SAFE_PATH, None)
    else:
        os.environ[SAFE_PATH] = value


@in_own_state
def _serve(pipe: Connection, kind: Kind, safe: str | None) -> None:
    """Run what is handed over; the interrupt is the parent's business, and its death the end of this."""
    _set_safe_path(safe)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # `_Worker._start` blocked it.
    signal.signal(signal.SIGTERM, ending)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    # A solver may start processes, as it may where it is called elsewhere. Forked, they end by a signal as
    # any other process does: `ending` is for this one.
    multiprocessing.current_process().daemon = False
    os.register_at_fork(after_in_child=_end_by_default)
    try:
        with lossy_output(), heard_by(pipe.send), compiling_told(_say_compiling):
            while (task := pipe.recv()) is not None:
                for message in run_unit(kind, *task):
                    pipe.send(message)
                pipe.send(None)
    except BaseException as error:
        if is_of_solver(error) and not isinstance(error, _Stopped):
            pipe.send(_Escaped(type(error).__name__))
        elif not isinstance(error, KeyboardInterrupt):
            raise


def _end_by_default() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _say_compiling() -> None:
    once = "" if unkept() else ", once"
    say(f"compiling inner loops{once}: this takes up to a minute before the first problem is judged")


def ending(number: int, _frame: object) -> None:
    """End as after Ctrl-C, for a signal that would leave temporary folders and programs behind; once."""
    signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # What follows is no solver's own interrupt.
    raise _Stopped


class _Stopped(KeyboardInterrupt):
    """The interrupt by a signal to end, told apart from one that a solver raises."""


def _end_with_parent() -> None:
    """Wait for the end of the parent, which may have been killed with no chance to say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_SECONDS)
        os._exit(1)
