"""Whether a step log leads to what the run recorded."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.quantities import STREAM, WRITE_BACK
from sstep_verify.trajectory import Trajectory


def broken_chain(case: Case, trajectory: Trajectory) -> tuple[str, tuple[str, ...]]:
    """How the log fails to lead to what was recorded, and the signs of it; empty where it does."""
    log, block = trajectory.log, case.stream.block
    if log is None:
        return "the run was asked for its step log and declares to keep one, but left none", (
            "no step log",
        )
    if log.shape != (trajectory.length, block):
        words = (
            f"the step log has shape {log.shape}, but {trajectory.length} steps of b = {block} were made"
        )
        return words, ("no step log",)
    alpha = np.array(trajectory.alphas[0])
    position = 0
    for iteration, recorded in zip(trajectory.iterations.tolist(), trajectory.alphas, strict=True):
        draws = case.stream.blocks(trajectory.start + position, trajectory.start + iteration)
        alpha[draws.ravel()] = log[
            position:iteration
        ].ravel()  # of a repeated coordinate the last value stays
        position = iteration
        if not np.array_equal(alpha, recorded, equal_nan=True):
            places = np.flatnonzero((alpha != recorded) & ~(np.isnan(alpha) & np.isnan(recorded)))
            undrawn = places[~np.isin(places, draws)]
            place = int((undrawn if undrawn.size else places)[0])
            why = "no step since the a before drew it" if undrawn.size else "it was not stored as logged"
            words = (
                f"the step log leads to a[{place}] = {float(alpha[place])!r} at iteration {iteration}, but "
                f"the run recorded {float(recorded[place])!r} there: {why}"
            )
            return words, (STREAM, WRITE_BACK) if undrawn.size else ("step log",)
    return "", ()
