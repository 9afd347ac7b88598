"""A module that a sentence of the code or of the documentation names by its path exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"(?<![\w.<*-])((?:[a-z_]\w*/(?:\n *)?)+[a-z_]\w*\.py)\b")
"""A path, broken after a slash where the line ends."""


def texts(ending: str, *folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob(f"*.{ending}"))]


def test_every_path_that_is_named_leads_to_a_module():
    code = texts("py", "sstep_verify", "reference")
    others = texts("py", "tests", "examples", "studies", "benchmarks", "docs")
    known = [path.as_posix() for path in (*code, *others)]
    named = {
        (re.sub(r"\s", "", name), path.relative_to(ROOT).as_posix())
        for path in (*code, *texts("md", "docs"))
        for name in NAMED.findall(path.read_text())
    }
    assert len(named) > 100
    assert {pair for pair in named if not any(path.endswith("/" + pair[0]) for path in known)} == set()
