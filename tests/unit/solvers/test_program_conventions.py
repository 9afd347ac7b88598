"""Programs with conventions of their own: each is right with its declaration, and wrong without it or with another's."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from daily import some

from sstep_verify import judge, verify
from sstep_verify.adapters.program import ProgramSolver, read_program
from sstep_verify.campaign.artefact.files import read_artefact, write_artefact
from sstep_verify.campaign.artefact.verdicts import artefact_of, rejudge
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.verdicts.case import make_case
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.campaign.verdicts.other_conventions import name_conventions
from sstep_verify.checks import contract
from sstep_verify.checks.registry import CHECKS, cases_to_judge, verdicts_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.diagnosis.candidates import SOLVED_ONCE
from sstep_verify.errors import RefusedError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.problems.draws import first_repeat
from sstep_verify.protocol import RunRequest
from sstep_verify.runs import make_run
from sstep_verify.verdict import DETECTION_FACTOR, Hint, HintKind, Note, NoteKind, Status, Why

PROGRAM = str(Path(__file__).with_name("programs") / "conventional.py")
COMMAND = [sys.executable, "-S", PROGRAM, "{task}", "{data}", "{m}", "{penalty}", "{kernel}", "{parameter}", "{offset}",
           "{s}", "{b}", "{H}"]  # fmt: skip


def file(folder: Path, tables: str = "", writes: str = "final", **variables: str) -> str:
    """A program file for the solver with some variables; `tables` are those next to [program]."""
    variables |= {"FOLDER": "{dir}", "WRITES": writes}
    told = ", ".join(f'{name} = "{value}"' for name, value in variables.items())
    path = folder / "mine.toml"
    path.write_text(
        f'[program]\nname = "mine"\ncommand = {COMMAND}\nwrites = "{writes}"\nenvironment = {{{told}}}\n'
        "[declaration]\nrbf = 'difference'\nfactorisation = 'ldl'\n" + tables
    )
    return str(path)


PROBLEM = {"svm-l1": ("rbf", "small", 205), "krr": ("polynomial", "small_regression", 53)}
"""Kernel, data and iterations, by task."""


KRR = {"tasks": ["krr"], "kernels": ["polynomial"], "data": "small_regression"}
"""The one of K-RR, as `verify` is asked for it."""


def ran(path: str, task: str, check: str, s: int = 7, short: int = 21):
    """Case, runs and solver of one check on a problem of a task that profile smoke has for a program."""
    kernel, data, iterations = PROBLEM[task]
    definition = profile_of("smoke", path, Selection((1,), (s,), data, (task,), (kernel,)), "")
    (family,) = definition.families
    (unit,) = expand(replace(definition, families=(replace(family, iterations=iterations),)))
    (spec,) = unit.work
    assert check in spec.family.checks
    solver = spec.family.solvers()[""]
    case = make_case(spec, load_data(unit.data[0], None), {"": solver.declaration}, "", "")
    case = replace(case, short=max(short // case.unit, 1) * case.unit, scaled=solver.scaled)
    runs = {key: make_run(solver, request) for key, request in CHECKS[check].runs(case).items()}
    assert not [one for key in runs for one in contract.violations_of(case, key, runs[key])]
    ((case, same),) = cases_to_judge(CHECKS[check], case, runs)
    assert same
    return case, runs, solver


def judged(path: str, task: str = "svm-l1", check: str = "trajectory", hinted: bool = False, **sizes):
    """The verdict of one check on such a problem; what explains a failure is looked for where it is hinted at."""
    case, runs, solver = ran(path, task, check, **sizes)
    case = replace(case, diagnose=hinted)
    oracle = Oracle(case.problem)
    found = verdicts_of(CHECKS[check], case, runs, oracle)
    (verdict,) = name_conventions(CHECKS[check], case, runs, solver, found, oracle) if hinted else found
    return verdict


def shown(verdict) -> float:
    """Effect that leaving the kernel correction out was certain to have, over the bound."""
    return next(term.largest for term in verdict.terms if term.name == "kernel-correction")


PRINTED = '[final]\nafter = "alpha:"\n'
CASES = {
    "numbers": ("krr", "scale = 3.0", {"SCALE": "3.0"}),
    "powers of two": ("svm-l1", "scale = 0.25", {"SCALE": "0.25"}),
    "samples": ("krr", 'scale = "m"', {"SCALE": "m"}),
    "penalty": ("krr", 'scale = "1/lambda"', {"SCALE": "1/lambda"}),
    "box": ("svm-l1", 'scale = "C"', {"SCALE": "C"}),
    "negative": ("krr", "sign = -1", {"SIGN": "-1"}),
    "labels": ("svm-l1", 'sign = "labels"', {"SIGN": "labels"}),
    "windows": ("svm-l1", 'counts = "windows"', {"COUNTS": "windows"}),
    "epochs": ("krr", 'counts = "epochs"', {"COUNTS": "epochs"}),
    "classes": ("svm-l1", 'order = "by-class"', {"ORDER": "by-class"}),
}


@pytest.mark.parametrize("name", some(CASES, of=2))
def test_a_convention_is_right_where_it_is_declared_and_kept(tmp_path, name):
    task, line, variables = CASES[name]
    declared = f"{PRINTED}[conventions]\n{line}\n"
    verdict = judged(file(tmp_path, declared, **variables), task)
    assert verdict.status is Status.PASS, verdict.reason
    assert 0 < verdict.ratio < 0.1
    assert shown(verdict) > 1e9


@pytest.mark.parametrize(
    ("name", "kept"),
    some(
        [
            (name, kept)
            for name in CASES
            for kept in (True, False)
            if not (kept and name in ("windows", "epochs"))
        ],
        of=3,
    ),
)
def test_a_convention_that_is_not_declared_or_not_kept_fails(tmp_path, name, kept):
    task, line, variables = CASES[name]
    tables = PRINTED if kept else f"{PRINTED}[conventions]\n{line}\n"
    path = file(tmp_path, tables, **(variables if kept else {}))
    assert judged(path, task, short=7).status is Status.FAIL


@pytest.mark.parametrize(
    ("name", "tables", "writes", "check"),
    [
        ("labels", PRINTED, "final", "trajectory"),
        ("penalty", PRINTED, "final", "trajectory"),
        ("classes", '[stream]\nkind = "logged"\n', "log", "step-replay"),
    ],
)
def test_a_failure_names_the_convention_that_would_have_been_right(tmp_path, name, tables, writes, check):
    task, line, variables = CASES[name]
    more = {"DRAWS": "logged", "SEED": "2"} if writes == "log" else {}
    verdict = judged(file(tmp_path, tables, writes, **variables, **more), task, check, hinted=True)
    assert verdict.status is Status.FAIL
    assert Hint(HintKind.CONVENTION, (line,)) in verdict.hints


@pytest.mark.parametrize("name", ["windows", "epochs"])
def test_iterations_taken_for_something_longer_are_too_many(tmp_path, name):
    task, _, variables = CASES[name]
    drawn = PRINTED + '[stream]\nkind = "mt19937"\nseed = 5\n'
    verdict = judged(file(tmp_path, drawn, DRAWS="mt19937", SEED="5", **variables), task, short=7)
    assert verdict.status is Status.FAIL


@pytest.mark.parametrize("name", ["powers of two", "labels", "classes"])
def test_steps_of_an_exact_convention_are_judged_one_by_one(tmp_path, name):
    _, line, variables = CASES[name]
    declared = f"[conventions]\n{line}\n"
    right = judged(file(tmp_path, declared, "log", **variables), check="step-replay")
    assert (right.status, right.executed) == (Status.PASS, 205), right.reason
    wrong = judged(file(tmp_path, "", "log", **variables), check="step-replay")
    assert wrong.status is Status.FAIL


def test_of_another_scale_no_step_is_known_to_the_last_bit(tmp_path):
    path = file(tmp_path, "[conventions]\nscale = 3.0\n", "log", SCALE="3.0")
    solver = ProgramSolver(read_program(path))
    declared = solver.declaration
    assert (declared.log, solver.scaled, declared.level) == (False, True, 0)
    assert judged(path).status is Status.PASS


def test_a_program_that_takes_no_start_is_asked_for_none(tmp_path):
    path = file(tmp_path, '[conventions]\nstart = "zero"\n', "log")
    family = profile_of("smoke", path, Selection(tasks=("svm-l1",)), "").families[0]
    assert {"step-replay", "optimum"} < set(family.checks)
    assert "metamorphic-exact" not in family.checks
    problem = Problem("p", np.eye(4), [1.0, -1.0, 1.0, -1.0], LinearKernel(), Hinge(1.0))
    asked = RunRequest(problem, IndexStream("cyclic", 4, 1, 8), 2, 4, initial=np.full(4, 0.5))
    with pytest.raises(RefusedError, match="starts from alpha = 0"):
        ProgramSolver(read_program(path)).run(asked)


def few():
    """What is judged from Python: a problem of eight samples, a stream and an s."""
    data = np.random.default_rng(2).standard_normal((8, 3))
    problem = Problem("p", data, np.resize([1.0, -1.0], 8), LinearKernel(), Hinge(1.0))
    return problem, IndexStream("uniform", 8, 1, 16, seed=3), 2


def test_a_start_that_is_not_taken_fails_unless_that_is_said(tmp_path):
    silent = ProgramSolver(read_program(file(tmp_path, "", "log")))
    verdict = judge(silent, *few())[-1]
    assert (verdict.check, verdict.status) == ("step-replay", Status.FAIL)
    assert verdict.requirement == "S-2.1"
    problem, stream, s = few()
    case = Case("p", problem, stream, (s,), stream.length, silent.declaration)
    (named,) = name_conventions(CHECKS[verdict.check], case, {}, silent, [verdict], Oracle(problem))
    assert named.hints == (*verdict.hints, Hint(HintKind.CONVENTION, ('start = "zero"',)))
    told = ProgramSolver(read_program(file(tmp_path, '[conventions]\nstart = "zero"\n', "log")))
    assert [one.status for one in judge(told, *few())] == [Status.PASS] * 2


def test_from_python_a_printed_part_is_judged_by_its_end(tmp_path):
    solver = ProgramSolver(read_program(file(tmp_path, PRINTED + "first = 6\n", FIRST="6")))
    found = judge(solver, *few())
    assert [(one.check, one.status) for one in found] == [
        ("contract", Status.PASS),
        ("trajectory", Status.PASS),
    ]


@pytest.mark.parametrize("wrong", [slice(None), slice(3, None), slice(-1, None)])
def test_a_run_most_of_whose_steps_are_correct_is_not_asked_for_other_draws(tmp_path, wrong):
    case, runs, solver = ran(
        file(tmp_path, '[conventions]\nstart = "zero"\n', "log"), "svm-l1", "step-replay"
    )
    (key,) = runs
    draws, log = case.stream.blocks(0, runs[key].length), runs[key].log.copy()
    spoilt = np.random.Generator(np.random.PCG64(3)).uniform(0.0, 1e-3, log.shape)
    log[wrong] = spoilt[wrong]
    alphas = np.zeros_like(runs[key].alphas)
    for row, iteration in zip(alphas, runs[key].iterations, strict=True):
        row[draws[:iteration].ravel()] = log[:iteration].ravel()
    runs = {key: replace(runs[key], log=log, alphas=alphas)}
    oracle = Oracle(case.problem)
    (found,) = verdicts_of(CHECKS["step-replay"], case, runs, oracle)
    (named,) = name_conventions(CHECKS["step-replay"], case, runs, solver, [found], oracle)
    assert found.status is Status.FAIL
    asked = HintKind.DRAWS in {one.kind for one in named.hints}
    assert asked is (2 * found.evidence["steps_over_bound"] >= found.coverage.judged)
    assert asked is (wrong.start != -1)


# ---- Draws. ----------------------------------------------------------------------------------------------


def test_draws_of_the_program_are_those_declared(tmp_path):
    drawn = PRINTED + '[stream]\nkind = "mt19937"\nseed = {}\n'
    for seed, status in ((5, Status.PASS), (6, Status.FAIL)):
        path = file(tmp_path, drawn.format(seed), DRAWS="mt19937", SEED="5")
        assert judged(path, "krr").status is status


LOGGED = '[stream]\nkind = "logged"\n'
REPLACED = '[stream]\nkind = "mt19937"\nseed = 8\nreplacement = true\n'
OWN = {"DRAWS": "mt19937", "SEED": "8", "REPEATS": "1"}


def test_with_replacement_the_whole_run_is_judged(tmp_path):
    drawn = IndexStream("mt19937", 32, 3, 53, seed=8, replacement=True).blocks(0, 53)
    assert first_repeat(drawn) == (2, 8)
    right = judged(file(tmp_path, PRINTED + REPLACED, **OWN), "krr", short=53)
    assert (right.status, right.evidence["iterations"]) == (Status.PASS, [53, 53])
    wrong = judged(file(tmp_path, PRINTED + REPLACED, **OWN | {"REPEATS": "last"}), "krr", short=53)
    assert wrong.status is Status.FAIL


@pytest.mark.nightly
@pytest.mark.parametrize("stream", [REPLACED, LOGGED + "replacement = true\n"])
def test_with_replacement_every_step_is_judged(tmp_path, stream):
    own = OWN | ({"LOGS": "1"} if stream != REPLACED else {})
    for s in (1, 7):
        right = judged(file(tmp_path, stream, "log", **own), "krr", "step-replay", s=s)
        assert (right.status, right.executed) == (Status.PASS, right.planned), right.reason
        assert right.planned == 53
    for repeats, name, number in ("last", "assigned-once", "S-3.6"), ("once", SOLVED_ONCE, "S-2.5"):
        wrong = file(tmp_path, stream, "log", **own | {"REPEATS": repeats})
        for s in (1, 7):
            verdict = judged(wrong, "krr", "step-replay", s=s, hinted=True)
            assert verdict.status is Status.FAIL
            assert (name,) in [one.names for one in verdict.defects]
            assert number in verdict.requirements


def test_logged_draws_that_repeat_without_replacement_are_no_steps(tmp_path):
    path = file(tmp_path, LOGGED, "log", **OWN | {"LOGS": "1"})
    report = verify(path, "smoke", **KRR, s=[1])
    (told,) = (one for one in report.results.verdicts if one["check"] == "contract")
    assert (told["status"], told["requirement"]) == ("FAIL", "S-2.5")


def test_with_replacement_a_problem_counts_for_every_s(tmp_path):
    report = verify(file(tmp_path, REPLACED, "log", **OWN), "smoke", **KRR, s=[1, 7, 26])
    assert report.results.summary.right_at == {report.results.cases[0].id: [1, 7, 26]}


def test_steps_are_judged_on_the_draws_that_a_program_logs(tmp_path):
    path = file(tmp_path, LOGGED, "log", DRAWS="logged", SEED="3")
    for check, executed in (("step-replay", 205), ("trajectory", 3)):
        verdict = judged(path, check=check)
        assert (verdict.status, verdict.executed) == (Status.PASS, executed), verdict.reason


def test_draws_that_are_not_those_of_the_run_fail(tmp_path):
    path = file(tmp_path, LOGGED + '[conventions]\norder = "by-class"\n', "log", DRAWS="logged", SEED="3")
    assert judged(path, check="step-replay").status is Status.FAIL


def test_runs_that_draw_again_are_judged_one_by_one_and_never_compared(tmp_path):
    path = file(tmp_path, LOGGED, "log", DRAWS="logged")
    report = verify(path, "smoke", tasks=["svm-l1"], kernels=["rbf"], s=[1, 7])
    found = {(one["check"], one["s"]): one for one in report.results.verdicts}
    assert all(found["step-replay", s]["status"] == "PASS" for s in (1, 7)), report
    for check, s in (("determinism", 1), ("sstep-equals-classical", 7)):
        assert found[check, s]["status"] == "VACUOUS"
        assert found[check, s]["why"] == Why.DRAWS_DIFFER


@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_an_artefact_of_logged_draws_is_judged_again_as_it_was(tmp_path, task):
    own = {"DRAWS": "logged", "SEED": "3"} if task == "svm-l1" else OWN | {"LOGS": "1"}
    stream = LOGGED if task == "svm-l1" else LOGGED + "replacement = true\n"
    path = file(tmp_path, stream + "[conventions]\nsign = -1\n", "log", **own)
    case, runs, _ = ran(path, task, "step-replay")
    check = CHECKS["step-replay"]
    found = verdicts_of(check, case, runs, Oracle(case.problem))
    kept = read_artefact(write_artefact(artefact_of(check, case, 7, runs, found), tmp_path))
    assert (kept.case.stream.kind, kept.case.stream.replacement) == ("file", task == "krr")
    again = rejudge(kept)
    assert [one.status for one in again.verdicts] == [Status.FAIL]
    assert not again.differences


# ---- A part of a, and a file. ----------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_a_part_of_a_is_judged_and_said_to_be_one(tmp_path, task):
    path = file(tmp_path, PRINTED + "first = 20\n", FIRST="20")
    verdict = judged(path, task)
    assert verdict.status is Status.PASS, verdict.reason
    assert Note(NoteKind.PRINTED, (20, 32)) in verdict.notes
    whole = judged(file(tmp_path, PRINTED), task)
    assert DETECTION_FACTOR < shown(verdict) <= shown(whole)
    wrong = judged(file(tmp_path, PRINTED + "first = 20\n[conventions]\nscale = 0.5\n", FIRST="20"), task)
    assert wrong.status is Status.FAIL


def test_a_part_that_no_step_drew_shows_nothing(tmp_path):
    stream = '[stream]\nkind = "mt19937"\nseed = 4\n'
    drawn = IndexStream("mt19937", 32, 1, 21, seed=4).blocks(0, 21)
    first = int(drawn.min())
    assert first > 0
    path = file(
        tmp_path, f"{PRINTED}first = {first}\n{stream}", FIRST=str(first), DRAWS="mt19937", SEED="4"
    )
    verdict = judged(path)
    assert (verdict.status, verdict.executed) == (Status.VACUOUS, 0)


def test_a_result_is_read_from_a_file_of_the_folder(tmp_path):
    for name, after, text in (("{dir}/a.txt", "", "%.9e"), ("a.txt", "", "hex")):
        tables = f'[final]\nfile = "{name}"\nafter = "{after}"\n'
        path = file(tmp_path, tables, FILE="{dir}/a.txt", FORM=text)
        assert judged(path, "krr").status is Status.PASS
