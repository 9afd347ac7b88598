"""The kinds of campaigns by the name of their table. A new one adds its module here, and nothing else."""

from __future__ import annotations

from importlib import import_module

from sstep_verify.campaign.model import Definition, Kind, Unit
from sstep_verify.errors import has_studies

MODULES = ("sstep_verify.campaign.verdicts.kind", "sstep_verify.campaign.certified.kind")
STUDIES = ("studies.stability.kind", "studies.scaling.kind", "studies.sensitivity.kind")
"""Modules of the kinds, and those of a clone; each holds its `Kind`, ``KIND``."""

KINDS: dict[str, Kind] = {
    kind.table: kind
    for kind in (import_module(module).KIND for module in MODULES + STUDIES * has_studies())
}
"""All kinds by the name of their table."""


def units_of(definition: Definition, only: str = "") -> list[Unit]:
    """The units of a campaign that `only` selects; InputError if there is none."""
    return KINDS[definition.kind].units(definition, only)
