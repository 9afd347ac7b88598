"""Pages that the command ``explain`` prints, for machines without a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sstep_verify.errors import InputError

PACKAGED = Path(__file__).parents[1] / "topics"
"""Folder of the pages in an installed package (``force-include`` in ``pyproject.toml``)."""

WRITTEN = Path(__file__).parents[2] / "docs"
"""Folder of the pages in a clone."""


@dataclass(frozen=True)
class Topic:
    """A page, or one section of it: file, what it says, and the heading of the section."""

    file: str
    says: str
    heading: str = ""

    @property
    def text(self) -> str:
        """The Markdown of the page, or of the section.

        Raises
        ------
        InputError
            If the installation lacks the page.
        """
        path = next((one / self.file for one in (PACKAGED, WRITTEN) if (one / self.file).is_file()), None)
        if path is None:
            raise InputError(
                f"{PACKAGED / self.file}: the installation lacks this page; install the package again"
            )
        page = path.read_text("utf-8")
        if not self.heading:
            return page
        return self.heading + "\n" + page.partition(f"\n{self.heading}\n")[2].partition("\n## ")[0]


TOPICS = {
    "run-folder": Topic("run-folder.md", "files that a program reads and writes"),
    "program-file": Topic("program-file.md", "keys of the file that describes a program"),
    "specification": Topic("spec.md", "requirements that verdicts name (S-1.1 ...)"),
    "exit-codes": Topic("campaigns.md", "exit codes of all commands", "## What a run leaves"),
}
