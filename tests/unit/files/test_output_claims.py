"""One process at a time writes a file, and what a killed one left behind is removed or put back."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from sstep_verify.cli.options import claimed_out
from sstep_verify.errors import InputError, UnwritableError
from sstep_verify.files import Output, claim, claims, write_whole
from sstep_verify.files.paths import hidden_path, lock_path
from sstep_verify.files.writing import flocked

HOLDING = """
import sys, time
from sstep_verify.files import Output, claim, write_whole
def forever(handle):
    handle.write(b"half")
    print("writing", flush=True)
    time.sleep(100)
with claim([Output("--out", sys.argv[1], True)]) as (target,):
    write_whole(target, forever)
"""


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def holder(tmp_path):
    """A process in the middle of writing."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path / "r")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_learns_who_is_first_and_a_kill_leaves_nothing_for_long(tmp_path, holder):
    before = names(tmp_path)
    assert len(before) == 2
    (tmp_path / "link").symlink_to("r")
    for name in ("r", "link"):
        output = Output("--out", tmp_path / name)
        with pytest.raises(
            InputError, match=rf"another run \(process {holder.pid} on .*\) writes there; wait"
        ):
            claim([output]).__enter__()
    (tmp_path / "link").unlink()
    assert names(tmp_path) == before, "what lives stays"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with claim([Output("--out", tmp_path / "r")]) as (target,):
        assert names(tmp_path) == [".r.lock"]
        write_whole(target, lambda handle: handle.write(b"whole"))
    assert names(tmp_path) == ["r"]


def test_only_what_is_ours_and_dead_is_removed(tmp_path):
    target = tmp_path / "r"
    foreign = [
        ".r.partial",
        ".r.12345678",
        ".r.1234567g.partial",
        ".q.12345678.partial",
        "r.12345678.partial",
    ]
    for name in foreign:
        (tmp_path / name).write_text("foreign")
    dead, living, folder = (hidden_path(target, "partial") for _ in range(3))
    dead.write_text("half")
    living.write_text("half")
    folder.mkdir()
    (folder / "part").write_text("half")
    with flocked(living), claim([Output("--out", target)]):
        pass
    assert names(tmp_path) == sorted([*foreign, living.name])
    with claim([Output("--out", target)]):
        pass
    assert names(tmp_path) == sorted(foreign)


def test_a_lock_without_room_for_its_holder_is_removed(tmp_path, monkeypatch):
    def full(descriptor, data):
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(claims.os, "write", full)
    with pytest.raises(UnwritableError), claim([Output("--out", tmp_path / "r")]):
        raise AssertionError("it was not taken")
    assert names(tmp_path) == []


def test_a_command_that_sigterm_ends_lets_go_of_its_lock(tmp_path):
    def ended():
        with claimed_out(str(tmp_path / "r"), "F", None):
            assert names(tmp_path) == [".r.lock"]
            signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        ended()
    assert names(tmp_path) == []
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("moved", [True, False])
def test_a_folder_moved_aside_by_a_killed_run_is_put_back(tmp_path, moved):
    target = tmp_path / "report"
    aside = hidden_path(target, "old")
    aside.mkdir()
    (aside / "index.html").write_text("old")
    if not moved:
        target.mkdir()
    with claim([Output("--out", target, replace=True, folder=True)]):
        assert (target / "index.html").exists() is moved
    assert names(tmp_path) == ["report"]


def test_claims_of_one_command_are_distinct_and_all_let_go(tmp_path):
    data = tmp_path / "data"
    data.write_text("1 1:1\n")
    first, second = Output("--out", tmp_path / "r"), Output("--predictions", tmp_path / "p")
    with pytest.raises(InputError, match=r"--predictions .* is the same file as --out"):
        claim([first, second._replace(path=tmp_path / "r")]).__enter__()
    with pytest.raises(InputError, match=r"--out .* is the same file as DATA"):
        claim([first._replace(path=data, replace=True)], [("DATA", data)]).__enter__()
    with claim([first, second]):
        assert names(tmp_path) == [".p.lock", ".r.lock", "data"]
        with pytest.raises(InputError, match="writes there"):
            claim([second]).__enter__()
    assert names(tmp_path) == ["data"]


def test_a_file_written_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "r"

    def ended_meanwhile(target):
        path.write_text("of the first run")

    monkeypatch.setattr("sstep_verify.files.claims.clear_leftovers", ended_meanwhile)
    with pytest.raises(InputError, match="is there already"):
        claim([Output("--out", path)]).__enter__()
    assert names(tmp_path) == ["r"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("data", path)])
def test_a_lock_that_is_no_file_is_not_taken(tmp_path, make):
    (tmp_path / "data").write_text("1 1:1\n")
    make(lock_path(tmp_path / "r"))
    with pytest.raises(InputError, match=r"its lock \.r\.lock cannot be taken"):
        claim([Output("--out", tmp_path / "r")]).__enter__()
    assert (tmp_path / "data").read_text() == "1 1:1\n"


def test_a_file_system_without_locks_is_no_reason_not_to_write(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with claim([Output("--out", tmp_path / "r")]) as (target,):
        write_whole(target, lambda handle: handle.write(b"whole"))
    assert names(tmp_path) == ["r"]
