"""Samples of a run's windows or steps: how they are drawn, and what they miss."""

from __future__ import annotations

import hashlib

import numpy as np

from sstep_verify.trajectory import Trajectory

RARE = 1e-3
"""Share of windows or steps with a defect for which the chance of missing it is told."""


def missed(judged: int) -> float:
    """Chance that a defect strikes none of so many, if it strikes each by itself with the chance `RARE`."""
    return (1.0 - RARE) ** judged


def after_run(trajectory: Trajectory) -> np.random.Generator:
    """A generator seeded by what a run returned, so that no run can know what it will draw."""
    digest = hashlib.sha256(np.ascontiguousarray(trajectory.final).tobytes()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "little")))
