"""A program is failed for its time only where it had it: one that waits for a processor is not judged."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest
from program_cases import ending, request

from sstep_verify.adapters.program import Program, ProgramFile, ProgramSolver, patience, solver
from sstep_verify.adapters.program.patience import Process
from sstep_verify.adapters.program.run import execute
from sstep_verify.campaign.model import INTERNAL, attempted
from sstep_verify.errors import NotMadeError
from sstep_verify.ranks import SlowError
from sstep_verify.runs import make_run

LIMIT = 0.5

PINNED = "import os, time; os.sched_setaffinity(0, {%d})\n"
BEHIND = """
os.nice(19)
if os.path.exists('/proc/self/autogroup'):  # A kernel that shares processors out by session.
    open('/proc/self/autogroup', 'w').write('19')
"""
WORK = "while time.process_time() < %g: pass\n"
BELOW = "import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', %r])\n"
SHORT = "import subprocess\nwhile True: subprocess.run(['true'])\n"


def python(code: str, limit: float = LIMIT):
    return execute([sys.executable, "-I", "-S", "-c", code], limit)


@pytest.fixture
def rival():
    """A process that keeps a processor busy; that processor."""
    usual, own = os.sched_getaffinity(0), os.getpid()
    processor = min(usual)
    pid = os.fork()
    if not pid:
        os.sched_setaffinity(0, {processor})
        while os.getppid() == own:
            pass
        os._exit(0)
    yield processor
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "below",
    [False, True],
    ids=["itself", "below a process that sleeps"],
)
def test_a_starved_program_is_not_judged(rival, below):
    code = PINNED % rival + BEHIND + WORK % 1e9
    begin = time.monotonic()
    with pytest.raises(
        SlowError, match=r"not judged: .* it waited for a processor; .*\(time_limit\)"
    ) as met:
        python(BELOW % code if below else code)
    assert isinstance(met.value, NotMadeError)
    assert 10 * LIMIT <= time.monotonic() - begin < 20 * LIMIT + 10


def test_a_program_that_gets_a_part_of_a_processor_may_take_longer(rival):
    ended = python(PINNED % rival + WORK % (0.8 * LIMIT))
    assert (ended.code, ended.timed_out) == (0, False)
    assert ended.seconds > LIMIT


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while True: pass", id="loops", marks=pytest.mark.nightly),
        pytest.param("import time; time.sleep(600)", id="sleeps"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", id="is stopped"),
        pytest.param(BELOW % "while True: pass", id="loops below"),
        pytest.param(SHORT, id="starts one program after the other"),
    ],
)
def test_a_program_that_had_its_time_hangs(code):
    ended = python(code)
    assert ended.timed_out
    assert ended.reason.startswith("hang: did not end within")
    assert LIMIT <= ended.seconds < 10 * LIMIT + 5


def test_a_run_that_is_not_judged_is_an_internal_error_and_is_made_once(monkeypatch):
    made = []

    def starved(*_words):
        made.append(1)
        raise SlowError("./p", 600.0, [], option="time_limit")

    monkeypatch.setattr(solver, "execute", starved)
    tested = ProgramSolver(ProgramFile(Program("p", ("./p",))))
    for _ in range(3):
        found = attempted(lambda: make_run(tested, request()), "a case")
        assert (found.outcome, found.kind) == (None, INTERNAL)
    assert len(made) == 1


class Planted:
    """A clock, and processes of which each works or sleeps and gets a part of a processor."""

    def __init__(self, monkeypatch):
        self.now, self.alive, self.works, self.used = 0.0, {1: 0.0}, {1: False}, {1: 0.0}
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(patience.time, "clock_gettime", lambda _clock: self.now)
        for module in (patience, sys.modules["sstep_verify.ranks.patience"]):
            monkeypatch.setattr(module, "processor_seconds", lambda pid: self.used.get(pid, 0.0))
            monkeypatch.setattr(module, "some_thread_works", lambda pid: self.works.get(pid, False))
        monkeypatch.setattr(
            patience,
            "tree",
            lambda _root: {pid: Process("S", 1, 1, 1, at) for pid, at in self.alive.items()},
        )

    def passes(self, got: dict[int, float | None]) -> None:
        """A second of the clock: part of a processor that each process gets, None for one that sleeps."""
        self.now += 1.0
        self.alive = {pid: self.alive.get(pid, self.now - 1.0) for pid in got}
        for pid, share in got.items():
            self.works[pid] = share is not None
            self.used[pid] = self.used.get(pid, 0.0) + (share or 0.0)


@pytest.mark.parametrize(
    ("got", "seconds"),
    [
        pytest.param(lambda _: {1: None}, 8, id="sleeps"),
        pytest.param(lambda _: {1: None, 2: 1.0}, 8, id="a child has a processor"),
        pytest.param(lambda _: {1: None, 2: 0.5, 3: 1.0}, 16, id="a child has half of one"),
        pytest.param(lambda _: {1: None, 2: 0.0}, 0, id="a child has none"),
        pytest.param(lambda k: {1: None, k + 2: 1.0}, 8, id="child after child"),
        pytest.param(lambda k: {1: None, k + 2: 0.25}, 32, id="child after child, each with a quarter"),
        pytest.param(
            lambda k: {1: None, **({2: 0.0} if k < 4 else {})}, 12, id="a starved child has ended"
        ),
        pytest.param(lambda k: {1: None, 2: k % 2, 3: (k + 1) % 2}, 16, id="children in turn"),
    ],
)
def test_what_a_program_has_lived(monkeypatch, got, seconds):
    planted = Planted(monkeypatch)
    call = patience.Patience(1, 8.0)
    for second in range(1, 80):
        planted.passes(got(second - 1))
        assert not call.is_over
        if call.hangs():
            assert second == seconds
            return
    planted.passes({1: None})
    assert call.is_over
    assert not seconds


def test_a_program_that_hangs_is_failed_as_before(tmp_path):
    found = make_run(ending("hang", str(tmp_path / "child"), limit=LIMIT), request())
    assert found.raised is not None
    assert "hang: did not end within" in found.raised.message
