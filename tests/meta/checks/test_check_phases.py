"""The check phases: what it says, counts and leaves out; tests/properties/test_probed_steps.py plants its mistakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from probing import MISTAKES, ProbingSolver

from sstep_verify.campaign.artefact.files import read_artefact, write_artefact
from sstep_verify.campaign.artefact.verdicts import artefact_of
from sstep_verify.checks.recorded import phases
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, LinearKernel, Problem, RBFKernel, loss_from
from sstep_verify.verdict import Status
from studies.alarms.groups import verdicts_of
from studies.legal.solver import draw


def case_of(solver, task="svm-l1", data=None, kernel=None, length=60, s=5, **options) -> Case:
    generator = np.random.default_rng(0)
    data = generator.standard_normal((9, 4)) if data is None else data
    targets = generator.standard_normal(9) if task == "krr" else np.resize([1.0, -1.0, -1.0], 9)
    problem = Problem("p", data, targets, kernel or LinearKernel(), loss_from(task, 0.7))
    stream = IndexStream("uniform", 9, 3 if task == "krr" else 1, length, seed=0)
    return Case("p", problem, stream, (s,), length, solver.declaration, points={s: (length,)}, **options)


def judged(solver, case, change=lambda run: run):
    runs = {key: change(solver.run(request)) for key, request in phases.DECLARED.runs(case).items()}
    (verdict,) = phases.DECLARED.judge(case, runs, Oracle(case.problem))
    return verdict


def without(*names):
    return lambda run: replace(run, probes=replace(run.probes, **dict.fromkeys(names)))


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_a_right_run_passes_and_every_value_is_counted(task):
    solver = ProbingSolver()
    verdict = judged(solver, case_of(solver, task))
    assert verdict.status is Status.PASS, verdict.reason
    block = 3 if task == "krr" else 1
    expected = [60 * block * 9, 60 * block, 60 * block**2, 60 if task == "krr" else 60 * block, 60 * block]
    assert [one["of"] for one in verdict.evidence["values"].values()] == expected
    assert verdict.executed == verdict.planned == sum(expected)
    assert all(term.detection_limit < 1e-9 for term in verdict.terms if term.status is Status.PASS)


@pytest.mark.parametrize(
    ("mistake", "task", "sentence"),
    [
        ("row", "krr", "S-1.8"),
        ("stale", "svm-l1", "S-3.3"),
        ("correction", "krr", "S-3.5"),
        ("omega in g", "svm-l2", "S-3.7"),
        ("off-diagonal", "krr", "S-3.13"),
        ("doubled", "svm-l1", "S-3.4"),
        ("upper end", "svm-l1", "S-3.9"),
        ("lower end", "svm-l2", "S-3.8"),
        ("before", "krr", "S-3.14"),
        ("lost", "svm-l1", "S-3.12"),
    ],
)
def test_a_mistake_in_all_steps_breaks_its_sentence(mistake, task, sentence):
    solver = ProbingSolver(mistake=mistake)
    verdict = judged(solver, case_of(solver, task))
    assert verdict.status is Status.FAIL
    assert verdict.sentences[0] == sentence, verdict.reason


@pytest.mark.parametrize(
    ("mistake", "task"),
    [
        ("row", "svm-l2"),
        ("correction", "krr"),
        ("correction", "svm-l2"),
        ("doubled", "svm-l2"),
        ("turned", "krr"),
    ],
)
def test_a_mistake_in_one_step_is_told_with_its_place(mistake, task):
    solver = ProbingSolver(mistake=mistake, at=42, rbf="difference")
    verdict = judged(solver, case_of(solver, task, kernel=RBFKernel(0.3)))
    first = 41 if mistake == "row" else 43
    quantity = MISTAKES[mistake]
    assert verdict.evidence["first out of its bound"] == {"quantity": quantity, "iteration": first}
    assert f"(step {1 if mistake == 'row' else 3} of its window, coordinate" in verdict.reason
    assert ("No kernel row, and nothing else recorded before it is: " in verdict.reason) == (
        mistake != "row"
    )
    assert verdict.ratio > 1.0


def test_a_wrong_factor_on_the_correction_is_told_by_where_it_acts():
    solver = ProbingSolver(mistake="late product")
    reason = judged(solver, case_of(solver)).reason
    assert (
        "the first steps of all 12 windows are not out, so what only later steps have is wrong, such as"
        in reason
    )


def test_what_is_not_written_down_is_not_judged_and_said():
    solver = ProbingSolver()
    rows = judged(solver, case_of(solver), without("gradient", "curvature", "increment"))
    assert (rows.status, rows.executed) == (Status.PASS, 60 * 9)
    assert "Not written down, so not judged: gradient, curvature, increment." in rows.reason
    for names in (("gradient",), ("curvature",)):
        some = judged(solver, case_of(solver), without(*names))
        assert "increment" not in some.evidence["values"]
        assert "new value of a" in some.evidence["values"]


def test_what_could_not_have_shown_is_vacuous():
    solver = ProbingSolver(rbf="difference")
    far = np.arange(36.0).reshape(9, 4) * 1000.0
    case = replace(case_of(solver, data=far, kernel=RBFKernel(1.0)), stream=IndexStream("cyclic", 9, 1, 60))
    verdict = judged(solver, case)
    assert verdict.status is Status.VACUOUS
    assert "correction-dropped in the gradient" in verdict.reason


@pytest.mark.parametrize("name", ["gradient", "curvature", "increment", "rows"])
def test_another_shape_or_nothing_at_all_fails(name):
    solver = ProbingSolver()

    def cut(run):
        return replace(run, probes=replace(run.probes, **{name: getattr(run.probes, name)[1:]}))

    verdict = judged(solver, case_of(solver), cut)
    assert (verdict.status, verdict.sentences) == (Status.FAIL, ("S-5.2",))
    assert f"the {name} of the steps has the shape" in verdict.reason
    missing = judged(solver, case_of(solver), lambda run: replace(run, probes=None))
    assert missing.status is Status.FAIL


def test_no_number_fails_where_a_number_is_due():
    solver = ProbingSolver()
    for name in ("rows", "gradient", "curvature", "increment"):

        def change(run, name=name):
            values = getattr(run.probes, name).copy()
            values[7] = np.nan
            return replace(run, probes=replace(run.probes, **{name: values}))

        verdict = judged(solver, case_of(solver, "krr"), change)
        assert verdict.status is Status.FAIL, name


def test_of_a_long_run_the_beginning_is_made(monkeypatch):
    solver = ProbingSolver()
    monkeypatch.setattr(phases, "WORDS", 9 * 23)
    case = case_of(solver)
    ((key, request),) = phases.DECLARED.runs(case).items()
    assert (key, request.iterations, request.log, request.probes) == ("phases/s=5", 20, True, True)
    assert judged(solver, case).status is Status.PASS
    assert phases.DECLARED.runs(replace(case, declaration=replace(solver.declaration, probes=False))) == {}
    assert phases.DECLARED.runs(replace(case, declaration=replace(solver.declaration, log=False))) == {}


def test_an_artefact_is_judged_as_the_run_was(tmp_path):
    solver = ProbingSolver(mistake="correction")
    case = case_of(solver)
    runs = {key: solver.run(request) for key, request in phases.DECLARED.runs(case).items()}
    found = phases.DECLARED.judge(case, runs, Oracle(case.problem))
    kept = read_artefact(write_artefact(artefact_of(phases.DECLARED, case, 5, runs, found), tmp_path))
    assert [
        one.as_dict() for one in phases.DECLARED.judge(kept.case, kept.trajectories, Oracle(case.problem))
    ] == [one.as_dict() for one in found]


def test_a_run_that_is_shared_keeps_what_each_check_asks_for():
    case = case_of(ProbingSolver())
    plain = {
        key: replace(request, log=False, probes=False)
        for key, request in phases.DECLARED.runs(case).items()
    }
    (request,) = merge_requests([plain, phases.DECLARED.runs(case)]).values()
    assert request.probes
    made = {key: ProbingSolver().run(one) for key, one in phases.DECLARED.runs(case).items()}
    assert phases.DECLARED.wanted(case, made)["s=5"].probes is not None


def test_where_nothing_has_a_bound_nothing_is_said_to_be_within_it():
    """Data whose squares overflow: no kernel entry is promised to be a number."""
    solver = ProbingSolver()
    huge = np.random.default_rng(0).standard_normal((9, 4)) * 1e300
    verdict = judged(solver, case_of(solver, data=huge, initial=np.full(9, 0.5)))
    assert (verdict.status, verdict.executed) == (Status.VACUOUS, 0)
    assert "None has a finite bound." in verdict.reason
    assert "within their bounds" not in verdict.reason


def test_where_a_curvature_underflows_against_the_gradient_no_end_is_promised():
    """S-3.10 sets a_i to C where eta is 0; of a row that is not 0 the gradient may point the other way."""
    solver, case = draw(1912064955)
    (verdict,), run = verdicts_of(case, solver, (phases.CHECK,))
    assert run.probes.curvature[0] == 0.0
    assert run.probes.gradient[0] > 0.0
    assert run.log[0] == np.float32(case.problem.hinge.C)
    assert verdict.status is not Status.FAIL, verdict.reason
