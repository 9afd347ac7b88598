"""A failing case is cut down to a small problem that fails alike; a passing one is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from sstep_verify import CallableSolver, Declaration, ReferenceSolver, verify
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.campaign.verdicts import minimal_example as example
from sstep_verify.campaign.verdicts.minimal_search import OutOfTimeError, Size, smallest

WHOLE = Size(tuple(range(32)), tuple(range(9)), 205, 7, 3)


def needs(size: Size) -> bool:
    return len(size.samples) >= 4 and size.s >= 2 and 3 in size.features and size.block >= 2


def test_the_search_ends_at_what_the_failure_needs_and_is_deterministic():
    found = smallest(WHOLE, needs)
    assert (len(found.samples), found.features, found.iterations, found.s, found.block) == (
        4,
        (3,),
        2,
        2,
        2,
    )
    assert smallest(WHOLE, needs) == found
    assert smallest(WHOLE, lambda size: False) == WHOLE


def test_a_spent_budget_keeps_what_was_found():
    left = iter(range(5))

    def fails(size):
        if next(left, None) is None:
            raise OutOfTimeError
        return needs(size)

    found = smallest(WHOLE, fails)
    assert found != WHOLE
    assert needs(found)


def solve(problem, blocks, s, a0, log):
    """s-step DCD without its kernel correction, where there are four samples or more."""
    data, labels = problem.data, problem.targets
    distances = ((data[:, None] - data) ** 2).sum(axis=2)
    matrix = labels[:, None] * labels * np.exp(-problem.kernel.sigma * distances)
    factor = 0.0 if problem.samples >= 4 else 1.0
    alpha = a0.copy()
    for begin in range(0, len(blocks), s):
        window = blocks[begin : begin + s, 0]
        gradient = matrix[window] @ alpha - 1
        for t, i in enumerate(window):
            new = min(max(alpha[i] - gradient[t] / matrix[i, i], 0), problem.loss.C)
            gradient[t + 1 :] += factor * matrix[window[t + 1 :], i] * (new - alpha[i])
            alpha[i] = log[begin + t, 0] = new
    return alpha


def raises(problem, blocks, s, a0, log):
    if problem.samples >= 4 and s >= 2:
        raise KeyError("sample 27")
    return solve(problem, blocks, s, a0, log)


def hangs(problem, blocks, s, a0, log):
    if os.getpid() != HERE:  # In the process that looks for a smaller problem.
        time.sleep(60)
    return solve(problem, blocks, s, a0, log)


def wrong(function) -> CallableSolver:
    return CallableSolver(function, Declaration("wrong", rbf="difference", log=True))


PLANTED = wrong(solve)
HERE = os.getpid()
ASKED = {"tasks": ["svm-l1"], "s": [7]}


def reason(report) -> str:
    return report.results.cases[0].reason


@pytest.fixture(scope="module")
def shrunk(tmp_path_factory):
    """The report on a named solver, with a smaller problem."""
    folder = tmp_path_factory.mktemp("shrunk") / "report"
    return verify("test_minimal_examples:PLANTED", "smoke", shrink=300, out=folder, **ASKED)


def test_a_failure_that_needs_four_samples_and_two_steps_a_window_is_cut_down_to_them(shrunk):
    assert "A smaller problem fails alike: m = 4, n = " in reason(shrunk)
    assert ", s = 2; it stands" in reason(shrunk)
    (folder,) = shrunk.folder.glob("artefacts/*step-replay*/minimal")
    assert "samples 4\n" in (folder / "problem.txt").read_text("ascii")
    assert "step-replay fails here" in (folder / "README.txt").read_text("utf-8")
    assert not list(folder.parent.glob(".*"))


def test_looking_for_it_changes_no_verdict(shrunk):
    plain = verify(PLANTED, "smoke", **ASKED).results
    told = [
        [(one["check"], one["s"], one["status"], one["ratio"], one["reason"]) for one in found.verdicts]
        for found in (plain, shrunk.results)
    ]
    assert told[0] == told[1]
    assert plain.summary.exit_code == shrunk.results.summary.exit_code == 1


def test_what_is_written_for_a_named_solver_is_a_campaign_that_fails(shrunk):
    (folder,) = shrunk.folder.glob("artefacts/*step-replay*/minimal")
    again = run_campaign(Plan(read_definition(str(folder / "campaign.toml")), str(folder)))
    assert again.summary.exit_code == 1
    assert {one["check"] for one in again.verdicts if one["status"] == "FAIL"} == {"step-replay"}


def test_an_error_that_is_raised_is_cut_down_too():
    report = verify(wrong(raises), "smoke", shrink=300, **ASKED)
    assert "raised KeyError" in reason(report)
    assert "A smaller problem fails alike: m = 4, n = 1, H = 2, s = 2." in reason(report)


def too_short(problem, blocks, s, a0, log):
    return solve(problem, blocks, s, a0, log)[: None if problem.samples < 4 else -1]


def no_number(problem, blocks, s, a0, log):
    alpha = solve(problem, blocks, s, a0, log)
    if problem.samples >= 4:
        alpha[0] = log[-1, 0] = np.nan
    return alpha


@pytest.mark.parametrize("function", [too_short, no_number])
def test_what_is_no_vector_is_cut_down_too(function):
    told = reason(verify(wrong(function), "smoke", shrink=300, **ASKED))
    assert told.startswith("contract, ")
    assert "A smaller problem fails alike: m = 4, n = 1, " in told


PROGRAM = """
import sys
from pathlib import Path

given = dict(line.split(" ", 1) for line in Path(sys.argv[1], "problem.txt").read_text().splitlines())
if int(given["samples"]) >= 4:
    sys.exit("cannot hold " + given["samples"] + " samples")
Path(sys.argv[1], "final.txt").write_text("0\\n" * int(given["samples"]))
"""


def test_a_program_that_exits_with_an_error_is_cut_down_too(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-S", "-E", str(tmp_path / "program.py"), "{dir}"]
    text = f'[program]\nname = "exits"\nwrites = "final"\ncommand = {json.dumps(command)}\n'
    (tmp_path / "exits.toml").write_text(text, "utf-8")
    asked = {**ASKED, "shrink": 300}
    report = verify(str(tmp_path / "exits.toml"), "smoke", out=tmp_path / "report", **asked)
    assert "A smaller problem fails alike: m = 4, n = 1, H = 1, s = 1" in reason(report)
    (folder,) = report.folder.glob("artefacts/*/minimal")
    words = (folder / "README.txt").read_text("utf-8").splitlines()[-1].split()
    done = subprocess.run([folder if w == "DIR" else w for w in words], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"cannot hold 4 samples" in done.stderr


def test_a_solver_that_hangs_on_smaller_problems_loses_nothing(monkeypatch):
    monkeypatch.setattr(example, "GRACE", 0.5)
    begin = time.monotonic()
    report = verify(wrong(hangs), "smoke", shrink=0.1, **ASKED)
    assert time.monotonic() - begin < 30
    assert report.results.summary.exit_code == 1
    assert "smaller" not in reason(report)


def test_nothing_is_looked_for_where_nothing_failed(monkeypatch):
    def never(*_):
        raise AssertionError("looked for a smaller problem of a case that passed")

    monkeypatch.setattr(example, "example_of", never)
    assert verify(ReferenceSolver("float64"), "smoke", shrink=5, **ASKED).passed
