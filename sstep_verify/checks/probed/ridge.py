"""Recorded quantities of the block steps of a K-RR against the judge's."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.ridge_inputs import RidgeInputs, ridge_inputs
from sstep_verify.bounds.step.probed import OWN, ridge_increment, ridge_system
from sstep_verify.bounds.step.ridge import ridge_step_constants
from sstep_verify.bounds.step.slack import ridge_slack
from sstep_verify.checks.probed.compared import (
    CURVATURE,
    GRADIENT,
    INCREMENT,
    Compared,
    compared,
    reduced,
)
from sstep_verify.checks.probed.run import ProbedRun, stored_values
from sstep_verify.checks.probed.svm import BOTH, TURNED
from sstep_verify.checks.shared.finding import ratios
from sstep_verify.numerics.rounding import OUTWARD, least_length, length
from sstep_verify.quantities import CURVATURE as SYSTEM
from sstep_verify.quantities import KERNEL, OFF_DIAGONAL, PENALTY, SAME, SAMPLES, STALE


def ridge_quantities(run: ProbedRun, right: np.ndarray, right_bound: np.ndarray) -> list[Compared]:
    """Compare all that a run of a K-RR recorded of its steps.

    Parameters
    ----------
    run : ProbedRun
        The run.
    right, right_bound : ndarray, shape (H, b)
        The judge's right-hand sides, and how far the run's may be from them.
    """
    case, probes, found = run.case, run.probes, []
    inputs = ridge_inputs(case.problem.ridge.penalty, case.problem.targets, case.declaration)
    parts, systems, bounds, values = _parts(run, inputs)
    if probes.gradient is not None:
        found.append(compared(GRADIENT, run.formed, probes.gradient, right, right_bound, parts))
    block = run.block
    if probes.curvature is not None:
        flat = (run.steps, block * block)
        diagonal = np.eye(block) * case.problem.samples
        missing = {
            SYSTEM: systems.reshape(flat),
            SAMPLES: np.broadcast_to(-diagonal, systems.shape).reshape(flat),
            PENALTY: ((diagonal - systems) / 2).reshape(flat),
        }
        if block > 1:
            missing[OFF_DIAGONAL] = np.where(np.eye(block, dtype=bool), 0.0, -systems).reshape(flat)
        recorded = probes.curvature.reshape(flat)
        found.append(
            compared(CURVATURE, run.formed, recorded, systems.reshape(flat), bounds.reshape(flat), missing)
        )
    if probes.increment is not None:
        found += _increments(run, inputs, bounds, systems, values)
    return found


def _parts(
    run: ProbedRun, inputs: RidgeInputs
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """What leaving a part out of each right-hand side adds; systems G, bounds, values before each step."""
    case, shape, scale = run.case, (run.steps, run.block), 1.0 / inputs.penalty
    samples, precision = case.problem.samples, case.declaration.precision
    stale, whole, own, values = (np.zeros(shape) for _ in range(4))
    systems, bounds = np.zeros((2, *shape, run.block))
    with np.errstate(over="ignore", invalid="ignore"):
        for window, start, before, entries in run.walked():
            drawn = run.draws[window]
            every = before[np.repeat(np.arange(len(before)), run.block)]
            stale[window] = (entries.values @ start).reshape(drawn.shape) * scale
            whole[window] = (entries.values * every).sum(axis=1).reshape(drawn.shape) * scale
            flat = drawn.ravel()
            places = np.arange(flat.size)
            held = every[places, flat]
            values[window] = held.reshape(drawn.shape)
            moved = entries.values[places, flat] * (held - start[flat]) * scale
            own[window] = moved.reshape(drawn.shape)
            for step, block in zip(range(window.start, window.stop), drawn, strict=True):
                at = (step - window.start) * run.block
                among = entries.at(np.arange(at, at + run.block)).among(block)
                systems[step], bounds[step] = ridge_system(among, inputs, precision, samples)
    parts = {STALE: stale, SAMPLES: samples * values}
    if run.width > 1:
        parts |= {BOTH: whole - stale, KERNEL: whole - stale - own, SAME: own}
    return parts, systems, bounds, values


def _increments(run: ProbedRun, inputs, bounds, systems, values) -> list[Compared]:
    """The increments, by what they leave of the run's own right-hand sides, and the new values."""
    case, probes = run.case, run.probes
    assert probes.increment is not None
    constants = ridge_step_constants(
        case.declaration, case.problem.samples, case.problem.samples, run.width, run.block
    )
    slack, size = np.zeros((2, run.steps, run.block))
    for window in run.windows():
        moved: dict[int, float] = {}
        drawn: dict[int, int] = {}
        for step in range(window.start, window.stop):
            for place, i in enumerate(run.draws[step].tolist()):
                value, logged = float(values[step, place]), float(run.log[step, place])
                change = abs(logged - value)
                so_far = moved.get(i, abs(value))
                drawn[i] = drawn.get(i, 0) + 1
                slack[step, place] = ridge_slack(constants, drawn[i], so_far, change, logged)
                size[step, place], moved[i] = change, so_far + change
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(probes.increment - (run.log - values))
        stored = stored_values(run, values, distance, (slack + OWN * size) * OUTWARD)
    if probes.gradient is None or probes.curvature is None:
        return [stored]
    left, most, turned = np.zeros(run.steps), np.full(run.steps, np.inf), np.zeros(run.steps)
    explained = np.zeros(run.steps, dtype=bool)
    for step in range(run.steps):
        r, system, made = probes.gradient[step], probes.curvature[step], probes.increment[step]
        if not (np.abs(system - systems[step]) <= bounds[step]).all():
            continue  # Of a wrong system nothing is promised.
        given = length(bounds[step])
        left[step], most[step] = ridge_increment(r, system, made, given, inputs, constants)
        other, bound = ridge_increment(r, system, -made, given, inputs, constants)
        explained[step] = other <= bound < np.inf
        with np.errstate(invalid="ignore", over="ignore"):
            turned[step] = 2.0 * least_length(system @ made)
    effects = {TURNED: np.nan_to_num(ratios(turned, most), nan=0.0, posinf=np.inf)}
    increment = reduced(
        INCREMENT, run.formed, left[:, None], most[:, None], None, effects, {TURNED: explained}
    )
    return [increment, stored]
