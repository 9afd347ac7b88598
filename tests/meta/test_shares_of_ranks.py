"""What a rank takes is as even as its partition promises: every partition of ours is, others are refused."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from planted_ranks import PlantedSolver

from sstep_verify.adapters import shares
from sstep_verify.adapters.shares import nonzeros_of, require_shares
from sstep_verify.adapters.written import require_printed_shares
from sstep_verify.errors import ConductError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks.failures import RankError
from sstep_verify.solver.data import partition as partitions
from sstep_verify.solver.data.partition import partition_of

HOW = ("work", "contiguous")
MODULE = "sstep_verify.solver.data.partition"


def data_of(counts) -> sp.csr_array:
    """Data whose columns have so many nonzeros."""
    counts = np.asarray(counts)
    rows = [np.arange(count) for count in counts]
    ends = np.concatenate([[0], np.cumsum(counts)])
    shape = (max(int(counts.max(initial=0)), 1), counts.size)
    return sp.csr_array(sp.csc_array((np.ones(ends[-1]), np.concatenate(rows), ends), shape=shape))


def refused(counts, owned, how) -> bool:
    """Whether shares are refused."""
    try:
        require_shares(data_of(counts), owned, how)
    except ConductError:
        return True
    return False


def skewed(seed: int, columns: int = 60) -> np.ndarray:
    """Counts as text has them: few columns with many nonzeros, first."""
    drawn = np.random.Generator(np.random.PCG64(seed))
    return np.sort(drawn.integers(1, 6, columns) + (300 / np.arange(1, columns + 1)).astype(int))[
        ::-1
    ].copy()


many = st.lists(st.integers(0, 5) | st.integers(0, 300), min_size=1, max_size=40)


@given(many, st.integers(2, 7), st.sampled_from(HOW))
def test_partitions_of_ours_are_as_even_as_they_promise(counts, ranks, how):
    partition = partition_of(np.array(counts), ranks, how)
    assert refused(counts, [partition.columns(rank) for rank in range(ranks)], how) is False


@given(many, st.integers(2, 7), st.integers(0, 12))
def test_more_columns_than_are_dealt_one_by_one_pass(counts, ranks, heavy):
    with mock.patch.object(partitions, "HEAVY", heavy), mock.patch.object(shares, "DEALT", heavy):
        partition = partition_of(np.array(counts), ranks)
        assert refused(counts, [partition.columns(rank) for rank in range(ranks)], "work") is False


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_shares_that_are_less_even_are_refused(seed, ranks):
    counts = skewed(seed)
    width = np.array_split(np.arange(counts.size), ranks)
    for how in HOW:
        assert refused(counts, width, how), "by width"
        assert refused(counts[::-1], width, how), "by width"
    runs, dealt = (partition_of(counts, ranks, how) for how in ("contiguous", "work"))
    assert refused(counts, [runs.columns(rank) for rank in range(ranks)], "work"), "by nonzeros"
    for rank in range(ranks):
        # All that one rank should have falls to its neighbour.
        owned = [np.arange(counts.size)[dealt.columns(other)] for other in range(ranks)]
        other = (rank + 1) % ranks
        owned[other], owned[rank] = np.union1d(owned[other], owned[rank]), np.empty(0, dtype=int)
        assert refused(counts, owned, "work"), "a rank without columns"
    cuts = [np.arange(*runs.starts[rank : rank + 2]) for rank in range(ranks)]
    mixed = np.concatenate([cuts[0][1:], cuts[1], cuts[0][:1]])
    assert refused(counts, [mixed[: cuts[0].size], mixed[cuts[0].size :], *cuts[2:]], "contiguous"), (
        "no run"
    )
    lost = [cuts[0][:-1], *cuts[1:]]
    twice = [np.append(cuts[0], cuts[1][0]), *cuts[1:]]
    assert not any(refused(counts, owned, "contiguous") for owned in (lost, twice)), "steps show it"


def test_dense_columns_are_alike():
    data = np.ones((4, 7))
    assert nonzeros_of(data).tolist() == [4] * 7
    require_shares(data, [slice(0, 3), slice(3, 5), slice(5, 7)], "work")
    for owned in (
        [slice(0, 4), slice(4, 5), slice(5, 7)],
        [np.array([0, 2]), np.array([1, 3]), slice(4, 7)],
    ):
        with pytest.raises(ConductError):
            require_shares(data, owned, "work")


EDITS = {
    "nothing": (("from __future__ import annotations\n", "from __future__ import annotations\n\n"), False),
    "runs for work": (('"contiguous" if alike else how', '"contiguous"'), True),
    "nonzeros for work": (("work + float(counts[column]) ** 2", "work + float(counts[column])"), True),
    "the lightest columns first": (("np.argsort(-counts", "np.argsort(counts"), True),
    "the last rank gets nothing": (
        ("    held = [(0.0, rank) for rank in range(ranks)]", "    held = [(0.0, rank) for rank in range(ranks - 1)]"),
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_ranks_that_share_otherwise_are_refused(name):
    pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
    edit, wrong = EDITS[name]
    data = data_of(skewed(1)[:, None].ravel())
    problem = Problem("skewed", data, np.resize([1.0, -1.0], data.shape[0]), LinearKernel(), Hinge(1.0))
    request = RunRequest(problem, IndexStream("uniform", data.shape[0], 1, 12, 3), 4, 12)
    tested = PlantedSolver(3, {MODULE: [edit]})
    if not wrong:
        assert tested.run(request).length == 12
        return
    with pytest.raises(RankError) as caught:
        tested.run(request)
    assert caught.value.kind == "ConductError"


@pytest.mark.parametrize("how", HOW)
def test_the_shares_that_the_command_prints_are_those_of_its_partition(how):
    data = data_of(skewed(2))
    problem = Problem("skewed", data, np.resize([1.0, -1.0], data.shape[0]), LinearKernel(), Hinge(1.0))
    found = partition_of(nonzeros_of(data), 3, how)
    shown = f"largest over mean of a rank: nonzeros {found.imbalance:.3f}, work on panels {{:.3f}}, seconds"
    require_printed_shares(problem, shown.format(found.work_imbalance), 3, how)
    other = partition_of(nonzeros_of(data), 3, "work" if how == "contiguous" else "contiguous")
    lines = (shown.format(other.work_imbalance), shown.format(found.work_imbalance + 0.002), "nothing")
    for said in lines:
        with pytest.raises(ConductError):
            require_printed_shares(problem, said, 3, how)
