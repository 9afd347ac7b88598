"""Whether a step log leads to what the run recorded."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window, wrong
from sstep_verify.quantities import STREAM, WRITE_BACK
from sstep_verify.trajectory import Trajectory


def broken_chain(case: Case, trajectory: Trajectory) -> Finding | None:
    """How the log fails to lead to what was recorded, with the signs of it; None where it does."""
    log, block = trajectory.log, case.stream.block
    if log is None:
        words = "the run was asked for its step log and declares to keep one, but left none"
        return wrong(words, signs=("no step log",))
    if log.shape != (trajectory.length, block):
        words = (
            f"the step log has shape {log.shape}, but {trajectory.length} steps of b = {block} were made"
        )
        return wrong(words, signs=("no step log",))
    alpha = np.array(trajectory.alphas[0])
    position = 0
    for iteration, recorded in zip(trajectory.iterations.tolist(), trajectory.alphas, strict=True):
        draws = case.stream.blocks(trajectory.start + position, trajectory.start + iteration)
        alpha[draws.ravel()] = log[
            position:iteration
        ].ravel()  # of a repeated coordinate the last value stays
        position = iteration
        if not np.array_equal(alpha, recorded, equal_nan=True):
            return _broken_at(iteration, alpha, recorded, draws, log)
    return None


def not_numbers(log: np.ndarray) -> str:
    """How many entries of a log are NaN, and the first step of them; empty where none is."""
    missing = np.isnan(log)
    if not missing.any():
        return ""
    first = int(np.flatnonzero(missing.any(axis=1))[0])
    return (
        f"{int(missing.sum())} of the {log.shape[0]} x {log.shape[1]} entries of the step log are NaN, as "
        f"an entry is that was never written; the first is of step {first + 1}"
    )


def _broken_at(
    iteration: int, alpha: np.ndarray, recorded: np.ndarray, draws: np.ndarray, log: np.ndarray
) -> Finding:
    """What is told of the first recorded a that the log does not lead to, and the signs of it."""
    places = np.flatnonzero((alpha != recorded) & ~(np.isnan(alpha) & np.isnan(recorded)))
    undrawn = places[~np.isin(places, draws)]
    place = int((undrawn if undrawn.size else places)[0])
    words = (
        f"the step log leads to a[{place}] = {float(alpha[place])!r} at iteration {iteration}, but "
        f"the run recorded {float(recorded[place])!r} there"
    )
    signs: tuple[str, ...] = ("step log",)
    told = "it was not stored as logged"
    if undrawn.size:
        told, signs = "no step since the a before drew it", (STREAM, WRITE_BACK)
    elif np.isnan(alpha[place]):
        told, signs = not_numbers(log), ("no step log",)
    return wrong(f"{words}: {told}", window=Window(0, iteration), signs=signs)
