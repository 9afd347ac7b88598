"""Samples of a training are read by the options that were given."""

from __future__ import annotations

import pytest

from sstep_verify.problems import Hinge, Ridge
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training import files


class SeenError(Exception):
    """Holds what `load_local` was called with."""


@pytest.mark.parametrize("how", ["work", "contiguous"])
@pytest.mark.parametrize(("loss", "task"), [(Ridge(1.0), "regression"), (Hinge(1.0), "classification")])
def test_data_folder_task_and_partition_reach_the_reader(monkeypatch, how, loss, task):
    """Of dense data in a file both partitions hold the same columns, so that no run tells which was asked for."""

    def seen(*given, **named):
        raise SeenError(given[0], named)

    monkeypatch.setattr(files, "load_local", seen)
    with pytest.raises(SeenError) as caught:
        files.read(Settings(data="a", directory="b", partition=how, loss=loss), SelfCommunicator())
    assert caught.value.args == ("a", {"directory": "b", "task": task, "how": how})
