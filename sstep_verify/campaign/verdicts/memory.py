"""What a case takes, stated before anything is run: what is kept whole, what is left out, what is refused.

Everything here follows from shapes alone, so that the same campaign does the same on every machine. A
figure is that of the largest arrays of each part, all parts taken to be held together; the interpreter and
its libraries, some 0.3 GiB, and what grows with m alone are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sstep_verify.campaign.verdicts.expand import CaseSpec
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.window_replay import replayable
from sstep_verify.errors import InputError
from sstep_verify.numerics import ROWS
from sstep_verify.oracle.facade import BALL, gibibytes, optimum_bytes
from sstep_verify.problems import Problem

CACHED_BALLS = 2_000_000
"""Entries that the exact kernel of an oracle keeps."""

ROW_ARRAYS = 10
"""Arrays of a window's kernel rows that are held at once where their bounds are made."""

STATE_MATRICES = 6
"""Matrices m x m that the drift bound of a carried state is made of."""


@dataclass(frozen=True)
class Memory:
    """Bytes that a case takes, by what they are for, and those that its process may take.

    `whole` says whether kernel matrix and optimum fit, the matrices of which take `matrices`: if not, gaps
    are measured by panels of kernel rows and relative to the dual value reached.
    """

    limit: int
    parts: dict[str, int]
    whole: bool
    matrices: int

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(self.parts.values())

    @property
    def words(self) -> str:
        """One line for reports and for the start of a run."""
        parts = ", ".join(f"{what} {gibibytes(size)}" for what, size in self.parts.items())
        line = f"about {gibibytes(self.total)} of {gibibytes(self.limit)} GiB a process ({parts})"
        if not self.whole:
            line += (
                f"; the optimum is not searched, which takes {gibibytes(self.matrices)} GiB: gaps by "
                "panels of kernel rows, relative to the dual value reached"
            )
        return line


def memory_of(spec: CaseSpec, case: Case) -> Memory:
    """What a case takes; see `Memory`.

    InputError if it is more than its family allows, or a check needs an optimum, or the drift of a carried
    state, that does not fit; the message names the figure and the ways out.
    """
    problem, family = case.problem, spec.family
    m, limit = problem.samples, family.memory_bytes
    matrix = 8 * m**2
    # The measure of a K-SVM keeps its kernel matrix as well.
    matrices = optimum_bytes(m, svm=problem.is_svm) + matrix * problem.is_svm
    parts = {"data": 8 * m * problem.features * (1 + problem.is_sparse), **_runs(spec, case)}
    left = limit - sum(parts.values())
    whole = matrices <= left
    parts["kernel matrices" if whole else "kernel panels"] = matrices if whole else 8 * m * 3 * ROWS
    found = Memory(limit, parts, whole, matrices)
    too_large = {}
    if not whole:
        too_large["optimum"] = matrices
    if case.declaration.state and STATE_MATRICES * matrix > left:
        too_large["residual-gap"] = STATE_MATRICES * matrix
    for check in family.checks:
        if check in too_large:
            raise InputError(
                f"{case.id}: check {check!r} needs {gibibytes(too_large[check])} GiB for m = {m}, but the "
                f"family allows {gibibytes(limit)} GiB a process in all; name its checks without "
                f"{check!r} (checks = [...]), or raise it (memory = GiB)"
            )
    if found.total > limit:
        raise InputError(
            f"{case.id}: takes {found.words}; raise it (memory = GiB), or lower replay_limit, drift or s"
        )
    return found


def require_cache(spec: CaseSpec, case: Case) -> None:
    """Raise InputError if the cache of kernel rows cannot hold those of one window."""
    family, m = spec.family, case.problem.samples
    needed = min(max(case.s_values) * spec.block, m)
    if 0 < family.cache < needed * m:
        raise InputError(
            f"{case.id}: cache = {family.cache} words, but the {needed} kernel rows of {m} values that a "
            f"window of s = {max(case.s_values)} may need take {needed * m}; raise it to that, lower s, or "
            "set cache = 0"
        )


def _runs(spec: CaseSpec, case: Case) -> dict[str, int]:
    """Bytes of windows, of the recorded dual vectors, and of what else the family asks for."""
    family, m = spec.family, case.problem.samples
    replayed = [min(s * spec.block, m) for s in case.s_values if replayable(case, s)]
    drawn = max((min(s * spec.block, m) for s in case.s_values), default=0)
    parts = {
        "windows": 8 * m * (drawn + ROW_ARRAYS * max(replayed, default=0))
        + BALL * min(CACHED_BALLS, m * m),
        "recorded vectors": 8 * m * sum(2 * len(points) for points in case.points.values()),
    }
    if family.keep_gram:
        parts["Gram matrix of the solver"] = 8 * m**2
    if family.drift:
        updates = min(family.drift // spec.block, family.iterations) * spec.block
        # At two precisions, one after the other.
        parts["exact trajectory"] = BALL * m * min(updates, m)
    return parts


def out_of_range(problem: Problem) -> str:
    """Why float64 cannot hold the numbers of a problem; empty if it can.

    No correct run says anything where the largest value that the dual objective may take, m^2 K_ii times
    C^2 (K-SVM) or over lambda (K-RR), is beyond the largest number.
    """
    with np.errstate(over="ignore"):
        data: Any = problem.data
        squares = np.asarray((data * data).sum(axis=1))
        largest = np.float64(problem.kernel.largest(float(squares.max())))
        factor = (
            np.float64(problem.hinge.C) ** 2 if problem.is_svm else 1 / np.float64(problem.ridge.penalty)
        )
        reached = largest * factor * float(problem.samples) ** 2
    if np.isfinite(reached):
        return ""
    return (
        f"kernel entries reach {largest:.3g}, so with m = {problem.samples} and the parameter given the "
        "objective is beyond the range of float64 (1.8e308); scale the data or the parameter"
    )
