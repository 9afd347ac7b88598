"""Runs of a drawn solver in a legal order, judged by every check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.checks.contract import CHECK as CONTRACT
from sstep_verify.checks.metamorphic_exact import CHECK as SAME_BITS
from sstep_verify.checks.registry import CHECKS, checks_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import InputError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.power.alarms.comparisons import Comparison, told_of
from sstep_verify.power.alarms.legal_draws import TYPES, Drawn
from sstep_verify.power.alarms.legal_orders import Sums, kernel_matrix, made_window
from sstep_verify.problems import IndexStream
from sstep_verify.solver import Observer, RunRequest
from sstep_verify.solvers.adapters.recording import record, start_vector
from sstep_verify.trajectory import Trajectory

BY_VALUE = ("shuffled", "ascending")
"""Orders that depend on the terms themselves, or on what was summed before: bits may differ."""

LONGEST = 24
"""Iterations of a run at most."""


class LegalSolver:
    """The solver of a draw, as one of level L2.

    Parameters
    ----------
    drawn : Drawn
        What is drawn; of its stream only the length counts, which is s.
    """

    def __init__(self, drawn: Drawn):
        self._drawn, self.declaration = drawn, replace(drawn.declaration, probes=False)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it.

        Raises
        ------
        InputError
            If a factorisation fails.
        """
        drawn = replace(self._drawn, problem=request.problem)
        rng = np.random.Generator(np.random.PCG64(0))  # the same bits again from the same request
        sums = Sums(TYPES[self.declaration.precision], drawn.order, rng)
        matrix, log = kernel_matrix(drawn, sums), list[Any]()

        def advance(alpha: np.ndarray, begin: int, end: int) -> np.ndarray:
            draws = request.stream.blocks(request.start + begin, request.start + end)
            for first in range(0, len(draws), request.s):
                blocks = draws[first : first + request.s]
                alpha, steps = made_window(drawn, sums, matrix, np.asarray(alpha), blocks)
                if len(steps) < len(blocks):
                    raise InputError(f"{request.problem.name}: a factorisation failed")
                log.extend(step[0] for step in steps)
            return alpha

        made = record(request, start_vector(request, self.declaration.precision), advance, observe)
        if not request.log:
            return made
        return replace(made, log=np.array(log, dtype=np.float64).reshape(-1, request.stream.block))


def by_all_checks(drawn: Drawn, length: int) -> tuple[Comparison, ...]:
    """What the checks say of a run of so many iterations; nothing if it could not be made."""
    solver, block = LegalSolver(drawn), drawn.stream.block
    samples, s = drawn.problem.samples, min(drawn.stream.length, length)
    stream = IndexStream("uniform", samples=samples, block=block, length=length, seed=drawn.stream.seed)
    case = Case("drawn", drawn.problem, stream, (s,), length, solver.declaration, initial=drawn.start)
    left_out = {CONTRACT} | ({SAME_BITS} if drawn.order in BY_VALUE else set())
    names = (CONTRACT, *(name for name in CHECKS if name not in left_out))
    with np.errstate(all="ignore"):
        return told_of(case, solver, checks_of(names), Oracle(drawn.problem))[0]
