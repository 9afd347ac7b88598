"""Column profiles of the data, and the curve over P that is predicted from one, with the paper's claims."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sstep_verify.campaign.selection import load_data
from sstep_verify.costs.machine import Machine, read
from sstep_verify.costs.profiles import Profile, matrix_profile, read_counts, uniform_profile
from sstep_verify.errors import InputError
from sstep_verify.problems.data.datasets import FOLDER_VARIABLE, stored_file
from sstep_verify.report import results as report
from sstep_verify.report.case import PREDICTED
from studies.report.scaling.document import PaperClaim, ScalingCurve, ScalingPoint
from studies.scaling.claims import claims_on
from studies.scaling.curve import points
from studies.scaling.definition import DataItem, ScalingUnit
from studies.scaling.timed import SHAPES

Loaded = tuple[Profile, str]
"""A profile, and the SHA-256 of the file that it is from; empty if it is stated."""


def load_profile(item: DataItem, directory: str | None) -> Loaded:
    """The profile of an entry of a family's data, from the folder of the data sets.

    Raises
    ------
    InputError
        If it is not to be had, or cannot be used.
    """
    return _kept(item, directory, os.environ.get(FOLDER_VARIABLE))


@lru_cache(maxsize=4)
def _kept(item: DataItem, directory: str | None, _folder: str | None) -> Loaded:
    """Read once for all units of a data set; what cannot be read is tried again."""
    if item.counts:
        path = stored_file(item.counts, directory)
        if path is None:
            raise InputError(_absent(item, directory))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return Profile(item.name, item.samples, read_counts(path, item.samples)), digest
    if item.features:
        return uniform_profile(item.name, item.samples, item.features, item.nonzeros), ""
    loaded = load_data(item.name, directory)
    return matrix_profile(item.name, loaded.data), loaded.sha256


def _absent(item: DataItem, directory: str | None) -> str:
    """What is said where a file of counts is nowhere."""
    folders = {
        "the folder given (--data)": directory,
        f"${FOLDER_VARIABLE}": os.environ.get(FOLDER_VARIABLE),
    }
    tried = [f"{origin} ({Path(folder)}) holds none" for origin, folder in folders.items() if folder]
    return (
        f"the column counts of {item.name!r} are not at hand: {'; '.join(tried) or 'no folder was named'}. "
        f"Ways out: give the folder that holds the file {item.counts} with --data DIR; "
        f"or name it in ${FOLDER_VARIABLE}"
    )


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
