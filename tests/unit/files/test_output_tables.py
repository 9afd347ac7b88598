"""Every table that is written reads back as it was, in one dialect."""

from __future__ import annotations

import csv

import pytest

from sstep_verify.errors import InputError
from sstep_verify.files import csv_text, write_table


def test_numbers_keep_their_digits_and_what_is_missing_is_empty():
    rows = [(0.1 + 0.2, None, True), (float("inf"), 7, "")]
    assert csv_text(("one", "two", "three"), rows) == ("one,two,three\n0.30000000000000004,,True\ninf,7,\n")


def test_a_table_reads_back_whatever_its_texts_hold(tmp_path):
    rows = [["a,b", 'she said "no"'], ["two\nlines", "λ, ×"]]
    path = write_table(tmp_path / "table.csv", ("left", "right"), iter(rows))
    assert path == tmp_path / "table.csv"
    with open(path, encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [["left", "right"], *rows]
    assert b"\r" not in path.read_bytes()


def test_a_row_that_cannot_be_made_leaves_the_table_that_was_there(tmp_path):
    def rows():
        yield ("first",)
        raise RuntimeError

    path = tmp_path / "table.csv"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError):
        write_table(path, ("only",), rows())
    assert path.read_bytes() == b"before"
    with pytest.raises(InputError, match="cannot be written"):
        write_table(tmp_path / "absent" / "table.csv", ("only",), [])
