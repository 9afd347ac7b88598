"""Collectives and words counted outside the program, against the counting communicator."""

from __future__ import annotations

import collective_ranks as ranks_do
import pytest

from sstep_verify.errors import MissingExtraError
from sstep_verify.ranks import RankError, interposer, run
from sstep_verify.ranks.interposer import build_interposer
from sstep_verify.trajectory import TRAFFIC, Traffic

pytestmark = pytest.mark.pool_only


@pytest.fixture(scope="module")
def preload(tmp_path_factory) -> dict[str, str]:
    try:
        return {"LD_PRELOAD": str(build_interposer(tmp_path_factory.mktemp("interposer")))}
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize(
    "sequence",
    [(), ("allreduce",) * 3, ("reduce_scatter",) * 2, ("allreduce", "reduce_scatter", "allreduce")],
)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_counts_equal_the_counting_communicator(preload, ranks, sequence, length):
    for collectives, words, reductions, everything in run(
        ranks, ranks_do.counted, sequence, length, variables=preload
    ):
        summed, scattered = sequence.count("allreduce"), sequence.count("reduce_scatter")
        split = scattered * length * ranks
        assert reductions == dict.fromkeys(TRAFFIC, Traffic()) | {
            "allreduce": Traffic(summed, summed * length, 8 * summed * length),
            "reduce_scatter": Traffic(scattered, split, 8 * split),
        }
        assert (collectives, words) == (
            sum(counted.calls for counted in reductions.values()),
            sum(counted.elements for counted in reductions.values()),
        )
        assert everything["allreduce"] == reductions["allreduce"]
        assert everything["barrier"] == Traffic(1)
        assert everything["other"].calls >= 1  # objects of all ranks


def test_each_operation_is_counted_in_its_kind_with_its_elements_and_bytes(preload):
    for found in run(2, ranks_do.handed, variables=preload):
        assert len(found) > 20
        for name, (counted, (kind, *wanted)) in found.items():
            assert counted == dict.fromkeys(TRAFFIC, Traffic()) | {kind: Traffic(*wanted)}, name


def test_ranks_without_it_say_so():
    with pytest.raises(RankError, match="no interposer in this process") as caught:
        run(1, ranks_do.uncounted)
    assert caught.value.kind == "MissingExtraError"


def test_a_missing_compiler_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="no cc is on PATH"):
        build_interposer(tmp_path)


def test_a_compiler_without_the_header_of_its_mpi_is_reported_in_one_line(tmp_path, monkeypatch):
    lines = "pmpi_count.c:20:10: fatal error: mpi.h: No such file\n   20 | #include <mpi.h>\n\ncompilation terminated.\n"
    (tmp_path / "said").write_text(lines)
    for name in ("cc", "mpicc"):
        (tmp_path / name).write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/said >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError) as caught:
        build_interposer(tmp_path, "mpicc")
    (line,) = str(caught.value).splitlines()
    assert str(tmp_path / "mpicc") in line
    assert interposer.DEVELOPMENT in line


def test_a_compiler_that_fails_is_quoted(tmp_path, preload, monkeypatch):
    broken = tmp_path / "broken.c"
    broken.write_text("int main(void) { return missing; }\n")
    monkeypatch.setattr(interposer, "SOURCE", broken)
    with pytest.raises(MissingExtraError, match="missing"):
        build_interposer(tmp_path)
