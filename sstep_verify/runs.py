"""Has a run made, and writes down what it was asked for and what it changed of its inputs, or of what all
code of a process shares, which is put back.
"""

from __future__ import annotations

import builtins
import copy
import math
import os
import signal
import sys
import sysconfig
import traceback
import zlib
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType

import numpy as np
import scipy.linalg

from sstep_verify.errors import (
    InputError,
    MissingExtraError,
    NotMadeError,
    ProgramError,
    RefusedError,
    ResultError,
    RunError,
    storable,
)
from sstep_verify.floating_point import own_state, restore, restore_with_warning
from sstep_verify.problems import Problem
from sstep_verify.protocol import Observer, RunRequest, Solver, is_of_solver
from sstep_verify.trajectory import RAISED, Asked, Raised, Trajectory

NOT_OF_THE_RUN = (InputError, MissingExtraError, MemoryError, ArithmeticError, NotMadeError, OSError)
"""Errors of a shipped solver that say nothing of a run: it was not begun, its input is out of range, or the
operating system prevented it."""

DRAWS_LOOKED_AT = 1 << 12
"""First blocks of a run whose bits are compared before and after it: a stream keeps what it drew."""


MODULES: tuple[ModuleType, ...] = (builtins, math, os, np, np.linalg, scipy.linalg)
"""Modules whose functions judges call."""

LIMIT = "the recursion limit"

FRAMES, LONGEST = 3, 1000
"""Frames of a solver's own files that are kept of an error, and characters of what it says."""

OURS = (os.path.join(os.path.realpath(os.path.dirname(__file__)), ""),)
"""Folder of this package, whose files are no solver's own."""

