"""The command ``check`` as somebody with a solver of their own meets it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from command import command
from daily import crossed

from sstep_verify import (
    Hinge,
    IndexStream,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    Verdict,
    judge,
)
from sstep_verify.adapters.program import ProgramSolver, program_from
from sstep_verify.campaign import profile
from sstep_verify.cli.commands.check import command_again
from sstep_verify.cli.main import main
from sstep_verify.problems.data.datasets import load
from sstep_verify.verdict import NoteKind, Status

PROGRAM = Path(__file__).with_name("numpy_program.py")
SMALL = ["--profile", "smoke", "--set", "factorisation=lu"]


@pytest.fixture(name="here")
def _here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*words: str, program: str = "") -> tuple[int, str, str]:
    line = shlex.join([sys.executable, str(PROGRAM), "{dir}", *([program] if program else [])])
    return command("check", "--exec", line, *SMALL, "--jobs", "1", *words)


def verdicts(folder: Path) -> dict[tuple[str, int], dict]:
    found = json.loads((folder / "results.json").read_text("utf-8"))["verdicts"]
    return {(one["check"], one["s"]): one for one in found}


def test_every_step_of_a_right_classical_program_is_judged_and_no_window_is_claimed(here):
    code, out, err = check("--task", "krr", "--kernel", "polynomial", "--s", "7", "--out", "report")
    assert code == 0, out + err
    assert "judged 43 of 43 steps" in out
    found = verdicts(here / "report")["step-replay", 7]
    assert found["status"] == "PASS"
    assert NoteKind.UNOBSERVED in [one["kind"] for one in found["notes"]]


def judged(task: str, mistake: str) -> dict[str, Verdict]:
    """Verdicts of the primary checks on one run of the program with a mistake."""
    words = (sys.executable, str(PROGRAM), "{dir}", mistake)
    solver = ProgramSolver(program_from(words, ("factorisation=lu",)))
    data = load("small_regression" if task == "krr" else "small")
    kernel, loss = (PolynomialKernel(2, 1.0), Ridge(0.1)) if task == "krr" else (RBFKernel(0.5), Hinge(2.0))
    problem = Problem("small", data.data, data.targets, kernel, loss)
    stream = IndexStream("uniform", 32, 3 if task == "krr" else 1, 53, seed=0)
    return {verdict.check: verdict for verdict in judge(solver, problem, stream, s=4)}


@pytest.mark.parametrize(
    ("task", "mistake", "item"),
    [
        ("svm-l1", "", ""),
        pytest.param("krr", "", "", marks=pytest.mark.nightly),
        pytest.param("svm-l1", "labels inside", "", marks=pytest.mark.nightly),
        ("krr", "m dropped", ""),
        ("svm-l1", "final alone", "log"),
    ],
)
def test_a_program_with_a_mistake_fails_and_without_passes(task, mistake, item):
    found = judged(task, mistake)
    assert (found["step-replay"].status is Status.FAIL) == bool(mistake), found
    assert found["step-replay"].place.item == item


@pytest.mark.nightly
def test_a_fail_prints_commands_that_work(here):
    code, out, err = check(
        "--task", "svm-l1", "--kernel", "rbf", "--s", "4", "--out", "report", program="labels inside"
    )
    assert code == 1, out + err
    assert verdicts(here / "report")["step-replay", 4]["status"] == "FAIL"
    (more,) = [line.removeprefix("more: ") for line in out.splitlines() if line.startswith("more: ")]
    code, out, err = command(*shlex.split(more)[1:])
    assert code == 0, out + err
    given = "with the solver: "
    (anew,) = [line.strip().removeprefix(given) for line in out.splitlines() if given in line]
    code, out, err = command("explain", "--again", shlex.split(more)[-1])
    assert code == 1, out + err
    assert shlex.split(anew)[:3] == ["sstep-verify", "check", "--exec"]
    assert "--only" in anew
    assert "--out report-part" in anew


def test_a_problem_is_run_again_next_to_the_report(monkeypatch):
    words = [
        "check",
        "mine:solver",
        "--seed",
        "5",
        "--out",
        "o",
    ]
    monkeypatch.setattr(sys, "argv", ["sstep-verify", *words])
    assert command_again() == "sstep-verify check mine:solver --seed 5 --out o-part"
    # Options follow, which words behind -- are not.
    monkeypatch.setattr(sys, "argv", ["sstep-verify", "check", "--seed", "5", "--", "mine:solver"])
    assert command_again() == "sstep-verify check --seed 5 mine:solver"


def test_a_python_object_is_judged_on_the_same_problems(here):
    (here / "of_reference.py").write_text(
        "from sstep_verify.adapters.reference import ReferenceSolver\nsolver = ReferenceSolver('float64')\n"
    )
    code, out, err = command(
        "check",
        "of_reference:solver",
        "--profile",
        "smoke",
        "--kernel",
        "rbf",
        "--task",
        "krr",
        "--seed",
        "2",
    )
    assert code == 0, out + err
    assert "correct wherever judged: s = " in out


HYDRA = "[proxy:0@node] HYDU_create_process: execvp error on file ./missing (No such file or directory)"


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_a_launcher_that_finds_no_program_ends_the_check_as_input_that_cannot_be_used(here, jobs):
    (here / "mpiexec").write_text(f"#!/bin/sh\necho '{HYDRA}' >&2\nexit 255\n")
    (here / "mpiexec").chmod(0o755)
    words = ["--exec", "./mpiexec -n {np} ./missing {dir}", "--profile", "smoke", "--jobs", jobs]
    code, out, err = command("check", *words)
    assert (code, out) == (2, "")
    assert "'./missing' in its command is no executable file" in err
    assert not (here / "sstep-verify-out" / "mpiexec-smoke").exists()


NO_COMPILER = (
    "the compiler wrapper 'nosuchcc' is needed, which is no executable file and no name of one on PATH"
)


@pytest.mark.parametrize(
    ("compiler", "told"), [("nosuchcc", NO_COMPILER), ("cat", "pmpi_count.c -lm failed with code 1")]
)
def test_a_witness_that_cannot_be_made_is_refused_before_anything_runs(here, compiler, told):
    code, out, err = command(
        "check", "--exec", "touch ran {dir}", "--set", f"witness={compiler}", "--profile", "smoke"
    )
    assert (code, out) == (2, "")
    assert err.startswith(f"error: program 'touch': its witness = '{compiler}': ")
    assert told in err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(("task", "targets"), crossed(["svm-l1", "krr"], [("0", "1"), ("2", "1")], of=2))
def test_what_labels_of_a_file_are_taken_for_is_said(here, targets, task):
    lines = (f"{targets[place % 2]} 1:{place / 7:.17g} 2:{place % 5}" for place in range(12))
    (here / "data.txt").write_text("\n".join(lines) + "\n")
    code, _, err = check("--on", "data.txt", "--task", task, "--kernel", "linear", "--s", "2")
    assert code in (0, 3), err
    found = load(here / "data.txt", task="regression" if task == "krr" else "classification")
    assert f"data.txt: {found.notes[0]}" in err.splitlines()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--exec", "./x {dir}", "mine:solver"], "name one solver"),
        ([], "name one solver"),
        (["mine.toml"], "mine.toml: cannot be read as a program file"),
        (["mine:solver", "--set", "time_limit=3"], "by time_limit in a campaign file"),
        (["mine:solver", "--set", "rbf=difference"], "by its declaration"),
        (["--exec", "./x {folder}"], "{folder} is unknown"),
        (["--exec", "./x {m}"], "--exec './x {m} {dir}'"),
        (["--exec", "./x {m}", "--list"], "--exec './x {m} {dir}'"),
        (["--", "mpiexec", "-n", "{np}", "./x", "{dir}"], "--exec 'mpiexec -n {np} ./x {dir} "),
        (["--exec", "./x '{dir}"], "No closing quotation"),
        (["--exec", "./x {dir}", "--np", "2"], "its command has no {np}"),
        (["--exec", "./x {dir}", "--np", "0"], "0 is below 1"),
        (["--exec", "./x {dir}", "--s", "a"], "no list of whole numbers"),
        (["--exec", "./x {dir}", "--set", "updat=frozen"], "did you mean 'update'"),
        (
            ["--exec", "./x {dir}", "--set", "fixed.task=krr", "--task", "svm-l1"],
            "no problem of it goes with",
        ),
        (
            ["--exec", "./x {dir}", "--on", "small_regression", "--task", "svm-l1"],
            "look like regression targets",
        ),
        (["--exec", "./x {dir}", "--set", "setup=false"], "setup ['false'] failed, exit code 1"),
        (["--exec", "./x {dir}", "--only", "nothing"], "nothing"),
        (["--exec", "./x {dir}"], "'./x' is no executable file here"),
        (["--exec", "./x {dir}", "--set", "setup=true"], "'./x' is no executable file here"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sstep-verify", "check", *words, "--profile", "smoke"])
    monkeypatch.setattr(profile, "SEED", 31)
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2, said
    assert told in said.err
    assert "further s" not in said.err  # What was drawn is stated of runs that are made.
    assert not (tmp_path / "sstep-verify-out").exists() or not any(
        (tmp_path / "sstep-verify-out").iterdir()
    )
