"""All solvers of the corpus as one list of neutral records: what was changed, and the label of it.

Labels are made by reading what was changed and the specification, never by looking at what a check says of
it: they are what the verdicts are graded against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from studies.corpus.c_solvers import PROGRAMS
from studies.corpus.labelled_set import EQUIVALENT, LABELLED
from studies.corpus.production_edits import Edit, edits, unedited

PRODUCTION = "production: "
"""Begins the ids of edits."""

Kind = Literal["python", "program", "production"]

OPTIONS = {
    "csr": "csr",
    "kept": "kept",
    "cache": "cache",
    "gram": "gram",
    "reduce-scatter": "reduce-scatter",
    "support": "support",
    "start": "resume",
    "recompute": "recompute",
    "timers": "timers",
    "training": "training",
}
"""Part of the system that a word of a case asks for."""

PARTS = {"cache": "cache", "resumed": "resume", "CSR only": "csr", "lost rank": "ranks"}
"""Part of the system that a kind of edit needs, whatever its case is."""


@dataclass(frozen=True)
class Entry:
    """One solver of the corpus.

    Parameters
    ----------
    id : str
        Its name, with the kind before it where that is not "python".
    kind : {"python", "program", "production"}
        A function made here; an external program in C and MPI; the production solver, edited or not.
    breaks : tuple of str
        Numbers of the sentences that it breaks; empty of a right one.
    acts : str
        Where its mistake acts, a name of `places.PLACES`; empty of a right one.
    where : tuple of str
        Parts of the system that it needs; "serial" where it needs none.
    equivalent : str
        Why the exact trajectory of a mistake stays within the bound; empty of one that must be found.
    """

    id: str
    kind: Kind
    breaks: tuple[str, ...]
    acts: str
    where: tuple[str, ...]
    equivalent: str = ""

    @property
    def right(self) -> bool:
        """Whether it is a right solver."""
        return not self.breaks


def where_of(edit: Edit) -> tuple[str, ...]:
    """Parts of the system that an edit needs, from the words of its case and its kind."""
    campaign, *words = edit.case.split()
    text = " ".join(words)
    found = [part for word, part in OPTIONS.items() if word in text]
    found += [PARTS[edit.kind]] if edit.kind in PARTS else []
    found += ["ranks"] if campaign == "parallel" or "P=" in text else []
    return tuple(dict.fromkeys(found)) or ("serial",)


def corpus() -> tuple[Entry, ...]:
    """All entries: the functions, the programs on each number of ranks, the edits, and nothing edited."""
    python = [
        Entry(one.id, "python", one.breaks, one.acts, ("serial",), one.equivalent)
        for one in (*LABELLED, *EQUIVALENT)
    ]
    programs = [
        Entry(
            f"{one.id}, P = {ranks}", "program", one.breaks, one.acts,
            ("external", "ranks") if ranks > 1 else ("external",),
        )
        for one in PROGRAMS
        for ranks in one.ranks
    ]  # fmt: skip
    production = [
        Entry(f"{PRODUCTION}{one.name}", "production", one.breaks, one.acts, where_of(one), one.survives)
        for one in edits()
    ]
    right = [Entry(f"{PRODUCTION}{one.name}", "production", (), "", where_of(one)) for one in unedited()]
    return (*python, *programs, *production, *right)
