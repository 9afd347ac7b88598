"""What the programs that write a page have in common: write it, or compare it with what stands there."""

from __future__ import annotations

import sys
from pathlib import Path


def write_or_compare(page: Path, made: str, source: str) -> None:
    """Write a page; with ``--check`` on the command line end the program if it is another one.

    Parameters
    ----------
    page : Path
        The page.
    made : str
        What it is to hold.
    source : str
        What it is made from, for the message.

    Raises
    ------
    SystemExit
        If the page is to be compared, and is not what was made.
    """
    if "--check" not in sys.argv[1:]:
        page.write_text(made, encoding="utf-8")
    elif not page.is_file() or page.read_text(encoding="utf-8") != made:
        program = Path(sys.argv[0]).name
        raise SystemExit(f"docs/{page.name} is not what {source}: run python docs/{program}")


def line(*cells: str) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
