"""Compressed files: one or more streams, whole, and nothing behind them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems.data.svmlight_texts import COMPRESS

from sstep_verify.errors import DataError
from sstep_verify.problems.data.svmlight import read_block, read_svmlight, text_length

TEXT = b"".join(b"%d 1:%d 2:0.5\n" % ((-1) ** k, k + 1) for k in range(800))


def draws(ending: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(list(ending.encode())))


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".gz"])
def test_what_follows_the_end_is_refused_and_more_streams_are_read(tmp_path, ending):
    draw, packed = draws(ending), COMPRESS[ending](TEXT)
    path = tmp_path / f"data{ending}"
    for garbage in [
        b"x",
        b"\n",
        b"1 1:2\n",
        packed[: len(packed) // 2],
        *(draw.bytes(9) for _ in range(6)),
    ]:
        path.write_bytes(packed + garbage)
        with pytest.raises(DataError, match=rf"cannot be read as \{ending}"):
            read_svmlight(path)
        assert text_length(path) is None
    for place in draw.integers(1, len(packed), size=6):
        path.write_bytes(packed[:place])
        with pytest.raises(DataError, match=rf"cannot be read as \{ending}"):
            read_svmlight(path)
    path.write_bytes(packed + COMPRESS[ending](TEXT))
    assert read_svmlight(path)[0].shape == (1_600, 2)
    assert text_length(path) == 2 * len(TEXT)


def test_zeros_may_follow_a_stream_of_xz(tmp_path):
    packed, path = COMPRESS[".xz"](TEXT), tmp_path / "data.xz"
    for padding in (4, 8, 1 << 17):
        path.write_bytes(packed + bytes(padding) + packed + bytes(padding))
        assert text_length(path) == 2 * len(TEXT)


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".gz"])
def test_blocks_share_out_the_lines_of_a_compressed_file(tmp_path, ending):
    path = tmp_path / f"data{ending}"
    path.write_bytes(COMPRESS[ending](TEXT))
    cuts = [0, *np.sort(draws(ending).integers(1, len(TEXT), size=4)).tolist(), len(TEXT)]
    found = [read_block(path, begin=a, end=b) for a, b in itertools.pairwise(cuts)]
    assert sum(block.lines for block in found) == 800
    whole = read_block(path)
    assert np.array_equal(np.concatenate([block.targets for block in found]), whole.targets)
