"""``explain --long`` shares out the bound of the very window of which the verdict tells most."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from cancelling import FromSamples, cancelling

from sstep_verify.campaign.artefact.files import write_artefact
from sstep_verify.campaign.artefact.verdicts import artefact_of
from sstep_verify.checks.registry import CHECKS, verdicts_of
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.window import many_windows, screen
from sstep_verify.cli.main import main
from sstep_verify.oracle.facade import Oracle
from sstep_verify.runs import make_run
from sstep_verify.verdict import Status

S = 8
TASKS = "svm-l1", "krr"


def told(solver, task, folder, monkeypatch, capsys):
    """A verdict, the iterations that the plain run recorded, and what explain says of the bound."""
    problem, stream = cancelling(4, task, "mixed")
    check = CHECKS["window-replay"]
    case = Case("mixed", problem, stream, (S,), stream.length, solver.declaration, replay_command="again")
    runs = {key: make_run(solver, request) for key, request in check.runs(case).items()}
    runs |= {key: make_run(solver, request) for key, request in check.continued(case, runs).items()}
    (verdict,) = verdicts = verdicts_of(check, case, runs, Oracle(problem))
    path = write_artefact(artefact_of(check, case, S, runs, verdicts), folder)
    monkeypatch.setattr(sys, "argv", ["sstep-verify", "explain", str(path), "--long"])
    main()
    output = capsys.readouterr().out
    table = output.partition("\nWhere the bound comes from\n")[2].partition("\n\n")[0]
    return verdict, runs[run_key(S)].iterations.tolist(), table


def worst_of(verdict):
    replayed = [window for window in verdict.evidence["windows"] if "from_data" in window]
    return max(replayed, key=lambda window: window["from_data"]["ratio"])


def assert_shared_out(window, table):
    assert f"window of iterations {window['begin'] + 1}..{window['end']}, largest ratio" in table
    for name in ("measured", "bound", "ratio"):
        assert f"{name} {window['from_data'][name]:.6g}" in table


def test_a_window_that_only_the_run_made_again_recorded(tmp_path, monkeypatch, capsys):
    verdict, recorded, table = told(FromSamples(wrong=100), "svm-l1", tmp_path, monkeypatch, capsys)
    worst = worst_of(verdict)
    assert verdict.status is Status.FAIL
    assert not {worst["begin"], worst["end"]} <= set(recorded)
    assert_shared_out(worst, table)


@pytest.mark.parametrize("task", TASKS)
def test_a_problem_as_float32_holds_it(task, tmp_path, monkeypatch, capsys):
    solver = FromSamples(wrong=100, dtype=np.float32)
    verdict, _, table = told(solver, task, tmp_path, monkeypatch, capsys)
    assert verdict.status is Status.FAIL
    assert_shared_out(worst_of(verdict), table)


@pytest.mark.parametrize("task", TASKS)
def test_a_window_that_a_screen_flagged_and_nobody_replayed(task, tmp_path, monkeypatch, capsys):
    for name in ("screen_svm", "screen_ridge"):
        real = getattr(screen, name)

        def smaller(*arguments, real=real):
            found = real(*arguments)
            return replace(found, bound=found.bound / 1e9, ratio=found.ratio * 1e9)

        monkeypatch.setattr(screen, name, smaller)
    monkeypatch.setattr(many_windows, "MOST_REPLAYED", 3)
    verdict, _, table = told(FromSamples(), task, tmp_path, monkeypatch, capsys)
    assert verdict.status is Status.INCONCLUSIVE
    assert any("from_data" not in window for window in verdict.evidence["windows"])
    assert_shared_out(worst_of(verdict), table)
