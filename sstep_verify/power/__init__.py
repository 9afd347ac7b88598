"""What the committed campaign measured of the checks: said of the campaigns and modules that it measured.

It stands in ``measured.json``, beside this module, since an installed package has no reports;
``studies/power.py`` of a clone writes it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sstep_verify.inputs.records import convert

FILE = Path(__file__).with_name("measured.json")

DECIDE = (
    "rounding", "bounds", "checks", "diagnosis", "recurrence", "numerics", "oracle",
    "campaign/campaigns", "campaign/verdicts", "quantities.py", "verdict.py",
)  # fmt: skip
"""What decides a verdict, in the package: modules, and the problems of campaigns."""

NOT_MEASURED = "power not measured for this version"

SHORT = 7
"""Digits of a commit that are told."""


@dataclass(frozen=True)
class Measured:
    """What was measured.

    Parameters
    ----------
    words : str
        Mistakes found, right solvers refused.
    commit : str
        The commit that was measured.
    campaigns : tuple of str
        Campaigns by whose problems and checks the solvers were judged.
    digest : str
        `deciding_digest` of that commit.
    """

    words: str
    commit: str
    campaigns: tuple[str, ...]
    digest: str


@cache
def measured() -> Measured:
    """What the committed campaign measured."""
    found: Measured = convert(json.loads(FILE.read_text("utf-8")), Measured, FILE.name)
    return found


@cache
def deciding_digest() -> str:
    """SHA-256 of the modules and problems that decide verdicts, by their names and contents."""
    root = Path(__file__).parents[1]
    found = hashlib.sha256()
    for place in (root / one for one in DECIDE):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.suffix in (".py", ".toml"):
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                found.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()


def power_statement(campaign: str) -> str:
    """One line on what was measured of a whole shipped campaign; empty of one that was no part of it."""
    found = measured()
    if campaign not in found.campaigns:
        return ""
    if deciding_digest() != found.digest:
        return NOT_MEASURED
    return f"measured power of these checks: {found.words} (commit {found.commit[:SHORT]}, docs/power.md)"
