"""Edits of the production solver, read from ``production/*.toml``: mistakes one might make, by kind.

They were chosen and labelled by reading the solver and the specification, without regard to what the checks
see (`labelled`). A file names the module (or each edit does) and the case that runs the edited code: a
campaign, and words that its id holds; a file's own module, case, breaks and acts are those of its edits
that name none.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parent / "production"

SHARED = ("module", "case", "breaks", "acts")
"""Fields that a file may have for all its edits."""


@dataclass(frozen=True)
class Edit:
    """One mistake.

    Parameters
    ----------
    name, kind : str
        What it is, and its kind.
    module : str
        Where it is made.
    before, after : str
        Text that stands there once, and what takes its place.
    case : str
        Campaign and words of the id of a case that runs the edited code.
    breaks, acts
        As of `Labelled`.
    survives : str
        Why no verdict of that case can be FAIL; empty where one must be.
    """

    name: str
    kind: str
    module: str
    before: str
    after: str
    case: str
    breaks: tuple[str, ...] = ()
    acts: str = ""
    survives: str = ""

    @property
    def unedited(self) -> Edit:
        """Nothing planted, judged on the same case."""
        return replace(
            self,
            name=f"nothing, {self.case}",
            kind="nothing",
            after=self.before,
            breaks=(),
            acts="",
            survives="right",
        )


def edits() -> tuple[Edit, ...]:
    """All edits, file by file."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        shared = {key: table[key] for key in SHARED if key in table}
        for one in table["edit"]:
            fields = shared | one
            found.append(Edit(**(fields | {"breaks": tuple(fields["breaks"])})))
    return tuple(found)


def unedited() -> tuple[Edit, ...]:
    """Nothing planted, once for each case that an edit is judged on."""
    return tuple({one.case: one.unedited for one in edits()}.values())
