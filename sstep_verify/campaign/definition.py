"""Campaign files: TOML that says which problems are run, with which s, until when, and how judged."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sstep_verify.campaign.kinds import KINDS
from sstep_verify.campaign.shipped import shipped
from sstep_verify.campaign.toml_values import expect, refuse_rest, take
from sstep_verify.checks.registry import CHECKS
from sstep_verify.errors import InputError, closest, has_studies
from sstep_verify.inputs.records import table_from

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""Names of campaigns: the default folder of the report is named after them."""

LARGEST = 1 << 20
"""Bytes of the largest campaign file."""


@dataclass(frozen=True)
class Definition:
    """A campaign as its file says.

    Parameters
    ----------
    name, title, description : str
        For the report.
    families : tuple
        Its tables, as the kind reads them.
    notes : tuple of str
        Remarks that the report prints.
    tolerated_vacuous : tuple of str
        Ids of the cases that may turn out VACUOUS, or patterns of them (``*``, ``?``); any other makes the
        campaign incomplete.
    tolerated_vacuous_per_check : dict of str to tuple of str, or None
        The same for the verdicts of a check, as ``CASE`` or ``CASE, s=S``; none of a check that is not
        named. None: not limited by check.
    source : str
        Where the definition was read from: a name or a path.
    kind : str
        Name of the tables, one of `kinds.KINDS`: a campaign has families of one kind.
    text : str
        The file, from which a merger reads it again.
    command : str
        What runs it, as a shell takes it, where that is not ``sstep-verify run SOURCE``.
    expected : tuple
        Failures that are known (`campaign.summary.expected`).
    seed : int or None
        Seed from which further s were drawn (`campaign.further`); None if there are none.
    cut : object
        Of a profile its name and what it was cut to (`campaign.profile.Cut`); None of a campaign file.
    """

    name: str
    title: str
    description: str
    families: tuple[Any, ...]
    notes: tuple[str, ...] = ()
    tolerated_vacuous: tuple[str, ...] = ()
    tolerated_vacuous_per_check: dict[str, tuple[str, ...]] | None = None
    source: str = field(default="", compare=False)
    kind: str = "family"
    text: str = field(default="", compare=False, repr=False)
    seed: int | None = None
    command: str = field(default="", compare=False, repr=False)
    expected: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    cut: Any = field(default=None, compare=False, repr=False)

    @property
    def again(self) -> str:
        """The command that runs it, as a shell takes it."""
        return self.command or shlex.join(["sstep-verify", "run", self.source])


def read_definition(name_or_path: str) -> Definition:
    """Read a shipped campaign by name, or any campaign file by path.

    Raises
    ------
    InputError
        If there is none, or the file has a syntax error, an unknown key or an unusable value.
    """
    known = shipped()
    if name_or_path in known:
        return parse_definition(known[name_or_path].read_text("utf-8"), name_or_path)
    path = Path(name_or_path)
    try:
        if path.suffix != ".toml" and not path.exists():
            raise InputError(
                f"campaign {name_or_path!r} is unknown{closest(name_or_path, known)}; shipped: "
                f"{', '.join(known)}; any other must be the path of a .toml file"
                f"{_elsewhere()}"
            )
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is no regular file, which a campaign file must be")
        if path.stat().st_size > LARGEST:
            raise InputError(
                f"{path}: has {path.stat().st_size} bytes, but a campaign file has at most {LARGEST}"
            )
        text = path.read_text("utf-8")
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name, bytes that are no text
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name_or_path:.200}: cannot be read as a campaign file: {reason}") from error
    return parse_definition(text, name_or_path)


def parse_definition(text: str, source: str) -> Definition:
    """The campaign of a file's text.

    Raises
    ------
    InputError
        As `read_definition`.
    """
    table = table_from(text, source, "a campaign file")
    return replace(_definition(table, source), text=text)


def _definition(table: dict, source: str) -> Definition:
    head = take(table, "campaign", dict, source)
    tables = {name: take(table, name, list, source) for name in KINDS if name in table}
    held = [name for name, items in tables.items() if items]
    if not held:
        listed = ", ".join(f"[[{name}]]" for name in KINDS)
        raise InputError(f"{source}: holds none of {listed}, so there is nothing to run{_elsewhere()}")
    if len(held) > 1:
        raise InputError(f"{source}: holds both [[{held[0]}]] and [[{held[1]}]]; make two campaigns of it")
    refuse_rest(table, source, "top level")
    known = {item.name for item in fields(Definition)} - {
        "families", "kind", "source", "text", "seed", "command", "expected", "cut",
    }  # fmt: skip
    for key in head:
        if key not in known:
            raise InputError(
                f"{source}: [campaign] has the unknown key {key!r}{closest(key, known)}; "
                f"known: {sorted(known)}"
            )
    for key in ("name", "title", "description"):
        expect(head.get(key), str, f"{source}: [campaign] {key}")
    if not re.fullmatch(NAME, head["name"]):
        raise InputError(
            f"{source}: [campaign] name = {head['name']!r:.80}, but it names a folder: 1 to 64 letters, "
            "digits and -_. only, the first a letter or digit"
        )
    tolerated = _texts(head.get("tolerated_vacuous", []), f"{source}: [campaign] tolerated_vacuous")
    per_check = head.get("tolerated_vacuous_per_check")
    if per_check is not None:
        per_check = _by_check(per_check, f"{source}: [campaign] tolerated_vacuous_per_check")
    families = []
    for place, item in enumerate(tables[held[0]], 1):
        where = f"{source}: {held[0]} {place}"
        expect(item, dict, where)
        families.append(KINDS[held[0]].read(dict(item), where))
    return Definition(
        name=head["name"],
        title=head["title"],
        description=head["description"],
        notes=_texts(head.get("notes", []), f"{source}: [campaign] notes"),
        tolerated_vacuous=tolerated,
        tolerated_vacuous_per_check=per_check,
        families=tuple(families),
        source=source,
        kind=held[0],
    )


def _elsewhere() -> str:
    """Where campaigns of studies are run, if not here."""
    return "" if has_studies() else "; campaigns of studies are run in a clone, by python -m sstep_verify"


def _by_check(table, where: str) -> dict[str, tuple[str, ...]]:
    """Patterns of case ids by check; an InputError for an unknown check or anything but texts."""
    expect(table, dict, where)
    for check in table:
        if check not in CHECKS:
            raise InputError(
                f"{where}: check {check!r} is unknown{closest(check, CHECKS)}; known: "
                f"{', '.join(sorted(CHECKS))}"
            )
    return {check: _texts(items, f"{where}, {check}") for check, items in table.items()}


def _texts(items, where: str) -> tuple[str, ...]:
    """A list of texts, such as patterns of case ids, as TOML gives it."""
    expect(items, list, where)
    for item in items:
        expect(item, str, where)
    return tuple(items)
