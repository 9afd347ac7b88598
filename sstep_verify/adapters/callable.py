"""Any function that returns a final vector, as a solver: it is run again up to every recorded iteration.

Parts of all adapters: start vector in a precision, trajectory from states made one by one, observers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from sstep_verify.errors import InputError, RefusedError, ResultError
from sstep_verify.protocol import Declaration, Observer, RunRequest, adapter, called
from sstep_verify.trajectory import FILLED, Trajectory

PRECISIONS = ("float32", "float64")


def start_vector(request: RunRequest, precision: str) -> np.ndarray:
    """Start vector as a solver of this precision holds it, shape (m,).

    Float64; for float32 the values are float32 numbers. RefusedError if an entry is beyond the range of
    the precision.
    """
    initial = request.first
    with np.errstate(over="ignore"):
        held = initial.astype(precision)
    if not np.isfinite(held).all():
        worst = initial[~np.isfinite(held)][0]
        raise RefusedError(f"a0 holds {worst!r}, which is beyond the range of {precision}")
    return kept(held)


def kept(alpha: np.ndarray) -> np.ndarray:
    """Copy of a state without any rounding: longdouble stays so, all else becomes float64."""
    return np.array(alpha, dtype=np.longdouble if alpha.dtype == np.longdouble else np.float64)


def record(
    request: RunRequest,
    initial: np.ndarray,
    advance: Callable[[np.ndarray, int, int], np.ndarray],
    observe: Observer | None,
) -> Trajectory:
    """Make a run from one recorded iteration to the next.

    `initial` (m,) is the state at iteration 0; ``advance(a, begin, end)`` returns the state at
    iteration `end`, given the one at `begin`. `observe` is called at every recorded iteration;
    returning True ends the run there. All items of the record but the states are those of the request.
    """
    states, stops, seconds, stopped = [initial], request.stops, 0.0, "iterations"
    types: list[np.dtype] = []
    for place, stop in enumerate(stops):
        if place:
            clock = perf_counter()
            made = advance(states[-1], stops[place - 1], stop)
            seconds += perf_counter() - clock
            types.append(made.dtype)
            states.append(kept(made))
        if observe is not None and observe(stop, states[-1]):
            stopped = "observer"
            break
    reached = stops[: len(states)]
    return Trajectory(
        s=request.s,
        start=request.start,
        iterations=np.array(reached, dtype=np.int64),
        alphas=np.array(states),
        counters={"windows": -(-reached[-1] // request.s)},
        timers={"run": seconds},
        stopped=stopped,
        filled=FILLED,
        returned=str(min(types, key=_digits)) if types else "",
    )


def _digits(held: np.dtype) -> int:
    """Binary digits of the numbers of a type; of whole numbers none is a fraction's."""
    return np.finfo(held).nmant if held.kind == "f" else 0


def observed(
    whole: Trajectory,
    request: RunRequest,
    observe: Observer | None,
    again: Callable[[RunRequest], Trajectory],
) -> Trajectory:
    """Let an observer look at a run that is over.

    `again` makes another run: up to where the observer would have ended this one, so that its counts
    are its own.
    """
    if observe is None:
        return whole
    for iteration, alpha in zip(whole.iterations.tolist(), whole.alphas, strict=True):
        if observe(iteration, alpha):
            if iteration < whole.length:
                record = tuple(stop for stop in request.stops if stop <= iteration)
                whole = again(replace(request, iterations=iteration, record=record))
            return replace(whole, stopped="observer")
    return whole


def _require_arguments(function: Callable[..., Any], declaration: Declaration) -> None:
    """InputError if a function takes a log and none is declared, or the reverse."""
    needed = 4 + declaration.log
    if _takes(function, needed) or not _takes(function, 9 - needed):
        return
    if declaration.log:
        told = "takes no log, but one is declared; add the argument log, or leave out log=True"
    else:
        told = "takes a log, but none is declared; write Declaration(..., log=True)"
    arguments = "(problem, blocks, s, a0, log)" if declaration.log else "(problem, blocks, s, a0)"
    raise InputError(f"{declaration.name}: the function {told}: it is called as function{arguments}")


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments; of some built-in ones nobody knows."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _kind_of(returned: object) -> str:
    """Words for what a function returned, such as a pair of alpha and something else."""
    name = type(returned).__name__
    return f"a {name} of {len(returned)} objects" if isinstance(returned, (tuple, list)) else f"a {name}"


Function = Callable[..., np.ndarray]
"""``function(problem, blocks, s, a0) -> a``, and ``function(problem, blocks, s, a0, log) -> a`` where a log
is declared; the arguments are described at `CallableSolver`."""


