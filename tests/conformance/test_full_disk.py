"""Disks that are full of bytes or of files, and a limit of file sizes: no verdict, exit code 4, and the path."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from daily import some

COMMAND = f"{sys.executable} -m sstep_verify"
PROGRAM = Path(__file__).with_name("plain_program.py")
CHECK = (
    f"{COMMAND} check --exec '{sys.executable} {PROGRAM} {{{{dir}}}}' --profile smoke --s 4 --seed 1 "
    "--task svm-l1 --kernel rbf --force --out {{out}}"
)
SOLVE = f"{COMMAND} solve data --task svm-l1 --force --out {{out}}"
DATA = "".join(f"{2 * (k % 2) - 1} 1:{k} 2:{k * k % 7} 3:{1 / (k + 1)!r}\n" for k in range(40))

LIMITS = {
    "bytes": "mount -t tmpfs -o size=16k tmpfs small && head -c {used} /dev/zero >small/used",
    "files": "mount -t tmpfs -o nr_inodes={inodes} tmpfs small",
    "file sizes": "ulimit -f {blocks}",
}


@functools.cache
def _can_mount() -> bool:
    line = "mount -t tmpfs tmpfs /mnt"
    try:
        return subprocess.run(["unshare", "-Urm", "sh", "-c", line], capture_output=True).returncode == 0
    except OSError:
        return False


def run(folder: Path, limit: str, line: str, **sizes: int) -> subprocess.CompletedProcess[str]:
    """Run a line in a folder where ``small`` is a file system that is soon full."""
    if not _can_mount():
        pytest.skip("no user namespaces here (unshare -Urm)")
    (folder / "small").mkdir()
    (folder / "data").write_text(DATA)
    words = ["unshare", "-Urm", "bash", "-c", f"{LIMITS[limit].format(**sizes)} && {line}"]
    # Python 3.11 keeps what it could write of a module's code, and cannot import that.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.nightly
@pytest.mark.parametrize("limit", ["bytes", "files", "file sizes"])
def test_no_room_for_a_run_is_no_verdict(tmp_path, limit):
    before = "" if limit == "file sizes" else f"TMPDIR={tmp_path}/small "
    line = before + CHECK.format(out="out")
    ended = run(tmp_path, limit, line, used=1, inodes=8, blocks=1)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 4, said
    assert "FAIL" not in said
    assert ("sstep-verify-run-" if before else "File too large") in said


@pytest.mark.parametrize("limit", some(LIMITS, of=3))
def test_no_room_for_a_result_is_reported_with_its_path(tmp_path, limit):
    out = "r.npz" if limit == "file sizes" else "small/r.npz"
    ended = run(tmp_path, limit, SOLVE.format(out=out), used=16384, inodes=1, blocks=0)
    assert ended.returncode == 4, ended.stderr
    (line,) = [one for one in ended.stderr.splitlines() if one.startswith("error: ")]
    assert out in line
    assert not (tmp_path / out).exists()
