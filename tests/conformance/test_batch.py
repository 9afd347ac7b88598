"""Batches: runs are exported, made by a shell script alone, and judged when they are back."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command import command

from sstep_verify.adapters.program import Program, ProgramFile
from sstep_verify.adapters.program.batch import (
    PLACE,
    NotMadeError,
    NotMadeYetError,
    StoredProgramSolver,
)
from sstep_verify.campaign.elsewhere import read_batch
from sstep_verify.campaign.summary import UNFILLED
from sstep_verify.errors import InputError, ProgramError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import RunRequest

PROGRAM = Path(__file__).with_name("plain_program.py")
CASE = "small/rbf,sigma=0.5/svm-l1/C=2/plain_program"
SMALL = ["--profile", "smoke", "--task", "svm-l1", "--s", "7"]


def solve(folder: Path, *part: str) -> None:
    # Without Python's folders in its environment: a POSIX shell and the program's own command are enough.
    subprocess.run(["sh", "runs/solve.sh", *part], cwd=folder, check=True, timeout=200)


def line(mistake: str) -> str:
    return shlex.join([sys.executable, "-I", "-S", str(PROGRAM), "{dir}", *([mistake] if mistake else [])])


def verdicts(folder: Path) -> list[tuple]:
    found = json.loads((folder / "results.json").read_text("utf-8"))["verdicts"]
    return [(one["check"], one["s"], one["status"], one["ratio"], one["sentences"]) for one in found]


@pytest.mark.parametrize("mistake", ["", pytest.param("last", marks=pytest.mark.nightly)])
def test_exported_runs_get_the_verdicts_of_check(tmp_path, monkeypatch, mistake):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("check", "--runs", "runs", "--exec", line(mistake), *SMALL)
    assert code == 0, err
    assert "runs written to runs" in out
    for part in ("1", "2"):  # As two tasks of a job array.
        solve(tmp_path, part, "2")
    while (judged := judge("--out", "judged"))[0] == 3:
        assert "asked for only now" in judged[2]
        assert "not judged" in judged[1]
        solve(tmp_path)
    assert judged[0] == bool(mistake), judged
    if mistake:
        code, out, _ = command("check", "--exec", line(mistake), *SMALL, "--out", "checked")
        assert code == 1
        assert out.splitlines()[0] == judged[1].splitlines()[0], "the headline"
        assert verdicts(tmp_path / "judged") == verdicts(tmp_path / "checked")
        expect_all(tmp_path)


def judge(*words: str) -> tuple[int, str, str]:
    return command("check", "--runs", "runs", *words)


def expect_all(folder: Path) -> None:
    """A list that is written of what fails lets the same failures pass."""
    assert judge("--out", "listed")[0] == 1
    assert command("report", "listed/results.json", "--xfails", "known.toml")[0] == 0
    listed = tomllib.loads((folder / "known.toml").read_text("utf-8"))["expected"]
    assert {(one["id"], one["reason"]) for one in listed} == {(CASE, UNFILLED)}
    assert "step-replay: FAIL" in {one["kind"] for one in listed}
    code, out, err = judge("--out", "listed", "--xfails", "known.toml")
    assert code == 0, out + err
    assert f"{len(listed)} expected failures" in out
    assert "wrong on 1" in out, "the headline still says what was found"
    assert "FAIL" in {one[2] for one in verdicts(folder / "listed")}, "a verdict stays what it is"
    junit = (folder / "listed" / "junit.xml").read_text("utf-8")
    assert "expected failure: to be filled in" in junit
    assert "<failure" not in junit


def test_what_check_has_finished_is_not_for_judge_to_take(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("check", "--runs", "runs", "--exec", line(""), *SMALL)[0] == 0
    for named in ("sstep-verify-out/plain_program-smoke", "chosen"):
        kept = tmp_path / f"{named}.partial" / f"{'0' * 32}.json"
        kept.parent.mkdir(parents=True)
        kept.write_text("what check --resume goes on with")
        assert judge(*([] if named.startswith("sstep") else ["--out", named]))[0] == 3
        assert kept.read_text() == "what check --resume goes on with"
    made = {path.name for path in (tmp_path / "sstep-verify-out").iterdir()}
    assert made == {"plain_program-smoke.partial", "plain_program-smoke-judged"}
    assert (tmp_path / "chosen" / "results.json").exists()


def request() -> RunRequest:
    data = np.random.default_rng(5).standard_normal((6, 3))
    problem = Problem("small", data, np.resize([1.0, -1.0], 6), LinearKernel(), Hinge(0.5))
    return RunRequest(problem, IndexStream("uniform", 6, 1, 20, seed=4), 4, 12, record=(4, 8))


def solver(folder: Path, writes: str = "log", collect: list | None = None) -> StoredProgramSolver:
    program = ProgramFile(Program("mine", ("./mine", "{dir}", "{s}"), writes=writes))
    return StoredProgramSolver(program, 1, folder, collect)


@pytest.fixture
def made(tmp_path) -> Path:
    """The folder of a run that has ended well."""
    found: list = []
    with pytest.raises(NotMadeYetError, match="was not made yet"):
        solver(tmp_path, collect=found).run(request())
    (run,) = found
    assert run.words == ("./mine", PLACE, "4")
    folder = tmp_path / run.name
    np.full((12, 1), 0.25).tofile(folder / "log.bin")
    (folder / "exit").write_text("0\n")
    return folder


def test_a_run_that_was_made_is_read(tmp_path, made):
    trajectory = solver(tmp_path).run(request())
    assert trajectory.alphas[-1].max() == 0.25
    assert trajectory.iterations.tolist() == [0, 4, 8, 12]
    assert sorted(file.name for file in made.iterdir())[-1] == "values.bin", "nothing is taken away"


def test_equal_runs_are_two_runs(tmp_path, made):
    again = solver(tmp_path)
    again.run(request())
    with pytest.raises(NotMadeError, match=rf"{made.name[:-1]}2 was not exported"):
        again.run(request())


def test_all_ends_of_a_program_that_leaves_its_final_a_are_asked_for_at_once(tmp_path):
    found: list = []
    with pytest.raises(NotMadeYetError):
        solver(tmp_path, "final", found).run(request())
    assert len(found) == 3
    for run in found:
        np.zeros(6).tofile(tmp_path / run.name / "final.bin")
        (tmp_path / run.name / "exit").write_text("0")
    assert solver(tmp_path, "final", []).run(request()).length == 12
    assert solver(tmp_path, "final").run(request()).length == 12


def spoil(name: str, content: bytes | None):
    def act(folder: Path) -> None:
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)

    return act


def linked(folder: Path) -> None:
    (folder / "log.bin").rename(folder.parent / "elsewhere")
    (folder / "log.bin").symlink_to(folder.parent / "elsewhere")


def piped(folder: Path) -> None:
    (folder / "log.bin").unlink()
    os.mkfifo(folder / "log.bin")


NOT_MADE = [
    (shutil.rmtree, "was not exported"),
    (spoil("exit", None), "is written out, but not made"),
    (spoil("exit", b"fine"), "holds 'fine', which is no exit code"),
    (spoil("targets.bin", None), "targets.bin is missing: the folder was copied half"),
    (spoil("values.bin", b"\0" * 8), "values.bin is not what was exported"),
    (spoil("problem.txt", b"format sstep-exchange\n"), "problem.txt is not what was exported"),
]


@pytest.mark.parametrize(("act", "told"), NOT_MADE)
def test_what_is_not_the_programs_fault_is_not_judged(tmp_path, made, act, told):
    act(made)
    with pytest.raises(NotMadeError, match=told):
        solver(tmp_path).run(request())


FAILED = [
    (spoil("log.bin", None), "ended with exit code 0 and left no log.bin or log.txt"),
    (spoil("log.bin", bytes(88)), r"log.bin has 88 bytes, but 12 float64 have 96"),
    (spoil("log.bin", bytes(1 << 12)), r"log.bin: has 4096 bytes"),
    (linked, "it is a link"),
    (piped, "not a regular file"),
    (spoil("exit", b"3"), "exit code 3"),
    (spoil("exit", b"139"), "crash: ended by signal 11"),
    (spoil("exit", b"124"), "hang: did not end within 60 s"),
    (spoil("exit", b"137"), r"crash: ended by signal 9 \(SIGKILL\); memory ran out, or somebody killed it"),
    (spoil("exit", b"127"), "exit code 127"),
]


@pytest.mark.parametrize(("act", "told"), FAILED)
def test_what_is_the_programs_fault_is_its_failure(tmp_path, made, act, told):
    act(made)
    with pytest.raises(ProgramError, match=told):
        solver(tmp_path).run(request())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--runs", "full", "--exec", "./x {dir}"], "full is not empty"),
        (["--runs", "new", "--exec", "./x {dir}", "--set", "witness=mpicc"], "witness counts in processes"),
        (["--runs", "new", "--exec", "./x {dir}", "--shrink", "3"], "--shrink does not go with --runs"),
        (["--runs", "new", "--exec", "./x {dir}", "--seed", "3"], "which draws no further s"),
        (["--runs", "new", "a:b"], "is judged where it runs"),
        (["--runs", "new"], "new: holds no runs"),
        (["--runs", "full"], "full: holds no runs"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    code, out, err = command("check", *words)
    assert (code, out) == (2, ""), err
    assert told in err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "content", ["{}", "[" * 100_000, '{"format": "sstep-batch", "version": 2}', "\xff"]
)
def test_a_manifest_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "batch.json").write_text(content, "latin-1")
    with pytest.raises(InputError, match=r"batch\.json"):
        read_batch(tmp_path)
