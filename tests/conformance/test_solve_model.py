"""``sstep-verify apply``: a saved result predicts as `solve` did, from any folder, and on its own data only."""

from __future__ import annotations

from pathlib import Path

import pytest
from solve_here import BRIEF, done, refused
from solve_runs import with_points

from sstep_verify.ranks.environment import promised_size

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="runs the command in its own process")

ASKED = {
    "svm": ("--task", "svm-l1", "--kernel", "rbf,sigma=0.3"),
    "bias": ("--task", "svm-l2", "--C", "0.3", "--bias", "1"),
    "ridge": ("--task", "krr", "--lambda", "0.1", "--kernel", "polynomial,degree=2,offset=0.5"),
}
NEW = ("--test", "G", "--predictions")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return with_points(tmp_path, "F", "G", labels=(-1, 1))


@pytest.mark.parametrize("name", ASKED)
def test_a_saved_result_predicts_as_its_training_did(tmp_path, monkeypatch, name):
    said = done("solve", "F", *ASKED[name], *BRIEF, "--out", "model", *NEW, "first.txt").splitlines()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    told = done("apply", "../model", "--test", "../G", "--predictions", "second.txt")
    assert Path("second.txt").read_bytes() == Path("../first.txt").read_bytes()
    assert told.strip().replace("second", "first") in said


def test_training_data_that_moved_or_changed_are_not_taken_for_them(tmp_path):
    done("solve", "F", *ASKED["svm"], *BRIEF, "--out", "model", *NEW, "first.txt")
    text = Path("F").read_text()
    Path("F").rename("moved")
    assert "its training data" in refused("apply", "model", *NEW, "p.txt")
    done("apply", "model", *NEW, "p.txt", "--on", "moved")
    assert Path("p.txt").read_bytes() == Path("first.txt").read_bytes()
    assert "--predictions p.txt: is there already" in refused(
        "apply", "model", *NEW, "p.txt", "--on", "moved"
    )
    Path("F").write_text(text.replace(":0.", ":1.", 1))
    assert "was trained on other data than" in refused("apply", "model", *NEW, "q.txt")
    for wrong in ("F", "model.checkpoint"):
        assert "is no result of sstep-verify solve" in refused("apply", wrong, *NEW, "q.txt")
