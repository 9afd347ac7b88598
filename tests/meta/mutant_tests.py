"""Which tests execute which lines of ``rounding``, ``bounds`` and ``checks``: what a mutant is tried with.

Every test file is measured once, in a process of its own, with coverage's contexts; the answer is kept in a
folder outside the tree, under the file's hash. Compiled functions are not traced: for a line that no test is
seen to execute the tests of its function count, else those of the nearest traced lines that name the function
or constant, directly or through others, and of the test files that do, else those of its module, else those of the modules that import it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cached_property
from pathlib import Path

import numpy as np
from coverage import CoverageData
from mutant_sample import Mutant

FILES = (
    "tests/unit/rounding", "tests/unit/bounds", "tests/unit/checks", "tests/unit/safety",
    "tests/unit/solvers/test_program_conventions.py", "tests/meta/checks",
)  # fmt: skip
"""Test files, and folders of them, that judge the two packages."""

ROOMS = ("sstep_verify/rounding", "sstep_verify/bounds", "sstep_verify/checks")
NARROW = 40
"""Tests of the first try, the fastest."""

NARROW_SECONDS = 12.0
"""Seconds that the first try takes at most without the mutant."""

CONTEXT = re.compile(r"^(.*)\|(setup|run|teardown)$")
DURATION = re.compile(r"^\s*([\d.]+)s (?:call|setup|teardown)\s+(\S.*)$")
FAILED = re.compile(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$")


class CoverageMap:
    """Tests of every line, with the seconds they take.

    Parameters
    ----------
    tree : Path
        Root of the tree that holds package and tests.
    folder : Path
        Where the measurements are kept.
    """

    def __init__(self, tree: Path, folder: Path) -> None:
        self.tree = tree
        self.seconds: dict[str, float] = {}
        self._tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        folder.mkdir(parents=True, exist_ok=True)
        for path in self._files():
            kept = folder / f"{hashlib.sha256(path.read_bytes()).hexdigest()[:20]}.json"
            if not kept.exists():
                print(f"measuring {path.relative_to(tree)}", flush=True)
                kept.write_text(json.dumps(measured(tree, path, folder)), "utf-8")
            found = json.loads(kept.read_text("utf-8"))
            self.seconds |= found["seconds"]
            for file, lines in found["lines"].items():
                for line, tests in lines.items():
                    self._tests[file, int(line)].update(set(tests) & set(found["seconds"]))

    def _files(self) -> list[Path]:
        found = []
        for name in FILES:
            path = self.tree / name
            found += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        return found

    def of(self, mutant: Mutant) -> tuple[str, set[str]]:
        """Tests that execute a mutant, and how closely they were found.

        Lines outside functions are executed by the test that happens to import the module.
        """
        lines = (
            ("line", (mutant.line, mutant.line)),
            ("statement", mutant.statement),
            ("function", mutant.function),
        )
        for how, (first, last) in lines if any(mutant.function) else ():
            found = set().union(
                *(self._tests.get((mutant.file, line), ()) for line in range(first, last + 1))
            )
            if found:
                return how, found
        if found := set.union(*self._of_callers(mutant)):
            return "callers", found
        if found := self._by_file.get(mutant.file, set()):
            return "module", found
        return "importers", set().union(
            *(self._by_file.get(file, set()) for file in importers(self.tree, mutant.file))
        )

    def _of_callers(self, mutant: Mutant) -> tuple[set[str], set[str]]:
        """Tests of the nearest traced lines that name what holds the mutant, or what names that, and so on.

        And tests of files that name what was met on the way: they may call compiled code themselves.
        """
        edge, met, found = (
            [(mutant.file, name) for name in owners(self.tree, mutant.file, mutant.line)],
            set(),
            set(),
        )
        while edge and not found:
            met.update(edge)
            further = []
            for file, name in edge:
                for other in (file, *importers(self.tree, file, direct=True)):
                    for line in mentions(self.tree, other, name):
                        found |= self._tests.get((other, line), set())
                        further += [(other, owner) for owner in owners(self.tree, other, line)]
            edge = [one for one in dict.fromkeys(further) if one not in met]
        return found, self._naming({name for _, name in met})

    def _naming(self, names: set[str]) -> set[str]:
        """Tests of files that hold one of some names."""
        files = {test.partition("::")[0] for test in self.seconds}
        texts = {file: (self.tree / file).read_text("utf-8") for file in files}
        naming = {
            file for file, text in texts.items() if any(re.search(rf"\b{name}\b", text) for name in names)
        }
        return {test for test in self.seconds if test.partition("::")[0] in naming}

    @cached_property
    def _by_file(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for (file, _), tests in self._tests.items():
            found[file] |= tests
        return found

    def tries(self, mutant: Mutant, most: float) -> tuple[list[str], list[str]]:
        """Tests of the first try and of the second, which takes some seconds at most without the mutant.

        A line that a fixture or a kept result executes is put down to one test and seen by others: the second
        try ends with the other tests of the files.
        """
        how, found = self.of(mutant)
        near = self._of_callers(mutant)[1] if how == "callers" else set()
        files = {test.partition("::")[0] for test in found}
        others = {test for test in self.seconds if test.partition("::")[0] in files} - found
        ordered = [*self._fastest(near), *self._fastest(found - near), *self._fastest(others)]
        first = self._within(ordered[: min(NARROW, len(found))], NARROW_SECONDS)
        return first, self._within(ordered[len(first) :], most)

    def _fastest(self, tests: set[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.seconds[test], test))

    def _within(self, tests: list[str], most: float) -> list[str]:
        """The tests that some seconds suffice for; one at least."""
        ends = np.cumsum([self.seconds[test] for test in tests])
        return [test for test, end in zip(tests, ends, strict=True) if end <= most] or tests[:1]


def owners(tree: Path, file: str, line: int) -> list[str]:
    """Names of the innermost function that holds a line, or that a statement outside functions gives."""
    names: list[str] = []
    for node in ast.walk(ast.parse((tree / file).read_text("utf-8"))):
        decorators = getattr(node, "decorator_list", [])
        first = min([getattr(node, "lineno", 0), *(one.lineno for one in decorators)])
        if not first <= line <= (getattr(node, "end_lineno", 0) or 0):
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]  # A walk goes from the outside to the inside.
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = names or [one.id for one in targets if isinstance(one, ast.Name)]
    return names


def mentions(tree: Path, file: str, name: str) -> list[int]:
    """Lines of a module that use a name."""
    nodes = ast.walk(ast.parse((tree / file).read_text("utf-8")))
    return [
        node.lineno
        for node in nodes
        if (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Attribute) and node.attr == name)
    ]


def importers(tree: Path, file: str, *, direct: bool = False) -> list[str]:
    """Modules of the package that import one, directly or through others, nearest first; itself not among them."""
    texts = {
        str(path.relative_to(tree)): path.read_text("utf-8")
        for path in (tree / "sstep_verify").rglob("*.py")
    }
    found, edge = [], [file]
    while edge:
        name = edge.pop(0).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        package, _, module = name.rpartition(".")
        said = re.compile(
            rf"^\s*(from {re.escape(name)} import|import {re.escape(name)}\b|from {re.escape(package)} import .*\b{module}\b)",
            re.MULTILINE,
        )
        fresh = [
            other for other, text in texts.items() if other not in (*found, file) and said.search(text)
        ]
        found += fresh
        edge += [] if direct else fresh
    return found


def measured(tree: Path, path: Path, folder: Path) -> dict:
    """Run a test file; the seconds of its tests that pass, and the tests of each line of the two packages."""
    data = folder / f"{os.getpid()}.coverage"
    settings = folder / "coverage.ini"
    places = [str(tree), str(tree / "reference"), os.environ.get("PYTHONPATH", "")]
    settings.write_text(
        f"[run]\nsource =\n    {chr(10).join(f'    {tree / room}' for room in ROOMS).strip()}\n"
    )
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "--durations=0", "--durations-min=0",
            "--cov", "--cov-report=", "--cov-context=test", f"--cov-config={settings}", str(path.relative_to(tree)),
        ],
        env=os.environ | {"COVERAGE_FILE": str(data), "PYTHONPATH": os.pathsep.join(places)},
        cwd=tree, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = read(tree, done.stdout, data)
    data.unlink(missing_ok=True)
    return found


def read(tree: Path, printed: str, data: Path) -> dict:
    """What a measured run of pytest left."""
    seconds: dict[str, float] = defaultdict(float)
    for line in printed.splitlines():
        if matched := DURATION.match(line):
            seconds[matched[2]] += float(matched[1])
    for line in printed.splitlines():
        if matched := FAILED.match(line):
            seconds.pop(matched[1], None)
    lines: dict[str, dict[int, list[str]]] = {}
    if data.exists():
        coverage = CoverageData(str(data))
        coverage.read()
        for file in coverage.measured_files():
            found = {
                line: sorted({matched[1] for one in contexts if (matched := CONTEXT.match(one))})
                for line, contexts in coverage.contexts_by_lineno(file).items()
            }
            lines[str(Path(file).relative_to(tree))] = {
                line: tests for line, tests in found.items() if tests
            }
    return {"seconds": dict(seconds), "lines": lines}
