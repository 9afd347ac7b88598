"""Campaign files: TOML that says which problems are run, with which s, until when, and how judged."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path

from sstep_verify.campaign.certified_definition import OptimumFamily, read_optimum
from sstep_verify.campaign.family import Family, read_family
from sstep_verify.campaign.stability_definition import ScenarioFamily, read_scenario
from sstep_verify.campaign.toml_values import expect, read_kernel, refuse_rest, take
from sstep_verify.checks.registry import CHECKS
from sstep_verify.errors import InputError


@dataclass(frozen=True)
class Definition:
    """A campaign as its file says.

    Parameters
    ----------
    name, title, description : str
        For the report.
    families : tuple of Family
        What is run.
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
    scenarios : tuple of ScenarioFamily
        What is run on generated data instead: a campaign has families of one kind.
    optima : tuple of OptimumFamily
        What is certified instead; no solver is run.
    """

    name: str
    title: str
    description: str
    families: tuple[Family, ...]
    notes: tuple[str, ...] = ()
    tolerated_vacuous: tuple[str, ...] = ()
    tolerated_vacuous_per_check: dict[str, tuple[str, ...]] | None = None
    source: str = field(default="", compare=False)
    scenarios: tuple[ScenarioFamily, ...] = ()
    optima: tuple[OptimumFamily, ...] = ()


def shipped() -> list[str]:
    """Names of the campaigns that come with the package."""
    folder = resources.files("sstep_verify.campaign") / "campaigns"
    return sorted(
        item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml")
    )


def read_definition(name_or_path: str) -> Definition:
    """Read a shipped campaign by name, or any campaign file by path.

    Raises
    ------
    InputError
        If there is none, or the file has a syntax error, an unknown key or an unusable value.
    """
    if name_or_path in shipped():
        folder = resources.files("sstep_verify.campaign") / "campaigns"
        text = (folder / f"{name_or_path}.toml").read_text("utf-8")
    else:
        path = Path(name_or_path)
        if path.suffix != ".toml" and not path.exists():
            raise InputError(
                f"campaign {name_or_path!r} is unknown; shipped: {', '.join(shipped())}; "
                "any other must be the path of a .toml file"
            )
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read as a campaign file: {error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name_or_path}: not a TOML file: {error}") from error
    return _definition(table, name_or_path)


def _definition(table: dict, source: str) -> Definition:
    head = take(table, "campaign", dict, source)
    families = take(table, "family", list, source) if "family" in table else []
    scenarios = take(table, "scenario", list, source) if "scenario" in table else []
    optima = take(table, "optimum", list, source) if "optimum" in table else []
    kinds = {"[[family]]": families, "[[scenario]]": scenarios, "[[optimum]]": optima}
    held = [name for name, tables in kinds.items() if tables]
    if not held:
        raise InputError(f"{source}: holds none of {', '.join(kinds)}, so there is nothing to run")
    if len(held) > 1:
        raise InputError(f"{source}: holds both {held[0]} and {held[1]}; make two campaigns of it")
    refuse_rest(table, source, "top level")
    known = {item.name for item in fields(Definition)} - {"families", "scenarios", "optima", "source"}
    unknown = sorted(set(head) - known)
    if unknown:
        raise InputError(f"{source}: [campaign] has the unknown key {unknown[0]!r}; known: {sorted(known)}")
    for key, kind in (("name", str), ("title", str), ("description", str)):
        expect(head.get(key), kind, f"{source}: [campaign] {key}")
    tolerated = _patterns(head.get("tolerated_vacuous", []), f"{source}: [campaign] tolerated_vacuous")
    per_check = head.get("tolerated_vacuous_per_check")
    if per_check is not None:
        per_check = _by_check(per_check, f"{source}: [campaign] tolerated_vacuous_per_check")
    notes = head.get("notes", [])
    expect(notes, list, f"{source}: [campaign] notes")
    return Definition(
        name=head["name"],
        title=head["title"],
        description=head["description"],
        notes=tuple(str(note) for note in notes),
        tolerated_vacuous=tolerated,
        tolerated_vacuous_per_check=per_check,
        families=tuple(
            read_family(dict(item), f"{source}: family {k}") for k, item in enumerate(families, 1)
        ),
        source=source,
        scenarios=tuple(
            read_scenario(dict(item), f"{source}: scenario {k}", read_kernel)
            for k, item in enumerate(scenarios, 1)
        ),
        optima=tuple(
            read_optimum(dict(item), f"{source}: optimum {k}") for k, item in enumerate(optima, 1)
        ),
    )


def _by_check(table, where: str) -> dict[str, tuple[str, ...]]:
    """Patterns of case ids by check; an InputError for an unknown check or anything but texts."""
    expect(table, dict, where)
    for check in table:
        if check not in CHECKS:
            raise InputError(f"{where}: check {check!r} is unknown; known: {', '.join(sorted(CHECKS))}")
    return {check: _patterns(items, f"{where}, {check}") for check, items in table.items()}


def _patterns(items, where: str) -> tuple[str, ...]:
    """A list of case ids or patterns of them, as TOML gives it."""
    expect(items, list, where)
    for item in items:
        expect(item, str, where)
    return tuple(items)
