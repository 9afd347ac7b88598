"""Campaign files: TOML that says which problems are run, with which s, until when, and how judged."""

from __future__ import annotations

import os
import re
from importlib import import_module

from sstep_verify.campaign import shipped
from sstep_verify.campaign.cases import OneOf
from sstep_verify.campaign.model import Definition, Head, Kind, Unit
from sstep_verify.checks.registry import CHECKS
from sstep_verify.errors import InputError, closest, has_studies
from sstep_verify.files import read_whole
from sstep_verify.files.records import build, convert, table_from

STUDIES = {
    "scenario": "studies.stability.kind",
    "scaling": "studies.scaling.kind",
    "sensitivity": "studies.power",
}

KINDS = {
    "family": "sstep_verify.campaign.verdicts.kind",
    "optimum": "sstep_verify.campaign.certified",
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


NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""Names of campaigns: the default folder of the report is named after them."""

LARGEST = 1 << 20
"""Bytes of the largest campaign file."""


def read_definition(name_or_path: str | os.PathLike[str]) -> Definition:
    """Read a shipped campaign by name, or any campaign file by path.

    InputError if there is none, or the file has a syntax error, an unknown key or an unusable value.
    """
    known, name_or_path = shipped(), os.fspath(name_or_path)
    if name_or_path in known:
        return parse_definition(known[name_or_path].read_text("utf-8"), name_or_path)
    if not name_or_path.endswith(".toml") and not os.path.exists(name_or_path):
        raise InputError(
            f"campaign {name_or_path!r} is unknown{closest(name_or_path, known)}; shipped: "
            f"{', '.join(known)}; any other must be the path of a .toml file{_elsewhere()}"
        )
    return parse_definition(read_whole(name_or_path, LARGEST, "a campaign file"), name_or_path)


def parse_definition(text: str | bytes, source: str) -> Definition:
    """The campaign of a file's text; InputError as of `read_definition`."""
    table = table_from(text, source, "a campaign file")
    where, given = f"{source}: [campaign]", table.pop("campaign", {})
    limited = given.get("tolerated_vacuous_per_check") if isinstance(given, dict) else None
    for check, patterns in limited.items() if isinstance(limited, dict) else ():
        OneOf(CHECKS).refuse(where, "tolerated_vacuous_per_check: check", check)
        convert(patterns, list[str], f"{where} tolerated_vacuous_per_check, {check}")
    head = build(given, Head, where)
    if not re.fullmatch(NAME, head.name):
        raise InputError(
            f"{where} name = {head.name!r:.80}, but it names a folder: 1 to 64 letters, "
            "digits and -_. only, the first a letter or digit"
        )
    listed = ", ".join(f"[[{name}]]" for name in KINDS)
    held = [name for name in table if table[name]]
    if not held:
        raise InputError(f"{source}: holds none of {listed}, so there is nothing to run{_elsewhere()}")
    if other := [name for name in table if name not in KINDS]:
        raise InputError(
            f"{source}: unknown key {other[0]!r} at the top level{closest(other[0], KINDS)}; known: "
            f"[campaign], {listed}{_elsewhere()}"
        )
    if len(held) > 1:
        raise InputError(f"{source}: holds both [[{held[0]}]] and [[{held[1]}]]; make two campaigns of it")
    tables = convert(table[held[0]], list[dict], f"{source}: {held[0]}")
    read = kind_of(held[0]).read
    families = tuple(read(item, f"{source}: {held[0]} {place}") for place, item in enumerate(tables, 1))
    return Definition(**vars(head), families=families, source=source, kind=held[0])


def _elsewhere() -> str:
    """Where campaigns of studies are run, if not here."""
    return "" if has_studies() else "; campaigns of studies are run in a clone, by python -m sstep_verify"
