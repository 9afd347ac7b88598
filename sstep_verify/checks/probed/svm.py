"""Recorded quantities of the steps of a K-SVM against the judge's."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.probed import recorded_constants, svm_curvature_bounds, svm_increments
from sstep_verify.bounds.step.svm_constants import svm_step_constants
from sstep_verify.checks.probed.compared import CURVATURE, GRADIENT, INCREMENT, Compared, compared
from sstep_verify.checks.probed.run import ProbedRun, stored_values
from sstep_verify.quantities import CURVATURE as DIAGONAL
from sstep_verify.quantities import KERNEL, LABELS, LOWER, OMEGA, SAME, STALE, UPPER

BOTH, TURNED = "correction-dropped", "sign of the increment"
"""Both corrections left out; the increment with the other sign."""


def svm_quantities(run: ProbedRun, gradient: np.ndarray, gradient_bound: np.ndarray) -> list[Compared]:
    """Compare all that a run of a K-SVM recorded of its steps.

    Parameters
    ----------
    run : ProbedRun
        The run.
    gradient, gradient_bound : ndarray, shape (H, 1)
        The judge's gradients, and how far the run's may be from them.
    """
    case, probes, loss = run.case, run.probes, run.case.problem.hinge
    samples = case.problem.samples
    constants = svm_step_constants(case.declaration, samples, samples, run.width, loss.shift, loss.upper)
    parts, diagonal, error, values = _parts(run)
    found = []
    if probes.gradient is not None:
        found.append(compared(GRADIENT, run.formed, probes.gradient, gradient, gradient_bound, parts))
    if probes.curvature is not None:
        bound = svm_curvature_bounds(diagonal, error, loss.shift, constants)
        eta = diagonal + loss.shift
        missing = {DIAGONAL: eta} | ({OMEGA: np.full_like(eta, -loss.shift)} if loss.shift else {})
        recorded = probes.curvature.reshape(eta.shape)
        found.append(compared(CURVATURE, run.formed, recorded, eta, bound, missing))
    if probes.increment is not None:
        found += _increments(run, values, constants, gradient)
    return found


def _parts(run: ProbedRun) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """What leaving a part of each gradient out adds to it; K_ii, its errors, and a_i before each step."""
    labels, shift = run.case.problem.targets, run.case.problem.hinge.shift
    shape = (run.steps, 1)
    stale, whole, own, values, diagonal, error = (np.zeros(shape) for _ in range(6))
    with np.errstate(over="ignore", invalid="ignore"):
        for window, start, before, entries in run.walked():
            drawn = run.draws[window, 0]
            steps = np.arange(drawn.size)
            signed = entries.values * labels[drawn][:, None] * labels
            stale[window, 0] = signed @ start
            whole[window, 0] = (signed * before).sum(axis=1)
            diagonal[window, 0] = entries.values[steps, drawn]
            error[window, 0] = (entries.solver + entries.own)[steps, drawn]
            values[window, 0] = before[steps, drawn]
            own[window, 0] = diagonal[window, 0] * (before[steps, drawn] - start[drawn])
        parts = {STALE: -stale, LABELS: -2.0 * whole}
        if run.width > 1:
            parts |= {BOTH: stale - whole, KERNEL: -(whole - stale - own), SAME: -own}
    if shift:
        parts[OMEGA] = -shift * values
    return parts, diagonal, error, values


def _increments(run: ProbedRun, values: np.ndarray, constants, gradient: np.ndarray) -> list[Compared]:
    """The increments, and the new values; each as far as it rests on what is recorded."""
    probes, upper = run.probes, run.case.problem.hinge.upper
    assert probes.increment is not None
    whole = probes.gradient is not None and probes.curvature is not None
    g = gradient if probes.gradient is None else probes.gradient
    eta = np.ones_like(g) if probes.curvature is None else probes.curvature.reshape(g.shape)
    used = tuple(np.ascontiguousarray(one[:, 0], dtype=np.float64) for one in (g, eta, probes.increment))
    bounds = np.zeros((4, run.steps))
    svm_increments(
        np.array(run.trajectory.alphas[0], dtype=np.float64),
        (np.ascontiguousarray(run.draws[:, 0]), np.ascontiguousarray(run.log[:, 0]), run.width),
        used,
        (upper, constants.upper_error),
        (constants, recorded_constants(constants)),
        bounds,
    )
    stored = stored_values(run, values, bounds[2][:, None], bounds[3][:, None])
    if not whole:
        return [stored]
    with np.errstate(all="ignore"):
        free = values - g / eta
        own = np.clip(free, 0.0, upper) - values
        own = np.where((eta == 0.0) & (g < 0.0), upper - values, own)
        beyond = free - np.clip(free, 0.0, upper)
    missing = {TURNED: -2.0 * own, LOWER: np.minimum(beyond, 0.0)}
    if np.isfinite(upper):
        missing[UPPER] = np.maximum(beyond, 0.0)
    missing = {name: np.nan_to_num(change, nan=0.0) for name, change in missing.items()}
    return [compared(INCREMENT, run.formed, probes.increment, own, bounds[1][:, None], missing), stored]
