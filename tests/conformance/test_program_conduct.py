"""What a program does to its folder, its processes and us: read without waiting, told, ended and cleared away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from command import command
from daily import some

PROGRAM = Path(__file__).with_name("plain_program.py").read_text("utf-8")
CAMPAIGN = """[campaign]
name = "conduct"
title = "Conduct"
description = "One problem."
[[family]]
data = ["small"]
task = ["svm-l1"]
kernel = [{ name = "rbf", sigma = 0.5 }]
parameter = [2.0]
s = [7]
iterations = 14
tolerance = 1e-12
solver = "mine.toml"
checks = ["step-replay", "rank-coherence"]
"""

AWAY = """import os, shutil, socket, sys
here, room = sys.argv[1], os.path.dirname(sys.argv[1])
def left(*words):
    child = os.spawnlp(os.P_NOWAIT, 'setsid', 'setsid', *words)
    while os.getsid(child) == os.getsid(0):
        pass
"""
REPLACED = {
    "shutil.rmtree(here); os.mkfifo(here)": "put a named pipe in place of its folder",
    "os.rename(here, here + '.moved'); os.mkfifo(here)": "put a named pipe in place of its folder",
    "os.rename(here, here + '.moved'); os.symlink(here + '.moved', here)": "put a link in place of its folder",
    "shutil.rmtree(here); open(here, 'w').close()": "put a file in place of its folder",
    "shutil.rmtree(here); os.chdir(room); socket.socket(socket.AF_UNIX).bind('run')": "put a socket in place",
    "os.rename(here, here + '.moved'); shutil.copytree(here + '.moved', here)": "put a folder in place of its folder",
    "os.rename(here, here + '.moved')": "moved or removed its folder",
    "shutil.rmtree(room)": "moved or removed its folder",
    "shutil.rmtree(room); os.mkfifo(room)": "moved or removed its folder",
    "os.remove(here + '/log.bin'); os.mkfifo(here + '/log.bin')": "not a regular file",
    "os.mkfifo(here + '/counters.txt')": "not a regular file",
    "os.mkfifo(here + '/rank-0.bin')": "not a regular file",
    "shutil.copy(here + '/initial.bin', here + '/rank-1.bin')": "left rank-1.bin, but it was started on 1 rank:",
    "shutil.copy(here + '/initial.bin', here + '/rank--1.bin')": "left rank--1.bin, but",
    "shutil.copy(here + '/initial.bin', here + '/rank-0.bin')": "but the log leads to",
    "open(here + '/rank-0.bin', 'wb').write(b'!' * 8 * m); open(here + '/final.bin', 'wb').write(bytes(8 * m))": (
        "but final holds 0.0: one of them is wrong"
    ),
}
SECTIONS = {
    "open(here + '/notes.txt', 'w').close()": "left what nobody reads or judges: notes.txt",
    "open(here + '/counters.txt', 'w').write('collectives 3')": "counters.txt is compared with nothing",
    "[open(f'{here}/{k:04}', 'w').close() for k in range(40)]": "0000, 0001, 0002, 0003, 0004 and 35 more",
    "os.makedirs(here + '/locked/deep'); os.chmod(here + '/locked', 0)": "nobody reads or judges: locked",
    "os.chmod(here, 0)": "",
    "os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', MARK)": "",
    "left('sleep', MARK)": "processes that had left its process group",
    "left('sh', '-c', f'sleep {MARK} & setsid sleep {MARK} & wait')": "left its process",
}


def running(mark: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
        except OSError:
            continue
    return found


@pytest.fixture(name="temp")
def _temp(tmp_path, monkeypatch) -> Path:
    """A folder of this test's own for all that is temporary."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    return tmp_path / "temp"


def checked(then: str, mark: str = "") -> tuple[int, str, dict]:
    Path("mine.py").write_text(f"{PROGRAM}\n{AWAY}MARK = {mark!r}\n{then}\n", "utf-8")
    started = [sys.executable, "-I", "-S", "mine.py", "{dir}"]
    Path("mine.toml").write_text(
        f'[program]\nname = "mine"\ncommand = {json.dumps(started)}\ntime_limit = 20.0\n'
    )
    Path("campaign.toml").write_text(CAMPAIGN, "ascii")
    code, out, err = command("run", "campaign.toml", "--jobs", "1", "--out", "report")
    assert code in (0, 1), out + err
    return code, out, json.loads(Path("report/results.json").read_text("utf-8"))


@pytest.mark.parametrize("then", some(sorted(REPLACED), of=3))
def test_a_program_that_spoils_its_folder_fails_and_nothing_waits_or_stays(temp, then):
    begin = time.monotonic()
    code, out, _ = checked(then)
    assert code == 1
    assert REPLACED[then] in out
    assert time.monotonic() - begin < 60
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize("then", some(sorted(SECTIONS), of=2))
def test_what_a_program_leaves_next_to_its_result_is_reported_and_cleared_away(temp, then):
    mark = f"86{np.random.Generator(np.random.PCG64()).integers(10**6):06}"
    code, _, document = checked(then, mark)
    assert code == 0, "its result is right"
    notes = "\n".join(document["campaign"]["notes"])
    assert SECTIONS[then] in notes
    assert bool(SECTIONS[then]) == ("told of its runs" in document["cases"][0]["facts"])
    assert running(mark) == []
    assert list(temp.iterdir()) == []


def test_a_log_that_leads_elsewhere_than_its_only_rank_is_no_difference_between_ranks(temp):
    code, _, found = checked("shutil.copy(here + '/initial.bin', here + '/rank-0.bin')")
    failed = {one["check"] for one in found["verdicts"] if one["status"] == "FAIL"}
    assert (code, failed) == (1, {"step-replay"})
    assert list(temp.iterdir()) == []


def test_a_folder_that_is_moved_away_is_named(temp, tmp_path):
    code, out, document = checked(
        f"shutil.rmtree({str(tmp_path / 'kept')!r}, True); os.rename(here, {str(tmp_path / 'kept')!r})"
    )
    assert (code, "moved or removed its folder" in out) == (1, True)
    assert f"stays: {tmp_path / 'kept'}" in "\n".join(document["campaign"]["notes"])
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "jobs"),
    [
        pytest.param(signal.SIGTERM, "1", marks=pytest.mark.nightly),
        (signal.SIGHUP, "1"),
        pytest.param(signal.SIGTERM, "2", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.usefixtures("signals_as_usual")
def test_a_signal_ends_it_as_ctrl_c_does_and_leaves_nothing(temp, tmp_path, number, jobs):
    mark = f"87{np.random.Generator(np.random.PCG64()).integers(10**6):06}"
    line = f"sh -c 'setsid sleep {mark} & sleep {mark}' {{dir}}"
    words = ["check", "--exec", line, "--profile", "smoke", "--jobs", jobs]
    run = subprocess.Popen(
        [sys.executable, "-m", "sstep_verify", *words], cwd=tmp_path, env={**os.environ, "TMPDIR": str(temp)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + 100
        while len(running(mark)) < 2 * int(jobs) and run.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert any(temp.iterdir())
        run.send_signal(number)
        said, _ = run.communicate(timeout=60)
    finally:
        run.kill()
        left = running(mark)
        for process in left:
            os.kill(process, signal.SIGKILL)
    assert run.returncode == 130, said
    assert "Traceback" not in said
    assert left == []
    assert list(temp.iterdir()) == []
