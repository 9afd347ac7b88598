"""All solvers of the corpus, and the edits of the production solver among them, from ``production/*.toml``.

Edits were chosen and labelled by reading the solver and the specification, without regard to what the
checks see (`labelled`). A file names the module (or each edit does) and the case that runs the edited code:
a campaign, and words that its id holds; a file's own module, case, breaks and acts are those of its edits
that name none.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from studies.corpus.c_solvers import PROGRAMS, Program
from studies.corpus.labelled import Function, Kind, Labelled, Names
from studies.corpus.labelled_set import FUNCTIONS

FOLDER = Path(__file__).parent / "production"

SHARED = ("module", "case", "breaks", "acts")
"""Fields that a file may have for all its edits."""

PRODUCTION = "production: "
"""Begins the ids of edits."""

OPTIONS = (
    *("csr", "kept", "cache", "gram", "reduce-scatter", "support", "start", "recompute", "timers"),
    "training",
)
"""Words of a case that ask for a part of the system of that name; "start" for resume."""

PARTS = {"cache": "cache", "resumed": "resume", "CSR only": "csr", "lost rank": "ranks"}
"""Part of the system that a mistake of a sort needs, whatever its case is."""


@dataclass(frozen=True)
class Edit(Labelled):
    """The production solver with one edit, or with nothing edited.

    Parameters
    ----------
    sort : str
        Kind of the mistake; empty where nothing is edited.
    module : str
        Where it is made.
    before, after : str
        Text that stands there once, and what takes its place.
    case : str
        Campaign and words of the id of a case that runs the edited code.
    """

    sort: str = ""
    module: str = ""
    before: str = ""
    after: str = ""
    case: str = ""
    kind: ClassVar[Kind] = "production"

    @property
    def campaign(self) -> str:
        """The campaign of its case."""
        return self.case.split()[0]


Entry = Function | Program | Edit


def parts_of(case: str, sort: str) -> Names:
    """Parts of the system that an edit needs, from the words of its case and its sort."""
    campaign, _, text = case.partition(" ")
    parts = ["resume" if word == "start" else word for word in OPTIONS if word in text]
    parts += [PARTS[sort]] if sort in PARTS else []
    parts += ["ranks"] if campaign == "parallel" or "P=" in text else []
    return tuple(dict.fromkeys(parts)) or ("serial",)


@cache
def edits() -> tuple[Edit, ...]:
    """All edits, file by file."""
    return tuple(
        _edit(shared | one)
        for path in sorted(FOLDER.glob("*.toml"))
        for table in [tomllib.loads(path.read_text("utf-8"))]
        for shared in [{key: table[key] for key in SHARED if key in table}]
        for one in table["edit"]
    )


def _edit(table: dict[str, Any]) -> Edit:
    name, sort, breaks = (table.pop(key) for key in ("name", "kind", "breaks"))
    where, why = parts_of(table["case"], sort), table.pop("survives", "")
    return Edit(PRODUCTION + name, breaks=tuple(breaks), equivalent=why, where=where, sort=sort, **table)


@cache
def corpus() -> dict[str, Entry]:
    """All by name: functions, programs, edits, and nothing edited once for each case of an edit."""
    cases = dict.fromkeys(one.case for one in edits())
    right = [Edit(f"{PRODUCTION}nothing, {case}", where=parts_of(case, ""), case=case) for case in cases]
    every: tuple[Entry, ...] = (*FUNCTIONS, *PROGRAMS, *edits(), *right)
    return {one.id: one for one in every}
