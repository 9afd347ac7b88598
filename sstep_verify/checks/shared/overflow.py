"""Whether numbers beyond the range of a run's precision are a fault of its solver."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.overflow import largest_number, largest_value
from sstep_verify.checks.shared.case import Case, plain_request
from sstep_verify.rounding.arithmetic import TYPES, rounded_problem
from sstep_verify.runs import asked_of
from sstep_verify.trajectory import Trajectory


def finite_promised(case: Case, trajectory: Trajectory) -> bool:
    """Whether no correct run can form a number that its precision does not hold."""
    asked = trajectory.asked or asked_of(plain_request(case, trajectory.s))
    rounded = rounded_problem(case.problem, case.formulas)
    if rounded is None:
        return False
    drawn = rounded, case.formulas, min(asked.s, max(asked.iterations, 1)), case.stream.block
    if trajectory.log is not None:
        logged = np.asarray(trajectory.log).ravel()
        first = np.argmin(np.isfinite(logged)) if not np.isfinite(logged).all() else logged.size
        before = np.concatenate([asked.initial, logged[:first]])
        largest = float(np.abs(before).max(initial=0.0))
    else:
        known = case.stream.known and case.stream.replacement
        draws = case.stream.blocks(asked.start, asked.start + asked.iterations) if known else None
        largest = largest_value(*drawn, asked.iterations, asked.initial, draws)
    return largest_number(*drawn, largest) < float(np.finfo(TYPES[case.formulas.precision]).max)
