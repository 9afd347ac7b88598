"""What a run recorded of its steps against what the judge of steps formed in the same places."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.clip import ClipConstants
from sstep_verify.bounds.step.probed import (
    OWN,
    clip_increments,
    curvature_bounds,
    recorded_constants,
    solve_increment,
)
from sstep_verify.bounds.step.residual import SolveConstants
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import ratios
from sstep_verify.checks.steps.judged import NOTHING, StepJudge
from sstep_verify.checks.steps.probed import (
    CURVATURE,
    GRADIENT,
    INCREMENT,
    ROWS,
    STORED,
    Compared,
    compared,
)
from sstep_verify.checks.steps.tally import NAMES, label_effect
from sstep_verify.oracle.facade import Oracle
from sstep_verify.quantities import CURVATURE as SYSTEM
from sstep_verify.quantities import (
    KERNEL,
    LABELS,
    LOWER,
    OFF_DIAGONAL,
    OMEGA,
    PENALTY,
    SAME,
    SAMPLES,
    STALE,
    UPPER,
    WRITE_BACK,
)
from sstep_verify.rounding.arithmetic import (
    OUTWARD,
    largest_normal,
    norm_lower,
    norm_upper,
    smallest_subnormal,
)
from sstep_verify.trajectory import Trajectory

BOTH, TURNED = "correction-dropped", "sign of the increment"
"""Both corrections left out; the increment with the other sign."""


class ProbedRun:
    """A logged run with probes, of the right shapes, beside what the judge formed in its steps' places."""

    def __init__(self, case: Case, trajectory: Trajectory, oracle: Oracle):
        assert trajectory.log is not None
        assert trajectory.probes is not None
        judge = StepJudge(case, oracle)
        self.case, self.probes = case, trajectory.probes
        self.steps, self.width, self.block = trajectory.length, trajectory.s, case.stream.block
        self.draws = case.stream.blocks(trajectory.start, trajectory.start + self.steps)
        self.log = np.ascontiguousarray(trajectory.log, dtype=np.float64)
        self.constants = judge.constants(self.width)
        self.formed, self.entries = judge.formed(trajectory), judge.rows.entries(self.draws.ravel())

    def quantities(self) -> list[Compared]:
        """All that the run recorded of its steps, in the order in which a step forms it."""
        gradient, curvature, increment = self.probes.gradient, self.probes.curvature, self.probes.increment
        parts, bound = [_rows(self)], _curvature_bound(self)
        if gradient is not None:
            parts.append(_gradient(self, gradient))
        if curvature is not None:
            parts.append(_curvature(self, curvature, bound))
        if increment is not None:
            if gradient is not None and curvature is not None:
                if self.case.problem.is_svm:
                    parts.append(_clipped(self, gradient, curvature, increment))
                else:
                    parts.append(_solved(self, gradient, curvature, increment, bound))
            parts.append(_stored(self, increment))
        return parts


def malformed(case: Case, trajectory: Trajectory) -> str:
    """What a run with probes lacks, or has in another shape; empty where it lacks nothing."""
    probes, steps, block = trajectory.probes, trajectory.length, case.stream.block
    if probes is None or trajectory.log is None:
        return (
            f"{case.declaration.name} declares that it writes down what its steps use, but the run did not"
        )
    shapes = {
        "log": (trajectory.log, (steps, block)),
        "rows": (probes.rows, (steps, block, case.problem.samples)),
        "gradient": (probes.gradient, (steps, block)),
        "curvature": (probes.curvature, (steps, block, block)),
        "increment": (probes.increment, (steps, block)),
    }
    for name, (values, shape) in shapes.items():
        if values is not None and np.shape(values) != shape:
            return f"the {name} of the steps has the shape {np.shape(values)} instead of {shape}"
    return ""


