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

TEXT = re.compile(r"(?<![\w.])(?:reason|note)(?!\w)|\.(?:reason|notes)(?!\w)|\['(?:reason|notes)'\]")

DECIDING = {"startswith", "endswith", "search", "match", "fullmatch", "findall", "finditer"}
"""Methods that are looked at wherever something is stated; the others also cut lines for the screen."""

NAMES = "causes|errors?|faults|message|notes|reasons|said|sentences?|stopped|told|words"
"""Variables and fields that hold what is stated."""

TOLD = re.compile(rf"(?<![\w.'])(?:{NAMES})(?![\w'])|\.(?:{NAMES})(?![\w(])|\['(?:{NAMES})'\]")

LEFT = {
    "campaign/summary.py": (1, "an error of a case is a line of the report that its id begins"),
    "files/records.py": (1, "where a value stands is read from the message of the library that read it"),
    "campaign/again.py": (1, "the path of a value in a document names fields, the reason among them"),
    "report/words.py": (1, "a line that a message ends with is not printed twice"),
    "adapters/written.py": (7, "what the command solve prints for its user, which is judged there"),
    "checks/recorded/ratios.py": (1, "which limit a claim states stands in its name"),
    "adapters/command.py": (1, "what the command solve prints for its user, which is judged there"),
    "adapters/measuring.py": (1, "what the command solve prints for its user, which is judged there"),
    "adapters/printed.py": (2, "what the command solve prints for its user, which is judged there"),
    "adapters/program/said.py": (1, "what launchers print, who have no other way to say that they refuse"),
    "adapters/python.py": (1, "an error that names the place already is not told of it twice"),
    "campaign/verdicts/kind.py": (1, "the first line of a reason is shown while problems are judged"),
    "cli/commands/explain.py": (1, "the first line of each reason is shown of several artefacts"),
    "cli/verdicts.py": (1, "a word is defined for a reader where it occurs"),
    "single_checks.py": (1, "the first line of a reason is shown by a skipped test"),
}
"""Places that read words, how often, and why these are no reason or note of ours."""


def _decisions(tree: ast.AST) -> list[int]:
    """Lines on which the words of a reason, a note or whatever is stated are taken apart."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, parts = node.func.attr, [node.func.value, *node.args]
            seen = [TEXT] * (method in METHODS) + [TOLD] * (method in DECIDING)
        elif isinstance(node, ast.Compare) and any(type(one).__name__.endswith("In") for one in node.ops):
            parts, seen = node.comparators, [TEXT, *[re.compile("")] * _of_a_sentence(node.left)]
        else:
            continue
        if any(one.search(ast.unparse(part)) for part in parts for one in seen):
            found.append(node.lineno)
    return found


def _of_a_sentence(node: ast.AST) -> bool:
    """Whether what is looked for is put together and begins in the middle of something told."""
    return (
        isinstance(node, ast.JoinedStr)
        and isinstance(node.values[0], ast.Constant)
        and not str(node.values[0].value)[0].isalnum()
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("verdict.reason.startswith('x')", 1),
        ("'a' in verdict['reason']", 1),
        ("re.search('x', self.reason)", 1),
        ("[note for note in notes if note.startswith('x')]", 1),
        ("any('x' in one for one in results.campaign.notes)", 0),
        ("told = verdict.reason", 0),
        ("str(run.stopped).startswith(RAISED)", 1),
        ("faults.get('stop reason', '').startswith(ERROR_RAISED)", 1),
        ("told.startswith(('sigma = 2*', 'sigma = sigma/2'))", 1),
        ("[one for one in lines if not any(f', {case}, s = ' in one for case in cases)]", 1),
        ("words.startswith('scale')", 1),
        ("error.startswith(f'{case}: ')", 1),
        ("name in told", 0),
        ("told.append(word)", 0),
    ],
)
def test_a_decision_on_words_is_seen(text, count):
    assert len(_decisions(ast.parse(text))) == count


def test_no_decision_is_taken_on_the_words_of_a_reason_or_a_note():
    found = {}
    files = sorted(PRODUCT.rglob("*.py"))
    assert len(files) > 300
    for path in files:
        if lines := _decisions(ast.parse(path.read_text("utf-8"))):
            found[path.relative_to(PRODUCT).as_posix()] = len(lines)
    assert found == {path: count for path, (count, _) in LEFT.items()}
