"""What is certified: one point for each s, one curve for each precision."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """One s.

    Parameters
    ----------
    s : int
        Steps of a window.
    bound : float
        What no window of s steps loses more of the objective than (L); infinite where nothing is promised.
    classical : float
        The same for s windows of one step (C).
    attainable : float
        Attainable accuracy (A), in units of the objective.
    measured : float or None
        Largest loss of the windows that were run, at most; None where none was.
    windows : int
        How many were run.
    safe : bool
        Whether s is certified.
    """

    s: int
    bound: float
    classical: float
    attainable: float
    measured: float | None
    windows: int
    safe: bool


@dataclass(frozen=True)
class Curve:
    """One precision.

    Parameters
    ----------
    precision : str
        Arithmetic of the steps.
    gap : float
        Upper bound on the duality gap of the vector (g).
    gained : float
        Lower bound on ``f(0) - f(a)``, the dual value of the vector.
    shown : float
        What the precision can show of the gap, the part of A that no s enters.
    points : tuple of Point
        Powers of two, and the largest s that was looked at.
    largest : int
        Largest certified s; 0 if not even 1 is.
    """

    precision: str
    gap: float
    gained: float
    shown: float
    points: tuple[Point, ...]
    largest: int


@dataclass(frozen=True)
class Certificate:
    """What is certified of one problem at one dual vector.

    Parameters
    ----------
    problem : str
        What is solved.
    block, most, seed : int
        Coordinates of a block (b), largest s looked at, seed of the windows that were run.
    factor : float
        Times the attainable accuracy that a window may lose beyond what classical steps may.
    curves : tuple of Curve
        One for each precision.
    """

    problem: str
    block: int
    most: int
    seed: int
    factor: float
    curves: tuple[Curve, ...]


def beyond(certificate: Certificate) -> list[str]:
    """Points at which a window was measured to lose more than its bound, in words."""
    return [
        f"{certificate.problem}, {curve.precision}, s = {point.s}: a window lost up to "
        f"{point.measured:.3e}, more than its bound of {point.bound:.3e}: the solver or the bound is wrong"
        for curve in certificate.curves
        for point in curve.points
        if point.measured is not None and point.measured > point.bound
    ]
