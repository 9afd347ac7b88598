"""Studies of power: the tables ``[[sensitivity]]`` of a campaign file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sstep_verify.campaign.ranges import Range, known, within
from sstep_verify.campaign.toml_values import expect, refuse_rest, take
from sstep_verify.errors import InputError

STUDIES = ("corpus", "limits", "alarms", "adversary")

Piece = tuple[Mapping[str, Any], float]
"""What one process works on at a time: items by name, and rough cost in seconds."""


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

    study: str
    every: int = 1
    edits: int = 1
    whole: int = 1
    shrink: int = 0
    small: bool = False
    runs: int = 30_000
    design: int = 1_000
    seed: int = 0


_USED = {
    "corpus": ("every", "edits", "whole", "shrink"),
    "limits": ("small", "seed"),
    "alarms": ("runs", "design", "seed"),
    "adversary": (),
}
_RANGES = {
    "every": Range(1, 1_000),
    "edits": Range(1, 1_000),
    "whole": Range(1, 1_000),
    "shrink": Range(0, 600),
    "runs": Range(1, 10_000_000),
    "design": Range(0, 10_000_000),
    "seed": Range(0, 2**53),
}


def read_study(table: dict[str, Any], where: str) -> Study:
    """The study of one table, which is emptied.

    Raises
    ------
    InputError
        If a key is missing, unknown or not of this study, or a value cannot be used.
    """
    name = take(table, "study", str, where)
    known(where, "study", name, STUDIES)
    values: dict[str, Any] = {}
    for item in fields(Study):
        if item.name in table and item.name in _USED[name]:
            values[item.name] = table.pop(item.name)
            expect(values[item.name], type(item.default), f"{where}: {item.name}")
    within(where, values, _RANGES)
    refuse_rest(table, where, f"study {name}")
    return Study(name, **values)


def refuse_twice(studies: tuple[Study, ...], source: str) -> None:
    """Raise InputError if a study stands there twice."""
    names = [one.study for one in studies]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{source}: study {name} stands in two [[sensitivity]] tables")
