"""What a certificate says, in words, as plain values, as CSV and as figures.

What is certified: one point for each s, one curve for each precision.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

from sstep_verify.files import csv_text, whole_folder, write_text
from sstep_verify.report.chart import AgainstS, draw_against_s, standalone
from sstep_verify.report.plain import at_most, plain


@dataclass(frozen=True)
class Point:
    """One s, the steps of a window.

    No window of s steps loses more of the objective than `bound` (L), infinite where nothing is promised;
    s windows of one step no more than `classical` (C). The attainable accuracy (A) is in units of the
    objective; `measured` is the largest loss of the windows that were run, at most, None where none was,
    and `windows` how many were; `safe` whether s is certified.
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
    """One precision, the arithmetic of the steps.

    `gap` is an upper bound on the duality gap of the vector (g), `gained` a lower bound on ``f(0) - f(a)``,
    its dual value; `shown` what the precision can show of the gap, the part of A that no s enters. The
    points are powers of two, and the largest s that was looked at; `largest` is the largest certified s, 0
    if not even 1 is.
    """

    precision: str
    gap: float
    gained: float
    shown: float
    points: tuple[Point, ...]
    largest: int


@dataclass(frozen=True)
class Certificate:
    """What is certified of one problem at one dual vector: a curve for each precision.

    `block` are the coordinates of a block (b), `most` is the largest s looked at, `seed` that of the
    windows that were run.
    """

    problem: str
    block: int
    most: int
    seed: int
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


WIDTH = 100

COLUMNS = ("precision", *(field.name for field in fields(Point)))


def lines(certificate: Certificate) -> Iterator[str]:
    """The certificate for a terminal."""
    for curve in certificate.curves:
        gained = f"{curve.gained:.2e}" if curve.gained > 0.0 else "nothing"
        yield (
            f"{curve.precision}: gap at most {_limit(curve.gap)} where windows begin, {gained} "
            f"gained by training; the precision shows gaps from {_limit(curve.shown)} on"
        )
        yield "     s       bound   classical  attainable    measured"
        for point in curve.points:
            yield _row(point)
        yield f"  {verdict(curve, certificate.most)}"
    yield from claim(certificate)


def verdict(curve: Curve, most: int) -> str:
    """Largest certified s of one precision, in words."""
    if curve.largest == 0:
        return f"{curve.precision}: no s is certified, not even 1"
    reason = ", the largest looked at" if curve.largest == most else ""
    return f"{curve.precision}: largest certified s = {curve.largest}{reason}"


def claim(certificate: Certificate) -> Iterator[str]:
    """What is certified, and what is not."""
    blocks = "coordinates" if certificate.block == 1 else f"blocks of {certificate.block}"
    words = (
        f"certified: every window of s steps that begins at this dual vector, whatever {blocks} it draws, "
        "loses at most `bound` of the objective, summed over its steps, each against the exact step from "
        f"the same iterate; for a safe s that is at most `attainable` more than `classical`, the "
        "bound for as many classical steps, and at most what training gained. Covered: solvers that update "
        "in place from kernel entries of the production solver's formulas, sums in any order; in float32 "
        "with the problem as float32 holds it, and RBF distances from differences. Not covered: windows "
        "that begin elsewhere; faulty code. An s that is not certified is not shown to be unsafe. "
        "measured: an upper limit of the largest loss among the windows that were run."
    )
    yield from textwrap.wrap(words, WIDTH)


def document(certificate: Certificate) -> dict[str, Any]:
    """The certificate as plain values; what is infinite is None."""
    values: dict[str, Any] = plain(asdict(certificate) | {"claim": " ".join(claim(certificate))}, "safe-s")
    return values


def table(certificate: Certificate) -> str:
    """All points as CSV; a value that is missing is empty."""
    rows = ((curve.precision, *astuple(point)) for curve in certificate.curves for point in curve.points)
    return csv_text(COLUMNS, rows)


def figure(certificate: Certificate, curve: Curve) -> str:
    """One precision as an SVG file."""
    steps = [point.s for point in curve.points]
    series = [
        AgainstS(words, steps, [getattr(point, name) for point in curve.points])
        for name, words in (
            ("bound", "bound: no window of s steps loses more"),
            ("classical", "bound for the same number of classical steps"),
            ("attainable", "attainable accuracy"),
            ("measured", "measured: largest loss of the windows run, at most"),
        )
    ]
    title = f"{certificate.problem}, {verdict(curve, certificate.most)}"
    return standalone(draw_against_s(title, "loss of a window, in units of f", series, curve.largest))


def write(certificate: Certificate, folder: Path) -> None:
    """Write ``safe-s.csv`` and a figure for each precision into a folder, which is whole or not there."""
    with whole_folder(folder) as partial:
        write_text(partial / "safe-s.csv", table(certificate))
        for curve in certificate.curves:
            write_text(partial / f"{curve.precision}.svg", figure(certificate, curve))


def _limit(value: float) -> str:
    """A number that nothing exceeds, rounded up to three digits."""
    return f"{float(at_most(value)):.2e}"


def _row(point: Point) -> str:
    measured = "-" if point.measured is None else _limit(point.measured)
    numbers = "".join(f"{_limit(value):>12}" for value in (point.bound, point.classical, point.attainable))
    return f"{point.s:6d}{numbers}{measured:>12}  {'safe' if point.safe else 'not certified'}"
