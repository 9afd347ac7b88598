"""Differences under ``mpiexec -n P python -m pytest``."""

from __future__ import annotations

import collective_ranks as ranks_do
import pytest

from sstep_verify.errors import InputError
from sstep_verify.ranks import join, run
from sstep_verify.ranks.environment import promised_size

pytestmark = pytest.mark.skipif(promised_size() == 1, reason="only under mpiexec")


def test_rank_0_leads():
    assert join()


def test_more_ranks_than_the_job_has_are_refused():
    size = promised_size()
    with pytest.raises(InputError, match=f"{size + 1} ranks are asked for, but the job has {size}"):
        run(size + 1, ranks_do.place)


def test_variables_cannot_be_set_any_more():
    with pytest.raises(InputError, match="LD_PRELOAD"):
        run(1, ranks_do.place, variables={"LD_PRELOAD": "x"})
