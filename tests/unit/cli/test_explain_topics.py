"""``sstep-verify explain TOPIC``: a page of the documentation, without a network."""

from __future__ import annotations

import json
import tomllib

import pytest
from click.testing import CliRunner

from sstep_verify.cli import topics
from sstep_verify.cli.commands.explain import command
from sstep_verify.cli.topics import TOPICS
from sstep_verify.errors import InputError
from sstep_verify.specification import specification
from studies import ROOT


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_is_printed_as_its_page_has_it(name):
    topic, done = TOPICS[name], CliRunner().invoke(command, [name], catch_exceptions=False)
    assert done.exit_code == 0
    page = (ROOT / "docs" / topic.file).read_text("utf-8")
    assert done.output in page
    assert done.output.startswith(topic.heading or page)
    assert len(done.output.splitlines()) > 10
    assert json.loads(CliRunner().invoke(command, [name, "--json"]).output)["text"] == done.output


def test_topics_are_listed_after_the_checks():
    output = CliRunner().invoke(command, [], catch_exceptions=False).output
    assert output.index("\nTopics\n") > output.index("message-count")
    assert all(f"\n{name}\n" in output for name in TOPICS)


@pytest.mark.parametrize("one", specification().sentences, ids=lambda one: one.number)
def test_a_requirement_is_explained_by_its_number(one):
    found = CliRunner().invoke(command, [one.number.lower(), "--json"], catch_exceptions=False)
    known = {
        "requirement": one.number,
        "text": one.text,
        "checks": list(one.checks),
        "undecided": one.undecided,
    }
    assert json.loads(found.output) == known
    printed = " ".join(CliRunner().invoke(command, [one.number], catch_exceptions=False).output.split())
    assert all(" ".join(words.split()) in printed for words in (one.text, *one.checks, one.undecided))


def test_every_page_is_part_of_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {f"docs/{one.file}": f"sstep_verify/topics/{one.file}" for one in TOPICS.values()}


def test_the_packaged_page_is_taken_first_and_a_missing_one_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(topics, "PACKAGED", tmp_path)
    (tmp_path / "spec.md").write_text("packaged", "utf-8")
    assert TOPICS["specification"].text == "packaged"
    monkeypatch.setattr(topics, "WRITTEN", tmp_path)
    with pytest.raises(InputError, match=f"{tmp_path}/run-folder.md: the installation lacks this page"):
        assert TOPICS["run-folder"].text


def test_a_folder_of_that_name_is_an_artefact(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run-folder").mkdir()
    done = CliRunner().invoke(command, ["run-folder"])
    assert isinstance(done.exception, InputError)
