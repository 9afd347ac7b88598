"""Make features wrong, one line at a time, in a copy of the tree, and see whether a test notices.

Run as ``python tests/meta/breaks.py [--only TEXT ...] [--search]`` (``tox -e breaks``). ``breaks.toml`` next to
this file holds the breaks and the test files that notice each. ``--search`` looks for these: it runs the test
files that name the module, then the unit tests of its package. Each break is planted in a copy in a temporary
folder, never in place, and undone before the next; it counts as noticed where a test fails (or cannot be
collected) that passes without it. The exit code is 0 iff all are noticed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTED = Path(__file__).with_name("breaks.toml")
SECONDS = 300.0
"""Seconds that the tests of one break may take."""

NAMED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py)", re.MULTILINE)
NO_TESTS = 5
"""Exit code of pytest where no test was collected."""


@dataclass(frozen=True)
class Break:
    """One line made wrong.

    Parameters
    ----------
    id : str
        Its name.
    file : str
        What is changed, from the root.
    old, new : str
        A part of a line that stands once in the file, and what replaces it.
    seen : str
        What a user would see.
    tests : tuple of str
        Test files that notice, from the root; ``::`` and a test where the others of the file are slow.
    """

    id: str
    file: str
    old: str
    new: str
    seen: str
    tests: tuple[str, ...] = ()


def listed() -> tuple[Break, ...]:
    """All breaks."""
    found = tomllib.loads(LISTED.read_text("utf-8"))["break"]
    return tuple(Break(**{**one, "tests": tuple(one["tests"])}) for one in found)


def likely(one: Break) -> Iterable[list[str]]:
    """Test files to look into, the nearest first: those that name the module, then its package's unit tests."""
    parts = Path(one.file).with_suffix("").parts
    module = ".".join(parts[1:] if parts[0] == "reference" else parts)
    names = {module, module.rpartition(".")[0] + " import " + parts[-1]}
    texts = {path: path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    fit = [path for path, text in texts.items() if any(name in text for name in names)]
    yield [str(path.relative_to(ROOT)) for path in fit if path.parts[-2] not in ("parallel", "conformance")]
    folder = Path("tests/unit") / ("reference" if parts[0] == "reference" else parts[1])
    yield [str(folder)] if (ROOT / folder).is_dir() else []
    yield [str(path.relative_to(ROOT)) for path in fit if path.parts[-2] == "conformance"]


def noticed(tree: Path, one: Break, tests: Sequence[str]) -> str:
    """The test file that fails with a break planted; empty if all pass."""
    path = tree / one.file
    right = path.read_text("utf-8")
    stat = path.stat()
    path.write_text(right.replace(one.old, one.new), "utf-8")
    try:
        return failing(tree, tests)
    finally:
        path.write_text(right, "utf-8")
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # Caches of compiled functions go by it.


def failing(tree: Path, tests: Sequence[str]) -> str:
    """The first test file that fails in a tree; empty if none does, or not in time."""
    search = os.pathsep.join(map(str, (tree, tree / "reference")))
    options = ("-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider")
    words = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        made = subprocess.run(
            ["nice", *words], cwd=tree, env={**os.environ, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ""
    found = NAMED.search(made.stdout)
    if made.returncode not in (0, 1, NO_TESTS) and found is None:
        raise SystemExit(
            f"{tests[0]}: pytest ended with {made.returncode}\n{made.stdout[-2000:]}{made.stderr[-2000:]}"
        )
    return found[1] if found else ""


def copied(folder: Path) -> Path:
    """A copy of the working tree."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def main() -> int:
    """Plant the breaks; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="TEXT", help="breaks whose id holds a TEXT"
    )
    parser.add_argument("--search", action="store_true", help="look for the tests that notice")
    given = parser.parse_args()
    wanted = [one for one in listed() if not given.only or any(text in one.id for text in given.only)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="sstep-verify-breaks-") as room:
        tree = copied(Path(room))
        for tests in () if given.search else sorted({one.tests for one in wanted}):
            if test := failing(tree, tests):
                raise SystemExit(
                    f"{test} fails in a copy of the tree without any break, so it notices nothing"
                )
        for one in wanted:
            begin = time.monotonic()
            tries = [tests for tests in likely(one) if tests] if given.search else [list(one.tests)]
            test = next((found for tests in tries if tests and (found := noticed(tree, one, tests))), "")
            missed += not test
            told = f"noticed by {test}" if test else f"NOT NOTICED: {one.seen}"
            print(f"{one.id:32}{time.monotonic() - begin:6.1f} s  {told}", flush=True)
    print(f"{len(wanted) - missed} of {len(wanted)} breaks are noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
