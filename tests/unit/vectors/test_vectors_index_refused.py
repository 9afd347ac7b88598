"""An index or a folder of vectors that is not as it was written is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from vector_cases import RIDGE, SHORTEST, changed, leaves

from sstep_verify.vectors.__main__ import command
from sstep_verify.vectors.layout import write_vectors
from sstep_verify.vectors.record import Index, VectorError, read_record, text_of
from sstep_verify.vectors.verify import verify_vectors


def edited_index(folder: Path, change) -> None:
    path = folder / "vectors.json"
    index = json.loads(path.read_bytes())
    change(index)
    path.write_text(json.dumps(index))


def refused_index(folder: Path) -> str:
    with pytest.raises(VectorError) as caught:
        verify_vectors(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    "name", ["../pristine", "/etc", "001-a/../b", "..", "", "000-a\0b", "000-" + "a" * 99]
)
def test_a_name_that_leaves_the_folder_is_refused(vectors, name):
    edited_index(vectors, lambda index: index["vectors"][0].update(id=name))
    assert "is no name of a vector's folder" in refused_index(vectors)


def test_every_field_of_the_index_is_held_against_the_vectors(pristine, tmp_path):
    vectors = tmp_path / "one"
    write_vectors(vectors, 1)
    content = (vectors / "vectors.json").read_bytes()
    for kind in leaves(json.loads(content)):
        document = json.loads(content)
        at = document
        for key in kind[:-1]:
            at = at[key]
        at[kind[-1]] = changed(at[kind[-1]])
        try:
            whole = text_of(read_record(json.dumps(document).encode(), Index, "changed"))
        except VectorError:
            whole = json.dumps(document)
        (vectors / "vectors.json").write_text(whole)
        assert refused_index(vectors), kind
    (vectors / "vectors.json").write_bytes(content.replace(b"\n", b" ", 1))
    assert "vectors.json: differs at byte" in refused_index(vectors)


def test_the_index_lists_every_folder_once(vectors):
    content = text_of(read_record((vectors / "vectors.json").read_bytes(), Index, "index"))
    index = json.loads(content)
    del index["vectors"][-1]
    (vectors / "vectors.json").write_text(
        text_of(read_record(json.dumps(index).encode(), Index, "changed"))
    )
    assert f"{RIDGE}: is no part of the vectors" in refused_index(vectors)
    edited_index(vectors, lambda index: index["vectors"].append(index["vectors"][0]))
    assert "each once, by name" in refused_index(vectors)
    edited_index(vectors, lambda index: index.update(vectors=[]))
    assert "must list 1 to" in refused_index(vectors)


@pytest.mark.parametrize("name", ["extra.txt", ".hidden", f"{SHORTEST}/extra.bin", f"{SHORTEST}/.hidden"])
def test_a_file_too_many_is_refused(vectors, name):
    (vectors / name).write_text("")
    assert f"{name}: is no part of the vectors" in refused_index(vectors)


def test_the_readme_is_the_one_that_was_written(vectors):
    (vectors / "README.md").write_text("Send your data to ...")
    assert "README.md: differs" in refused_index(vectors)


@pytest.mark.parametrize("name", ["README.md", "vectors.json", SHORTEST, f"{SHORTEST}/data.bin"])
def test_a_link_is_refused_wherever_it_leads(vectors, name):
    path = vectors / name
    moved = vectors.parent / "moved"
    path.rename(moved)
    path.symlink_to(moved)
    assert f"{name}: " in refused_index(vectors)
    assert "link" in refused_index(vectors)


def test_the_command_names_what_is_at_fault(vectors, tmp_path):
    (vectors / SHORTEST / "bounds64.txt").write_text("0.0\n")
    result = CliRunner().invoke(command, [str(vectors), "--verify", "--json"], catch_exceptions=False)
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["proved"] is False
    assert told["where"] == f"{SHORTEST}/bounds64.txt"
    assert told["reason"] in result.stderr
    (tmp_path / "README.md").write_text("of something else")
    for folder, words, told in (
        (tmp_path, [], "holds no vectors"),
        (tmp_path / "none", [], "is no folder"),
        (vectors, ["--count", "3"], "--verify writes nothing"),
        (vectors, ["--force"], "--verify writes nothing"),
    ):
        result = CliRunner().invoke(command, [str(folder), "--verify", *words])
        assert result.exit_code == 2
        assert told in result.stderr
