"""Index streams: distinct coordinates in a block, random access, determinism, files, refusals."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.problems import IndexStream, streams

REAL_CHUNK = streams.CHUNK
SMALL_CHUNK = 8


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Chunks so short that every test crosses several of them; the cache must not outlive them."""
    monkeypatch.setattr(streams, "CHUNK", SMALL_CHUNK)
    streams._chunk.cache_clear()
    yield
    streams._chunk.cache_clear()


@st.composite
def generated_streams(draw):
    samples = draw(st.integers(1, 12))
    return IndexStream(
        kind=draw(st.sampled_from(["uniform", "cyclic", "epochs"])),
        samples=samples,
        block=draw(st.integers(1, samples)),
        length=draw(st.integers(0, 5 * SMALL_CHUNK)),
        seed=draw(st.integers(0, 3)),
    )


@given(generated_streams())
def test_blocks_hold_distinct_coordinates_in_range(stream):
    blocks = stream.blocks(0, stream.length)
    assert blocks.dtype == np.int64
    assert blocks.shape == (stream.length, stream.block)
    for block in blocks.tolist():
        assert len(set(block)) == stream.block
        assert set(block) <= set(range(stream.samples))


@given(generated_streams(), st.data())
def test_random_access_equals_sequential_access(stream, data):
    begin = data.draw(st.integers(0, stream.length), label="begin")
    end = data.draw(st.integers(begin, stream.length), label="end")
    part = stream.blocks(begin, end)
    streams._chunk.cache_clear()
    whole = stream.blocks(0, stream.length)
    np.testing.assert_array_equal(part, whole[begin:end])
    one_by_one = [stream.blocks(k, k + 1) for k in range(stream.length)]
    np.testing.assert_array_equal(np.concatenate([whole[:0], *one_by_one]), whole)


@given(generated_streams(), st.integers(0, 20))
def test_a_longer_stream_begins_with_the_shorter_one(stream, more):
    longer = IndexStream(stream.kind, stream.samples, stream.block, stream.length + more, stream.seed)
    np.testing.assert_array_equal(longer.blocks(0, stream.length), stream.blocks(0, stream.length))


@pytest.mark.parametrize("kind", ["uniform", "epochs"])
@pytest.mark.parametrize("block", [1, 3])
def test_the_seed_alone_decides_the_draw(kind, block):
    def draw(seed):
        streams._chunk.cache_clear()
        return IndexStream(kind, 50, block, 100, seed).blocks(0, 100)

    np.testing.assert_array_equal(draw(7), draw(7))
    assert (draw(7) != draw(8)).any()
    assert (draw(7)[:SMALL_CHUNK] != draw(7)[SMALL_CHUNK : 2 * SMALL_CHUNK]).any()


def test_the_draw_is_the_same_on_every_machine_and_in_every_release(monkeypatch):
    """Golden values of PCG64 seeded by (seed, chunk): a change makes old reports impossible to replay."""
    monkeypatch.setattr(streams, "CHUNK", REAL_CHUNK)
    found = {
        (kind, block): IndexStream(kind, 100, block, 1 << 15, 1).blocks(16_383, 16_386).tolist()
        for kind in ("uniform", "epochs")
        for block in (1, 2)
    }
    assert found == {
        ("uniform", 1): [[80], [51], [33]],
        ("uniform", 2): [[93, 34], [51, 33], [35, 61]],
        ("epochs", 1): [[52], [17], [0]],
        ("epochs", 2): [[92, 99], [65, 13], [60, 3]],
    }


def test_cyclic_runs_through_all_coordinates_in_order():
    np.testing.assert_array_equal(
        IndexStream("cyclic", 5, 2, 6).blocks(1, 6), [[2, 3], [4, 0], [1, 2], [3, 4], [0, 1]]
    )


