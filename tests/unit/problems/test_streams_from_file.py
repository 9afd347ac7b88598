"""Index streams from a file: read as it stands, checked line by line, pinned to the content first read."""

import os
import pickle

import numpy as np
import pytest
from broken_headers import HEADERS, with_header

from sstep_verify.errors import InputError
from sstep_verify.problems import IndexStream

BLOCKS = np.array([[0, 3], [2, 1], [3, 2]])


def write(path, content):
    if path.suffix == ".npy":
        np.save(path, content, allow_pickle=False)
    else:
        path.write_text("# drawn by hand\n" + "\n".join(" ".join(map(str, row)) for row in content) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["drawn.txt", "drawn.npy"])
def test_a_file_is_read_as_it_stands(tmp_path, name):
    stream = IndexStream("file", 4, 2, 3, path=write(tmp_path / name, BLOCKS))
    blocks = stream.blocks(1, 3)
    assert blocks.dtype == np.int64
    np.testing.assert_array_equal(blocks, BLOCKS[1:])
    assert not blocks.flags.writeable


@pytest.mark.parametrize("kind", [np.int16, np.uint8, np.uint64, ">i4"])
def test_any_integer_type_is_accepted(tmp_path, kind):
    path = write(tmp_path / "drawn.npy", BLOCKS.astype(kind))
    np.testing.assert_array_equal(IndexStream("file", 4, 2, 3, path=path).blocks(0, 3), BLOCKS)


BAD_FILES = {
    "index too large": ([[0, 1], [2, 4]], r"block 1 \(from 0\) holds index 4, outside 0\.\.3"),
    "negative index": ([[0, 1], [2, -1]], r"block 1 \(from 0\) holds index -1, outside 0\.\.3"),
    "repeated index": ([[0, 1], [2, 2]], r"block 1 \(from 0\) holds index 2 twice"),
    "too few blocks": ([[0, 1]], "holds 1 blocks, but 2 are needed"),
    "other block size": ([[0, 1, 2], [1, 2, 3]], r"shape \(2, 3\).* 2 on each line"),
}


@pytest.mark.parametrize("name", ["drawn.txt", "drawn.npy"])
@pytest.mark.parametrize(("content", "fault"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_named_with_block_and_value(tmp_path, name, content, fault):
    path = write(tmp_path / name, np.array(content))
    with pytest.raises(InputError, match=fault) as caught:
        IndexStream("file", 4, 2, 2, path=path)
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "1 2\n3\n", "1 x\n", "1.5 2\n", "nan 1\n", "1e30 2\n", "\x00\n"]
)
def test_text_that_holds_no_table_of_integers_is_refused(tmp_path, text):
    path = tmp_path / "drawn.txt"
    path.write_text(text)
    with pytest.raises(InputError, match="cannot be read as an index stream") as caught:
        IndexStream("file", 4, 2, 1, path=str(path))
    assert str(path) in str(caught.value)


def test_a_binary_file_that_is_no_array_of_integers_is_refused(tmp_path):
    path = tmp_path / "drawn.npy"
    np.savez(tmp_path / "archive.npz", BLOCKS)
    contents = {
        "empty": b"",
        "archive": (tmp_path / "archive.npz").read_bytes(),
        "pickle": pickle.dumps(BLOCKS),
        **{kind: with_header(text) for kind, text in HEADERS.items()},
    }
    for content in contents.values():
        path.write_bytes(content)
        with pytest.raises(InputError, match="cannot be read as an index stream"):
            IndexStream("file", 4, 2, 1, path=str(path))
    np.save(path, np.array([[0, None]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="cannot be read as an index stream"):
        IndexStream("file", 4, 2, 1, path=str(path))
    for array in (BLOCKS.astype(float), BLOCKS.ravel()):
        np.save(path, array)
        with pytest.raises(InputError, match="it must hold integers, 2 on each line"):
            IndexStream("file", 4, 2, 1, path=str(path))


@pytest.mark.parametrize("path", ["", "/nonexistent/drawn.txt"])
def test_a_missing_file_is_refused(path):
    with pytest.raises(InputError, match="cannot be read as an index stream: No such file"):
        IndexStream("file", 4, 2, 1, path=path)


def test_a_named_pipe_is_refused_before_it_is_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file but a named pipe"):
        IndexStream("file", 4, 2, 1, path=str(tmp_path / "pipe"))


def test_a_file_rewritten_later_does_not_change_the_stream_in_silence(tmp_path):
    path = tmp_path / "drawn.txt"
    stream = IndexStream("file", 4, 2, 3, path=write(path, BLOCKS))
    write(path, BLOCKS[:, ::-1])
    np.testing.assert_array_equal(stream.blocks(0, 3), BLOCKS)
    np.testing.assert_array_equal(
        IndexStream("file", 4, 2, 3, path=str(path)).blocks(0, 3), BLOCKS[:, ::-1]
    )


def test_a_stream_from_a_file_survives_the_way_to_another_process(tmp_path):
    stream = IndexStream("file", 4, 2, 3, path=write(tmp_path / "drawn.txt", BLOCKS))
    arrived = pickle.loads(pickle.dumps(stream))
    (tmp_path / "drawn.txt").unlink()  # It holds what it was made from.
    np.testing.assert_array_equal(arrived.blocks(0, 3), BLOCKS)