INSTALLED = tuple(
    os.path.join(os.path.realpath(sysconfig.get_path(name)), "")
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
"""Folders of installed code: a solver's own only where nothing else is, for it may be installed itself."""


def _said(error: BaseException) -> str:
    """The first line of what an error says; an error of a solver may fail to say anything."""
    try:
        said = str(error)
        if isinstance(error, SystemExit):
            said = f"sys.exit({'' if error.code is None else repr(error.code)})"
    except Exception as another:
        return f"its text cannot be formed ({type(another).__name__})"
    return storable(said.splitlines()[0][:LONGEST]) if said else ""


def _ends_session(error: SystemExit, observing: list[BaseException]) -> bool:
    """Whether it is for the session to end, and not an error of a solver that calls `sys.exit`.

    That is an error raised outside of the solver's code, or by a function that handles a signal, with which
    somebody else ends the session while the solver runs.
    """
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    functions = [getattr(one, "func", one) for one in handlers if callable(one)]
    codes = [getattr(one, "__code__", getattr(type(one).__call__, "__code__", None)) for one in functions]
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    return error in observing or not is_of_solver(error) or any(one in codes for one in frames)


def _frames(error: BaseException) -> tuple[str, ...]:
    """The innermost frames of the solver's own files, without folders."""
    frames = [
        (os.path.realpath(one.filename), f"{os.path.basename(one.filename)}:{one.lineno} in {one.name}")
        for one in traceback.extract_tb(error.__traceback__)
        if os.path.isfile(one.filename)
    ]
    others = [(path, words) for path, words in frames if not path.startswith(OURS)]
    own = [words for path, words in others if not path.startswith(INSTALLED)]
    return tuple(map(storable, (own or [words for _, words in others])[-FRAMES:]))


def asked_of(request: RunRequest) -> Asked:
    """What a request asks for."""
    initial = np.array(request.first)
    return Asked(
        s=request.s,
        start=request.start,
        iterations=request.iterations,
        points=tuple(request.stops),
        initial=initial,
        problem=request.problem.digest,
        features=request.problem.features,
        panels=request.expose_panels,
        variant=request.variant,
    )


def unmade(asked: Asked, raised: Raised) -> Trajectory:
    """The trajectory of a run that an error ended: that of its start."""
    first = np.zeros(1, np.int64), asked.initial[None]
    return Trajectory(asked.s, asked.start, *first, stopped=RAISED, asked=asked, raised=raised)


def make_run(solver: Solver, request: RunRequest, observe: Observer | None = None) -> Trajectory:
    """Let a solver make a run; `observe` is called at every recorded iteration, and True ends it there.

    The trajectory is what the solver returned, with `Trajectory.asked`. A solver with the attribute
    `external` gets copies of all inputs. Where a solver raises, it ends at a0 and holds
    `Trajectory.raised`; errors of a shipped solver that say nothing of the run (`NOT_OF_THE_RUN`) are
    passed on, as are a RefusedError, a NotMadeError, what is raised around an external solver and not in a
    call of it, and all that is no `Exception`: an interrupt, a limit of time of a test, the end of this
    process by a signal. An external solver that calls `sys.exit` is one that raises.

    Whatever the solver does to them, NumPy's treatment of floating-point errors, the filters of warnings,
    functions that all modules share and the recursion limit (`SharedState`) are as
    before afterwards, and while the observer is called. The floating-point environment is that of IEEE
    arithmetic as the run begins; what the run left of it is in `Trajectory.altered`.
    """
    external = getattr(solver, "external", False)
    asked = asked_of(request)
    if external:
        request = _own_copy(request)
    before = _checksums(request)
    restore_with_warning(f"before a run of {solver.declaration.name}")
    ended: list[int] = []
    observing: list[BaseException] = []
    shared = SharedState()
    replaced: dict[str, None] = {}

    def observed(iteration: int, alpha: np.ndarray) -> bool:
        replaced.update(dict.fromkeys(shared.put_back()))
        try:
            with own_state():
                stop = observe is not None and bool(observe(iteration, alpha))
        except BaseException as error:
            observing.append(error)
            raise
        if stop:
            ended.append(int(iteration))
        return stop

    raised = None
    try:
        try:
            with own_state():
                result = solver.run(request, observe and observed)
        finally:
            replaced.update(dict.fromkeys(shared.put_back()))
            left = restore()
        if not isinstance(result, Trajectory):
            raise ResultError(
                f"{solver.declaration.name}: run() returned {type(result).__name__}; a Trajectory is needed"
            )
    except (Exception, SystemExit) as error:
        if isinstance(error, SystemExit) and not (external and not _ends_session(error, observing)):
            raise
        run_error = error if isinstance(error, RunError) and not isinstance(error, InputError) else None
        passed = isinstance(error, (RefusedError, NotMadeError))
        if external:
            # Where it replaced what all code shares, it may have made ours raise.
            wrong = isinstance(error, (ProgramError, ResultError)) or is_of_solver(error) or bool(replaced)
        else:
            wrong = not isinstance(error, NOT_OF_THE_RUN)
        if passed or error in observing or not (wrong or isinstance(error, RunError)):
            raise
        kind, said = storable(type(error).__name__), _said(error)
        if run_error:
            kind, said = run_error.kind, (run_error.message.splitlines() or [""])[0]
        last = error.said if isinstance(error, ProgramError) else ()
        frames = () if isinstance(error, (ProgramError, ResultError)) else _frames(error)
        raised = Raised(kind, said, frames, last)
        result = unmade(asked, raised)
    after = _checksums_after(request)
    changed = [name for name, checksum in before.items() if after.get(name) != checksum]
    asked = replace(asked, ended=ended[0] if ended else None, changed=(*changed, *replaced))
    return replace(result, asked=asked, altered=tuple(sorted({*result.altered, *left})), raised=raised)


class SharedState:
    """Names of `MODULES` with what they stand for now, and the recursion limit."""

    def __init__(self) -> None:
        self._limit = sys.getrecursionlimit()
        self._names: list[tuple[ModuleType, Mapping[str, object]]] = [
            (module, dict(vars(module))) for module in MODULES
        ]

    def put_back(self) -> tuple[str, ...]:
        """Put back what is no longer what it was, and say what that was; a name that is new stays."""
        replaced = []
        if sys.getrecursionlimit() != self._limit:
            if sys.getrecursionlimit() < self._limit:  # A higher one harms nobody.
                replaced.append(LIMIT)
            sys.setrecursionlimit(self._limit)
        for module, names in self._names:
            now = vars(module)
            for name, value in names.items():
                if name not in now or now[name] is not value:
                    replaced.append(f"{module.__name__}.{name}")
                    setattr(module, name, value)
        return tuple(replaced)


def _own_copy(request: RunRequest) -> RunRequest:
    """The request with copies of the problem, the stream and a0, for a solver that may change them."""
    initial = None if request.initial is None else np.array(request.initial)
    return replace(
        request,
        problem=copy.deepcopy(request.problem),
        stream=copy.deepcopy(request.stream),
        initial=initial,
    )


def _checksums_after(request: RunRequest) -> dict[str, tuple[object, ...]]:
    """Checksums after the run; none where the solver put something in place of an input."""
    try:
        return _checksums(request)
    except Exception:
        return {}


def _checksums(request: RunRequest) -> dict[str, tuple[object, ...]]:
    """Type, shape and CRC-32 of every input array of a run, by name.

    They are taken before and after each run, so they must be quick: SHA-256 takes three times as long. A
    change of up to 32 neighbouring bits is certain to show, another but for one in 2**32.
    """
    arrays = {f"data{part}": array for part, array in _parts(request.problem)}
    arrays["targets"] = request.problem.targets
    if request.stream.known:
        arrays["index stream"] = request.blocks(0, min(request.iterations, DRAWS_LOOKED_AT))
    if request.initial is not None:
        arrays["a0"] = np.asarray(request.initial)
    return {name: _checksum(array) for name, array in arrays.items()}


def _checksum(array: np.ndarray) -> tuple[object, ...]:
    return array.dtype.str, array.shape, zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data)


def _parts(problem: Problem) -> list[tuple[str, np.ndarray]]:
    if isinstance(problem.data, np.ndarray):
        return [("", problem.data)]
    return [(f".{part}", getattr(problem.data, part)) for part in ("data", "indices", "indptr")]
