"""Any function that returns a final vector, as a solver: it is run again up to every recorded iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration, Observer, RunRequest
from sstep_verify.solvers.adapters.recording import record, start_vector
from sstep_verify.trajectory import Trajectory

Function = Callable[[Problem, np.ndarray, int, np.ndarray], np.ndarray]
"""``function(problem, blocks, s, a0) -> a``: blocks (H, b) of int64, a0 and a of shape (m,)."""


class CallableSolver:
    """A solver of level L1 made of one Python function that returns its final a only.

    A window of such a solver is what lies between its results for H = ks and for H = (k+1)s, so every
    recorded iteration costs a run from the start vector, and the function must give the same result
    for the same arguments.

    Parameters
    ----------
    function : callable
        ``function(problem, blocks, s, a0)`` makes the iterations whose blocks are the rows of
        `blocks` (int64, shape (H, b); b = 1 for a K-SVM) from `a0` and returns a, shape (m,). It gets
        copies of its own of both arrays.
    declaration : Declaration
        What the function is; the bounds are computed for exactly this. Its level is lowered to 1.

    Raises
    ------
    InputError
        If `function` is not callable.
    """

    def __init__(self, function: Function, declaration: Declaration):
        if not callable(function):
            raise InputError(f"{declaration.name}: {function!r} is not callable")
        self._function = function
        self.declaration = replace(declaration, level=min(declaration.level, 1))

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Call the function once per recorded iteration; `observe` is called there and may end it.

        Raises
        ------
        InputError
            If what the function returns is no vector of m real numbers.
        """
        initial = start_vector(request, self.declaration.precision)

        def result(_alpha: np.ndarray, _begin: int, end: int) -> np.ndarray:
            blocks = np.array(request.stream.blocks(request.start, request.start + end))
            returned = self._function(request.problem, blocks, request.s, initial.copy())
            return self._checked(returned, initial)

        return record(request, initial, result, observe)

    def _checked(self, returned: object, initial: np.ndarray) -> np.ndarray:
        alpha = np.asarray(returned)
        if alpha.shape != initial.shape or alpha.dtype.kind not in "fiu":
            raise InputError(
                f"{self.declaration.name}: the function returned an array of shape {alpha.shape} and type "
                f"{alpha.dtype}; needed is a real vector of shape {initial.shape}"
            )
        return alpha
