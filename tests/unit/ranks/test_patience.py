"""What a process has lived, and when a call hangs; processes of /proc are planted, or real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from sstep_verify.ranks import HangError, SlowError, patience
from sstep_verify.ranks.patience import LONGEST, Life, Patience
from sstep_verify.ranks.pool import Pool


class Planted:
    """A clock, and a process that works or sleeps and gets a part of a processor."""

    def __init__(self):
        self.now, self.used, self.works, self.turns = 0.0, 0.0, False, 0

    def passes(self, seconds: float, works: bool, got: float, turns: int = 0) -> None:
        self.now, self.used, self.works = self.now + seconds, self.used + got, works
        self.turns += turns

    def life(self) -> Life:
        return Life(0, lambda: self.now, lambda _pid: self.works, lambda _pid: self.used)


@pytest.mark.parametrize(
    ("works", "got", "lived"),
    [
        pytest.param(False, 0.0, 1.5, id="asleep"),
        pytest.param(True, 1.5, 1.5, id="fed"),
        pytest.param(True, 0.1, 0.1, id="starved"),
        pytest.param(True, 0.0, 0.0, id="got nothing"),
        pytest.param(True, 6.0, 1.5, id="four threads"),
        pytest.param(False, 0.2, 1.5, id="asleep again"),
    ],
)
def test_what_a_process_has_lived(works, got, lived):
    planted = Planted()
    life = planted.life()
    for _ in range(2):
        planted.passes(1.5, works, got)
        assert life.more() == pytest.approx(lived)


def test_a_gap_in_which_nobody_looked_counts_little_unless_asked_for():
    planted = Planted()
    life = planted.life()
    planted.passes(100.0, False, 0.0)
    assert life.more() == LONGEST
    planted.passes(100.0, False, 0.0)
    assert life.more(longest=60.0) == 60.0


LOOP, SLEEP = "while True: pass", "import time; time.sleep(600)"


@pytest.mark.parametrize(
    ("program", "stopped", "most"), [(LOOP, False, 1.0), (SLEEP, False, 0.2), (LOOP, True, 0.2)]
)
def test_real_processes(program, stopped, most):
    """One that loops lives what it gets; one that sleeps or is stopped gets nothing and lives as the clock."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", program])
    try:
        time.sleep(0.5)
        if stopped:
            process.send_signal(signal.SIGSTOP)
        life, used, begin = Life(process.pid), patience.processor_seconds(process.pid), time.monotonic()
        time.sleep(0.6)
        lived, clock = life.more(), time.monotonic() - begin
        got = patience.processor_seconds(process.pid) - used
        assert got <= most * clock + 0.05
        if program is SLEEP or stopped:
            assert lived == pytest.approx(clock, abs=0.1)
        else:
            assert lived <= got + 0.05
    finally:
        process.kill()
        process.wait()


def test_a_process_that_is_gone_has_no_threads():
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    process.wait()
    assert (patience.some_thread_works(process.pid), patience.processor_seconds(process.pid)) == (
        False,
        0.0,
    )
    assert patience.turns_on_a_processor(process.pid) == 0
    assert patience.some_thread_works(os.getpid())
    before = patience.turns_on_a_processor(os.getpid())
    for _ in range(5):
        time.sleep(0.001)
    assert patience.turns_on_a_processor(os.getpid()) >= before + 5


@pytest.fixture
def watched(monkeypatch):
    """A call on two ranks with a limit of 4 s, of planted time."""
    planted = [Planted(), Planted()]
    places = [(0, 0), (0, 0)]
    monkeypatch.setattr(patience.time, "monotonic", lambda: planted[0].now)
    monkeypatch.setattr(patience, "processor_seconds", lambda pid: planted[pid].used)
    monkeypatch.setattr(patience, "turns_on_a_processor", lambda pid: planted[pid].turns)
    monkeypatch.setattr(patience, "some_thread_works", lambda pid: planted[pid].works)
    return planted, places, Patience([0, 1], lambda: tuple(places), 4.0)


def seconds_until_a_hang(watched, step, waiting=(0, 1), turns=0, up_to=39) -> int:
    """After how many seconds a call hangs of which `step` makes each second; 0 for not until `up_to`.

    `step` gives the part of a processor that each rank gets, None where it sleeps; `turns` are of a second.
    """
    planted, places, call = watched
    for second in range(1, up_to + 1):
        shares = step(second, places)
        for rank, share in zip(planted, shares, strict=True):
            rank.passes(1.0, share is not None, share or 0.0, turns)
        assert not call.is_over
        if call.hangs(waiting):
            return second
    return 0


@pytest.mark.parametrize(
    ("inside", "shares", "turns", "expected"),
    [
        pytest.param((0, 0), (1.0, 1.0), 0, 5, id="two loops"),
        pytest.param((0, 0), (None, 1.0), 0, 5, id="a rank sleeps"),
        pytest.param((0, 0), (0.5, 0.25), 0, 17, id="loops that get a part of a processor"),
        pytest.param((1, 0), (1.0, 1.0), 0, 5, id="a loop for which a rank waits"),
        pytest.param((1, 0), (0.1, None), 0, 5, id="a sleeping rank for which a starved one waits"),
        pytest.param((1, 0), (1.0, 0.05), 0, 0, id="a starved rank for which another waits"),
        pytest.param(
            (1, 0), (0.005, 1.0), 0, 0, id="a loop, where a starved rank may yet leave its collective"
        ),
        pytest.param((1, 1), (1.0, 1.0), 0, 5, id="all wait"),
        pytest.param((1, 2), (0.001, 0.001), 0, 0, id="all wait, and hardly get a turn"),
        pytest.param((1, 2), (0.001, 0.001), 30, 5, id="all wait, and give their turns away"),
        pytest.param((0, 0), (0.001, 0.001), 30, 0, id="turns are nothing to who works"),
        pytest.param((1, 2), (0.02, 0.02), 0, 21, id="all wait on a busy machine"),
    ],
)
def test_without_progress(watched, inside, shares, turns, expected):
    watched[1][:] = [(one, 7) for one in inside]
    assert seconds_until_a_hang(watched, lambda _second, _places: shares, turns=turns) == expected


@pytest.mark.parametrize("place", [lambda count: (0, count), lambda count: (count % 2, 1)])
def test_any_progress_of_any_rank_begins_the_time_again(watched, place):
    def every_third(second, places):
        places[1] = place(second // 3)
        return 1.0, None

    assert seconds_until_a_hang(watched, every_third) == 0


def test_a_rank_that_has_ended_is_not_waited_for(watched):
    assert seconds_until_a_hang(watched, lambda _second, _places: (0.0, 1.0), waiting=(1,)) == 5


def test_a_call_is_over_after_ten_times_its_limit(watched):
    planted, _, call = watched
    planted[0].passes(39.9, True, 0.0)
    assert not call.is_over
    planted[0].passes(0.1, True, 0.0)
    assert call.is_over


@pytest.mark.parametrize(
    ("works", "got", "error"), [(False, 0.0, HangError), (True, 4.0, HangError), (True, 0.5, SlowError)]
)
def test_a_message_of_which_nothing_moves(works, got, error):
    planted, pool = Planted(), Pool(1, {})
    pool._channels = {"tasks": {}}
    life = planted.life()
    planted.passes(4.0, works, got)
    assert type(pool._stuck("a call", 4.0, life, [], {}, 0)) is error
