"""An error of the machine, or of our code around a solver, is no verdict on the solver."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from program_cases import ending, request

from sstep_verify import (
    CallableSolver,
    Declaration,
    IndexStream,
    LinearKernel,
    Problem,
    ProductionSolver,
    Ridge,
    judge,
)
from sstep_verify.adapters import callable as around
from sstep_verify.adapters.ours import DistributedSolver, of_ranks
from sstep_verify.adapters.program import numbers, solver
from sstep_verify.campaign.model import INTERNAL, attempted
from sstep_verify.errors import InputError, NotMadeError, ProgramError
from sstep_verify.ranks.failures import HangError, RankError, RankState, SlowError
from sstep_verify.runs import make_run
from sstep_verify.trajectory import RAISED

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a/file")


def failing(error):
    def fail(*_given, **_named):
        raise error

    return fail


def made(mode: str):
    return make_run(ending(mode), request(log=True))


def test_a_run_folder_that_cannot_be_written_is_no_verdict(monkeypatch):
    monkeypatch.setattr(solver, "write_folder", failing(FULL))
    with pytest.raises(NotMadeError, match=r"\(a/file\): No space left on device.*TMPDIR"):
        made("counted")


def test_a_run_folder_that_cannot_be_made_is_no_verdict(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(NotMadeError, match=r"nowhere.*No such file.*TMPDIR"):
        made("counted")


def test_a_limit_of_file_sizes_is_no_verdict(monkeypatch):
    # Python 3.11 keeps what it could write of a module's code, and cannot import that.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(NotMadeError, match=r"File too large.*ulimit -f"):
            made("counted")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("mode", ["three", "crash", "short", "nothing"])
def test_a_program_that_had_no_room_for_its_result_did_not_fail(monkeypatch, mode):
    assert made(mode).stopped == RAISED
    monkeypatch.setattr(os, "posix_fallocate", failing(FULL))
    with pytest.raises(NotMadeError, match="No space left"):
        made(mode)
    assert made("counted").stopped == "iterations"


def test_a_program_that_its_limit_of_file_sizes_ended_did_not_fail(monkeypatch):
    ended = solver.execute

    def executed(*given):
        return type(ended(["true"], 9.0))(-25, 0.1)

    monkeypatch.setattr(solver, "execute", executed)
    with pytest.raises(NotMadeError, match="File too large"):
        made("counted")


def test_a_program_for_which_there_is_no_process_did_not_fail(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", failing(BlockingIOError(errno.EAGAIN, "try again")))
    with pytest.raises(NotMadeError, match="--jobs"):
        made("counted")


@pytest.mark.parametrize(
    ("number", "fails"), [(errno.EMFILE, False), (errno.EIO, False), (errno.EACCES, True)]
)
def test_a_result_is_unreadable_by_the_machine_or_by_its_program(monkeypatch, number, fails):
    def unreadable(*_given, **_named):
        raise InputError("cannot be read") from OSError(number, os.strerror(number))

    monkeypatch.setattr(numbers, "read_whole", unreadable)
    if fails:
        assert made("counted").raised.kind == "NoLogError"
    else:
        with pytest.raises(NotMadeError):
            made("counted")


@pytest.mark.parametrize(("number", "fails"), [(errno.EIO, False), (errno.ENOTDIR, True)])
def test_a_folder_is_unreadable_by_the_machine_or_by_its_program(monkeypatch, number, fails):
    monkeypatch.setattr(solver, "read_exchanged", failing(OSError(number, os.strerror(number))))
    if fails:
        assert made("counted").raised.kind == "NoResultError"
    else:
        with pytest.raises(NotMadeError):
            made("counted")


def test_a_program_is_asked_again_after_an_error_of_the_machine(monkeypatch, tmp_path):
    hanging = ending("hang", str(tmp_path / "child"), limit=1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", failing(FULL))
        with pytest.raises(NotMadeError):
            hanging.run(request())
    with pytest.raises(ProgramError, match="hang"):
        hanging.run(request())
    assert hanging._given_up


DATA = np.random.Generator(np.random.PCG64(1)).standard_normal((12, 3))
PROBLEM = Problem("small", DATA, DATA[:, 0].copy(), LinearKernel(), Ridge(0.5))
STREAM = IndexStream("uniform", samples=12, block=2, length=12, seed=0)


def judged(function):
    return judge(CallableSolver(function, Declaration(name="mine")), PROBLEM, STREAM, s=4)


@pytest.mark.parametrize("error", [FULL, MemoryError("large"), KeyError("planted")], ids=repr)
def test_an_error_is_the_solvers_where_its_function_raised_it_and_nowhere_else(monkeypatch, error):
    (verdict,) = judged(failing(error))
    assert (verdict.check, verdict.status) == ("contract", "FAIL")
    assert verdict.raised[0].kind == type(error).__name__
    ours = type(error)(*error.args)
    monkeypatch.setattr(around, "record", failing(ours))
    with pytest.raises(type(error)) as raised:
        judged(lambda problem, blocks, s, a0: a0)
    assert raised.value is ours


@pytest.mark.parametrize("function", [lambda: None, len, np.linalg.solve])
def test_a_function_that_cannot_be_called_so_is_the_solvers_error(function):
    """Such an error has no frame of the function: it is known by the call."""
    (verdict,) = judged(function)
    assert verdict.status == "FAIL"
    assert verdict.raised


@pytest.mark.parametrize(
    ("kind", "own"),
    [("OSError", True), ("PermissionError", True), ("ValueError", False), ("MPIError", False)],
)
def test_an_error_of_the_operating_system_on_a_rank_is_no_verdict(kind, own):
    error = of_ranks(RankError("a run", {1: (kind, "planted", "")}))
    assert isinstance(error, NotMadeError) == own


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_error_of_the_operating_system_is_no_error_of_a_shipped_solver(monkeypatch, ranks):
    """Ranks are started through files, which a full disk has no room for."""
    if ranks == 1:
        tested = ProductionSolver()
        monkeypatch.setattr(ProductionSolver, "run", failing(FULL))
    else:
        tested = DistributedSolver(2)
        monkeypatch.setattr("sstep_verify.adapters.ours.run", failing(FULL))
    with pytest.raises(OSError, match="No space left"):
        make_run(tested, request())


def test_ranks_that_hang_are_the_solvers_error_and_slow_ones_are_not(monkeypatch):
    tested, states = (
        DistributedSolver(2),
        [RankState(0, "allreduce", 1, "stack"), RankState(1, "", 0, "stack")],
    )
    monkeypatch.setattr("sstep_verify.adapters.ours.run", failing(HangError("a run", 50.0, states)))
    assert make_run(tested, request()).raised.kind == "HangError"
    monkeypatch.setattr("sstep_verify.adapters.ours.run", failing(SlowError("a run", 500.0, states)))
    with pytest.raises(NotMadeError):
        make_run(tested, request())
    found = attempted(lambda: make_run(tested, request()), "a case")
    assert (found.outcome, found.kind) == (None, INTERNAL)