class CallableSolver:
    """Wrap a Python function that returns its final alpha, and fills a log if it can.

    With ``Declaration(log=True)`` every step is checked, from the log that the function writes. Without a
    log, a window lies between the results for H = ks and for H = (k+1)s. Every recorded iteration then
    costs a run from the start vector, and the function must give the same result for the same arguments.
    A window is best checked if a longer run has the bits of a shorter one at the end of each window. A
    function that forms all kernel rows in one matrix product rounds them otherwise. Its windows are checked
    from the beginning of the run, by wider bounds.

    `judge`, and `verify` of an object, set no time limit. ``module:object``, in ``sstep-verify check`` and
    `verify`, may take 600 s a run, or the ``time_limit`` of a campaign file (docs/campaign-file.md).

    Parameters
    ----------
    function : callable
        ``function(problem, blocks, s, a0)``, or ``function(problem, blocks, s, a0, log)`` if a log is
        declared. It makes one iteration for each row of `blocks` (int64, shape H x b; b = 1 for a K-SVM).
        It begins from `a0`, and returns alpha, both of shape (m,). `log` is a float64 array of shape (H,
        b), full of NaN. The function writes into ``log[k, j]`` the value that iteration k, counted from 0
        in every call, left in coordinate ``blocks[k, j]``. It writes the new value, not the increment, for
        every iteration, even if nothing changed. Every call gets arrays of its own. ``problem.data`` may be
        a `csr_array`; ``problem.dense`` is always an array of all values.
    declaration : Declaration
        How the function computes; the bounds are computed for exactly this. Its level is lowered to 1.

    Raises
    ------
    InputError
        If `function` is not callable, or takes a log and none is declared, or the reverse.

    Examples
    --------
    A classical solver of a linear K-SVM-L1; a window of any s has the same steps.

    >>> from sstep_verify import CallableSolver, Declaration, judge
    >>> from sstep_verify import Hinge, IndexStream, LinearKernel, Problem
    >>> def mine(problem, blocks, s, a0, log):
    ...     signed, C, alpha = problem.dense * problem.targets[:, None], problem.loss.C, a0.copy()
    ...     for k, (i,) in enumerate(blocks):
    ...         gradient = signed[i] @ (signed.T @ alpha) - 1
    ...         alpha[i] = log[k, 0] = min(max(alpha[i] - gradient / (signed[i] @ signed[i]), 0), C)
    ...     return alpha
    >>> data = [[1.0, 0.5], [0.5, 1.0], [1.5, 0.0], [0.0, 2.0]]
    >>> problem = Problem("small", data, [1, -1, 1, -1], LinearKernel(), Hinge(C=1.0))
    >>> stream = IndexStream("uniform", samples=4, block=1, length=20, seed=0)
    >>> print(judge(CallableSolver(mine, Declaration("mine", log=True)), problem, stream, s=1)[-1].status)
    PASS
    """

    def __init__(self, function: Function, declaration: Declaration):
        if not isinstance(declaration, Declaration):
            raise InputError(
                f"declaration = {declaration!r:.80} of type {type(declaration).__name__}; it must be a "
                "Declaration: CallableSolver(function, Declaration(name, ...))"
            )
        if not callable(function):
            raise InputError(f"{declaration.name}: {function!r} is not callable")
        _require_arguments(function, declaration)
        self._function = function
        self.declaration = replace(declaration, level=min(declaration.level, 1))

    @adapter
    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Call the function for each recorded iteration; `observe` is called there and may end the run.

        Raises
        ------
        InputError
            If what the function returns is no vector of m real numbers.
        """
        initial = start_vector(request, self.declaration.precision)
        logs: list[np.ndarray] = []

        def result(_alpha: np.ndarray, _begin: int, end: int) -> np.ndarray:
            blocks = np.array(request.blocks(0, end))
            arguments = (request.problem, blocks, request.s, initial.copy())
            if not self.declaration.log:
                return self._checked(called(self._function, *arguments), initial)
            logs.append(np.full(blocks.shape, np.nan))
            return self._checked(called(self._function, *arguments, logs[-1]), initial)

        made = record(request, initial, result, observe)
        if not (request.log and self.declaration.log):
            return made
        # No iterations are a log of no steps, and a function that is not called.
        return replace(made, log=logs[-1] if logs else np.empty((0, request.stream.block)))

    def _checked(self, returned: object, initial: np.ndarray) -> np.ndarray:
        if returned is None:
            raise ResultError(
                f"{self.declaration.name}: the function returned None; end it with `return alpha`, "
                f"the vector of {initial.size} numbers after the last iteration"
            )
        if isinstance(returned, np.ma.MaskedArray):
            raise ResultError(
                f"{self.declaration.name}: the function returned a masked array; it must be a plain one"
            )
        try:
            alpha = np.asarray(returned)
        except MemoryError:
            raise
        except Exception as error:  # Of a ragged list, or of whatever the object's own conversion does.
            raise ResultError(
                f"{self.declaration.name}: the function returned {_kind_of(returned)}, which makes no "
                f"array ({type(error).__name__}: {str(error)[:200]}); it must be a real vector of shape "
                f"{initial.shape}"
            ) from error
        if alpha.shape != initial.shape or alpha.dtype.kind not in "fiu":
            raise ResultError(
                f"{self.declaration.name}: the function returned an array of shape {alpha.shape} and type "
                f"{alpha.dtype}; it must be a real vector of shape {initial.shape}"
            )
        return alpha
