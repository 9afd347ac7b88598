"""Vectors that were changed, cut short, or made by somebody with other things in mind are refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from vector_cases import files_of

from sstep_verify.cli.commands.vectors import command
from sstep_verify.errors import InputError
from sstep_verify.vectors import layout
from sstep_verify.vectors.read import LIMITS, MOST_BYTES, VectorError
from sstep_verify.vectors.record import expected_from, index_from, text_of
from sstep_verify.vectors.verify import verify_vector, verify_vectors
from sstep_verify.vectors.write import write_vectors

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "pristine"
    write_vectors(folder, 6)
    return folder


@pytest.fixture
def vectors(pristine, tmp_path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "vectors"))


def entries(folder: Path):
    return index_from((folder / "vectors.json").read_bytes(), "index").vectors


SHORTEST = "001-svm-l2-linear-s1-b1"
RIDGE = "005-krr-polynomial-s3-b1"


def entry_of(folder: Path, name: str):
    return next(entry for entry in entries(folder) if entry.id == name)


def refusal(folder: Path, name: str = SHORTEST) -> str:
    with pytest.raises(VectorError) as caught:
        verify_vector(folder / name, entry_of(folder, name))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_another_digit(content: bytes, name: str) -> bytes:
    """The content with one digit changed, or the last bit of the last number's last but one byte."""
    if name.endswith(".bin"):
        return content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]
    places = [place for place, one in enumerate(content) if chr(one).isdigit()]
    place = places[len(places) // 2]
    digit = b"5" if content[place : place + 1] != b"5" else b"4"
    return content[:place] + digit + content[place + 1 :]


@pytest.mark.parametrize("name", layout.FILES)
@pytest.mark.parametrize("vector", [SHORTEST, RIDGE])
def test_a_changed_digit_in_any_file_is_refused(vectors, vector, name):
    verify_vector(vectors / vector, entry_of(vectors, vector))
    path = vectors / vector / name
    path.write_bytes(with_another_digit(path.read_bytes(), name))
    assert f"vectors refused: {vector}" in refusal(vectors, vector)


@pytest.mark.parametrize("name", layout.FILES)
def test_a_missing_file_is_named(vectors, name):
    (vectors / SHORTEST / name).unlink()
    assert refusal(vectors) == f"vectors refused: {SHORTEST}/{name}: is missing"


@pytest.mark.parametrize("name", layout.FILES)
def test_a_file_cut_short_is_refused(vectors, name):
    path = vectors / SHORTEST / name
    path.write_bytes(path.read_bytes()[:-1])
    assert SHORTEST in refusal(vectors)


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """One path to each kind of leaf: of a list the last one, for the first ones often are 0."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        if value:
            yield from leaves(value[-1], (*path, len(value) - 1))
    else:
        yield path


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return float(np.nextafter(value, np.inf)) if value else 1e-300
    if value is None:
        return 1.0
    return value[:-1] + ("7" if value[-1] != "7" else "8")


def test_every_kind_of_field_is_held_against_the_proof(vectors):
    path = vectors / RIDGE / "expected.json"
    content = path.read_bytes()
    kinds = list(leaves(json.loads(content)))
    assert len(kinds) == 16
    for kind in kinds:
        document = json.loads(content)
        at = document
        for key in kind[:-1]:
            at = at[key]
        at[kind[-1]] = changed(at[kind[-1]])
        try:
            whole = text_of(expected_from(json.dumps(document).encode(), "changed")).encode()
        except InputError:
            whole = json.dumps(document).encode()
        path.write_bytes(whole)
        assert "expected.json" in refusal(vectors, RIDGE), kind


def consistent(folder: Path, change) -> None:
    """Change what is expected of a vector as somebody would who means to deceive: in all files, and the digest."""
    expected = json.loads((folder / RIDGE / "expected.json").read_bytes())
    change(expected)
    stated = expected_from(json.dumps(expected).encode(), "changed")
    for name, content in layout.expected_files(stated).items():
        (folder / RIDGE / name).write_bytes(content)
    digest = layout.digest({name: (folder / RIDGE / name).read_bytes() for name in layout.FILES})
    index = json.loads((folder / "vectors.json").read_bytes())
    for entry in index["vectors"]:
        if entry["id"] == RIDGE:
            entry["digest"] = digest
            entry["flags"] = [shown["flag"] for shown in expected["flags"]]
    (folder / "vectors.json").write_text(text_of(index_from(json.dumps(index).encode(), "changed")))


def wider(expected):
    expected["points"][-1]["float64"]["entries"] = [
        2 * x for x in expected["points"][-1]["float64"]["entries"]
    ]


def narrower(expected):
    bounds = expected["points"][1]["float32"]["entries"]
    bounds[bounds.index(max(bounds))] *= 0.5


def wider_norm(expected):
    expected["points"][-1]["float64"]["norm"] *= 1.01


def another_last_digit(expected):
    middles = expected["points"][-1]["middles"]
    middles[0] = changed(middles[0])


def unflagged(expected):
    del expected["flags"][0]


def flagged(expected):
    expected["flags"].append({**expected["flags"][0], "flag": "no-such-mistake"})


def cut(expected):
    del expected["points"][-1]


CHANGES = [wider, narrower, wider_norm, another_last_digit, unflagged, flagged, cut]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_falsehood_that_all_files_agree_on_is_refused(vectors, change):
    consistent(vectors, lambda expected: None)
    verify_vector(vectors / RIDGE, entry_of(vectors, RIDGE))
    consistent(vectors, change)
    assert "expected.json" in refusal(vectors, RIDGE)


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
            whole = text_of(index_from(json.dumps(document).encode(), "changed"))
        except InputError:
            whole = json.dumps(document)
        (vectors / "vectors.json").write_text(whole)
        assert "refused" in refused_index(vectors), kind
    (vectors / "vectors.json").write_bytes(content.replace(b"\n", b" ", 1))
    assert "vectors.json: differs at byte" in refused_index(vectors)


def test_the_index_lists_every_folder_once(vectors):
    content = text_of(index_from((vectors / "vectors.json").read_bytes(), "index"))
    index = json.loads(content)
    del index["vectors"][-1]
    (vectors / "vectors.json").write_text(text_of(index_from(json.dumps(index).encode(), "changed")))
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


def test_pipes_and_folders_in_the_place_of_files_are_refused_at_once(vectors):
    path = vectors / SHORTEST / "data.svm"
    path.unlink()
    os.mkfifo(path)
    assert "data.svm: is no regular file" in refusal(vectors)
    path.unlink()
    path.mkdir()
    assert "data.svm: is no regular file" in refusal(vectors)


@pytest.mark.parametrize("name", ["expected.json", "data.bin", "problem.json"])
def test_a_huge_file_is_not_read(vectors, name):
    with (vectors / SHORTEST / name).open("r+b") as file:
        file.truncate(1 << 40)
    assert f"of at most {MOST_BYTES} bytes is read" in refusal(vectors)


@pytest.mark.parametrize("name", sorted(LIMITS))
@pytest.mark.parametrize("value", [0, -1, 10**9, 10**30])
def test_a_problem_that_would_take_for_ever_is_refused(vectors, name, value):
    path = vectors / RIDGE / "problem.json"
    document = json.loads(path.read_bytes())
    document[name] = value
    path.write_text(json.dumps(document))
    assert f"{RIDGE}/problem.json" in refusal(vectors, RIDGE)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kernel": "cosine"}, "unknown"),
        ({"kernel": "rbf"}, "degree: not a parameter"),
        ({"task": "svm-l1"}, "C: missing"),
        ({"penalty": 1.0}, "penalty: unknown field"),
        ({"lambda": -1.0}, "lambda"),
        ({"lambda": "1"}, "refused"),
        ({"version": 2}, "version"),
        ({"log": 1}, "differs at byte"),
        ({"more": 1}, "unknown field"),
        ({"lambda": 1e-300}, "refused"),
    ],
)
def test_a_problem_that_is_none_is_refused(vectors, change, reason):
    path = vectors / RIDGE / "problem.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **change}))
    assert reason in refusal(vectors, RIDGE)


def test_drawn_changes_of_bytes_are_refused_and_never_end_in_another_error(vectors):
    generator = np.random.Generator(np.random.PCG64(12))
    before = {name: content for name, content in files_of(vectors / SHORTEST).items() if content}
    names = sorted(before)
    for _ in range(60):
        name = names[generator.integers(len(names))]
        content = bytearray(before[name])
        content[generator.integers(len(content))] ^= 1 << int(generator.integers(8))
        (vectors / SHORTEST / name).write_bytes(bytes(content))
        refusal(vectors)
        (vectors / SHORTEST / name).write_bytes(before[name])
    verify_vector(vectors / SHORTEST, entry_of(vectors, SHORTEST))


def test_the_command_names_what_is_at_fault(vectors, tmp_path):
    (vectors / SHORTEST / "bounds64.txt").write_text("0.0\n")
    result = CliRunner().invoke(command, [str(vectors), "--verify", "--json"], catch_exceptions=False)
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["proved"] is False
    assert told["where"] == f"{SHORTEST}/bounds64.txt"
    assert told["reason"] in result.stderr
    with pytest.raises(InputError, match="is no folder"):
        CliRunner().invoke(command, [str(tmp_path / "none"), "--verify"], catch_exceptions=False)
    for words in (["--count", "3"], ["--force"]):
        with pytest.raises(InputError, match="--verify writes nothing"):
            CliRunner().invoke(command, [str(vectors), "--verify", *words], catch_exceptions=False)
