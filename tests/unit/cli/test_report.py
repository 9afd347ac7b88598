"""``sstep-verify report``: page, figures and tables again from a results.json, and nothing lost."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from sstep_verify.cli.commands.report import report as command
from sstep_verify.errors import InputError
from sstep_verify.report.case import Case
from sstep_verify.report.results import Campaign, Results, Summary, load
from sstep_verify.report.write import write_report


@pytest.fixture
def folder(tmp_path):
    told = {"radius": 2, "found by": "search"}
    case = Case("a", "problem a", "data", "linear", "svm-l1 C=1", "svm-l1", 4, 2, 1, "PASS", facts=told)
    artefacts = tmp_path / "collected"
    (artefacts / "a-box-s2").mkdir(parents=True)
    return write_report(
        Results(Campaign("unit"), Summary("all right", 0), cases=(case,)), tmp_path / "report", artefacts
    )


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)


def test_a_report_is_made_again_in_place_and_keeps_its_artefacts(folder):
    made = load(folder / "results.json")
    (folder / "index.html").write_text("old")
    assert run(folder / "results.json").output.splitlines()[-1] == str(folder)
    assert "all right" in (folder / "index.html").read_text(encoding="utf-8")
    assert (folder / "artefacts" / "a-box-s2").is_dir()
    assert load(folder / "results.json") == made
    assert [entry.name for entry in folder.parent.iterdir() if entry.name != "collected"] == ["report"]


def test_another_folder_gets_the_same_report_and_the_first_stays(folder, tmp_path):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(folder / "results.json", "--out", tmp_path / "new").exit_code == 0
    assert (tmp_path / "new" / "artefacts" / "a-box-s2").is_dir()
    for path, content in before.items():
        assert (tmp_path / "new" / path.relative_to(folder)).read_bytes() == content
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_with_other_files_and_a_missing_document_are_refused(folder, tmp_path):
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        run(folder / "results.json")
    with pytest.raises(InputError, match=r"none\.json: cannot be read .*: No such file"):
        run(tmp_path / "none.json", "--out", tmp_path / "new")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["collected", "report"]


def test_what_is_no_results_document_is_refused_as_that_whatever_its_folder_holds(tmp_path):
    (tmp_path / "README.md").write_text("# Words")
    for name, words in (
        ("none.json", "No such file"), ("README.md", "not strict JSON"), (".", "not a regular file"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            run(tmp_path / name)
