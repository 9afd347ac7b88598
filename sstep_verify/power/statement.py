"""What the committed campaign measured of the checks: said of the campaigns and modules that it measured.

It stands in ``measured.json``, beside this module, since an installed package has no reports. After
campaign sensitivity was run anew, ``python -m sstep_verify.power.statement RESULTS_JSON`` writes it;
``python -m sstep_verify.power.statement`` alone fails where it is not of this version (``tox -e release``).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sstep_verify.records import convert

if TYPE_CHECKING:
    from sstep_verify.reporting.results import Results

FILE = Path(__file__).with_name("measured.json")

DECIDE = (
    "bounds", "checks", "defects", "numerics", "oracle", "campaign/campaigns", "campaign/verdicts",
    "quantities.py", "verdict.py",
)  # fmt: skip
"""What decides a verdict, in the package: modules, and the problems of campaigns."""

DIGEST, CAMPAIGNS = "modules that decide", "campaigns judged"
"""Parameters of a campaign of power: digest of what was measured, campaigns that judged its corpus."""

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


@cache
def campaigns_judged() -> tuple[str, ...]:
    """Campaigns by which the solvers of the corpus are judged."""
    from sstep_verify.power.corpus.labelled_set import EQUIVALENT, LABELLED
    from sstep_verify.power.corpus.production_edits import edits

    profiles = {one.profile("smoke") for one in (*LABELLED, *EQUIVALENT)}
    return tuple(sorted(profiles | {one.case.split()[0] for one in edits()}))


def power_statement(campaign: str) -> str:
    """One line on what was measured of a whole shipped campaign; empty of one that was no part of it."""
    found = measured()
    if campaign not in found.campaigns:
        return ""
    if deciding_digest() != found.digest:
        return NOT_MEASURED
    return f"measured power of these checks: {found.words} (commit {found.commit[:SHORT]}, docs/power.md)"


def measured_by(results: Results) -> Measured:
    """What a document that measures power holds."""
    told = results.campaign.parameters
    if results.sensitivity is None or results.sensitivity.corpus is None or DIGEST not in told:
        raise SystemExit(f"{results.campaign.name}: measures no power; run sstep-verify sensitivity")
    git: Any = results.provenance.get("git", {})
    campaigns: Any = told[CAMPAIGNS]
    return Measured(
        next(iter(results.sensitivity.sentences)),
        git.get("commit", "") if isinstance(git, Mapping) else "",
        tuple(campaigns),
        str(told[DIGEST]),
    )


def main(path: str = "") -> None:
    """Write what a results document measured; without one, fail unless this version was measured."""
    from sstep_verify.outputs.writing import write_text
    from sstep_verify.reporting import load
    from sstep_verify.reporting.plain import plain

    if path:
        write_text(FILE, json.dumps(plain(measured_by(load(path))), indent=1) + "\n")
    elif deciding_digest() != measured().digest:
        raise SystemExit(f"{NOT_MEASURED}: run sstep-verify sensitivity, then this with its results.json")


if __name__ == "__main__":
    main(*sys.argv[1:])
