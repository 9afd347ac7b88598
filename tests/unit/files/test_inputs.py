"""Files that are read whole: regular ones of a stated size, and nothing that waits."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest
from broken_headers import HEADERS, with_header

from sstep_verify.errors import InputError
from sstep_verify.files import MALFORMED_ARRAY, open_regular, read_whole


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_whole(path, 5, "a thing") == b"12345"
    with pytest.raises(InputError, match="file: has 5 bytes; of a thing at most 4 bytes are read"):
        read_whole(path, 4, "a thing")


def test_a_link_is_followed_where_the_user_named_it_and_refused_in_a_folder_of_ours(tmp_path):
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_whole(tmp_path / "link", 1, "a thing") == b"1"
    with pytest.raises(InputError, match="link: cannot be read as a thing: it is a link"):
        read_whole(tmp_path / "link", 1, "a thing", follow=False)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_the_user_did_not_name_gets_no_advice_to_name_another(tmp_path, make):
    make(tmp_path / "log.bin")
    with pytest.raises(InputError, match="; "):
        read_whole(tmp_path / "log.bin", 1, "numbers")
    with pytest.raises(InputError) as caught:
        read_whole(tmp_path / "log.bin", 1, "numbers", follow=False)
    assert ";" not in str(caught.value)


@pytest.mark.parametrize("name", ["fifo", "", "absent", "\0", "x" * 5_000, "/dev/null"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, name):
    os.mkfifo(tmp_path / "fifo")
    with (
        pytest.raises(InputError, match="cannot be read as a thing"),
        open_regular(tmp_path / name, "a thing"),
    ):
        pass


@pytest.mark.parametrize("kind", HEADERS)
def test_what_numpy_raises_of_a_header_is_known(kind):
    with pytest.raises(MALFORMED_ARRAY) as caught:
        np.load(io.BytesIO(with_header(HEADERS[kind])), allow_pickle=False)
    assert caught.type.__name__ == kind
