"""Profile: a shipped campaign with somebody's solver in the place of ours, cut to what it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sstep_verify.campaign.data import load_data
from sstep_verify.campaign.definition import Definition, read_definition
from sstep_verify.campaign.shipped import PROFILES
from sstep_verify.campaign.verdicts.family import Family, Source, refuse_unusable
from sstep_verify.errors import InputError, closest
from sstep_verify.solver import Solver
from sstep_verify.solvers.adapters.program import ProgramFile, is_program, read_program

FROM_ZERO = (
    "contract", "step-replay", "window-replay", "trajectory", "sstep-equals-classical", "box",
    "determinism", "optimum", "rank-coherence", "message-count",
)  # fmt: skip
"""Checks of a program that takes no a0, or no index stream either."""

PRINTED = (
    "contract", "trajectory", "sstep-equals-classical", "determinism", "rank-coherence", "message-count",
)  # fmt: skip
"""Checks of a program that prints a rounded result."""

SHOWN = ("window-replay", "residual-gap", "metamorphic-exact")
"""Checks that need to see, or to be able to give, the weights that a program carries."""

ON_RANKS = (
    "contract", "step-replay", "window-replay", "trajectory", "box", "determinism", "rank-coherence",
    "message-count",
)  # fmt: skip
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


@dataclass(frozen=True)
class Cut:
    """A profile, and what it is cut to.

    Parameters
    ----------
    profile : str
        Its name.
    selection : Selection
        What a solver is for.
    """

    profile: str
    selection: Selection


def profile_of(
    profile: str,
    solver: Solver | ProgramFile | str,
    chosen: Selection,
    command: str,
    source: Source | None = None,
) -> Definition:
    """The campaign that judges a solver.

    Parameters
    ----------
    profile : str
        One of `PROFILES`.
    solver : Solver, ProgramFile or str
        The solver; a text is ``module:object`` or the path of a program file.
    chosen : Selection
        What it is for.
    command : str
        The command or call that was made, for replay commands.
    source : Source, optional
        Where the runs come from, if the solver is not to make them.

    Raises
    ------
    InputError
        If the profile is unknown, nothing of it is left, or the solver cannot be had.
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
        _fitting(replace(family, solver=name if given is None else stem, given=given, source=source), given)
        for family in _families(definition.families, chosen, given)
    )
    if not families:
        raise InputError(
            f"profile {profile}: no problem of it goes with the tasks, kernels and data asked for; see "
            "sstep-verify check --list --profile for what it has"
        )
    for family in families:
        refuse_unusable(family, f"profile {profile}")
    return replace(
        definition,
        name=f"{stem}-{profile}",
        title=f"{name}: profile {profile}",
        description=f"Solver under test: {name}. {definition.description}",
        families=families,
        command=command,
        cut=Cut(profile, chosen),
    )


def _fitting(family: Family, described: object) -> Family:
    """The family with what a program draws and counts itself, and those checks that can judge it."""
    if not isinstance(described, ProgramFile):
        return family
    wanted = set(family.checks)
    if described.from_zero:
        wanted &= set(FROM_ZERO)
        family = replace(family, start=0)
    if described.rounded or described.ends_apart:
        wanted &= set(PRINTED)
    if described.carries:
        wanted -= set(SHOWN)
    family = replace(
        family,
        checks=tuple(one for one in family.checks if one in wanted),
        counts=described.conventions.counts,
    )
    own = described.stream
    if own is None:
        return family
    return replace(family, stream=own.kind, seed=own.seed, replacement=own.replacement)


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


def _made_for(family: Family, described: object) -> Family:
    """The family with what a program has fixed; with no task or kernel where it is for none of these.

    One that carries weights has the linear kernel alone.
    """
    if not isinstance(described, ProgramFile):
        return family
    fixed, names = described.fixed_values, described.fixed_values.names("kernel")
    allowed = set(fixed.names("task")) & set(described.conventions.tasks)
    tasks = tuple(task for task in family.task if task in allowed)
    kernels = [
        fixed.kernel(one)
        for one in family.kernel
        if one.name in names and (one.linear or not described.carries)
    ]
    penalty = {fixed.penalty(task) or family.parameter for task in tasks}
    block = int(fixed.values.get("b", 0))
    if block > 1 and "krr" not in tasks:
        tasks = ()
    return replace(
        family,
        task=tasks,
        kernel=tuple(dict.fromkeys(kernels)),
        parameter=penalty.pop() if penalty else family.parameter,
        block=(block,) if block and "krr" in tasks else family.block,
        iterations=int(fixed.values.get("H", family.iterations)),
    )


def _names(solver: Solver | ProgramFile | str) -> tuple[str, str]:
    """Name of a solver, and one that folders and ids may have."""
    if isinstance(solver, ProgramFile):
        name = solver.program.name
    else:
        name = solver if isinstance(solver, str) else solver.declaration.name
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", Path(name).stem).strip("-._")
    return name, stem[:48] or "solver"


def _families(given: tuple[Family, ...], chosen: Selection, described: object) -> Iterator[Family]:
    task = load_data(chosen.data, None).task if chosen.data else ""
    for family in (_made_for(one, described) for one in given):
        tasks = tuple(one for one in family.task if one in (chosen.tasks or family.task))
        kernels = tuple(one for one in family.kernel if one.name in (chosen.kernels or (one.name,)))
        if not tasks or not kernels or (task and (task == "regression") != ("krr" in tasks)):
            continue
        family = replace(family, task=tasks, kernel=kernels, s=_known_s(family, described, chosen))
        family = replace(family, data=(chosen.data,)) if chosen.data else family
        for place, ranks in enumerate(chosen.ranks):
            checks = tuple(one for one in family.checks if place == 0 or one in ON_RANKS)
            yield replace(family, ranks=ranks, checks=checks)
