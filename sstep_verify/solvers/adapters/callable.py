"""Any function that returns a final vector, as a solver: it is run again up to every recorded iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.solver import Declaration, Observer, RunRequest
from sstep_verify.solvers.adapters.recording import record, start_vector
from sstep_verify.trajectory import Trajectory

Function = Callable[..., np.ndarray]
"""``function(problem, blocks, s, a0) -> a``: blocks (H, b) of int64, a0 and a of shape (m,).

With ``Declaration.log`` it is called with a fifth argument, an array (H, b) to be filled with the new value
of each drawn coordinate.
"""


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
        logs: list[np.ndarray] = []

        def result(_alpha: np.ndarray, _begin: int, end: int) -> np.ndarray:
            blocks = np.array(request.stream.blocks(request.start, request.start + end))
            arguments = (request.problem, blocks, request.s, initial.copy())
            if not self.declaration.log:
                return self._checked(self._function(*arguments), initial)
            logs.append(np.full(blocks.shape, np.nan))
            return self._checked(self._function(*arguments, logs[-1]), initial)

        made = record(request, initial, result, observe)
        return replace(made, log=logs[-1]) if request.log and logs else made

    def _checked(self, returned: object, initial: np.ndarray) -> np.ndarray:
        if isinstance(returned, np.ma.MaskedArray):
            raise InputError(
                f"{self.declaration.name}: the function returned a masked array; needed is a plain one"
            )
        alpha = np.asarray(returned)
        if alpha.shape != initial.shape or alpha.dtype.kind not in "fiu":
            raise InputError(
                f"{self.declaration.name}: the function returned an array of shape {alpha.shape} and type "
                f"{alpha.dtype}; needed is a real vector of shape {initial.shape}"
            )
        return alpha
