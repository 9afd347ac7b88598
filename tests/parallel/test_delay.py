"""Injected delays: every collective lasts as long as it is made to, at least; no test bounds a time from above."""

from __future__ import annotations

import delay_ranks as ranks_do
import pytest

from sstep_verify.errors import MissingExtraError
from sstep_verify.ranks import run
from sstep_verify.ranks.failures import LaunchError
from sstep_verify.ranks.interposer import DELAY, build_interposer

pytestmark = pytest.mark.pool_only

MILLISECONDS = 3000.0
"""Microseconds of a delay in these tests."""


@pytest.fixture(scope="module")
def preload(tmp_path_factory) -> dict[str, str]:
    try:
        return {"LD_PRELOAD": str(build_interposer(tmp_path_factory.mktemp("delays")))}
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("ranks", "levels"), [(2, 1), (3, 2)])
def test_every_blocking_collective_is_late_by_its_levels(preload, ranks, levels):
    for taken in run(ranks, ranks_do.blocking, MILLISECONDS, 0.0, variables=preload):
        assert set(taken) == set(ranks_do.BLOCKING)
        for name, seconds in taken.items():
            assert seconds >= 1e-6 * MILLISECONDS * levels, name


def test_bytes_make_it_later(preload):
    for taken in run(2, ranks_do.blocking, 0.0, 1e6, variables=preload):  # a millisecond for each byte
        assert taken["Allreduce"] >= 8e-3
        assert taken["Alltoall"] >= 16e-3


def test_one_rank_waits_for_nobody(preload):
    """It would take a minute and a half each."""
    assert len(run(1, ranks_do.blocking, 1e8, 0.0, variables=preload)[0]) == len(ranks_do.BLOCKING)


def test_a_non_blocking_collective_is_late_where_it_is_completed(preload):
    for taken in run(2, ranks_do.non_blocking, MILLISECONDS, variables=preload):
        for name, seconds in taken.items():
            assert seconds >= 1e-6 * MILLISECONDS, name


def test_many_at_a_time_are_late_too(preload):
    for seconds, total in run(2, ranks_do.many_under_way, MILLISECONDS, 260, variables=preload):
        assert seconds >= 1e-6 * MILLISECONDS
        assert total == 520.0


def test_the_environment_sets_the_delay(preload):
    late = {**preload, DELAY: "500 1000"}
    for seconds, calls in run(2, ranks_do.several, 40, 16, variables=late):
        assert calls == 40
        assert seconds >= calls * (500e-6 + 128 * 1e-6)


def test_a_delay_that_is_none_ends_the_job(preload):
    with pytest.raises(LaunchError, match=r"did not start|lost rank"):
        run(2, ranks_do.several, 1, 1, variables={**preload, DELAY: "fast"})
