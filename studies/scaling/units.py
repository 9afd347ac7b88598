"""Predicts one curve over P, and what the paper claims on it."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify.costs.model.machine import Machine, read
from sstep_verify.costs.model.profiles import Profile
from sstep_verify.errors import InputError
from sstep_verify.reporting import results as report
from sstep_verify.reporting.case import PREDICTED
from studies.reporting.scaling.document import PaperClaim, ScalingCurve, ScalingPoint
from studies.scaling.claims import claims_on
from studies.scaling.curve import points
from studies.scaling.data import load_profile
from studies.scaling.definition import ScalingUnit
from studies.scaling.timed import SHAPES


@dataclass(frozen=True)
class ScalingOutcome:
    """Outcome of one unit.

    Parameters
    ----------
    case : reporting Case
        What is predicted; its status is PREDICTED, which is no verdict.
    curve : ScalingCurve
        The predictions.
    claims : tuple of PaperClaim
        The paper's claims on it.
    """

    case: report.Case
    curve: ScalingCurve
    claims: tuple[PaperClaim, ...]


def execute_unit(unit: ScalingUnit, directory: str | None) -> ScalingOutcome:
    """Predict one curve.

    Raises
    ------
    InputError
        If its data are not to be had.
    """
    if unit.refusal:
        raise InputError(unit.refusal)
    profile, _ = load_profile(unit.data, directory)
    machine, family = read(unit.family.machine), unit.family
    cell = unit.cell
    if SHAPES.get(cell.data) != (profile.samples, profile.features):
        cell = cell._replace(data="")  # Of the same name as one of the paper's, but other data.
    curve = ScalingCurve(unit.case, tuple(points(machine, profile, cell, family.ranks, (1, *family.s))))
    claims = tuple(claims_on(unit.case, machine, profile, cell))
    return ScalingOutcome(_case(unit, profile, machine, curve.points[-1]), curve, claims)


def _case(unit: ScalingUnit, profile: Profile, machine: Machine, last: ScalingPoint) -> report.Case:
    item = unit.data
    source = f"counted in {item.counts}" if item.counts else "of the data set"
    return report.Case(
        id=unit.case,
        problem=unit.label,
        dataset=item.name,
        kernel=unit.kernel,
        loss="K-RR" if unit.task == "krr" else "K-SVM",
        task=unit.task,
        samples=profile.samples,
        features=profile.features,
        block=unit.block,
        status=PREDICTED,
        s=(1, *sorted(unit.family.s)),
        reason=(
            f"at P = {last.ranks:,}, microseconds per iteration: classical {last.classical:g}, s-step "
            f"{last.s_step:g} (s = {last.s}), ours {last.ours:g} ({last.exchange}, s = {last.our_s})"
        ),
        facts={
            "nonzeros": round(profile.nonzeros),
            "nonzeros of a column": "stated as even" if item.features else source,
            "P": list(unit.family.ranks),
            "machine": machine.name,
        },
    )
