"""What the committed campaign measured of the checks: said of the campaigns and modules that it measured.

It is in ``measured.json``, next to this module, because an installed package has no reports;
``studies/power.py`` of a clone writes it.
"""

from __future__ import annotations

import hashlib
import io
import json
import tokenize
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sstep_verify.files.records import convert

FILE = Path(__file__).with_name("measured.json")

DECIDE = (
    "rounding", "bounds", "checks", "diagnosis", "recurrence", "numerics", "oracle",
    "campaign/campaigns", "campaign/verdicts", "quantities.py", "verdict.py",
)  # fmt: skip
"""What decides a verdict, in the package: modules, and the problems of campaigns."""

NOT_MEASURED = "power of these checks (what they detect: docs/power.md) not measured for this version"

SHORT = 7
"""Digits of a commit that are printed."""


@dataclass(frozen=True)
class Measured:
    """What was measured of a commit: in words the faulty solvers detected and the correct ones rejected.

    The solvers were judged by problems and checks of the campaigns; the digest is its `deciding_digest`.
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
    """SHA-256 of the modules and problems that decide verdicts, by their names and what in them decides."""
    root = Path(__file__).parents[1]
    found = hashlib.sha256()
    for place in (root / one for one in DECIDE):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.suffix in _DECIDING:
                decides = _DECIDING[file.suffix](file.read_text("utf-8"))
                content = hashlib.sha256(decides.encode()).hexdigest()
                found.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()


def _code(text: str) -> str:
    """A module without comments, docstrings and blank lines, by its tokens."""
    lines, tokens = text.split("\n"), []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
        elif token.type != tokenize.NL:
            tokens.append(token)
    # A docstring is a statement of one string.
    ends = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        begins = before is None or before.type in ends
        if token.type == tokenize.STRING and begins and after.type == tokenize.NEWLINE:
            lines[token.start[0] - 1 : token.end[0]] = [""] * (token.end[0] - token.start[0] + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _problems(text: str) -> str:
    """A campaign without the words about it."""
    tables = tomllib.loads(text)
    for words in ("title", "description", "notes"):
        tables.get("campaign", {}).pop(words, None)
    return json.dumps(tables, sort_keys=True)


_DECIDING = {".py": _code, ".toml": _problems}
"""What decides in a file, by its suffix."""


def power_statement(campaign: str) -> str:
    """One line on what was measured of a whole shipped campaign; empty of one that was no part of it."""
    found = measured()
    if campaign not in found.campaigns:
        return ""
    if deciding_digest() != found.digest:
        return NOT_MEASURED
    return f"measured power of these checks: {found.words} (commit {found.commit[:SHORT]}, docs/power.md)"
