"""Error of a solver's s-step runs beside those of its classical run, s = 1: ``check --stability``.

Both are measured against the exact trajectory of the stream, at the same window ends. It is a diagnostic:
nothing here is judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.errors import InputError
from sstep_verify.measures.error import against_classical, significant_bits
from sstep_verify.report.case import DRIFT, AgainstClassical, Case
from sstep_verify.rounding.arithmetic import unit_roundoff

if TYPE_CHECKING:
    from sstep_verify.checks.shared.case import Case as JudgedCase

WORK = 1 << 23
"""Samples times drawn coordinates up to which runs are compared: half a minute of exact arithmetic."""


def with_stability(definition: Definition) -> Definition:
    """The campaign, with runs that are compared with those of s = 1 wherever there are both.

    A run that begins late in the stream is not: its exact trajectory is not known.

    Raises
    ------
    InputError
        If there is nothing to compare.
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
    """Every s-step run beside the classical run of its case.

    Parameters
    ----------
    cases : iterable of Case
        Cases with the drift of their runs.
    precisions : mapping of str to str
        Precision that the solver declares, by the id of the cases that are compared.
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