@pytest.mark.parametrize(("samples", "block"), [(6, 1), (6, 2), (7, 3), (40, 4), (5, 5)])
def test_an_epoch_draws_no_coordinate_twice_and_epochs_differ(samples, block):
    per_epoch = samples // block
    blocks = IndexStream("epochs", samples, block, 6 * per_epoch, seed=2).blocks(0, 6 * per_epoch)
    epochs = [blocks[k * per_epoch : (k + 1) * per_epoch].ravel().tolist() for k in range(6)]
    for epoch in epochs:
        assert len(set(epoch)) == per_epoch * block
    assert len({tuple(epoch) for epoch in epochs}) > 1


@pytest.mark.parametrize("block", [1, 2])
def test_uniform_reaches_every_coordinate_and_repeats_across_blocks(block):
    drawn = IndexStream("uniform", 6, block, 200, seed=0).blocks(0, 200)
    assert set(drawn.ravel().tolist()) == set(range(6))
    assert any(
        set(first) & set(second)
        for first, second in zip(drawn[:-1].tolist(), drawn[1:].tolist(), strict=True)
    )


def test_what_is_handed_out_cannot_spoil_the_stream():
    for kind in ("uniform", "epochs", "cyclic"):
        stream = IndexStream(kind, 9, 2, 3 * SMALL_CHUNK)
        before = stream.blocks(0, stream.length).copy()
        for begin, end in ((0, 3), (0, stream.length)):
            blocks = stream.blocks(begin, end)
            if blocks.flags.writeable:
                blocks[:] = -1
        np.testing.assert_array_equal(stream.blocks(0, stream.length), before)


# --- from a file --------------------------------------------------------------------------------------

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
    "other block size": ([[0, 1, 2], [1, 2, 3]], r"shape \(2, 3\).* with 2 a line"),
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
        with pytest.raises(InputError, match="needed are integers with 2 a line"):
            IndexStream("file", 4, 2, 1, path=str(path))


@pytest.mark.parametrize("path", ["", "/nonexistent/drawn.txt"])
def test_a_missing_file_is_refused(path):
    with pytest.raises(InputError, match="cannot be read as an index stream"):
        IndexStream("file", 4, 2, 1, path=path)


def test_a_file_rewritten_later_does_not_change_the_stream_in_silence(tmp_path):
    path = tmp_path / "drawn.txt"
    stream = IndexStream("file", 4, 2, 3, path=write(path, BLOCKS))
    write(path, BLOCKS[:, ::-1])
    np.testing.assert_array_equal(stream.blocks(0, 3), BLOCKS)
    np.testing.assert_array_equal(
        IndexStream("file", 4, 2, 3, path=str(path)).blocks(0, 3), BLOCKS[:, ::-1]
    )
    streams._from_file.cache_clear()
    with pytest.raises(InputError, match="was changed after the index stream was made"):
        stream.blocks(0, 3)


def test_a_stream_from_a_file_survives_the_way_to_another_process(tmp_path):
    stream = IndexStream("file", 4, 2, 3, path=write(tmp_path / "drawn.txt", BLOCKS))
    arrived = pickle.loads(pickle.dumps(stream))
    streams._from_file.cache_clear()
    np.testing.assert_array_equal(arrived.blocks(0, 3), BLOCKS)


# --- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"kind": "random"}, "'random' is unknown; known: uniform, cyclic, epochs, file"),
        ({"block": 0}, r"b = 0, but it must lie in 1\.\.m and m = 5"),
        ({"block": 6}, r"b = 6, but it must lie in 1\.\.m and m = 5"),
        ({"samples": 0}, "m = 0"),
        ({"length": -1}, "length -1"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_values_out_of_range_are_refused(changes, fault):
    with pytest.raises(InputError, match=fault):
        IndexStream(**({"kind": "uniform", "samples": 5, "block": 2, "length": 3} | changes))


@pytest.mark.parametrize(("begin", "end"), [(-1, 2), (0, 4), (3, 2), (4, 4)])
def test_a_range_outside_the_stream_is_refused(begin, end):
    with pytest.raises(InputError, match=rf"blocks {begin}\.\.{end} asked of an index stream of 3 blocks"):
        IndexStream("uniform", 5, 2, 3).blocks(begin, end)
