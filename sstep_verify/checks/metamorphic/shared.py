"""Parts of both metamorphic checks: short runs beside the plain ones, and where they are recorded."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.window_replay import replayable
from sstep_verify.solver import RunRequest
from sstep_verify.verdict import Status, Term

SAMPLED_WINDOWS = 8
"""Windows of a short run, evenly spread, that are recorded beside the first two and the last two."""

WINDOW_WORK = 1 << 20
"""Kernel entries and products of increments that the exact replay of a window may take: seconds."""


def metamorphic_key(s: int, relation: str = "original", begin: int | None = None) -> str:
    """Key of a short run, or of one of its windows, on the original or a transformed problem."""
    window = "" if begin is None else f"/window={begin}"
    return f"metamorphic/{relation}/s={s}{window}"


def original_request(case: Case, s: int) -> RunRequest:
    """The short run of an s: at most ``case.short`` iterations, some windows recorded at both ends."""
    length = min(case.short, case.iterations)
    full = length // s
    windows = {0, 1, full // 2, full - 1, full, *np.linspace(0, full, SAMPLED_WINDOWS, dtype=int).tolist()}
    ends = {min((window + side) * s, length) for window in windows if window >= 0 for side in (0, 1)}
    return RunRequest(case.problem, case.stream, s, length, record=tuple(sorted(ends)))


def affordable_steps(case: Case) -> int:
    """Steps of a window whose exact replay stays within `WINDOW_WORK`, at least 2: one has no correction.

    A replay of d drawn and c <= min(d, m) distinct coordinates forms c kernel rows of m entries and, for
    every drawn coordinate, a product with c increments: c (m + d) in all.
    """
    samples = case.problem.samples
    drawn = (math.isqrt(samples**2 + 4 * WINDOW_WORK) - samples) // 2
    if drawn > samples:
        drawn = WINDOW_WORK // samples - samples
    return max(drawn // case.stream.block, 2)


def comparable(case: Case, s: int) -> bool:
    """Whether the affordable steps of a window of this s stay within the case's limit of kernel entries."""
    return replayable(case, min(s, affordable_steps(case)))


def seen_first(terms: list[Term]) -> tuple[Term, ...]:
    """The terms, those that could have shown a defect before the others."""
    return tuple(sorted(terms, key=lambda term: term.status is Status.VACUOUS))
