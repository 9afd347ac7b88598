"""Try the tests of ``rounding``, ``bounds``, ``checks`` on mutants of them that a maintained tool makes.

Run as ``python tests/meta/generic_mutants.py [--number N] [--seed N] [--most SECONDS] [--work DIR] [--out FILE]
[--resume] [--again] [--only TEXT ...]`` with cosmic-ray and pytest-cov installed (``tox -e mutants``).
``mutant_sample`` says what is drawn and what is left out, ``mutant_tests`` which tests a mutant is tried with:
the forty fastest that execute the line, then the others that do and their files, as far as some seconds go. What
passes both is a survivor: it is read, and killed by a new test or explained in ``explained_mutants.tsv`` next to
this file. Each mutant is planted in a copy of the tree. The exit code is 0 iff all survivors are explained.
``--again`` tries survivors and mutants that ran out of time once more.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

# Children are forked, so that what no mutant changes is imported once; sstep_verify itself must not be among it.
import numba
import pytest
from mutant_sample import Mutant, sampled
from mutant_tests import FAILED, ROOMS, CoverageMap, importers

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = Path(__file__).with_name("explained_mutants.tsv")
COLUMNS = ("mutant", "line", "before", "after", "outcome", "killer or explanation", "found by", "seconds")
SECONDS = 120.0
"""Seconds a try may take besides five times what its tests take without a mutant: compilation, a busy machine."""

MEMORY = 12 << 30
"""Bytes a child may map."""


def synchronised(tree: Path) -> None:
    """Make a copy of the working tree, or bring one up to date, keeping times: caches go by them."""
    listed = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = {name for name in names if (ROOT / name).is_file()}
    for path in list(tree.rglob("*")):
        name = path.relative_to(tree)
        if path.is_file() and "__pycache__" not in name.parts and str(name) not in wanted:
            path.unlink()
    for name in sorted(wanted):
        old, new = ROOT / name, tree / name
        if not new.exists() or new.read_bytes() != old.read_bytes():
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(old, new)


@contextmanager
def planted(mutant: Mutant, work: Path):
    """Plant a mutant in the copy for a while; the folder of compiled code that is right for it.

    Constants and functions of other modules are compiled in, so what imports the mutant is compiled again.
    """
    path = work / "tree" / mutant.file
    original, stat = path.read_text("utf-8"), path.stat()
    stale = [mutant.file, *importers(work / "tree", mutant.file)]
    compiled = [name for name in stale if "@compiled" in (work / "tree" / name).read_text("utf-8")]
    with tempfile.TemporaryDirectory() as own:
        kept = work / "numba"
        if compiled:
            names = {(Path(name).parent.name, Path(name).stem) for name in compiled}

            def ignored(folder: str, files: list[str]) -> set[str]:
                package = Path(folder).name.rpartition("_")[0]
                return {file for file in files if (package, file.partition(".")[0]) in names}

            kept = Path(own) / "numba"
            shutil.copytree(work / "numba", kept, ignore=ignored)
        path.write_text(mutant.source(work / "tree"), "utf-8")
        try:
            yield kept
        finally:
            path.write_text(original, "utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def tried(work: Path, tests: list[str], cache: Path, limit: float) -> tuple[str, str]:
    """Run tests to the first failure; the outcome and the test that failed."""
    printed = work / "printed.txt"
    child = os.fork()
    if not child:
        _run_tests(work / "tree", tests, cache, printed)
    deadline, status = time.monotonic() + limit, None
    while status is None and time.monotonic() < deadline:
        done, found = os.waitpid(child, os.WNOHANG)
        status = found if done else None
        time.sleep(0.05)
    if status is None:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "timeout", f"no end after {limit:.0f} s"
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return "survived", ""
    lines = printed.read_text("utf-8", "replace").splitlines()
    killers = [matched[1] for line in lines if (matched := FAILED.match(line))]
    if not killers:
        killers = [
            line.removeprefix("E ").strip() for line in lines if re.match(r"E  |\w*Error", line)
        ] or [""]
    return "killed", killers[0] or f"exit code {code}: {' '.join(lines[-1:])}"


def _run_tests(tree: Path, tests: list[str], cache: Path, printed: Path) -> None:
    """What the forked child does: pytest in the copy."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(tree)
    sys.path[:] = [str(tree), str(tree / "reference"), *(name for name in sys.path if not _ours(name))]
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(sys.path[:2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
    }
    sys.dont_write_bytecode = True
    numba.config.reload_config()
    with open(printed, "w", encoding="utf-8") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    code = 70
    try:
        code = int(pytest.main(["-x", "-q", "-p", "no:randomly", "--tb=line", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def _ours(name: str) -> bool:
    return Path(name or ".").resolve().is_relative_to(ROOT)


def outcome_of(mutant: Mutant, tests: CoverageMap, work: Path, most: float) -> tuple[str, str, str]:
    """Outcome of a mutant, the test that killed it, how its tests were found."""
    how, _ = tests.of(mutant)
    with planted(mutant, work) as cache:
        outcome, killer = "survived", ""
        for chosen in tests.tries(mutant, most):
            if chosen and outcome == "survived":
                limit = SECONDS + 5 * sum(tests.seconds[test] for test in chosen)
                outcome, killer = tried(work, chosen, cache, limit)
    return outcome, killer, how


def explained() -> dict[tuple[str, str, str], str]:
    """Why a mutant survives, by its file and its line before and after."""
    with open(EXPLAINED, encoding="utf-8", newline="") as table:
        rows = csv.reader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(file, before, after): reason for file, before, after, reason in rows}


def written(out: Path, rows: dict[str, list[str]]) -> None:
    """Write the table, with the explanations that there are."""
    reasons = explained()
    for row in rows.values():
        if row[4] == "survived":
            row[5] = reasons.get((f"sstep_verify/{row[0].partition(':')[0]}", row[2], row[3]), "")
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(row) for row in (COLUMNS, *rows.values())]
    out.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> int:
    """Draw the mutants, try each, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "generic-mutants")
    parser.add_argument("--out", type=Path, default=ROOT / "reports/mutants/mutants.tsv")
    parser.add_argument("--most", type=float, default=15.0, help="seconds of tests in a second try")
    parser.add_argument(
        "--only", nargs="*", default=[""], help="mutants whose name holds one of these texts"
    )
    parser.add_argument("--resume", action="store_true", help="keep the rows that the table has already")
    parser.add_argument("--again", action="store_true", help="as --resume, but try survivors once more")
    asked = parser.parse_args()
    work, rows = asked.work.resolve(), {}

    def chosen(name: str) -> bool:
        return any(text in name for text in asked.only)

    for name in ("tree", "numba"):
        (work / name).mkdir(parents=True, exist_ok=True)
    synchronised(work / "tree")
    os.environ |= {"NUMBA_CACHE_DIR": str(work / "numba"), "OPENBLAS_NUM_THREADS": "1"}
    if (asked.resume or asked.again) and asked.out.exists():
        found = [line.split("\t") for line in asked.out.read_text("utf-8").splitlines()[1:]]
        again = {row[0] for row in found if asked.again and row[4] != "killed" and chosen(row[0])}
        rows = {row[0]: row for row in found if row[0] not in again}
    mutants = sampled(work / "tree", ROOMS, asked.number, asked.seed)
    waiting = [one for one in mutants if one.name not in rows and chosen(one.name)]
    tests = CoverageMap(work / "tree", work / "map") if waiting else None
    for name in (
        "scipy.linalg",
        "scipy.sparse",
        "scipy.optimize",
        "mpmath",
        "flint",
        "hypothesis",
        "msgspec",
    ):
        import_module(name)
    for mutant in waiting:
        begin = time.perf_counter()
        outcome, killer, how = outcome_of(mutant, tests, work, asked.most)
        seconds = f"{time.perf_counter() - begin:.0f}"
        before, after = mutant.words(work / "tree")
        row = (mutant.name, str(mutant.line), before, after, outcome, killer, how, seconds)
        rows[mutant.name] = [" ".join(cell.split()) for cell in row]
        print("\t".join(rows[mutant.name]), flush=True)
        written(asked.out, rows)
    ordered = {one.name: rows[one.name] for one in mutants if one.name in rows}
    written(asked.out, ordered)
    open_ = [row for row in ordered.values() if row[4] == "survived" and not row[5]]
    print(
        f"{len(ordered)} mutants: {dict(Counter(row[4] for row in ordered.values()))}; {len(open_)} not explained"
    )
    return int(bool(open_))


if __name__ == "__main__":
    sys.exit(main())
