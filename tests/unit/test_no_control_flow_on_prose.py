"""No decision is taken on the words of a reason or a note: what is decided stands in fields."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import sstep_verify

PRODUCT = Path(sstep_verify.__file__).parent

METHODS = {
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit",
    "splitlines", "find", "index", "count", "search", "match", "fullmatch", "findall", "finditer", "sub",
}  # fmt: skip

PROSE = re.compile(r"(?<![\w.])(?:reason|note)(?!\w)|\.(?:reason|notes)(?!\w)|\['(?:reason|notes)'\]")

LEFT = {
    "campaign/sensitivity/cases.py": 2,
    "campaign/sensitivity/grading.py": 4,
    "campaign/verdicts/minimal/tries.py": 1,
    "checks/contract.py": 1,
    "cli/telling/plain_words.py": 1,
}
"""Places that still read words, and how often: the study that grades reasons, and what tells that a solver raised."""


def _decisions(tree: ast.AST) -> list[int]:
    """Lines on which the words of a reason or a note are taken apart."""
    found = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in METHODS
        ):
            parts = [node.func.value, *node.args]
        elif isinstance(node, ast.Compare) and any(type(one).__name__.endswith("In") for one in node.ops):
            parts = node.comparators
        else:
            continue
        if any(PROSE.search(ast.unparse(part)) for part in parts):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("verdict.reason.startswith('x')", 1),
        ("'a' in verdict['reason']", 1),
        ("re.search('x', self.reason)", 1),
        ("[note for note in notes if note.startswith('x')]", 1),
        ("any('x' in one for one in results.campaign.notes)", 0),
        ("told = verdict.reason", 0),
    ],
)
def test_a_decision_on_words_is_seen(text, count):
    assert len(_decisions(ast.parse(text))) == count


def test_no_decision_is_taken_on_the_words_of_a_reason_or_a_note():
    found = {}
    files = sorted(PRODUCT.rglob("*.py"))
    assert len(files) > 400
    for path in files:
        if lines := _decisions(ast.parse(path.read_text("utf-8"))):
            found[path.relative_to(PRODUCT).as_posix()] = len(lines)
    assert found == LEFT
