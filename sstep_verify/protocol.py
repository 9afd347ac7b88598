"""The Solver protocol: what a run is asked for, what a solver declares itself to be, and is named."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from sstep_verify.declaration import Declaration as Declaration
from sstep_verify.errors import InputError
from sstep_verify.floating_point import state_of_caller
from sstep_verify.problems.problem import require_real
from sstep_verify.trajectory import Trajectory

if TYPE_CHECKING:
    from sstep_verify.problems import IndexStream, Problem

Observer = Callable[[int, np.ndarray], bool]
"""Called with (iteration, a) at each recorded iteration; returning True ends the run there."""


@dataclass(frozen=True, eq=False)
class RunRequest:
    """Ask for one run: H iterations of the stream from `start`, in windows of s.

    Parameters
    ----------
    problem : Problem
        What is solved.
    stream : IndexStream
        The coordinates drawn, H x b.
    s : int
        Iterations per communication, >= 1 (1 is the classical method).
    iterations : int
        Number of iterations to make (H >= 0); the last window is shorter if s does not divide it.
    start : int
        First position of the stream to use; a run may continue another.
    initial : ndarray, shape (m,), optional
        Start vector (a0); zeros if absent.
    record : tuple of int
        Iterations, counted from this run's beginning, at which alpha is kept and the observer is called.
        Each must be a window end: a multiple of s, or the last iteration. 0 and the last are always kept.
    variant : str
        Name of the solver's variant to use, such as one that makes runs as a user does; empty for the
        solver under test. A solver ignores it.
    expose_panels : bool
        Keep the kernel rows of every window whose two ends are recorded (c x m words each), or the declared
        part of them.
    log : bool
        Keep the new value of each drawn coordinate (H x b words).

    Raises
    ------
    InputError
        If s < 1, iterations < 0, the stream is too short, or a recorded iteration is no window end.

    Examples
    --------
    >>> from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, RunRequest
    >>> data = [[1.0, 0.5], [0.5, 1.0], [1.5, 0.0], [0.0, 2.0]]
    >>> problem = Problem("small", data, [1, -1, 1, -1], LinearKernel(), Hinge(C=1.0))
    >>> stream = IndexStream("uniform", samples=4, block=1, length=20, seed=0)
    >>> RunRequest(problem, stream, s=8, iterations=20, record=(8,)).stops
    [0, 8, 20]
    """

    problem: Problem
    stream: IndexStream
    s: int
    iterations: int
    start: int = 0
    initial: np.ndarray | None = None
    record: tuple[int, ...] = ()
    variant: str = ""
    expose_panels: bool = False
    log: bool = False

    def __post_init__(self) -> None:
        if self.s < 1:
            raise InputError(f"s = {self.s}, but a window holds at least one iteration: s >= 1")
        if self.iterations < 0 or self.start < 0:
            raise InputError(f"iterations = {self.iterations}, start = {self.start}: both must be >= 0")
        if self.start + self.iterations > self.stream.length:
            raise InputError(
                f"the run needs {self.start + self.iterations} drawn blocks, "
                f"but the index stream has {self.stream.length}"
            )
        if self.stream.samples != self.problem.samples:
            raise InputError(
                f"the index stream draws from {self.stream.samples} coordinates, "
                f"but {self.problem.name} has {self.problem.samples} samples"
            )
        if self.problem.is_svm and self.stream.block != 1:
            raise InputError(
                f"K-SVM draws one coordinate a step, but the stream has b = {self.stream.block}"
            )
        if self.initial is not None:
            require_real("a0", self.initial)
        if self.initial is not None and np.shape(self.initial) != (self.problem.samples,):
            raise InputError(
                f"a0 has shape {np.shape(self.initial)}, but {self.problem.name} has "
                f"{self.problem.samples} samples"
            )
        if self.initial is not None and not np.isfinite(self.initial).all():
            raise InputError("a0 holds a value that is not finite")
        for iteration in self.record:
            if not 0 <= iteration <= self.iterations or (
                iteration % self.s and iteration != self.iterations
            ):
                raise InputError(
                    f"alpha cannot be recorded at iteration {iteration}: not the end of a window "
                    f"(s = {self.s}, {self.iterations} iterations)"
                )

    @property
    def first(self) -> np.ndarray:
        """The start vector (a0) where one is given, else zeros, shape (m,)."""
        return np.zeros(self.problem.samples) if self.initial is None else np.asarray(self.initial)

    def blocks(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Return the coordinates of iterations begin..end-1 of this run, by default all, int64, (k, b)."""
        last = self.iterations if end is None else end
        return self.stream.blocks(self.start + begin, self.start + last)

    @property
    def stops(self) -> list[int]:
        """Recorded iterations in ascending order, 0 and the last one included."""
        return sorted({0, *self.record, self.iterations})


@runtime_checkable
class Solver(Protocol):
    """Describe what every solver has: it maps a request to a trajectory, and never grades itself.

    Examples
    --------
    >>> from sstep_verify import ReferenceSolver, Solver
    >>> isinstance(ReferenceSolver(), Solver)
    True
    """

    declaration: Declaration

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run, and call `observe` at every recorded iteration."""
        ...


NEEDED = (
    "it must be a solver, an object with a Declaration as declaration and a method run(request, observe); "
    "wrap a function in CallableSolver(function, Declaration(...))"
)
"""What is said of an object that is no solver."""


def checked_solver(found: object, where: str) -> Solver:
    """An object that is a solver; `where` is what it is, for messages.

    InputError if it has no Declaration as `declaration` or no `run`, or is a class and no object of it.
    """
    if isinstance(found, type):
        raise InputError(f"{where} is the class {found.__name__}; {NEEDED}")
    if not isinstance(found, Solver) or not isinstance(found.declaration, Declaration):
        raise InputError(f"{where} is of type {type(found).__name__}; {NEEDED}")
    return found


Function = TypeVar("Function", bound=Callable[..., Any])


def adapter(run: Function) -> Function:
    """Mark a method `run` of ours that calls somebody's code by `called`; an error around that is ours."""
    run.is_adapter = True  # type: ignore[attr-defined]
    return run


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call code that is a solver's own, in the state of errors and warnings of whoever has it judged.

    An error below this frame is the solver's, see `is_of_solver`. A process that the code forked, and let
    come back here, ends: the judgement would continue in both.
    """
    process = os.getpid()
    try:
        with state_of_caller():
            return function(*arguments)
    finally:
        if os.getpid() != process:
            os._exit(0)


def is_of_solver(error: BaseException) -> bool:
    """Whether an error was raised inside a call of a solver's own code, and not in ours around it."""
    return any(frame.f_code is called.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))


class ExternalSolver:
    """A solver that is not trusted: `make_run` gives it copies of inputs, and keeps its errors.

    Only what is raised in a call of the solver's own code is the solver's error, see `is_of_solver`.
    """

    external = True

    def __init__(self, inner: Solver):
        self._inner = inner
        self.declaration = inner.declaration

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Let the solver make the run."""
        if getattr(self._inner.run, "is_adapter", False):
            return self._inner.run(request, observe)
        made: Any = called(self._inner.run, request, observe)
        # What a solver says was seen of it is its own word.
        return replace(made, seen=None) if isinstance(made, Trajectory) and made.seen else made


def is_program(name: str) -> bool:
    """Whether a solver's name is that of a program file."""
    return name.endswith(".toml")


def is_external(name: str) -> bool:
    """Whether a solver's name is that of a Python object: ``module:object``."""
    return ":" in name
