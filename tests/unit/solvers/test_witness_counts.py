"""What the witness counted on each rank: a program's figures are the most of any rank."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sstep_verify.adapters.program.witness import counted_by, read_witness, witness_names
from sstep_verify.errors import WitnessError
from sstep_verify.ranks import interposer
from sstep_verify.trajectory import COLLECTIVES, OTHER, TRAFFIC, Traffic


@pytest.mark.parametrize("seed", range(6))
def test_of_each_kind_the_most_of_any_rank_is_taken(tmp_path, seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    ranks = int(drawn.integers(2, 6))
    counts = drawn.integers(0, 900, (ranks, len(TRAFFIC), 3))
    for rank in range(ranks):
        lines = [" ".join(map(str, row)) for row in counts[rank].tolist()]
        (tmp_path / f"witness-{rank}.txt").write_text("\n".join([f"ranks {ranks}", *lines]) + "\n")
        (tmp_path / f"received-{rank}.bin").write_bytes(b"")
    traffic, _ = read_witness(tmp_path, ranks)
    assert [(one.calls, one.elements, one.bytes) for one in traffic.values()] == [
        tuple(row) for row in counts.max(axis=0).tolist()
    ]


@pytest.mark.parametrize(("size", "stated"), [(1, False), (2, False), (4, True), (8, True), (16, False)])
def test_words_are_stated_where_all_is_in_words(size, stated):
    traffic = {kind: Traffic(2, 30 + place, size * (30 + place)) for place, kind in enumerate(TRAFFIC)}
    words = sum(traffic[kind].elements for kind in COLLECTIVES)
    assert counted_by(traffic) == {"collectives": 2 * len(COLLECTIVES)} | (
        {"words": words} if stated else {}
    )
    # Five bytes of text next to them are no words, and none of a number.
    mixed = traffic | {OTHER: Traffic(1, 5, 5)}
    assert "words" not in counted_by(mixed)


@pytest.mark.parametrize(
    ("name", "content"), [("witness-0.txt", b"mine"), ("received-0.bin", b"mine"), ("witness-1.txt", b"")]
)
def test_files_of_the_witness_that_are_not_whole_are_distinguished_from_a_run_that_did_not_end(
    tmp_path, name, content
):
    (tmp_path / "witness-0.txt").write_text("\n".join(["ranks 1", *["0 0 0"] * len(TRAFFIC)]) + "\n")
    (tmp_path / "received-0.bin").write_bytes(b"")
    read_witness(tmp_path, 1)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WitnessError):
        read_witness(tmp_path, 1)


def test_every_file_of_the_witness_is_known_as_its_own(tmp_path):
    """A file that is not counts as one that the program left."""
    header = Path(interposer.__file__).with_name("pmpi_witness.h").read_text("utf-8")
    written = set(re.findall(r'"([a-z]+-%d\.[a-z]+)"', header))
    assert len(written) == 4
    # Also of a rank that only the program knows of, which a command may start.
    own = {name.replace("%d", str(rank)) for name in written for rank in (0, 17)}
    for name in (*own, "seconds-a.txt", "witness-0.bin", "my-seconds-0.txt"):
        (tmp_path / name).touch()
    assert witness_names(tmp_path) == own