def _rows(run: ProbedRun) -> Compared:
    """The kernel rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        bound = run.entries.solver_error + run.entries.judge_error
    shape = run.probes.rows.shape
    return compared(ROWS, run.probes.rows, run.entries.values.reshape(shape), bound.reshape(shape))


def _gradient(run: ProbedRun, gradient: np.ndarray) -> Compared:
    """Gradients; of a K-RR right-hand sides, from which the product with a is taken away."""
    formed, problem = run.formed, run.case.problem
    sign = 1.0 if problem.is_svm else -1.0
    with np.errstate(over="ignore", invalid="ignore"):
        effects = {name: -sign * formed.effects[:, NAMES.index(name)] for name in (STALE, KERNEL, SAME)}
        left_out = {STALE: effects[STALE]}
        if problem.loss.labelled:
            same = formed.effects[:, NAMES.index(SAME)]
            left_out[LABELS] = -2.0 * label_effect(formed.product, same)
        elif not problem.is_svm:
            left_out[SAMPLES] = problem.samples * formed.value
        if run.width > 1:
            left_out |= {BOTH: effects[KERNEL] + effects[SAME], **effects}
        if problem.is_svm and problem.boxed.shift:
            left_out[OMEGA] = -problem.boxed.shift * formed.value
    return compared(GRADIENT, gradient, formed.gradient, formed.gradient_bound, left_out)


def _curvature_bound(run: ProbedRun) -> np.ndarray:
    """Bounds on the curvature of each step, shape (H, b, b)."""
    constants, formed = run.constants, run.formed
    sums = constants.sums
    if isinstance(constants, ClipConstants):
        underflow, largest = constants.underflow_error * (constants.shift > 0.0), sums.largest
    else:
        underflow = 4.0 * smallest_subnormal(run.case.declaration.precision)
        largest = sums.largest if constants.penalty * sums.largest >= 1.0 else NOTHING
    return curvature_bounds(formed.curvature, formed.curvature_error, sums.u, underflow, largest)


def _curvature(run: ProbedRun, curvature: np.ndarray, bound: np.ndarray) -> Compared:
    """Curvatures; of a K-RR block systems."""
    expected, problem = run.formed.curvature, run.case.problem
    left_out = {SYSTEM: expected}
    if not problem.is_svm:
        diagonal = np.broadcast_to(np.eye(run.block) * problem.samples, expected.shape)
        left_out |= {SAMPLES: -diagonal, PENALTY: (diagonal - expected) / 2}
        if run.block > 1:
            left_out[OFF_DIAGONAL] = np.where(np.eye(run.block, dtype=bool), 0.0, -expected)
    elif problem.boxed.shift:
        left_out[OMEGA] = np.full_like(expected, -problem.boxed.shift)
    return compared(CURVATURE, curvature, expected, bound, left_out)


def _clipped(
    run: ProbedRun, gradient: np.ndarray, curvature: np.ndarray, increment: np.ndarray
) -> Compared:
    """The increments of a K-SVM, each as far as it rests on the gradient and the curvature recorded."""
    constants, increments = run.constants, np.zeros((3, run.steps))
    assert isinstance(constants, ClipConstants)
    linear = run.case.problem.linear[run.draws]
    used = tuple(np.asarray(values, dtype=np.float64).ravel() for values in (gradient, curvature, linear))
    clip_increments(run.formed, used, constants, recorded_constants(constants), increments)
    expected, bound, beyond = increments
    left_out = {TURNED: -2.0 * expected, LOWER: np.minimum(beyond, 0.0)}
    if np.isfinite(constants.box.upper):
        left_out[UPPER] = np.maximum(beyond, 0.0)
    return compared(INCREMENT, increment, expected, bound, left_out)


def _solved(
    run: ProbedRun,
    gradient: np.ndarray,
    curvature: np.ndarray,
    increment: np.ndarray,
    curvature_bound: np.ndarray,
) -> Compared:
    """The increments of a K-RR, by what they leave of the run's own right-hand sides."""
    left, most, turned = np.zeros(run.steps), np.full(run.steps, np.inf), np.zeros(run.steps)
    explained = np.zeros(run.steps, dtype=bool)
    constants = run.constants
    assert isinstance(constants, SolveConstants)
    for step in range(run.steps):
        r, system, change = gradient[step], curvature[step], increment[step]
        if not (np.abs(system - run.formed.curvature[step]) <= curvature_bound[step]).all():
            continue  # Of a wrong system nothing is promised.
        given = norm_upper(curvature_bound[step])
        left[step], most[step] = solve_increment(r, system, change, given, constants)
        other, bound = solve_increment(r, system, -change, given, constants)
        explained[step] = other <= bound < np.inf
        with np.errstate(invalid="ignore", over="ignore"):
            turned[step] = 2.0 * norm_lower(system @ change)
    effects = {TURNED: np.nan_to_num(ratios(turned, most), nan=0.0, posinf=np.inf)}
    return Compared(INCREMENT, left[:, None], most[:, None], None, None, effects, {TURNED: explained})


def _stored(run: ProbedRun, increment: np.ndarray) -> Compared:
    """What became of a: the new values logged, against the recorded increments."""
    values = run.formed.value
    with np.errstate(invalid="ignore", over="ignore"):
        change = run.log - values
        distance, bound = np.abs(increment - change), run.formed.increment_error + OWN * np.abs(change)
        # No sum of these overflows, so that what is stored is a number.
        known = np.abs(values) + np.abs(increment) <= largest_normal(run.case.declaration.precision)
        expected = values + increment
    stored = np.isfinite(run.log)
    distance, bound = np.where(stored, distance, np.inf), np.where(stored, bound * OUTWARD, 0.0)
    bound = np.where(known & ~np.isnan(bound), bound, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        dropped = ratios(np.abs(increment), bound).max(axis=1)
    unchanged = {WRITE_BACK: (run.log == values).all(axis=1)}
    effects = {WRITE_BACK: np.nan_to_num(dropped, nan=0.0, posinf=np.inf)}
    return Compared(STORED, distance, bound, run.log, expected, effects, unchanged)
