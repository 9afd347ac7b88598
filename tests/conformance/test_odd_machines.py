"""Names that are no UTF-8, locales without them, and few open files: the verdict, or the way out, as elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from daily import some

PROGRAM = Path(__file__).with_name("plain_program.py")
CHOSEN = ["--profile", "smoke", "--s", "4", "--seed", "1", "--task", "svm-l1", "--kernel", "rbf"]
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""Variables of a session in which Python takes no name for more than ASCII."""


def drawn_name(rng) -> bytes:
    """A name of bytes, some of which are no UTF-8."""
    parts = [
        b"a",
        b" ",
        b"'",
        b'"',
        b"%",
        b"{x}",
        b"\xc3\xbc",
        b"\xe6\x95\xb0",
        b"\xff",
        b"\xc3",
        b"-",
        b"~",
    ]
    return b"n" + b"".join(parts[place] for place in rng.integers(0, len(parts), 9))


def check(folder: bytes, name: bytes, out: bytes, *mistake: str, **variables: str):
    """The exit code of a check of a program of that name, and what is said."""
    shutil.copy(PROGRAM, os.path.join(folder, name))
    quoted = b"'" + name.replace(b"'", b"'\\''") + b"'"
    line = b" ".join([sys.executable.encode(), b"-S", quoted, b"{dir}", *(one.encode() for one in mistake)])
    words = [sys.executable, "-m", "sstep_verify", "check", "--exec", line, *CHOSEN, "--out", out]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)


@pytest.mark.nightly
@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_any_name_of_a_folder_or_program_has_its_report(tmp_path, seed, plain):
    rng = np.random.default_rng(seed)
    folder = os.path.join(os.fsencode(tmp_path), drawn_name(rng))
    os.mkdir(folder)
    name = drawn_name(rng).replace(b"{x}", b"").replace(b"%", b"").strip() + b".py"
    mistake = ("last",) if seed % 2 else ()
    ended = check(folder, name, b"o" + drawn_name(rng), *mistake, **(PLAIN if plain else {}))
    said = ended.stdout + ended.stderr
    assert ended.returncode in (0, 1), said
    (results,) = Path(os.fsdecode(folder)).glob("o*/results.json")
    assert json.loads(results.read_bytes())["summary"]["exit_code"] == ended.returncode


@pytest.mark.parametrize("files", some(range(5, 20), of=15, first=4))
def test_a_limit_of_open_files_is_reported_as_one(tmp_path, files):
    line = f"{sys.executable} -S {PROGRAM} {{dir}}"
    inner = [sys.executable, "-m", "sstep_verify", "check", "--exec", line, *CHOSEN, "--out", "out"]
    words = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *inner]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode in (0, 4), said
    assert "FAIL" not in said
    if ended.returncode:
        assert "`ulimit -a`" in said
        assert "internal error: this is a defect" not in said
