"""What the witness counted on each rank: a program's figures are those of the rank that communicates most."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sstep_verify.adapters.program.solver import WITNESS_FILES
from sstep_verify.adapters.program.witness import read_witness
from sstep_verify.errors import WitnessError
from sstep_verify.ranks import interposer
from sstep_verify.ranks.interposer import KINDS


@pytest.mark.parametrize("seed", range(6))
def test_collectives_and_words_are_the_largest_of_a_rank(tmp_path, seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    ranks = int(drawn.integers(2, 6))
    calls = drawn.integers(0, 50, (ranks, len(KINDS)))
    words = drawn.integers(0, 900, (ranks, len(KINDS)))
    for rank in range(ranks):
        lines = [f"{n} {8 * size}" for n, size in zip(calls[rank], words[rank], strict=True)]
        (tmp_path / f"witness-{rank}.txt").write_text("\n".join([f"ranks {ranks}", *lines]) + "\n")
        (tmp_path / f"received-{rank}.bin").write_bytes(b"")
    counters, _ = read_witness(tmp_path, ranks)
    assert counters == {"collectives": calls.sum(axis=1).max(), "words": words.sum(axis=1).max()}


@pytest.mark.parametrize(
    ("name", "content"), [("witness-0.txt", b"mine"), ("received-0.bin", b"mine"), ("witness-1.txt", b"")]
)
def test_files_of_the_witness_that_are_not_whole_are_told_from_a_run_that_did_not_end(
    tmp_path, name, content
):
    (tmp_path / "witness-0.txt").write_text("\n".join(["ranks 1", *["0 0"] * len(KINDS)]) + "\n")
    (tmp_path / "received-0.bin").write_bytes(b"")
    read_witness(tmp_path, 1)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WitnessError):
        read_witness(tmp_path, 1)


def test_every_file_of_the_witness_is_known_as_its_own():
    """A file that is not is told as one that the program left."""
    header = Path(interposer.__file__).with_name("pmpi_witness.h").read_text("utf-8")
    written = set(re.findall(r'"([a-z]+-%d\.[a-z]+)"', header))
    assert written == {name.replace("{}", "%d") for name in WITNESS_FILES}
