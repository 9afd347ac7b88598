"""The kinds of campaigns by the name of their table. A new one adds its module here, and nothing else."""

from __future__ import annotations

import importlib

from sstep_verify.campaign.kind import Kind

MODULES = ("verdicts.kind", "stability.kind", "certified.kind", "scaling.kind", "sensitivity.kind")
"""Modules of the kinds; each holds its `Kind` under the name ``KIND``."""


def _kind(module: str) -> Kind:
    return importlib.import_module(f"sstep_verify.campaign.{module}").KIND


KINDS: dict[str, Kind] = {kind.table: kind for kind in map(_kind, MODULES)}
"""All kinds by the name of their table."""
