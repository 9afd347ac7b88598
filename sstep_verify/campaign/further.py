"""Further s of a run, drawn from its seed: a solver that is right at the s of a file alone is not right.

What a campaign file names stays as it is; each of its families gets one or two more, which are judged by
those checks alone that decide whether an s is right.
"""

from __future__ import annotations

import itertools
import secrets
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.adapters.program import ProgramFile, read_program
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.verdicts.family import Family

SHORT = 64
"""Up to this s, or the largest of the family where that is larger, further ones are drawn."""

WHOLE = 256
"""Longest run that may be one window."""

SEEDS = 10**6
"""Seeds that are drawn lie below."""


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


def new_seed() -> int | None:
    """A seed for a run that was given none; None for no further s."""
    return secrets.randbelow(SEEDS)


def with_further_s(definition: Definition, seed: int | None) -> Definition:
    """A campaign whose families have further s, drawn from a seed, which its command names.

    The seed is of PCG64; None leaves the campaign as it is, as does one of another kind than verdicts.
    """
    if seed is None or definition.kind != "family":
        return definition
    cut, again = definition.cut, definition.again
    if cut is not None:
        if cut.selection.s:
            return definition
        cut = replace(cut, selection=replace(cut.selection, seed=seed))
    if again.endswith(")"):
        named = f"{again[:-1]}, seed={seed})"
    else:
        options = again.split()
        told = ("--seed", str(seed)) in itertools.pairwise(options)
        named = again if told else f"{again} --seed {seed}"
    families = tuple(replace(one, further=further_s(one, seed)) for one in definition.families)
    return replace(definition, families=families, seed=seed, cut=cut, command=named)


def further_s(family: Family, seed: int) -> tuple[int, ...]:
    """The s that a seed adds to a family: one beside one or two, two beside more.

    The first is odd, even, a power of two, or a prime, and the same for all families that can have it; the
    second may also be a long window, or the whole run. Nothing is added where a program says which s it
    knows, and for training in intervals.
    """
    if family.is_vector or family.interval or _known(family):
        return ()
    most = min(family.iterations, max(SHORT, *family.s))
    shared, own = _generator(seed), _generator(seed, zlib.crc32(repr((family.data, family.s)).encode()))
    kinds = {**SHARED, "long": LONG}
    if family.iterations <= WHOLE and not family.cache:
        kinds["whole run"] = lambda _: (family.iterations,)
    found = _usable(family, set(), _shuffled(shared, SHARED, SHORT), most)
    if len(family.s) > 2:
        found |= _usable(family, found, _shuffled(own, kinds, most), family.iterations)
    return tuple(sorted(found))


def _generator(*seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


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


def _known(family: Family) -> tuple[int, ...]:
    """The values of s that a program says it knows."""
    if not family.is_program:
        return ()
    described = family.given if isinstance(family.given, ProgramFile) else read_program(family.solver)
    return described.program.s
