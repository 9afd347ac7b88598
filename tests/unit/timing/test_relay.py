"""Where the slow link between namespaces cannot be made, the reason is stated and nothing fails."""

from __future__ import annotations

import importlib
import inspect
import os
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

from sstep_verify.timing import ranks as timing_ranks

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def relay(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("relay")


@pytest.mark.parametrize("lacking", ["root", "/dev/net/tun", "ip"])
def test_what_is_lacking_is_named(relay, lacking, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000 if lacking == "root" else 0)
    monkeypatch.setattr(os.path, "exists", lambda path: lacking != path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("sys.argv", ["benchmarks", "relay", "--out", str(tmp_path / "relay.json")])
    runpy.run_path(str(BENCHMARKS), run_name="__main__")
    told = capsys.readouterr().out
    assert told.startswith("skipped: ")
    assert lacking in told


def test_ranks_are_asked_for_what_they_can_do(relay, monkeypatch):
    """Of a window of 8 iterations there are 2 collectives of 10 words, and one of as many is timed alone."""
    alone = []

    def run(ranks, function, *given, variables, **_):
        assert variables.keys() == {"LD_PRELOAD", "UCX_TLS"}
        asked = inspect.signature(function).bind(None, *given).arguments
        if function is timing_ranks.alone:
            alone.append(asked["words"])
        windows = asked.get("windows", 1)
        return [(1e-3, 2 * windows, 20 * windows) if "windows" in asked else 1e-6] * ranks

    monkeypatch.setattr(timing_ranks, "run", run)
    monkeypatch.setattr(timing_ranks, "load", lambda comm, wanted: None)
    monkeypatch.setattr(timing_ranks, "build_interposer", lambda folder: folder)
    found = relay.found(relay.OurSolver(None, UCX_TLS="tcp"), 2)
    assert alone == 2 * [1, *[10] * len(relay.STEPS)]
    assert found["8"].shape == (2, 3)
    assert found["8"][:, 1:].tolist() == 2 * [[2 / 8, 1e-6]]


def test_the_prediction_is_that_of_collectives_counted(relay):
    """One a window of 10: 40 us, and 300 us longer over the link."""
    near = {"1 word": np.array([2e-6]), "1": np.full((3, 3), (50e-6, 1.0, 5e-6))}
    near["10"] = np.full((3, 3), (40e-6, 0.1, 10e-6))
    far = {"1 word": np.array([200e-6]), "1": np.full((3, 3), (400e-6, 1.0, 255e-6))}
    far["10"] = np.full((3, 3), (80e-6, 0.1, 310e-6))
    head, _, classical, steps = relay.lines(near, far, 100.0)
    assert "200 us over the link" in head
    assert "300.0   -25%" in classical
    assert "70.0   -12%       5.0x" in steps
