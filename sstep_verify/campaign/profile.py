"""Profile: a shipped campaign with somebody's solver in place of ours, cut to what it is for.

And what is drawn from the seed of a run. Further s: a solver that is right at the s of a file alone is not
right; each family gets one or two more, which are judged by those checks alone that decide whether an s is
right. Of the profiles smoke and ci another seed than the usual one also draws the other values again
(`campaign.redrawn`).
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sstep_verify.adapters.program import ProgramFile, read_program
from sstep_verify.campaign import PROFILES
from sstep_verify.campaign.cases import OneOf, command_for, load_data, refuse_beyond
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.redrawn import drawn_again
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.campaign.verdicts.kind import edges, fitted, judged, made_for, refuse_unusable
from sstep_verify.errors import InputError, closest
from sstep_verify.files import folder_stem
from sstep_verify.oracle.choice import ORACLES
from sstep_verify.problems.data.embedded import size_in
from sstep_verify.problems.kernels import KERNELS
from sstep_verify.problems.losses import TASKS
from sstep_verify.protocol import Solver, is_program

SHORT = 64
"""Up to this s, or the largest of the family where that is larger, further ones are drawn."""

WHOLE = 256
"""Longest run that may be one window."""

AS_SHIPPED = "as shipped it is: "
"""Stands before the description of a profile that is not run as its file has it."""

USUAL = 0
"""The seed with which the values of a profile are those of its file."""

SEED: int | None = USUAL
"""Seed of a run that was given none, always the same, so that reports compare; None for no further s."""


def _primes(most: int) -> list[int]:
    return [s for s in range(2, most + 1) if all(s % one for one in range(2, int(s**0.5) + 1))]


SHARED: dict[str, Callable[[int], Iterable[int]]] = {
    "odd": lambda most: range(3, most + 1, 2),
    "even": lambda most: range(2, most + 1, 2),
    "power of two": lambda most: (2**k for k in range(1, most.bit_length()) if 2**k <= most),
    "prime": _primes,
}
"""Kinds of s, each of which has values of its own to be wrong at, up to the largest."""

LONG: Callable[[int], Iterable[int]] = lambda most: range(most // 2 + 1, most + 1)  # noqa: E731


def seeded(definition: Definition, seed: int | None) -> Definition:
    """A campaign with what is drawn from a seed, which its command names.

    Its families have further s, unless some s were asked for; those of the profiles smoke and ci have other
    values where it is not the usual seed. The seed is of PCG64; None leaves the campaign as it is, as does
    one of another kind than verdicts.
    """
    if seed is None or definition.kind != "family":
        return definition
    cut, again = definition.cut, definition.again
    families = definition.families if seed == USUAL else drawn_again(definition, seed)
    asked = cut is not None and bool(cut.selection.s)
    if asked and families == definition.families:
        return definition
    if cut is not None:
        cut = replace(cut, selection=replace(cut.selection, seed=seed))
    told = ("--seed", str(seed)) in itertools.pairwise(again.split())
    named = again if told else command_for(again, seed, "seed")
    if families != definition.families:
        definition = _described(definition, families, seed)
    if not asked:
        families = tuple(replace(one, further=further_s(one, seed)) for one in families)
    return replace(definition, families=families, seed=seed, cut=cut, command=named)


def _described(definition: Definition, families: Iterable[Family], seed: int) -> Definition:
    """The campaign, whose title and description are of problems with values drawn from a seed."""
    shipped = read_definition(definition.source).description
    before = definition.description.removesuffix(shipped)
    steps = [one.iterations for one in families]
    sizes = [size_in(data) for one in families for data in one.data]
    known = [size.samples for size in sizes if size is not None]
    of = {"samples": known if len(known) == len(sizes) else [], "steps": steps}
    ranges = ", ".join(f"{min(found)} to {max(found)} {name}" for name, found in of.items() if found)
    lead = "" if before.endswith(AS_SHIPPED) else f"{AS_SHIPPED[0].upper()}{AS_SHIPPED[1:]}"
    told = f"Values drawn from seed {seed} instead of those shipped: {ranges}. "
    return replace(
        definition,
        title=f"{definition.title.partition(',')[0]}, values drawn from seed {seed}",
        description=f"{told}{before}{lead}{shipped}",
    )


def further_s(family: Family, seed: int) -> tuple[int, ...]:
    """The s that a seed adds to a family: one besides one or two, two besides more.

    The first is odd, even, a power of two, or a prime, and the same for all families that can have it; the
    second may also be a long window, or the whole run. Nothing is added where a program says which s it
    knows, and for training in intervals.
    """
    given = read_program(family.solver) if family.is_program and not family.given else family.given
    if family.is_vector or family.interval or (isinstance(given, ProgramFile) and given.program.s):
        return ()
    most = min(family.iterations, max(SHORT, *family.s))
    of_family = zlib.crc32(repr((family.data, family.s)).encode())
    shared, own = (np.random.Generator(np.random.PCG64(one)) for one in ((seed,), (seed, of_family)))
    kinds = {**SHARED, "long": LONG}
    if family.iterations <= WHOLE and not family.cache:
        kinds["whole run"] = lambda _: (family.iterations,)
    found = _usable(family, set(), _shuffled(shared, SHARED, SHORT), most)
    if len(family.s) > 2:
        found |= _usable(family, found, _shuffled(own, kinds, most), family.iterations)
    return tuple(sorted(found))


def _shuffled(generator: np.random.Generator, kinds: dict[str, Any], most: int) -> list[int]:
    """The values of one kind, then those of another, each in an order of its own."""
    names = generator.permutation(sorted(kinds)).tolist()
    return [s for name in names for s in generator.permutation(list(kinds[name](most))).tolist()]


def _usable(family: Family, taken: set[int], values: list[int], most: int) -> set[int]:
    """The first value that the family has not, and can have."""
    whole = int(np.lcm.reduce(family.s)) if family.counts == "windows" else 0
    limit = min(most, max(family.s)) if family.cache else most
    fits = (s for s in values if s <= limit and s not in taken and s not in family.s and whole % s == 0)
    return {s for s in [next(fits, 0)] if s}


def with_oracle(definition: Definition, name: str) -> Definition:
    """The campaign, judged by the oracle of this name, which its command says.

    InputError if it is of a kind that has no verdicts, and the oracle is not the usual one.
    """
    if name == Family.oracle:
        return definition
    OneOf(ORACLES).refuse(definition.name, "oracle", name)
    if definition.kind != "family":
        raise InputError(
            f"oracle = {name}: the campaign {definition.name} judges no runs; certificates rest on arb; "
            "leave it out"
        )
    again = definition.again
    told = "--oracle" in again or "oracle=" in again
    named = again if told else command_for(again, name, "oracle")
    families = tuple(replace(one, oracle=name) for one in definition.families)
    return replace(definition, families=families, command=named)


@dataclass(frozen=True)
class Selection:
    """What a solver is for.

    Numbers of `ranks`, ascending; `s`, `data` (a data set or file), `tasks` and `kernels` by name, each as
    the profile has them if empty; the `seed` from which values are drawn, and further s where `s` is
    empty, None for neither; and coordinates a step of K-RR (`block`), the profile's if 0.
    """

    ranks: tuple[int, ...] = (1,)
    s: tuple[int, ...] = ()
    data: str = ""
    tasks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    seed: int | None = None
    block: int = 0


@dataclass(frozen=True)
class Chosen:
    """The problems that were asked for, in the words of ``sstep-verify check``.

    A profile by name, what it was cut to, and a part of the ids of the cases (`only`), all if empty.
    """

    profile: str
    selection: Selection
    only: str = ""


def profile_of(
    profile: str,
    solver: Solver | ProgramFile | str,
    chosen: Selection,
    command: str,
) -> Definition:
    """The campaign that judges a solver, which is one, ``module:object`` or (the path of) a program file.

    `command` is what was given or called, for replay commands. InputError if the profile is
    unknown, nothing of it is left, or the solver cannot be had.
    """
    if profile not in PROFILES:
        raise InputError(
            f"profile {profile!r} is unknown{closest(profile, PROFILES)}; known: {', '.join(PROFILES)}"
        )
    names = {"task": chosen.tasks, "kernel": chosen.kernels}
    refuse_beyond(f"profile {profile}", names, {"task": OneOf(TASKS), "kernel": OneOf(tuple(KERNELS))})
    if isinstance(solver, str) and is_program(solver):
        solver = read_program(solver)
    definition, given = read_definition(PROFILES[profile]), None if isinstance(solver, str) else solver
    program = given if isinstance(given, ProgramFile) else None
    name, stem = _names(solver)
    ranks = max(chosen.ranks, default=1)
    if given is not None and program is None and ranks > 1:
        raise InputError(f"solver {name!r} runs in one process, but ranks = {ranks}; ranks are for others")
    families = tuple(
        replace(family, solver=name if given is None else stem, given=given)
        for family in _families(definition.families, chosen, program)
    )
    if program is not None:
        families = tuple(fitted(family, program) for family in families)
    if not families:
        pairs: dict[str, dict[str, None]] = {}
        for family in definition.families:
            for task in family.task:
                pairs.setdefault(task, {}).update(dict.fromkeys(one.name for one in family.kernel))
        has = "; ".join(f"{task} with {', '.join(kernels)}" for task, kernels in pairs.items())
        block = f"blocks of {chosen.block}" if chosen.block else ""
        asked = " and ".join(
            filter(None, (", ".join(chosen.tasks), ", ".join(chosen.kernels), chosen.data, block))
        )
        raise InputError(
            f"profile {profile}: no problem of it goes with {asked or 'this solver'}. It has {has}"
            f"{', and labels are for a K-SVM, other targets for krr' * bool(chosen.data)}"
            f"{'; blocks are for krr, and hold no more coordinates than there are samples' * bool(block)}"
        )
    for family in families:
        refuse_unusable(family, f"profile {profile}")
    made = replace(
        definition,
        name=f"{stem}-{profile}",
        title=f"{name}: profile {profile}",
        description=f"Solver under test: {name}. {_part(chosen, program)}{definition.description}",
        families=families,
        command=command,
        cut=Chosen(profile, chosen),
    )
    return seeded(made, chosen.seed)


def _part(chosen: Selection, program: ProgramFile | None) -> str:
    """What stands before the description of a profile of which a part, or something else, is run."""
    cut = {"tasks": chosen.tasks, "kernels": chosen.kernels}
    own = program is not None and bool(program.fixed or program.program.s or program.carries)
    given = {
        "the data given": chosen.data,
        "the s given": chosen.s,
        "the block given": chosen.block,
        "what the program has fixed": own,
    }
    part, other = (" and ".join(name for name, value in of.items() if value) for of in (cut, given))
    if not (part or other):
        return ""
    words = f"A part of the profile, chosen by {part}" if part else "The profile"
    words += f", with {other} instead of its own" * bool(other)
    return f"{words}; {AS_SHIPPED}"


def _has_block(family: Family, tasks: tuple[str, ...], chosen: Selection) -> bool:
    """Whether a family of these tasks can have the block that is asked for, if one is."""
    sizes = [] if chosen.data else [size_in(name) for name in family.data]
    small = any(size is not None and size.samples < chosen.block for size in sizes)
    return not chosen.block or ("krr" in tasks and not small)


def _names(solver: Solver | ProgramFile | str) -> tuple[str, str]:
    """Name of a solver, and one that folders and ids may have."""
    if isinstance(solver, ProgramFile):
        name = solver.program.name
    else:
        name = solver if isinstance(solver, str) else solver.declaration.name
    return name, folder_stem(name, "solver")


def _families(
    given: tuple[Family, ...], chosen: Selection, program: ProgramFile | None
) -> Iterator[Family]:
    task, known = "", program.program.s if program else ()
    if unknown := [s for s in chosen.s if known and s not in known]:
        raise InputError(
            f"s = {unknown[0]} is asked for, but the program knows s = {', '.join(map(str, known))} only"
        )
    if chosen.block and program and (own := program.fixed.get("b", chosen.block)) != chosen.block:
        raise InputError(f"block = {chosen.block} is asked for, but the program has fixed b = {own}")
    if chosen.data:
        # What is asked for says what the targets are used for: labels may be targets of K-RR.
        wanted = {"regression" if one == "krr" else "classification" for one in chosen.tasks}
        data = load_data(chosen.data, None, wanted.pop() if len(wanted) == 1 else None)
        if program and (misfit := program.misfit(*data.data.shape)):
            raise InputError(
                f"{chosen.data}: the program has fixed {misfit}; leave out --on, or fit its file"
            )
        task = data.task

    def pairs(family: Family) -> set[tuple[str, str]]:
        return {(one, kernel.name) for one in family.task for kernel in family.kernel}

    def replaced(family: Family) -> bool:
        """Whether its data are made for what they hold, and other families have its tasks and kernels."""
        return edges(family) and pairs(family) <= common

    common = {pair for family in given if not edges(family) for pair in pairs(family)}
    for family in given:
        family = made_for(family, program) if program else family
        tasks = tuple(one for one in family.task if one in (chosen.tasks or family.task))
        kernels = tuple(one for one in family.kernel if one.name in (chosen.kernels or (one.name,)))
        apart = chosen.data and (replaced(family) or (task == "regression") != ("krr" in tasks))
        if not tasks or not kernels or apart or not _has_block(family, tasks, chosen):
            continue
        if chosen.block:
            family = replace(family, block=(chosen.block,))
        if chosen.data and task == "regression":
            family = replace(family, labels_as_targets=True)
        family = replace(family, task=tasks, kernel=kernels, s=chosen.s or known or family.s)
        family = replace(family, data=(chosen.data,)) if chosen.data else family
        for place, ranks in enumerate(chosen.ranks):
            checks = tuple(one for one in family.checks if place == 0 or one in judged("ranks"))
            yield replace(family, ranks=ranks, checks=checks)
