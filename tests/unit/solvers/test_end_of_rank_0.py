"""The alpha of rank 0 is where a run of a program ends; another file that says otherwise is named."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.adapters.program.solver import _ended_as_rank_0
from sstep_verify.errors import NoResultError
from sstep_verify.trajectory import Trajectory


@pytest.mark.parametrize("writes", ["log", "trace", "final"])
@pytest.mark.parametrize("final", [False, True], ids=["alone", "with final"])
def test_the_file_that_ends_elsewhere_than_rank_0_is_named(tmp_path, writes, final):
    run = Trajectory(2, 0, np.array([0, 4]), np.array([[0.0, 0.0], [0.5, 0.25]]))
    if final:
        (tmp_path / "final.bin").write_bytes(bytes(16))
    assert np.array_equal(_ended_as_rank_0(run, run.final, writes, tmp_path).alphas, run.alphas)
    end = np.array([0.5, 0.75])
    if writes == "log" and not final:
        assert np.array_equal(_ended_as_rank_0(run, end, writes, tmp_path).final, end)
        return
    name = "trace" if writes == "trace" else "final"
    with pytest.raises(NoResultError, match=rf"0\.75 in alpha\[1\] at the end, but {name} holds 0\.25"):
        _ended_as_rank_0(run, end, writes, tmp_path)
