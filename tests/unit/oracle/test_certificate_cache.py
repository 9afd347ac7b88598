"""The cache of certificates: a reader gets a whole certificate or a miss, whatever writers do meanwhile."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.oracle.certificate import cache as certificate_cache
from sstep_verify.oracle.certificate.cache import cache_path, keep, proved
from sstep_verify.oracle.certificate.file import encode
from sstep_verify.oracle.verify.record import Interval, SvmCertificate, subject_of
from sstep_verify.problems import Hinge, LinearKernel, Problem

SAMPLES = 400
ROUNDS = 60
DIGITS = 30

WRITER = """
import sys
from sstep_verify.oracle.certificate.cache import keep
from sstep_verify.oracle.certificate.file import read_certificate
sys.path.insert(0, sys.argv[1])
from test_certificate_cache import DIGITS, ROUNDS, problem
certificate = read_certificate(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(ROUNDS):
    note = keep(problem(), DIGITS, certificate)
    assert not note, note
"""


def problem() -> Problem:
    data = np.arange(2.0 * SAMPLES).reshape(-1, 2)
    return Problem("counted", data, np.where(np.arange(SAMPLES) % 2, 1.0, -1.0), LinearKernel(), Hinge())


def _certificate(digit: int) -> SvmCertificate:
    """A well-formed certificate, long enough for a write to be seen half done; it need not be true."""
    value = Interval(f"{digit}e-3", "1e-40")
    return SvmCertificate(
        subject=subject_of(problem()),
        digits=DIGITS,
        bits=360,
        alpha=(f"{digit}" * 110 + "e-110",) * SAMPLES,
        statuses=("free",) * SAMPLES,
        objective=value,
        dual=value,
        primal=value,
        gap=value,
        remaining="positive definite",
        eigenvalue="1e-3",
        radius="1e-30",
        how=f"writer {digit}",
    )


ONE, OTHER = _certificate(1), _certificate(2)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # What is written here is whole or not; it need not be true.
    monkeypatch.setattr(certificate_cache, "verify_certificate", lambda *_: None)


def test_a_kept_certificate_is_read_back():
    assert proved(problem(), DIGITS) == (None, "")
    assert keep(problem(), DIGITS, ONE) == ""
    assert proved(problem(), DIGITS) == (ONE, "")
    assert proved(problem(), DIGITS + 1) == (None, "")


@pytest.mark.nightly
def test_two_processes_that_write_the_same_entry_leave_readers_a_whole_one(tmp_path):
    writers = []
    for certificate in (ONE, OTHER):
        file = tmp_path / f"{certificate.how}.json"
        file.write_text(encode(certificate), encoding="utf-8")
        command = [sys.executable, "-c", WRITER, os.path.dirname(__file__), str(file)]
        writers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    try:
        for writer in writers:
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        readings = []
        while any(writer.poll() is None for writer in writers):
            readings.append(proved(problem(), DIGITS))
        assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate(timeout=30)
    assert readings
    assert all(note == "" for _, note in readings)
    assert all(certificate in (None, ONE, OTHER) for certificate, _ in readings)
    first = next((k for k, (found, _) in enumerate(readings) if found is not None), len(readings))
    assert None not in [found for found, _ in readings[first:]]
    assert proved(problem(), DIGITS)[0] in (ONE, OTHER)
    assert [path.name for path in cache_path(problem(), DIGITS).parent.iterdir()] == [
        cache_path(problem(), DIGITS).name
    ]


def _seen_while_written(monkeypatch) -> list:
    """What readers see each time the writer hands part of its text to the system."""
    keep(problem(), DIGITS, ONE)
    seen = []
    genuine = os.fsync

    def synchronised(descriptor: int) -> None:
        genuine(descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):  # Not the folder, after the renaming.
            seen.append(proved(problem(), DIGITS))

    monkeypatch.setattr(os, "fsync", synchronised)
    keep(problem(), DIGITS, OTHER)
    return seen


def test_while_an_entry_is_replaced_readers_see_the_old_one(monkeypatch):
    assert _seen_while_written(monkeypatch)[0] == (ONE, "")
    assert proved(problem(), DIGITS) == (OTHER, "")


def test_a_writer_in_place_would_be_seen(monkeypatch):
    """The planted defect: the entry is written where it is read."""

    def in_place(path, text):
        with open(path, "w", encoding="utf-8") as handle:
            for part in (text[: len(text) // 2], text[len(text) // 2 :]):
                handle.write(part)
                handle.flush()
                os.fsync(handle.fileno())

    monkeypatch.setattr(certificate_cache, "write_text", in_place)
    seen = _seen_while_written(monkeypatch)
    assert seen[-1] == (OTHER, "")
    assert [found for found, _ in seen[:-1]] == [None] * (len(seen) - 1)
    assert all("is not used" in note for _, note in seen[:-1])


@pytest.mark.parametrize("part", [0.0, 0.3, 0.999])
def test_a_truncated_entry_is_a_miss_with_a_reason_and_is_replaced(part):
    path = cache_path(problem(), DIGITS)
    keep(problem(), DIGITS, ONE)
    text = path.read_text("utf-8")
    path.write_text(text[: int(part * len(text))], encoding="utf-8")
    found, note = proved(problem(), DIGITS)
    assert found is None
    assert path.name in note
    assert keep(problem(), DIGITS, OTHER) == ""
    assert proved(problem(), DIGITS) == (OTHER, "")


def test_an_entry_of_another_problem_is_a_miss():
    path = cache_path(problem(), DIGITS)
    keep(problem(), DIGITS, ONE)
    path.write_text(encode(replace(ONE, subject=replace(ONE.subject, parameter=2.0))), encoding="utf-8")
    found, note = proved(problem(), DIGITS)
    assert found is None
    assert "another problem" in note


def test_without_a_home_nothing_is_kept_and_no_folder_made(monkeypatch, tmp_path):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.chdir(tmp_path)
    assert cache_path(problem(), DIGITS) is None
    assert proved(problem(), DIGITS) == (None, "")
    assert "XDG_CACHE_HOME" in keep(problem(), DIGITS, None)
    assert not list(tmp_path.iterdir())
