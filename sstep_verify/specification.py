"""The specification: numbered sentences on what an s-step dual coordinate descent solver must do.

They stand in ``specification.toml`` next to this module, once; ``docs/spec.md`` is made from them. A
verdict names those that a FAIL breaks.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from sstep_verify.files.records import build

if TYPE_CHECKING:
    from sstep_verify.verdict import Defect

FILE = "specification.toml"

LEFT_OUT = " left out"
"""Ends the name of the mistake that a quantity of a step is left out."""

OFF = " off by a factor"
"""Ends the name of the mistake that a quantity of a step is off by one factor wherever it acts."""


@dataclass(frozen=True)
class Sentence:
    """One thing that a solver must do.

    Its `number` is such as ``S-2.3``, the third sentence of the second group; a published one keeps its
    meaning. `checks` are ids of those that decide it, the sharpest first, and `claimed_by` those whose own
    claim it is, so that their FAIL breaks it where no mistake is named; where none decides it, `undecided`
    says why. `where` says where they decide it, if that is not everywhere. `level` is the lowest
    `Declaration.level` of a solver from which the first check decides it, `errata` are numbers in
    ``reference/ERRATA.md``, where the paper as printed differs. It prescribes
    `quantities` of a step (`sstep_verify.quantities`); `items` are parts of a check that look at it alone,
    such as an item of the check contract, and `mistakes` by name break it, besides a quantity left out.
    """

    number: str
    text: str
    checks: tuple[str, ...]
    level: int
    errata: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ("svm-l1", "svm-l2", "krr")
    claimed_by: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    undecided: str = ""
    where: str = ""

    @property
    def signs(self) -> tuple[str, ...]:
        """All names by which a check may find it broken."""
        missing = (name + LEFT_OUT for name in self.quantities)
        return (*self.quantities, *missing, *self.items, *self.mistakes)

    @property
    def limit(self) -> str:
        """Where its checks decide it, in brackets after a blank; empty if that is everywhere."""
        return self.where and f" ({self.where})"

    @property
    def words(self) -> str:
        """Number and text, without the full stop."""
        return f"{self.number}: {self.text.removesuffix('.')}"


@dataclass(frozen=True)
class Group:
    """The sentences on one subject, its title, in the order of their numbers."""

    title: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True)
class Specification:
    """All sentences, by groups in the order of their numbers, and the version of the specification."""

    version: str
    groups: tuple[Group, ...]

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of all groups, in order."""
        return tuple(sentence for group in self.groups for sentence in group.sentences)


@functools.cache
def specification() -> Specification:
    """The specification that this version of the package judges by."""
    text = (resources.files("sstep_verify") / FILE).read_text("utf-8")
    return build(tomllib.loads(text), Specification, FILE)


def decided_by(check: str) -> tuple[Sentence, ...]:
    """The sentences that a check decides, by its id, in order."""
    return tuple(sentence for sentence in specification().sentences if check in sentence.checks)


def of_verdict(check: str, task: str, signs: Iterable[str] = ()) -> tuple[Sentence, ...]:
    """The sentences that a FAIL of a check breaks.

    Those that the signs break, in their order: names of what was found wrong, the most likely first,
    such as mistakes, quantities, items of the check. Where there are none, those that the check claims.
    """
    known = [sentence for sentence in specification().sentences if task in sentence.tasks]
    named = [sentence for sign in signs for sentence in known if sign in sentence.signs]
    return tuple(dict.fromkeys(named)) or tuple(
        sentence for sentence in known if check in sentence.claimed_by
    )


def requirements_of(task: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the numbers of the requirements that names of what was found wrong violate, in their order."""
    return tuple(sentence.number for sentence in of_verdict("", task, names))


def violated_by(
    check: str,
    task: str,
    defects: Iterable[Defect],
    signs: Iterable[str] = (),
    *,
    certain: bool = True,
    claimed: bool = True,
) -> str:
    """Return the number of the requirement that a FAIL violates; empty where none is known.

    Parameters
    ----------
    check, task : str
        Check id and task.
    defects : iterable of Defect
        The known defects that reproduce it. If all of them violate one requirement it is that one; if they
        violate different ones it is none.
    signs : iterable of str
        Names of other facts, such as an item of a check, for a FAIL that no defect decides. If all have one
        requirement it is that one.
    certain : bool
        Whether the defects decide it, since nothing else reproduces it.
    claimed : bool
        Whether it is otherwise the check's own requirement.

    Returns
    -------
    str
    """
    if numbers := {number for one in defects for number in one.requirements if certain}:
        return numbers.pop() if len(numbers) == 1 else ""
    told = requirements_of(task, signs)
    own = tuple(one.number for one in of_verdict(check, task)) if claimed else ()
    return next((some[0] for some in (told, own) if len(some) == 1), "")


def broken_by(sign: str) -> tuple[str, ...]:
    """Numbers of the sentences that a mistake, or a quantity left out, breaks, whatever the task."""
    return tuple(sentence.number for sentence in specification().sentences if sign in sentence.signs)


def names_a_part(numbers: Iterable[str]) -> bool:
    """Whether the first of these sentences is on one part of a solver, not on a whole step or run."""
    first = next(iter(numbers), "")
    return any(sentence.number == first and sentence.signs for sentence in specification().sentences)


def quantities_of(number: str) -> tuple[str, ...]:
    """Return the quantities of a step that a sentence is about; none where it is not known."""
    return next((one.quantities for one in specification().sentences if one.number == number), ())


def text_of(number: str) -> str:
    """The text of a sentence; empty if this version has no such sentence."""
    return next((sentence.text for sentence in specification().sentences if sentence.number == number), "")
