"""No module of a campaign imports itself in the end: imports in functions, for types alone and by text count too."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import sstep_verify

ROOT = Path(sstep_verify.__file__).parents[1]


def modules() -> dict[str, Path]:
    files = [path for room in ("sstep_verify", "studies") for path in (ROOT / room).rglob("*.py")]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in files
    }


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules that a module names in an import, wherever it stands, or in a text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= parts & known.keys() or {node.module}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found & known.keys()


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_circle_among_the_modules_of_campaigns():
    known = modules()
    graph = {name: imported(path, known) - {name} for name, path in known.items()}
    of_campaigns = {name for name in known if name.startswith("sstep_verify.campaign.")}
    own = {name: graph[name] & of_campaigns for name in of_campaigns}
    assert circle(own) == []
    # A kind's module is loaded by its name in a text.
    assert "sstep_verify.campaign.verdicts.kind" in own["sstep_verify.campaign.read"]
    assert circle({"a": {"b"}, "b": {"a"}})
