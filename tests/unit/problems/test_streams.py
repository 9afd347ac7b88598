"""Index streams: distinct coordinates in a block, random access, determinism, refusals."""

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


@given(
    st.sampled_from(["samples", "block", "length", "seed", "relabel"]),
    st.one_of(st.floats(), st.text(max_size=3), st.booleans(), st.just([4])),
)
def test_a_number_that_is_not_whole_is_refused_by_its_name(name, value):
    numbers = {"samples": 4, "block": 1, "length": 8, name: value}
    with pytest.raises(InputError, match=f"^index stream: {name} = .* must be a whole number"):
        IndexStream("uniform", **numbers)


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


@given(st.data(), st.integers(0, 2**32), st.integers(1, 5))
def test_blocks_drawn_together_are_those_that_choice_draws_one_by_one(data, seed, count):
    """Among them the coordinates beyond which ``choice`` shuffles: there it is called itself."""
    samples = data.draw(st.integers(1, 60) | st.sampled_from([9_999, 10_000, 10_001, 20_000]), label="m")
    block = data.draw(st.integers(1, min(samples, 1_100)), label="b")
    together, single = (np.random.Generator(np.random.PCG64(seed)) for _ in range(2))
    drawn = streams._distinct_blocks(together, samples, block, count)
    one_by_one = [single.choice(samples, block, replace=False, shuffle=False) for _ in range(count)]
    np.testing.assert_array_equal(drawn, one_by_one)
    assert together.bit_generator.state == single.bit_generator.state


@pytest.mark.parametrize(("kind", "block", "drawn"), [
    ("uniform", 1, 5), ("uniform", 3, 5), ("epochs", 1, 50), ("epochs", 3, 50 // 3),
])  # fmt: skip
def test_a_short_stream_is_drawn_no_farther_than_it_goes(monkeypatch, kind, block, drawn):
    """Epochs are permuted whole. A chunk of large blocks takes a tenth of a second."""
    monkeypatch.setattr(streams, "CHUNK", REAL_CHUNK)
    assert IndexStream(kind, 50, block, 5).blocks(1, 3).base.shape == (drawn, block)


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
