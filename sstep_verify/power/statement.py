"""The power statement: what the committed campaign measured of the checks, printed by every run.

It stands in ``measured.txt``, beside this module, since an installed package has no reports. After campaign
sensitivity was run anew, ``python -m sstep_verify.power.statement RESULTS_JSON`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sstep_verify.reporting.results import Results

FILE = "measured.txt"

SHORT = 7
"""Digits of a commit that are told."""


@cache
def power_statement() -> str:
    """One sentence: mistakes found, limits, false alarms, and the commit that was measured."""
    return (resources.files("sstep_verify.power") / FILE).read_text("utf-8").strip()


def statement_of(results: Results) -> str:
    """The statement of a document that measures power."""
    if results.sensitivity is None:
        raise SystemExit(f"{results.campaign.name}: measures no power; run sstep-verify sensitivity")
    git: Any = results.provenance.get("git", {})
    commit = git.get("commit", "") if isinstance(git, Mapping) else ""
    return "; ".join(
        [*results.sensitivity.sentences, *([f"measured on commit {commit[:SHORT]}"] if commit else [])]
    )


def main(path: str) -> None:
    """Write the statement of a results document."""
    from sstep_verify.outputs.writing import write_text
    from sstep_verify.reporting import load

    write_text(Path(__file__).with_name(FILE), statement_of(load(path)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
