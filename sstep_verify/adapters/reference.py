"""The reference as a solver: its four algorithms in floating point, for a request."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np
from sstep_reference import (
    Kernel,
    SingularSystemError,
    bdcd_krr,
    dcd_ksvm,
    sstep_bdcd_krr,
    sstep_dcd_ksvm,
)
from sstep_reference.arithmetic import Float
from sstep_reference.bdcd_krr import block_system

from sstep_verify.adapters.callable import PRECISIONS, record, start_vector
from sstep_verify.declaration import Precision
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.trajectory import Trajectory

FORMS = ("sstep", "classical")


NAMED = 8
"""Coordinates of a block that an error names."""


class SingularBlockError(InputError, SingularSystemError):
    """The system of a drawn block of K-RR is not positive definite in the precision of the run."""


class ReferenceSolver:
    """Run the algorithms of the paper, line for line, in floating point; written to be read, not fast.

    Parameters
    ----------
    precision : {"float32", "float64"}
        Type of every number. In float32, data, targets, parameters and the start vector are first rounded
        to it. Recorded states are float64 arrays of float32 numbers; no state is rounded on its way out.
    form : {"sstep", "classical"}
        ``sstep`` runs Algorithms 2 and 4, with alpha frozen over a window. ``classical`` runs Algorithms 1
        and 3, which have no windows; s then only says where the states are recorded.

    Raises
    ------
    InputError
        If the precision or the form is unknown.

    Notes
    -----
    Kernel columns are kept from one run to the next of the same problem.

    Examples
    --------
    >>> from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, ReferenceSolver, RunRequest
    >>> problem = Problem("small", [[1.0, 0.0], [0.0, 2.0]], [1, -1], LinearKernel(), Hinge(C=1.0))
    >>> stream = IndexStream("cyclic", samples=2, block=1, length=4)
    >>> ReferenceSolver().run(RunRequest(problem, stream, s=2, iterations=4)).final.tolist()
    [1.0, 0.25]
    """

    def __init__(self, precision: str = "float64", form: str = "sstep"):
        if precision not in PRECISIONS:
            raise InputError(f"precision = {precision!r}; known: {', '.join(PRECISIONS)}")
        if form not in FORMS:
            raise InputError(f"form = {form!r}; known: {', '.join(FORMS)}")
        self._arithmetic = Float(precision)
        self._classical = form == "classical"
        self._kernel: tuple[str, Kernel] | None = None
        self.declaration = Declaration(
            name="reference",
            precision=cast(Precision, precision),
            update="in-place" if self._classical else "frozen",
            products="rows",
            rbf="difference",
            factorisation="ldl",
            log=True,
            options={"form": form},
        )

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it.

        Raises
        ------
        InputError
            If a value of the problem or of a0 is beyond the range of the precision.
        SingularBlockError
            If a block system of K-RR is not positive definite in this precision; there then is no
            trajectory, not even of the iterations before.
        """
        kernel = self._kernel_of(request.problem)

        log: list[Any] | None = [] if request.log else None

        def advance(alpha: np.ndarray, begin: int, end: int) -> np.ndarray:
            blocks = request.blocks(begin, end)
            try:
                return self._steps(request.problem, kernel, alpha, blocks, request.s, log)
            except SingularSystemError as error:
                raise self._singular_block(request.problem, kernel, blocks, begin, error) from error

        made = record(request, start_vector(request, self.declaration.precision), advance, observe)
        if log is None:
            return made
        return replace(made, log=np.array(log, dtype=np.float64).reshape(-1, request.stream.block))

    def _steps(
        self,
        problem: Problem,
        kernel: Kernel,
        alpha: Any,
        blocks: np.ndarray,
        s: int,
        log: list[Any] | None,
    ) -> np.ndarray:
        """State after the given blocks, which begin at a window's start, shape (m,)."""
        width = () if self._classical else (s,)
        if problem.is_svm:
            steps: Any = dcd_ksvm if self._classical else sstep_dcd_ksvm
            given: Any = problem.targets.tolist(), alpha, blocks.ravel().tolist()
            words: dict[str, Any] = {"loss": problem.hinge.task, "C": problem.hinge.C}
        else:
            steps = bdcd_krr if self._classical else sstep_bdcd_krr
            given, words = (problem.targets, alpha, blocks.tolist()), {"penalty": problem.ridge.penalty}
        state: np.ndarray = steps(self._arithmetic, kernel, *given, *width, **words, log=log)
        return state

    def _singular_block(
        self, problem: Problem, kernel: Kernel, blocks: np.ndarray, begin: int, error: SingularSystemError
    ) -> SingularBlockError:
        """The error, naming the first of some blocks whose system breaks down."""
        drawn = blocks.tolist()
        place = next(k for k, block in enumerate(drawn) if self._breaks_down(problem, kernel, block))
        named = ", ".join(map(str, drawn[place][:NAMED])) + (", ..." if len(drawn[place]) > NAMED else "")
        return SingularBlockError(
            f"{problem.label}: the block system K_BB/lambda + m I of iteration {begin + place + 1} "
            f"(coordinates {named}) is not positive definite in {self.declaration.precision}: {error}. "
            f"Take a larger lambda (here {problem.ridge.penalty:g}), a smaller block (here "
            f"b = {len(drawn[place])}) or more digits (precisions: {', '.join(PRECISIONS)})"
        )

    def _breaks_down(self, problem: Problem, kernel: Kernel, block: list[int]) -> bool:
        """Whether elimination of a block's system meets a bad pivot, whatever its right-hand side."""
        arithmetic = self._arithmetic
        with arithmetic.working():
            penalty = arithmetic.number(problem.ridge.penalty)
            system = block_system(arithmetic, kernel.columns(block), block, penalty, problem.samples)
            try:
                arithmetic.solve(system, arithmetic.vector([0] * len(block)))
            except SingularSystemError:
                return True
        return False

    def _kernel_of(self, problem: Problem) -> Kernel:
        """Kernel of a problem in this precision; the last one is kept with its columns."""
        if self._kernel is None or self._kernel[0] != problem.digest:
            description, data = problem.kernel, cast(Any, problem.dense)
            kernel = Kernel(self._arithmetic, data, description.name, **asdict(description))
            self._kernel = (problem.digest, kernel)
        return self._kernel[1]
