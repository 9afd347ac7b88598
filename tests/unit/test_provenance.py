"""Provenance tells what made a result, never who or where, and never fails."""

from __future__ import annotations

import getpass
import json
import os
import platform
import subprocess

import pytest

from sstep_verify import __version__, provenance


@pytest.fixture
def at_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")


def test_describes_versions_machine_seeds_data_and_command():
    found = provenance.collect(["sstep-verify", "run", "a b"], {"stream": 7}, {"duke": "ab12"})
    assert found["package"] == {"name": "sstep-verify", "version": __version__}
    assert found["seeds"] == {"stream": 7}
    assert found["data"] == {"duke": "ab12"}
    assert found["command"] == "sstep-verify run 'a b'"
    assert {"numpy", "scipy", "mpmath"} <= set(found["packages"])
    assert found["machine"]["cores"] == os.cpu_count()
    assert found["date"].endswith("+00:00")
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["/home/ada/venv/bin/sstep-verify", "--data", "/home/ada/data"], "sstep-verify --data ~/data"),
        ("run --out=/scratch/ada/x", "run --out=/scratch/USER/x"),
        ("run --out /home/adam/x", "run --out /home/adam/x"),
        ("run /home/ada", "run ~"),
    ],
)
@pytest.mark.usefixtures("at_home")
def test_command_holds_no_home_folder_and_no_user_name(command, shown):
    assert provenance.collect(command)["command"] == shown


def test_holds_no_host_name(monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "secret-host")
    monkeypatch.setattr(platform, "_node", lambda default="": "secret-host", raising=False)
    assert "secret-host" not in json.dumps(provenance.collect("run"))


def test_never_fails_when_nothing_can_be_found_out(monkeypatch):
    def broken(*_arguments, **_options):
        raise OSError("no such thing")

    for owner, name in [
        (subprocess, "run"),
        (provenance.metadata, "version"),
        (provenance.Path, "read_text"),
        (platform, "system"),
        (getpass, "getuser"),
        (os, "sysconf"),
    ]:
        monkeypatch.setattr(owner, name, broken)
    found = provenance.collect(["run"])
    assert found["git"] is None
    assert found["packages"] == {}
    assert found["machine"]["cpu"] is None
    assert found["command"] == "run"


def test_no_commit_outside_a_checkout(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    assert provenance.collect()["git"] is None


def test_no_commit_of_a_foreign_checkout_around_an_installation(monkeypatch, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "errors.py").write_text("")
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    assert provenance.collect()["git"] is None


def test_peak_memory_is_in_bytes():
    # A Python process holds at least some megabytes; kilobytes taken for bytes would be below.
    assert provenance.peak_memory() > 2**20
