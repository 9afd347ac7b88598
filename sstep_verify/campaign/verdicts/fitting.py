"""Fits a family to a program: its draws, its starts, what it counts, and the checks that can judge it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sstep_verify.solvers.adapters.program import ProgramFile

if TYPE_CHECKING:
    from sstep_verify.campaign.verdicts.family import Family

FROM_ZERO = (
    "contract", "step-replay", "window-replay", "trajectory", "sstep-equals-classical", "box",
    "determinism", "optimum", "message-count",
)  # fmt: skip
"""Checks of a program that takes no a0, or no index stream either, or makes no runs of any length."""

PRINTED = ("contract", "trajectory", "sstep-equals-classical", "determinism", "message-count")
"""Checks of a program that prints a rounded result."""

SHOWN = ("window-replay", "residual-gap", "metamorphic-exact")
"""Checks that need to see, or to be able to give, the weights that a program carries."""


def fitted(family: Family, described: ProgramFile) -> Family:
    """The family with what a program draws and counts itself, and those of its checks that can judge it.

    Parameters
    ----------
    family : Family
        The family.
    described : ProgramFile
        The program under test.
    """
    wanted = set(family.checks)
    counts = described.conventions.counts
    if described.from_zero or counts != "iterations":  # Others make runs that go on, or of any length.
        wanted &= set(FROM_ZERO)
        family = replace(family, start=0)
    if described.rounded or described.ends_apart:
        wanted &= set(PRINTED)
    if described.carries:
        wanted -= set(SHOWN)
    checks = tuple(one for one in family.checks if one in wanted)
    family = replace(family, checks=checks, counts=counts)
    own = described.stream
    if own is None:
        return family
    return replace(family, stream=own.kind, seed=own.seed, replacement=own.replacement)
