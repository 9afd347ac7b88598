"""Profile: a shipped campaign with somebody's solver in the place of ours, cut to what it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sstep_verify.adapters.program import ProgramFile, is_program, read_program
from sstep_verify.campaign.further import with_further_s
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.selection import load_data
from sstep_verify.campaign.shipped import PROFILES
from sstep_verify.campaign.verdicts.family import Family, Source
from sstep_verify.campaign.verdicts.fitting import edges, fitted, judged, made_for, refuse_unusable
from sstep_verify.errors import InputError, closest
from sstep_verify.solver import Solver
from sstep_verify.specification import level_of


@dataclass(frozen=True)
class Selection:
    """What a solver is for.

    Parameters
    ----------
    ranks : tuple of int
        Numbers of ranks, ascending.
    s : tuple of int
        Iterations per window; those of the profile if empty.
    data : str
        Data set or file; those of the profile if empty.
    tasks, kernels : tuple of str
        Tasks and kernels by name; all if empty.
    level : int or None
        Level of the specification up to which it is judged, 0 to 3; all of it if None.
    shrink : float
        Seconds that a smaller problem is looked for on which it fails alike; 0 for none.
    seed : int or None
        Seed from which further s are drawn, where `s` is empty; None for no further ones.
    """

    ranks: tuple[int, ...] = (1,)
    s: tuple[int, ...] = ()
    data: str = ""
    tasks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    level: int | None = None
    shrink: float = 0.0
    seed: int | None = None


@dataclass(frozen=True)
class Cut:
    """A profile, and what it is cut to."""

    profile: str
    selection: Selection


def profile_of(
    profile: str,
    solver: Solver | ProgramFile | str,
    chosen: Selection,
    command: str,
    source: Source | None = None,
) -> Definition:
    """The campaign that judges a solver, which is one, ``module:object`` or (the path of) a program file.

    `command` is what was given or called, for replay commands; `source` is where the runs come from, if the
    solver is not to make them. InputError if the profile is unknown, nothing of it is left, or the solver
    cannot be had.
    """
    if profile not in PROFILES:
        raise InputError(
            f"profile {profile!r} is unknown{closest(profile, PROFILES)}; known: {', '.join(PROFILES)}"
        )
    if isinstance(solver, str) and is_program(solver):
        solver = read_program(solver)
    definition, given = read_definition(PROFILES[profile]), None if isinstance(solver, str) else solver
    name, stem = _names(solver)
    families = tuple(
        _fitted(replace(family, solver=name if given is None else stem, given=given, source=source), given)
        for family in _families(definition.families, chosen, given)
    )
    if not families:
        raise InputError(
            f"profile {profile}: no problem of it goes with the tasks, kernels and data asked for; leave "
            "these out and add --list to see what it has"
        )
    for family in families:
        refuse_unusable(family, f"profile {profile}")
    made = replace(
        definition,
        name=f"{stem}-{profile}",
        title=f"{name}: profile {profile}",
        description=f"Solver under test: {name}. {definition.description}",
        families=families,
        command=command,
        cut=Cut(profile, chosen),
    )
    return with_further_s(made, chosen.seed)


def _fitted(family: Family, described: object) -> Family:
    return fitted(family, described) if isinstance(described, ProgramFile) else family


def _made_for(family: Family, described: object) -> Family:
    return made_for(family, described) if isinstance(described, ProgramFile) else family


def _known_s(family: Family, described: object, chosen: Selection) -> tuple[int, ...]:
    """The values of s that are run: those asked for, else those that the program knows."""
    known = described.program.s if isinstance(described, ProgramFile) else ()
    if not chosen.s:
        return known or family.s
    unknown = [s for s in chosen.s if known and s not in known]
    if unknown:
        raise InputError(
            f"s = {unknown[0]} is asked for, but the program knows s = {', '.join(map(str, known))} only"
        )
    return chosen.s


def _names(solver: Solver | ProgramFile | str) -> tuple[str, str]:
    """Name of a solver, and one that folders and ids may have."""
    if isinstance(solver, ProgramFile):
        name = solver.program.name
    else:
        name = solver if isinstance(solver, str) else solver.declaration.name
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", Path(name).stem).strip("-._")
    return name, stem[:48] or "solver"


def _task_of_data(name: str, described: object) -> str:
    """What the targets of a data set are for; InputError if the program has another size fixed."""
    data = load_data(name, None)
    if isinstance(described, ProgramFile):
        misfit = described.fixed_values.misfit(*data.data.shape)
        if misfit:
            raise InputError(f"{name}: the program has fixed {misfit}; leave out --on, or fit its file")
    return data.task


def _families(given: tuple[Family, ...], chosen: Selection, described: object) -> Iterator[Family]:
    task = _task_of_data(chosen.data, described) if chosen.data else ""
    for family in (_made_for(one, described) for one in given):
        tasks = tuple(one for one in family.task if one in (chosen.tasks or family.task))
        kernels = tuple(one for one in family.kernel if one.name in (chosen.kernels or (one.name,)))
        apart = chosen.data and (edges(family) or (task == "regression") != ("krr" in tasks))
        if not tasks or not kernels or apart:
            continue
        family = replace(family, task=tasks, kernel=kernels, s=_known_s(family, described, chosen))
        family = replace(family, data=(chosen.data,)) if chosen.data else family
        for place, ranks in enumerate(chosen.ranks):
            checks = tuple(
                one
                for one in family.checks
                if (place == 0 or one in judged("ranks"))
                and (chosen.level is None or level_of(one) <= chosen.level)
            )
            yield replace(family, ranks=ranks, checks=checks, level=chosen.level, shrink=chosen.shrink)
