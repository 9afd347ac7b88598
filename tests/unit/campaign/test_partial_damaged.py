"""What is damaged among kept outcomes is run again, with a line that says so; nothing waits for it."""

from __future__ import annotations

import json
import os

import pytest
from campaign.kept_outcomes import Folder, fill, outcome


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "deep" / "out.partial")


def _truncated(path):
    path.write_bytes(path.read_bytes()[:-40])


def _emptied(path):
    path.write_bytes(b"")


def _one_digit_changed(path):
    text = path.read_text("utf-8")
    assert text.count("0.30000000000000004") == 1
    path.write_text(text.replace("0.30000000000000004", "0.3000000000000001"), encoding="utf-8")


def _no_object(path):
    path.write_text("[1, 2]", encoding="utf-8")


def _field_missing(path):
    document = json.loads(path.read_text("utf-8"))
    del document["sha256"]
    path.write_text(json.dumps(document), encoding="utf-8")


def _nested(path):
    path.write_text("[" * 200_000, encoding="utf-8")


def _pipe(path):
    path.unlink()
    os.mkfifo(path)


def _a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage",
    [_truncated, _emptied, _one_digit_changed, _no_object, _field_missing, _nested, _pipe, _a_folder],
)
def test_what_cannot_be_read_is_ignored_with_one_line(folder, damage):
    folder.interrupted(outcome("first"))
    path = folder.file()
    damage(path)
    assert folder.resumed() == {}
    (line,) = [line for line in folder.said if "ignored" in line]
    assert str(path) in line
    assert "(first)" in line
    assert not folder.path.exists()


@pytest.mark.parametrize("name", ["../../evil", "..", "/tmp", "x\\u002f..", ".hidden", "deep/../../evil"])
def test_an_outcome_that_names_an_artefact_outside_its_folder_is_ignored(folder, name):
    folder.interrupted(outcome("first", f"sstep-verify explain --again artefacts/{name}"))
    assert folder.resumed() == {}
    assert [line for line in folder.said if "names an artefact by what is no name of one" in line]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_text("[]")])
def test_an_outcome_whose_artefact_was_changed_is_ignored_so_that_what_is_named_can_be_judged(
    folder, damage
):
    folder.interrupted(outcome("first", "sstep-verify explain --again artefacts/one"))
    (folder.path / "artefacts/one").mkdir(parents=True)
    fill(folder.path / "artefacts/one")
    damage(folder.path / "artefacts/one/problem.npz")
    assert folder.resumed() == {}
    assert [line for line in folder.said if "ignored" in line and "problem.npz" in line]
