"""Studies of power: the tables ``[[sensitivity]]`` of a campaign file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from sstep_verify.campaign.tables import OneOf, Range, Whole, read_table
from sstep_verify.errors import InputError

STUDIES = ("corpus", "limits", "alarms", "adversary")

Piece = tuple[Mapping[str, Any], float]
"""What one process works on at a time: items by name, and rough cost in seconds."""

OneIn = Annotated[int, Range(1, 1_000)]


@dataclass(frozen=True)
class Study:
    """One study of a campaign.

    Parameters
    ----------
    study : {"corpus", "limits", "alarms", "adversary"}
        The labelled solvers; limits of detection with doses and rivals; runs of correct solvers; the worst
        cases that a search has found.
    every : int
        Of corpus: one solver in so many is judged, spread over the corpus.
    edits : int
        Of corpus: one edit of the production modules in so many of these is judged.
    whole : int
        Of corpus: one of those edits in so many is judged by all checks; the others by those on plain runs,
        and by all only where none of these fails and says which part of the solver is wrong.
    shrink : int
        Of corpus: seconds in which a smaller problem is looked for on which a mistake is found alike.
    small : bool
        Of limits: whether only the small version is made.
    runs : int
        Of alarms: how many runs of correct solvers are drawn.
    design : int
        Of alarms: how many more runs are made of a design in which every two values of two freedoms of a
        solver and a case meet.
    seed : int
        Of limits and alarms: the seed of the draws.
    """

    study: Annotated[str, OneOf(STUDIES)]
    every: OneIn = 1
    edits: OneIn = 1
    whole: OneIn = 1
    shrink: Annotated[int, Range(0, 600)] = 0
    small: bool = False
    runs: Annotated[int, Range(1, 10_000_000)] = 30_000
    design: Annotated[int, Range(0, 10_000_000)] = 1_000
    seed: Whole = 0


_USED = {
    "corpus": ("every", "edits", "whole", "shrink"),
    "limits": ("small", "seed"),
    "alarms": ("runs", "design", "seed"),
    "adversary": (),
}


def read_study(table: dict, where: str) -> Study:
    """The study of one table; InputError if a key is missing, unknown or not of it, or a value unusable."""
    values = read_table(table, Study, where)
    if other := sorted(values.keys() - {"study", *_USED[values["study"]]}):
        raise InputError(f"{where}: key {other[0]!r} is of another study than {values['study']}")
    return Study(**values)


def refuse_twice(studies: tuple[Study, ...], source: str) -> None:
    """Raise InputError if a study stands there twice."""
    names = [one.study for one in studies]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{source}: study {name} stands in two [[sensitivity]] tables")
