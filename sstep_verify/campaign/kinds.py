"""The kinds of campaigns by the name of their table. A new one adds its module here, and nothing else."""

from __future__ import annotations

from importlib import import_module

from sstep_verify.campaign.model import Definition, Kind, Unit
from sstep_verify.errors import has_studies

PACKAGES = ("sstep_verify.campaign.verdicts", "sstep_verify.campaign.certified")
STUDIES = ("studies.stability", "studies.scaling", "studies.sensitivity")
"""Packages of the kinds, and those of a clone; module ``kind`` of each holds its `Kind`, ``KIND``."""

KINDS: dict[str, Kind] = {
    kind.table: kind
    for kind in (import_module(f"{package}.kind").KIND for package in PACKAGES + STUDIES * has_studies())
}
"""All kinds by the name of their table."""


def units_of(definition: Definition, only: str = "") -> list[Unit]:
    """The units of a campaign that `only` selects; InputError if there is none."""
    return KINDS[definition.kind].units(definition, only)
