"""Mutation: which terms of the s-step recurrence are scaled, and which steps of it go wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

Factor = int | Fraction


@dataclass(frozen=True)
class Mutation:
    """One factor per correction term (1 is right, 0 drops the term) and one switch per slip.

    Parameters
    ----------
    name : str
        Name of the defect; ``none`` for the right recurrence.
    kernel : Factor
        Kernel correction between different coordinates: ``K(i_j, i_t) theta_t`` with i_t != i_j.
    kernel_overlap : Factor
        Kernel correction of a coordinate with itself: ``K_ii theta_t`` where it was drawn before.
    overlap : Factor
        Increments of the same coordinate: in rho (Algorithm 2, line 16), or ``m V_j'V_t D_t``
        (Algorithm 4, line 14).
    omega_stale, omega_overlap : Factor
        Diagonal shift times a at the window's start, and times the increments since (Algorithm 2,
        line 17).
    lose_tail : bool
        Leave out the last window if it is shorter than s.
    assign_once : bool
        ``alpha[I] += theta`` with repeated indices: only the last increment of a coordinate counts.
    """

    name: str = "none"
    kernel: Factor = 1
    kernel_overlap: Factor = 1
    overlap: Factor = 1
    omega_stale: Factor = 1
    omega_overlap: Factor = 1
    lose_tail: bool = False
    assign_once: bool = False

    def scaled(self, fields: tuple[str, ...], factor: Factor, name: str) -> Mutation:
        """A copy with some factors set to another value."""
        changes: dict[str, Any] = dict.fromkeys(fields, factor)
        return replace(self, name=name, **changes)


NONE = Mutation()

TERMS: dict[str, tuple[str, ...]] = {
    "kernel-correction": ("kernel",),
    "overlap": ("overlap",),
    "omega": ("omega_stale", "omega_overlap"),
}
"""Terms that verdicts report on, and the factors that scale each."""
