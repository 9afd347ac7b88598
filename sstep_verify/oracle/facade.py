"""The oracle of a group of cases: truth on request, with what is costly made once and kept.

It computes with balls of Arb; that of `evaluated` answers the same from mpmath.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from sstep_reference import Kernel, SingularSystemError  # the package in reference/
from sstep_reference.arithmetic import Arithmetic, Balls

from sstep_verify.oracle.balls.exact_kernel import (
    Followed,
    PanelColumns,
    exact_kernel,
    step_error,
)
from sstep_verify.oracle.balls.objectives import BITS, exact_drift, exact_values
from sstep_verify.oracle.balls.objectives import Interval as Reported
from sstep_verify.oracle.certificate.optimum import RidgeOptimum, SvmOptimum, ridge_optimum, svm_optimum
from sstep_verify.oracle.replay import Replay, replay_window
from sstep_verify.oracle.trajectories import EnclosedTrajectory, enclosed_trajectory, mutated_states
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.recurrence.mutation import Before, Mutation
from sstep_verify.trajectory import Panel

FIRST_BITS = 192
"""Precision a replay begins with: 139 bits beyond float64, room for the radii to grow in a window."""

MOST_BITS = 6144
"""Precision at which a replay that is still too wide is given up: INCONCLUSIVE."""

KERNEL, ROWS = "kernel", "judge's rows"
"""First of what exact kernels, and kernel rows of the judge of steps, are kept by."""

Made = TypeVar("Made")


class Oracle:
    """Truth about problems that share data and kernel.

    Parameters
    ----------
    problem : Problem
        Any of the problems; its data and kernel are used.

    Attributes
    ----------
    name : str
        The name by which it is chosen.
    encloses : bool
        Whether what it says of exact values is proved. Certificates need that.
    """

    name: ClassVar[str] = "arb"
    encloses: ClassVar[bool] = True

    def __init__(self, problem: Problem):
        self._problem = problem
        self._kept: dict[Hashable, Any] = {}
        self._before: dict[Hashable, Any] = {}
        self._owned: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` returns, made once for all cases that share data and kernel."""
        if key not in self._kept:
            self._kept[key] = self._before.pop(key) if key in self._before else make()
        return self._kept[key]

    def kept_of(self, owner: object, make: Callable[[], Made]) -> Made:
        """What `make` returns, made once and kept as long as what it is about, such as a case."""
        if owner not in self._owned:
            self._owned[owner] = make()
        return self._owned[owner]

    def passed_on(self, kinds: Iterable[str]) -> dict[Hashable, Any]:
        """What was asked for by keys that begin with one of some words, for the next oracle."""
        wanted = {*kinds}
        keyed = ((key, made) for key, made in self._kept.items() if isinstance(key, tuple))
        return {key: made for key, made in keyed if key[0] in wanted}

    def take_over(self, made: Mapping[Hashable, Any]) -> None:
        """Have at hand what an oracle of the same name and problem passed on."""
        self._before |= made

    def forget(self) -> None:
        """Keep nothing of what was made."""
        self._kept.clear()
        self._before.clear()

    def of(self, problem: Problem) -> Oracle:
        """An oracle of the same kind about another problem."""
        return type(self)(problem)

    def arithmetic(self, bits: int) -> Arithmetic:
        """The numbers it computes with, at some precision."""
        return Balls(bits)

    def kernel(self, bits: int) -> Kernel:
        """The exact kernel over numbers of some precision, made once."""
        return self.kept((KERNEL, bits), lambda: exact_kernel(self._problem, self.arithmetic(bits)))

    @np.errstate(over="ignore", invalid="ignore")  # effects and errors beyond float64 are infinite
    def replay(
        self,
        problem: Problem,
        begin: np.ndarray,
        end: np.ndarray,
        draws: np.ndarray,
        bits: int = FIRST_BITS,
        weights: np.ndarray | None = None,
        before: Before | None = None,
    ) -> Replay:
        """Replay one window exactly (`replay_window`), with so many bits.

        Its exact end is made by oracle/window_ends.py. For a K-SVM it comes from the reference
        (reference/sstep_reference/dcd_ksvm.py), for a K-RR from the recurrence (recurrence/steps.py).
        Maintained weights and mpmath differ: see `replay_window`.

        More bits are taken where no fewer prove a block system of K-RR, which is ``>= m I``, to be
        invertible; it is a SingularSystemError if `MOST_BITS` do not prove it.
        """
        return self._proven(
            bits, lambda kernel: replay_window(problem, kernel, begin, end, draws, weights, before)
        )

    def enclosed(
        self, problem: Problem, initial: np.ndarray, draws: np.ndarray, at: Iterable[int]
    ) -> EnclosedTrajectory:
        """The classical trajectory with the error of every step (`enclosed_trajectory`), by such bits."""
        return self._proven(
            FIRST_BITS, lambda kernel: enclosed_trajectory(problem, kernel, initial, draws, at)
        )

    def mutated(
        self,
        problem: Problem,
        initial: np.ndarray,
        draws: np.ndarray,
        s: int,
        at: Iterable[int],
        mutations: Sequence[Mutation],
    ) -> list[dict[int, Any]]:
        """Runs of mutants (`mutated_states`), at a precision that `replay` would take."""
        return self._proven(
            FIRST_BITS, lambda kernel: mutated_states(problem, kernel, initial, draws, s, at, mutations)
        )

    def _proven(self, bits: int, make: Callable[[Kernel], Made]) -> Made:
        """What `make` returns of the kernel at the fewest bits, from some on, that prove its systems."""
        while True:
            try:
                return make(self.kernel(bits))
            except SingularSystemError:
                if bits >= MOST_BITS:
                    raise
                bits *= 2

    def replay_panel(
        self,
        problem: Problem,
        panel: Panel,
        begin: np.ndarray,
        end: np.ndarray,
        draws: np.ndarray,
        bits: int = FIRST_BITS,
    ) -> Replay | None:
        """The same over a panel of other rows, whose entries must be finite, instead of the kernel.

        K-RR is measured per coordinate, not in the M-norm. None where a block system cannot be proven
        invertible at this precision.
        """
        kernel = PanelColumns(self.arithmetic(bits), panel)
        try:
            return replay_window(problem, kernel, begin, end, draws)
        except SingularSystemError:
            return None

    def step_error(
        self,
        problem: Problem,
        before: np.ndarray,
        after: np.ndarray,
        draws: np.ndarray,
        bits: int = FIRST_BITS,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Enclose what is wrong about one stored step (`step_error`); a (m,), draws and ends (b,)."""
        kernel = self.kernel(bits)
        followed = self.kept(("followed", bits), lambda: Followed(kernel.arithmetic))
        return step_error(problem, kernel, before, after, draws, followed)

    def values(
        self, problem: Problem, alphas: Sequence[np.ndarray], bits: int = BITS
    ) -> list[dict[str, Reported]]:
        """Intervals of what a solver may report about its dual vectors (`exact_values`)."""
        return exact_values(problem, alphas, bits)

    def drift(
        self, problem: Problem, alphas: Sequence[np.ndarray], weights: Sequence[np.ndarray]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Intervals of the distance of maintained weights from those of each a (`exact_drift`)."""
        return exact_drift(problem, alphas, weights)

    def ridge_optimum(self, problem: Problem) -> RidgeOptimum:
        """The solution of a K-RR, with a proven distance from the exact one."""
        return self.kept(("optimum", problem.ridge), lambda: ridge_optimum(problem))

    def svm_optimum(self, problem: Problem) -> SvmOptimum:
        """An enclosure of the optimal value of a K-SVM."""
        return self.kept(("optimum", problem.hinge), lambda: svm_optimum(problem))

    def trajectory(
        self, problem: Problem, stream: IndexStream, iterations: int, at: Iterable[int]
    ) -> EnclosedTrajectory:
        """Enclose a trajectory that begins at zero; InputError if stream or iteration does not fit."""
        wanted = tuple(at)
        RunRequest(problem, stream, 1, iterations, record=wanted)  # Refuses what does not fit.
        return self.enclosed(problem, np.zeros(problem.samples), stream.blocks(0, iterations), wanted)
