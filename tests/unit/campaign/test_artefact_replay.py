"""Artefacts: who gets one, and every check judges it as it judged the runs."""

from __future__ import annotations

import dataclasses

import pytest
from artefact_cases import drawn_case

from sstep_verify.campaign.artefact.files import read_artefact, write_artefact
from sstep_verify.campaign.artefact.verdicts import artefact_of, keep_artefacts, rejudge
from sstep_verify.checks.recorded import message_count
from sstep_verify.checks.registry import CHECKS, checks_of, verdicts_of
from sstep_verify.checks.shared.case import merge_requests
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status


def _judged(case, spoil=None):
    """All verdicts of all registered checks, and the runs they rest on."""
    solver, checks = ProductionSolver(), checks_of(tuple(CHECKS))
    runs = {}
    for key, request in merge_requests(check.runs(case) for check in checks).items():
        runs[key] = solver.run(request)
    later = merge_requests(check.continued(case, runs) for check in checks)
    runs |= {key: solver.run(request) for key, request in later.items()}
    if spoil is not None:
        runs = {key: spoil(key, run) for key, run in runs.items()}
    return runs, [(check, verdicts_of(check, case, runs, Oracle(case.problem))) for check in checks]


def _spoil(key, run):
    alphas = run.alphas.copy()
    alphas[-1, run.s % 12] += 1e-3 * len(key)
    return dataclasses.replace(run, alphas=alphas)


CASES = [
    (SquaredHinge(2.0), LinearKernel(), 1),
    (Hinge(0.5), RBFKernel(0.2), 1),
    (Ridge(0.05), PolynomialKernel(2, 1.0), 3),
]


@pytest.mark.parametrize(
    ("loss", "kernel", "block", "spoil", "diagnose"),
    [
        (*CASES[0], None, True),
        *((*case, _spoil, False) for case in CASES[:2]),
        *(pytest.param(*case, _spoil, True, marks=pytest.mark.nightly) for case in CASES[1:]),
    ],
)
def test_every_check_judges_its_artefact_as_it_judged_the_runs(
    tmp_path, loss, kernel, block, spoil, diagnose
):
    case = dataclasses.replace(drawn_case(loss, kernel, block), variants={}, diagnose=diagnose)
    runs, judged = _judged(case, spoil)
    passed, failed = set(), set()
    for check, verdicts in judged:
        for s in sorted({verdict.s for verdict in verdicts}):
            same = [verdict for verdict in verdicts if verdict.s == s]
            path = write_artefact(artefact_of(check, case, s, runs, same), tmp_path)
            again = rejudge(read_artefact(path))
            assert (again.disagreements, again.differences) == ((), ()), (check.id, s)
            assert len(again.verdicts) == len(same)
            statuses = {verdict.status for verdict in same}
            passed |= {check.id} if Status.PASS in statuses else set()
            failed |= {check.id} if Status.FAIL in statuses else set()
            assert again.exit_code == (
                1 if Status.FAIL in statuses else 3 * (Status.INCONCLUSIVE in statuses)
            )
    assert {"window-replay", "trajectory", "sstep-equals-classical", "metamorphic-exact"} <= (
        failed if spoil else passed
    )


def test_only_unsettled_verdicts_leave_an_artefact(tmp_path):
    case = drawn_case(Hinge(0.5), LinearKernel())
    runs = {key: ProductionSolver().run(request) for key, request in message_count.CHECK.runs(case).items()}
    silent = {**runs, "s=4": dataclasses.replace(runs["s=4"], counters={})}
    verdicts = message_count.CHECK.judge(case, silent, Oracle(case.problem))
    kept = keep_artefacts(message_count.CHECK, case, silent, verdicts, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert [verdict.replay for verdict in kept] == [
        "again", "sstep-verify explain --again artefacts/drawn-1-message-count-s4", "again",
    ]  # fmt: skip
    assert kept[1].evidence["run_again"] == "again"
    assert (kept[1].status, rejudge(read_artefact(folder)).exit_code) == (Status.INCONCLUSIVE, 3)
    assert list(read_artefact(folder).trajectories) == ["s=4"]
    assert keep_artefacts(message_count.CHECK, case, silent, verdicts, None) == verdicts


def test_an_artefact_that_cannot_be_written_costs_no_verdict(tmp_path):
    case = drawn_case(Hinge(0.5), LinearKernel())
    runs = {key: ProductionSolver().run(request) for key, request in message_count.CHECK.runs(case).items()}
    runs["s=4"] = dataclasses.replace(runs["s=4"], counters={})
    verdicts = message_count.CHECK.judge(case, runs, Oracle(case.problem))
    (tmp_path / "file").write_text("", encoding="ascii")
    kept = keep_artefacts(message_count.CHECK, case, runs, verdicts, tmp_path / "file")
    assert [verdict.status for verdict in kept] == [verdict.status for verdict in verdicts]
    assert kept[1].replay == "again"
    assert "not written" in kept[1].evidence["artefact"]


def test_another_verdict_than_the_stored_one_is_a_disagreement():
    case = drawn_case(Hinge(0.5), LinearKernel())
    runs = {key: ProductionSolver().run(request) for key, request in message_count.CHECK.runs(case).items()}
    verdicts = [
        verdict for verdict in message_count.CHECK.judge(case, runs, Oracle(case.problem)) if verdict.s == 4
    ]
    kept = artefact_of(message_count.CHECK, case, 4, runs, verdicts)
    assert rejudge(kept).exit_code == 0
    stored = kept.verdicts[0]
    wrong = rejudge(dataclasses.replace(kept, verdicts=({**stored, "status": "FAIL"},)))
    assert wrong.disagreements == ("status was FAIL, is PASS",)
    assert wrong.exit_code == 4
    drifted = rejudge(dataclasses.replace(kept, verdicts=({**stored, "ratio": 0.5},)))
    assert drifted.differences == ("ratio was 0.5, is 0.0",)
    assert drifted.exit_code == 0
    assert rejudge(dataclasses.replace(kept, verdicts=(stored, stored))).exit_code == 4
