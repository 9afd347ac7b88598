"""The window oracle of one problem: exact replays, at any precision, kernels made once per precision."""

from __future__ import annotations

import numpy as np
from sstep_reference import Kernel
from sstep_reference.arithmetic import Balls

from sstep_verify.oracle.exact_kernel import exact_kernel
from sstep_verify.oracle.replay import Replay
from sstep_verify.oracle.replay_ridge import replay_ridge_window
from sstep_verify.oracle.replay_svm import replay_svm_window
from sstep_verify.problems import Problem

FIRST_BITS = 192
"""Precision a replay begins with: 139 bits beyond float64, room for the radii to grow in a window."""

MOST_BITS = 6144
"""Precision at which a replay that is still too wide is given up: INCONCLUSIVE."""


class WindowOracle:
    """Replays windows of problems that share data and kernel.

    Parameters
    ----------
    problem : Problem
        Any of the problems; its data and kernel are used.
    """

    def __init__(self, problem: Problem):
        self._problem = problem
        self._kernels: dict[int, Kernel] = {}

    def replay(
        self,
        problem: Problem,
        begin: np.ndarray,
        end: np.ndarray,
        draws: np.ndarray,
        bits: int = FIRST_BITS,
    ) -> Replay:
        """Replay one window exactly; begin and end (m,), draws (s, b).

        Returns
        -------
        Replay
        """
        if bits not in self._kernels:
            self._kernels[bits] = exact_kernel(self._problem, Balls(bits))
        kernel = self._kernels[bits]
        if problem.is_svm:
            return replay_svm_window(problem, kernel, begin, end, draws.ravel())
        return replay_ridge_window(problem, kernel, begin, end, draws)
