"""What is measured of a run, at which iterations, and what ends it: gap or error against the optimum.

And the error of s-step runs next to those of the classical run, s = 1 (``check --stability``), both against
the exact trajectory of the stream at the same window ends: a diagnostic, of which nothing is judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.errors import InputError
from sstep_verify.measures import GapMeasure, against_classical, relative_error, significant_bits
from sstep_verify.numerics import KernelSums
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.report.case import DRIFT, ERROR, GAP, AgainstClassical, Case
from sstep_verify.rounding.arithmetic import unit_roundoff

if TYPE_CHECKING:
    from sstep_verify.checks.shared.case import Case as JudgedCase

GROWTH = 1.2
"""Ratio of successive iterations at which a run is measured, once they exceed a window."""

NEAREST = "of the nearest vector in the box"
"""What a gap is measured of where a run leaves its box."""

PATIENCE = 8
"""Measurements over which a gap at the attainable level must not have halved for a run to end."""


def measuring_points(iterations: int, s: int) -> tuple[int, ...]:
    """Window ends at which a run of `iterations` is measured: geometric, the last included."""
    points, point = [], s
    while point < iterations:
        points.append(point)
        point = max(point + s, -(-int(point * GROWTH) // s) * s)
    return (*points, iterations)


@dataclass(frozen=True)
class Reference:
    """The measure of one problem: its `name` in figures, and a `short` one in a stop reason.

    `measure` maps a to (relative value, attainable relative value), the latter 0 if there is no floor;
    `largest_off_diagonal` is the largest absolute off-diagonal kernel entry, in float64; `facts` are
    reference value, enclosure, and how it was found.
    """

    name: str
    short: str
    measure: Callable[[np.ndarray], tuple[float, float]]
    largest_off_diagonal: float
    facts: dict[str, object]


class SharedReferences:
    """References of problems that differ only in loss and parameter from one, whose optima an oracle finds.

    Where kernel matrix and optimum do not fit into memory (`whole` is False), sums over the kernel are made
    of panels, and gaps are relative to the dual value of the vector at hand: it is below the optimal value,
    so they are no smaller than relative to that. So they are where the oracle certifies no optimum.
    """

    def __init__(self, problem: Problem, oracle: Oracle, *, whole: bool = True):
        self.oracle, self._whole = oracle, whole
        # The measure of a K-RR whose optimum is known needs no kernel.
        self._kernel = KernelSums(problem, whole=whole and problem.is_svm)
        self._largest = self._kernel.largest_off_diagonal()

    def reference(self, problem: Problem) -> Reference:
        """The reference of one problem of the group."""
        if not self._whole:
            return self._gap(problem, "not searched, for its memory: gaps over the dual value")
        if problem.is_svm and not self.oracle.encloses:
            return self._gap(problem, "not searched, for no oracle certifies it: gaps over the dual value")
        if problem.is_svm:
            optimum = self.oracle.svm_optimum(problem)
            return self._gap(
                problem,
                optimum.how,
                max(abs(optimum.value_lower), np.finfo(float).tiny),
                {
                    "optimal_value_enclosure": [optimum.value_lower, optimum.value_upper],
                    "optimal_value_relative_width": optimum.relative_width,
                },
            )
        solution = self.oracle.ridge_optimum(problem)

        def error(alpha: np.ndarray) -> tuple[float, float]:
            return relative_error(alpha, solution.alpha), 0.0

        facts: dict[str, object] = {
            "reference_solution": solution.how,
            "reference_solution_relative_error": solution.relative,
        }
        return Reference(ERROR, "error", error, self._largest, facts)

    def _gap(
        self, problem: Problem, how: str, scale: float = 0.0, facts: dict[str, object] | None = None
    ) -> Reference:
        """The gap over the optimal value, or over the dual value reached where that is not known.

        Outside the box there is no gap: that is measured of the nearest alpha inside.
        """
        measure = GapMeasure(problem, self._kernel)

        def relative(alpha: np.ndarray) -> tuple[float, float]:
            if problem.is_svm:
                alpha = np.clip(alpha, problem.boxed.lower, problem.boxed.upper)
            found = measure(alpha)
            size = scale or found.dual
            if not size > 0:
                return float("inf"), 0.0
            attainable = measure.attainable(alpha) if problem.is_svm else 0.0
            return found.gap / size, attainable / size

        return Reference(GAP, "gap", relative, self._largest, {**(facts or {}), "optimum_found_by": how})


@dataclass
class Monitor:
    """Observer of one run: measures at some points, and ends it where the tolerance is met.

    `name` is that of the measure, for the stop reason. A run does not end before `least` iterations: in a
    single window from zero no stale product shows. An a of another length than `samples` is not measured.
    Where the last one measured lies `outside` the limits of its `box`, the stop reason says what of.
    """

    points: frozenset[int]
    measure: Callable[[np.ndarray], tuple[float, float]]
    tolerance: float
    name: str
    least: int = 0
    samples: int | None = None
    box: tuple[float, float] | None = None
    iterations: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    attainable: float = 0.0
    reason: str = ""
    spoiled: bool = False
    outside: bool = False

    def __call__(self, iteration: int, alpha: np.ndarray) -> bool:
        """Measure; True ends the run."""
        if iteration not in self.points or (self.samples and np.shape(alpha) != (self.samples,)):
            return False  # What has another shape is for the check contract to say.
        if not np.isfinite(alpha).all():
            self.spoiled, self.reason = True, f"alpha is not finite at iteration {iteration}"
            return True
        value, self.attainable = self.measure(alpha)
        self.outside = self.box is not None and bool(np.any(alpha != np.clip(alpha, *self.box)))
        self.iterations.append(iteration)
        self.values.append(value)
        earlier = self.values[:-PATIENCE]
        if iteration < self.least:
            return False
        if value <= self.tolerance:
            self.reason = "tolerance reached"
        elif value <= self.attainable and earlier and value > min(earlier) / 2:
            self.reason = f"attainable gap of float64 reached, {self.name} = {value:.2g}"
        return bool(self.reason)

    def close(self, iteration: int, alpha: np.ndarray) -> None:
        """Measure where a run ended by its solver's own rule, which need not be one of the points."""
        if iteration not in self.iterations:
            self.points |= {iteration}
            self(iteration, alpha)
        if iteration in self.iterations:
            self.reason = f"the solver's own tolerance reached, {self.name} = {self.values[-1]:.2g}"

    @property
    def last(self) -> float | None:
        """The value of the last alpha measured; None where nothing was, or that alpha was not finite."""
        return self.values[-1] if self.values and not self.spoiled else None

    def stop(self, made: int, asked: int) -> str:
        """Why the run ended, in words, which made so many of the iterations that it was asked for."""
        last = f"relative {self.name} {self.values[-1]:.2g}" if self.values else f"{self.name} not measured"
        told = self.reason or f"{'all' if made == asked else f'{made} of {asked}'} iterations made, {last}"
        return f"{told}, {NEAREST}" if self.outside and not self.spoiled else told


