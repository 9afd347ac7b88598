"""The kinds of campaigns by the name of their table. A new one adds its module here, and nothing else."""

from __future__ import annotations

from importlib import import_module

from sstep_verify.campaign.model import Definition, Kind, Unit
from sstep_verify.errors import has_studies

STUDIES = {
    "scenario": "studies.stability.kind",
    "scaling": "studies.scaling.kind",
    "sensitivity": "studies.sensitivity.kind",
}

KINDS = {
    "family": "sstep_verify.campaign.verdicts.kind",
    "optimum": "sstep_verify.campaign.certified.kind",
    **(STUDIES if has_studies() else {}),
}
"""Modules of the kinds, those of a clone too, by the names of their tables; each holds one, ``KIND``."""


def kind_of(table: str) -> Kind:
    """The kind of a table, whose module is loaded at first use."""
    kind: Kind = import_module(KINDS[table]).KIND
    return kind


def units_of(definition: Definition, only: str = "") -> list[Unit]:
    """The units of a campaign that `only` selects; InputError if there is none."""
    return kind_of(definition.kind).units(definition, only)
