"""Profile: a shipped campaign with somebody's solver in the place of ours, cut to what it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sstep_verify.campaign.data import load_data
from sstep_verify.campaign.definition import Definition, read_definition
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.errors import InputError
from sstep_verify.solvers.adapters.program import ProgramFile

ON_RANKS = ("contract", "step-replay", "window-replay", "trajectory", "box", "determinism", "message-count")
"""Checks on more than the fewest ranks: what communication may spoil."""


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
    """

    ranks: tuple[int, ...] = (1,)
    s: tuple[int, ...] = ()
    data: str = ""
    tasks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()


def profile_of(
    campaign: str, profile: str, solver: str, program: ProgramFile | None, chosen: Selection, command: str
) -> Definition:
    """The campaign that judges a solver.

    Parameters
    ----------
    campaign : str
        The shipped campaign whose problems are taken.
    profile : str
        Its name as a profile.
    solver : str
        ``module:object`` or the path of a program file; empty with `program`.
    program : ProgramFile or None
        The program, where it is described by options.
    chosen : Selection
        What it is for.
    command : str
        The command that was given, for replay commands.

    Raises
    ------
    InputError
        If nothing is left, or the solver cannot be had.
    """
    given = read_definition(campaign)
    name = program.program.name if program else solver
    families = tuple(
        replace(family, solver=name, program=program) for family in _families(given.families, chosen)
    )
    if not families:
        raise InputError(
            f"profile {profile}: no problem of it goes with the tasks, kernels and data asked for; see "
            "sstep-verify check --list --profile for what it has"
        )
    for family in families:
        family.solvers()
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", Path(name).stem).strip("-._") or "solver"
    return replace(
        given,
        name=f"{stem[:48]}-{profile}",
        title=f"{name}: profile {profile}",
        description=f"Solver under test: {name}. {given.description}",
        families=families,
        command=command,
    )


def _families(given: tuple[Family, ...], chosen: Selection) -> Iterator[Family]:
    task = load_data(chosen.data, None).task if chosen.data else ""
    for family in given:
        tasks = tuple(one for one in family.task if one in (chosen.tasks or family.task))
        kernels = tuple(one for one in family.kernel if one.name in (chosen.kernels or (one.name,)))
        if not tasks or not kernels or (task and (task == "regression") != ("krr" in tasks)):
            continue
        family = replace(family, task=tasks, kernel=kernels, s=chosen.s or family.s)
        family = replace(family, data=(chosen.data,)) if chosen.data else family
        for place, ranks in enumerate(chosen.ranks):
            checks = tuple(one for one in family.checks if place == 0 or one in ON_RANKS)
            yield replace(family, ranks=ranks, checks=checks)