WORK = 1 << 23
"""Samples times drawn coordinates up to which runs are compared: half a minute of exact arithmetic."""


def with_stability(definition: Definition) -> Definition:
    """The campaign, with runs that are compared with those of s = 1 wherever there are both.

    A run that begins late in the stream is not: its exact trajectory is not known. InputError if there is
    nothing to compare.
    """
    families = tuple(
        replace(family, stability=1 in family.s and not family.start) for family in definition.families
    )
    if not any(family.stability and len({*family.s, *family.further}) > 1 for family in families):
        listed = ", ".join(map(str, sorted({s for family in families for s in family.s})))
        raise InputError(
            f"--stability compares runs with those of s = 1, but s = {listed} is all that is run: name "
            "another --s, or let the program know s = 1 too"
        )
    return replace(definition, families=families)


def exact_iterations(family: Family, case: JudgedCase) -> int:
    """First iterations of a run that are compared with the exact trajectory, for its drift or stability."""
    block = case.stream.block
    most = WORK // (case.problem.samples * block) if family.stability else 0
    return max(family.drift // block, min(case.iterations, most))


def common_points(points: Mapping[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Recorded iterations by s, where the classical run is recorded wherever another is."""
    return {**points, 1: tuple(sorted({end for ends in points.values() for end in ends}))}


def beside_classical(cases: Iterable[Case], precisions: Mapping[str, str]) -> tuple[AgainstClassical, ...]:
    """Every s-step run next to the classical run of its case.

    `precisions` that the solver declares, by the id of the cases that are compared; `cases` have the drift
    of their runs.
    """
    return tuple(
        _beside(case, s, unit_roundoff(precisions[case.id]))
        for case in cases
        if case.id in precisions
        for s in case.s
        if s > 1
    )


def _beside(case: Case, s: int, roundoff: float) -> AgainstClassical:
    errors, classical = (_errors(case, one) for one in (s, 1))
    run = against_classical(errors, classical, roundoff)
    if run is None:
        return AgainstClassical(case.id, s)
    bits = (significant_bits(error, roundoff) for error in (run.error, run.classical))
    return AgainstClassical(case.id, s, *run, *bits)


def _errors(case: Case, s: int) -> dict[int, float]:
    """Relative errors against the exact trajectory by iteration; infinite where there is none."""
    return {
        iteration: math.inf if error is None else error
        for series in case.series
        if (series.name, series.s) == (DRIFT, s)
        for iteration, error in zip(series.x, series.y, strict=True)
    }
