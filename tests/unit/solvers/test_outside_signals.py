"""What ends a run from outside of the solver: it passes through, and leaves nothing that the next run meets."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from program_cases import ending

from sstep_verify import CallableSolver, Declaration, Hinge, IndexStream, LinearKernel, Problem, judge
from sstep_verify.adapters.program.run import execute
from sstep_verify.adapters.reference import ReferenceSolver

DATA = np.random.Generator(np.random.PCG64(5)).standard_normal((6, 3))
PROBLEM = Problem("small", DATA, np.resize([1.0, -1.0], 6), LinearKernel(), Hinge(0.5))
STREAM = IndexStream("uniform", 6, 1, 20, seed=4)


class Ended(BaseException):
    """As pytest-timeout, trio and others raise from outside."""


def state() -> tuple[object, ...]:
    """What all code of this process shares."""
    filters = [(one[0], one[2]) for one in warnings.filters]
    return np.geterr(), filters, sys.getrecursionlimit(), np.dot, math.exp, sys.argv


def children() -> list[str]:
    """Processes that this one has started and that have not ended."""
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    return task.read_text().split()


@contextlib.contextmanager
def ended_after(seconds: float, raised: BaseException):
    """Raise something in this thread after a time, by a signal."""

    def end(*_):
        raise raised

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


RAISED = [Ended("late"), KeyboardInterrupt(), GeneratorExit(), pytest.fail.Exception("late")]
NAMES = [type(one).__name__ for one in RAISED]


@pytest.mark.parametrize("raised", RAISED, ids=NAMES)
def test_it_is_no_error_of_the_solver(raised):
    def spoils(problem, blocks, s, a0):
        np.seterr(all="raise")
        warnings.simplefilter("error")
        sys.setrecursionlimit(950)
        np.dot = math.exp = None
        raise raised

    before = state()
    with pytest.raises(type(raised)) as caught:
        judge(CallableSolver(spoils, Declaration("mine")), PROBLEM, STREAM, 4)
    assert caught.value is raised
    assert state() == before
    assert {str(one.status) for one in judge(ReferenceSolver("float64"), PROBLEM, STREAM, 4)} == {"PASS"}


@pytest.mark.parametrize("code", [None, 0, 3, "a text"])
@pytest.mark.parametrize("end", [sys.exit, lambda code: quit(code)])
def test_a_solver_that_ends_the_program_is_one_that_raises(end, code, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)  # `quit` closes it.

    def exits(problem, blocks, s, a0):
        np.dot = None
        end(code)

    before = state()
    verdicts = judge(CallableSolver(exits, Declaration("mine")), PROBLEM, STREAM, 4)
    (error, *_) = verdicts[0].raised
    assert (verdicts[0].status, error.kind) == ("FAIL", "SystemExit")
    assert error.message == f"sys.exit({'' if code is None else repr(code)})"
    assert state() == before


class Ending:
    """An object that handles a signal."""

    def __call__(self, *_):
        sys.exit(3)

    def method(self, *_):
        self()


HANDLERS = [Ending(), Ending().method, functools.partial(Ending().method, 1), lambda *_: sys.exit(3)]


@pytest.mark.parametrize("handler", HANDLERS, ids=["object", "method", "partial", "function"])
def test_a_signal_whose_handler_ends_the_session_ends_it(handler):
    def interrupted(problem, blocks, s, a0):
        os.kill(os.getpid(), signal.SIGUSR2)
        return a0

    earlier = signal.signal(signal.SIGUSR2, handler)
    try:
        with pytest.raises(SystemExit) as caught:
            judge(CallableSolver(interrupted, Declaration("mine")), PROBLEM, STREAM, 4)
    finally:
        signal.signal(signal.SIGUSR2, earlier)
    assert caught.value.code == 3


@pytest.mark.parametrize("raised", [*RAISED, SystemExit(3)], ids=[*NAMES, "SystemExit"])
def test_a_program_is_ended_with_all_that_it_started(raised, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before, begin = children(), time.monotonic()
    with pytest.raises(type(raised)) as caught, ended_after(1.0, raised):
        judge(ending("hang", str(tmp_path / "child")), PROBLEM, STREAM, 4)
    assert caught.value is raised
    assert time.monotonic() - begin < 10
    assert children() == before
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)
    assert [path.name for path in tmp_path.iterdir()] == ["child"]


TERMINATED = """
import sys
sys.path.append(FOLDER)
from test_outside_signals import *

# A job that a shell starts in the background ignores the one, under nohup the other.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
judge(ending("hang", "child"), PROBLEM, STREAM, 4)
"""


@pytest.mark.parametrize(
    "number",
    [
        *(pytest.param(one, marks=pytest.mark.nightly) for one in (signal.SIGTERM, signal.SIGINT)),
        signal.SIGHUP,
    ],
)
def test_a_signal_that_ends_this_process_ends_its_program_first(tmp_path, number):
    program = TERMINATED.replace("FOLDER", repr(os.path.dirname(__file__)))
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(20) == -number
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)
    assert [path.name for path in tmp_path.iterdir()] == ["child"]


def test_a_program_has_its_exit_code_where_children_are_ignored():
    """As under some launchers; then the system keeps none, and a crash would be the end of a run."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        ended = execute(["sh", "-c", "exit 7"], 20.0)
        assert signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ended.code == 7


SLOW = """
from sstep_verify import CallableSolver, Declaration, parametrize_with_checks

def hang(problem, blocks, s, a0, log):
    print("run", flush=True)
    while True:
        pass

@parametrize_with_checks([CallableSolver(hang, Declaration("hang", log=True))], "smoke", tasks=["krr"],
                         kernels=["rbf"])
def test_hang(solver, check):
    check(solver)
"""


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("pytest_timeout") is None, reason="pytest-timeout is absent")
def test_a_limit_of_time_of_a_test_ends_the_test(tmp_path):
    (tmp_path / "test_slow.py").write_text(SLOW)
    words = ["-q", "-s", "-p", "no:randomly", "-p", "no:cacheprovider", "--timeout", "1", "test_slow.py"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert ended.returncode == 1
    assert "Timeout (>1.0s)" in ended.stdout
    assert ended.stdout.startswith("run\nF")
    tests = ended.stdout.count("run\nF")  # One for each check of the problem.
    assert f"{tests} failed in" in ended.stdout
