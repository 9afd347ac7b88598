"""Neither the package nor a home can be written, or the user has no home: commands work, and say once what is lost."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
import sstep_reference
from nobody import as_nobody

import sstep_verify

DATA = "".join(f"{2 * (k % 2) - 1} 1:{k} 2:{k * k % 7} 3:{1 / (k + 1)!r}\n" for k in range(40))
WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with this package, and no compiled loop, in which nothing can be written."""
    folder = tmp_path_factory.mktemp("package")
    for one in (sstep_verify, sstep_reference):
        source = Path(one.__file__).parent
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
    entries = [folder, *folder.rglob("*")]
    for entry in entries:
        entry.chmod(entry.stat().st_mode & ~WRITE)
    yield folder
    for entry in entries:
        entry.chmod(entry.stat().st_mode | stat.S_IWUSR)


@pytest.mark.nightly
@pytest.mark.parametrize(("home", "trained"), [("none", False), ("none", True), ("read-only", False)])
def test_commands_work_and_say_once_that_nothing_is_kept(package, tmp_path, home, trained):
    work = tmp_path / "work"
    work.mkdir()
    (work / "data").write_text(DATA)
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package)}
    if home == "read-only":
        (tmp_path / "home").mkdir(mode=0o555)
        variables["HOME"] = str(tmp_path / "home")
    told = [(["explain"], 1), (["oracle", "data", "--task", "svm-l1", "--digits", "8"], 1)]
    if trained:  # It compiles for seconds.
        told.append((["solve", "data", "--task", "svm-l1", "--out", "r.npz"], 1))
    for words, notes in told:
        command = [sys.executable, "-m", "sstep_verify", *words]
        ended = as_nobody(command, env=variables, cwd=work, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count("note: compiled loops are not kept") == notes
        assert ended.stderr.count("$NUMBA_CACHE_DIR") == notes
        assert "Traceback" not in ended.stderr
    assert "later runs find them" not in ended.stdout + ended.stderr
    made = ["r.npz", "r.npz.checkpoint"] if trained else []
    assert sorted(path.name for path in work.iterdir()) == ["data", *made]
