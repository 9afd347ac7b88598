"""Places where a data set is looked for, and that only the right file is taken; any other file by its path."""

import bz2
import dataclasses
import gzip
import hashlib
import lzma

import numpy as np
import pytest
import scipy.sparse as sp
from toy_set import LABELS, TEXT, VALUES

from sstep_verify.errors import DataError, InputError
from sstep_verify.problems.data import datasets
from sstep_verify.problems.data.labels import describe_numbers

# --- look-up ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".bz2", bz2.compress), (".xz", lzma.compress), (".gz", gzip.compress)],
)
def test_a_folder_may_hold_the_file_in_any_form(toy, tmp_path, suffix, pack):
    path = tmp_path / f"toy{suffix}"
    path.write_bytes(pack(TEXT))
    found = datasets.load("toy", directory=tmp_path)
    np.testing.assert_array_equal(found.data, VALUES)
    np.testing.assert_array_equal(found.targets, LABELS)
    assert found.source == str(path)
    assert found.notes == ("labels mapped: 2 -> -1, 4 -> +1",)


def test_the_folder_given_comes_before_the_variable(toy, tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "toy").write_bytes(TEXT)
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(second))
    assert datasets.load("toy", directory=first).source == str(first / "toy")
    assert datasets.load("toy").source == str(second / "toy")
    (first / "toy").unlink()
    assert datasets.load("toy", directory=first).source == str(second / "toy")


def test_a_folder_that_does_not_exist_is_refused(toy, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"--data.*absent"):
        datasets.load("toy", directory=tmp_path / "absent")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"\$SSTEP_VERIFY_DATA.*gone"):
        datasets.load("toy")


def test_data_and_targets_are_read_only(toy, tmp_path):
    (tmp_path / "toy").write_bytes(TEXT)
    found = datasets.load("toy", directory=tmp_path)
    for array in (found.data, found.targets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.name = "other"


WRONG = {
    "another value": (TEXT.replace(b"1.5", b"1.25"), "digest of values: expected"),
    "another label": (
        TEXT.replace(b"2 2:1", b"4 2:1"),
        r"labels -1 and \+1: expected \(2, 1\), found \(1, 2\)",
    ),
    "a lost line": (TEXT[: TEXT.index(b"2 2:1")], r"shape: expected \(3, 3\), found \(2, 3\)"),
    "a value more": (TEXT.replace(b"2:0", b"2:9"), "different from 0: expected 7, found 8"),
    "a feature more": (TEXT.replace(b"3:-4", b"3:-4 4:1"), r"line 1: index '4' in '4:1' is outside 1\.\.3"),
    "a third class": (TEXT + b"5 1:1\n", "3 distinct values: 2, 4, 5"),
    "a broken line": (TEXT + b"2 1:x\n", "line 4: value 'x'"),
}


@pytest.mark.parametrize(("content", "fault"), WRONG.values(), ids=WRONG)
def test_a_file_that_only_has_the_name_is_refused_with_the_way_out(toy, tmp_path, content, fault):
    path = tmp_path / "toy"
    path.write_bytes(content)
    with pytest.raises(DataError, match=fault) as caught:
        datasets.load("toy", directory=tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{path}: is not the data set 'toy': ")
    assert f"or pass the path {path} to use it as it is" in message


def test_the_way_out_works(toy, tmp_path):
    path = tmp_path / "toy"
    path.write_bytes(TEXT.replace(b"1.5", b"1.25"))
    assert datasets.load(path).data[0, 0] == datasets.load(str(path)).data[0, 0] == 1.25


# --- any file ---------------------------------------------------------------------------------------


def test_a_path_is_read_as_it_is(tmp_path):
    path = tmp_path / "mine.txt.gz"
    path.write_bytes(gzip.compress(TEXT))
    found = datasets.load(path)
    assert (found.name, found.task, found.source) == ("mine.txt.gz", "classification", str(path))
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.notes == ("labels mapped: 2 -> -1, 4 -> +1",)
    np.testing.assert_array_equal(found.targets, LABELS)


def test_a_path_for_regression_keeps_its_two_targets(tmp_path):
    path = tmp_path / "mine"
    path.write_bytes(TEXT)
    found = datasets.load(path, task="regression")
    np.testing.assert_array_equal(found.targets, [2, 4, 2])
    assert found.notes == (describe_numbers(found.targets),) != ("",)
    assert datasets.told_of(str(path), found) == [f"mine: {found.notes[0]}"]
    assert datasets.told_of("duke", found) == []  # Of a known set everybody may read it.


def test_the_task_follows_from_the_targets_unless_given(tmp_path):
    path = tmp_path / "mine"
    path.write_bytes(TEXT + b"7.5 1:1\n")
    assert datasets.load(path).task == "regression"
    with pytest.raises(InputError, match=r"mine: two classes .*3 distinct values: 2, 4, 7\.5"):
        datasets.load(path, task="classification")
    with pytest.raises(InputError, match="'ranking' is unknown"):
        datasets.load(path, task="ranking")


def test_sparse_data_stay_sparse_without_stored_zeros(tmp_path):
    path = tmp_path / "sparse"
    path.write_bytes(b"1 1:1 2:0\n2 4:1\n3 3:-0\n")
    found = datasets.load(path)
    assert isinstance(found.data, sp.csr_array)
    assert found.data.nnz == 2
    np.testing.assert_array_equal(found.data.toarray(), [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    with pytest.raises(ValueError, match="read-only"):
        found.data.data[0] = 3


def test_an_unknown_name_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"'dukke' is neither a known name nor an existing file") as caught:
        datasets.load("dukke", directory=tmp_path)
    for name in datasets.names():
        assert name in str(caught.value)
