"""Vectors that were changed, cut short, or made by somebody with other things in mind are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from daily import crossed, some
from vector_cases import RIDGE, SHORTEST, changed, entry_of, files_of, leaves, refusal

from sstep_verify.vectors import layout
from sstep_verify.vectors.record import Expected, Index, VectorError, read_record, text_of
from sstep_verify.vectors.verify import LIMITS, MOST_BYTES, verify_vector


def with_another_digit(content: bytes, name: str) -> bytes:
    """The content with one digit changed, or the last bit of the last number's last but one byte."""
    if name.endswith(".bin"):
        return content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]
    places = [place for place, one in enumerate(content) if chr(one).isdigit()]
    place = places[len(places) // 2]
    digit = b"5" if content[place : place + 1] != b"5" else b"4"
    return content[:place] + digit + content[place + 1 :]


@pytest.mark.parametrize(("vector", "name"), crossed([SHORTEST, RIDGE], layout.FILES, of=4))
def test_a_changed_digit_in_any_file_is_refused(vectors, vector, name):
    verify_vector(vectors / vector, entry_of(vectors, vector))
    path = vectors / vector / name
    path.write_bytes(with_another_digit(path.read_bytes(), name))
    assert f"vectors rejected: {vector}" in refusal(vectors, vector)


def test_what_differs_is_shown_next_to_what_the_problem_gives(vectors):
    path = vectors / SHORTEST / "points.txt"
    right = path.read_bytes()
    path.write_bytes(b"0\n7" + right[3:])
    wrong = path.read_bytes()
    assert refusal(vectors).endswith(
        "points.txt: differs at byte 2 (from 0) from what the problem gives: "
        f"{wrong[:22]!r}, not {right[:22]!r}"
    )


def test_of_a_file_cut_short_its_length_is_reported(vectors):
    path = vectors / SHORTEST / "expected.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-12])
    told = f"expected.bin: ends after {len(whole) - 12} bytes, but {len(whole)} are due"
    assert refusal(vectors).endswith(told)


@pytest.mark.parametrize("name", layout.FILES)
def test_a_missing_file_is_named(vectors, name):
    (vectors / SHORTEST / name).unlink()
    assert refusal(vectors) == f"vectors rejected: {SHORTEST}/{name}: is missing"


@pytest.mark.parametrize("name", some(layout.FILES, of=3))
def test_a_file_cut_short_is_refused(vectors, name):
    path = vectors / SHORTEST / name
    path.write_bytes(path.read_bytes()[:-1])
    assert SHORTEST in refusal(vectors)


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
            whole = text_of(read_record(json.dumps(document).encode(), Expected, "changed")).encode()
        except VectorError:
            whole = json.dumps(document).encode()
        path.write_bytes(whole)
        assert "expected.json" in refusal(vectors, RIDGE), kind


def consistent(folder: Path, change) -> None:
    """Change what is expected of a vector as somebody would who means to deceive: in all files, and the digest."""
    expected = json.loads((folder / RIDGE / "expected.json").read_bytes())
    change(expected)
    stated = read_record(json.dumps(expected).encode(), Expected, "changed")
    for name, content in layout.expected_files(stated).items():
        (folder / RIDGE / name).write_bytes(content)
    digest = layout.digest({name: (folder / RIDGE / name).read_bytes() for name in layout.FILES})
    index = json.loads((folder / "vectors.json").read_bytes())
    for entry in index["vectors"]:
        if entry["id"] == RIDGE:
            entry["digest"] = digest
            entry["flags"] = [shown["flag"] for shown in expected["flags"]]
    (folder / "vectors.json").write_text(text_of(read_record(json.dumps(index).encode(), Index, "changed")))


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


def test_pipes_and_folders_instead_of_files_are_refused_at_once(vectors):
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
    assert f"at most {MOST_BYTES} bytes are read" in refusal(vectors)


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
        ({"lambda": "1"}, "rejected"),
        ({"version": 2}, "version"),
        ({"log": 1}, "differs at byte"),
        ({"more": 1}, "unknown field"),
        ({"lambda": 1e-300}, "rejected"),
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
