"""A solver by the name of an object: how it is found, and what it cannot do to its judge."""

from __future__ import annotations

import sys
import warnings
from dataclasses import fields as fields_of

import numpy as np
import pytest
from solvers import external_solvers as spoiled

from sstep_verify.adapters.python import load_solver
from sstep_verify.campaign.verdicts.solvers import SolverTable, make_solvers
from sstep_verify.checks import contract
from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.declaration import Declaration, Exchange
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import ExternalSolver, is_external
from sstep_verify.runs import make_run
from sstep_verify.verdict import Status

MODULE = "solvers.external_solvers"
DATA = np.random.default_rng(5).standard_normal((6, 3))
LABELS = np.resize([1.0, -1.0], 6)


def judged(solver, observe=None):
    """Problem, trajectory and verdict of the contract of a solver's run."""
    problem = Problem("small", DATA, LABELS, LinearKernel(), Hinge(0.5))
    stream = IndexStream("uniform", 6, 1, 20, seed=4)
    case = Case("small", problem, stream, (4,), 20, solver.declaration, points={4: (20,)})
    made = make_run(solver, plain_request(case, 4), observe)
    (verdict,) = contract.judge(case, {run_key(4): made}, None)
    return problem, made, verdict


@pytest.mark.parametrize("name", ["made", "Spoiled", "factory"])
def test_an_object_a_class_and_a_factory_are_solvers(name):
    solver = load_solver(f"{MODULE}:{name}")
    assert judged(solver)[2].status is Status.PASS
    assert is_external(f"{MODULE}:{name}")
    assert not is_external("production")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_module:solver", "ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{MODULE}:nothing", "has no 'nothing'; solvers in it: made"),
        (f"{MODULE}:fctory", r"has no 'fctory' \(did you mean 'factory'\?\)"),
        (f"{MODULE}:made.nothing", "has no 'nothing'"),
        (f"{MODULE}:number", "is of type int, which cannot be called"),
        (
            f"{MODULE}:classical",
            r"is of type function, which cannot be called .*; wrap a function in CallableSolver",
        ),
        (f"{MODULE}:Spoiled.run", "is of type function, which cannot be called"),
        (f"{MODULE}:Spoiled.__name__", "is of type str, which cannot be called"),
        (f"{MODULE}:broken_factory", "cannot be had: TypeError: planted"),
        ("collections:OrderedDict", "is of type OrderedDict; it must be a solver"),
        (":solver", "module:object"),
        ("module:", "module:object"),
        ("mysol.py:solver", "write mysol:solver,"),
        ("./folder/mysol.py:solver", r"write folder\.mysol:solver,"),
        ("/elsewhere/mysol.py:solver", "write mysol:solver,"),
        ("sys:exit", "SystemExit"),
    ],
)
def test_what_is_no_solver_is_refused_in_one_line(name, words):
    with pytest.raises(InputError, match=words) as caught:
        load_solver(name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("import sys\nn = int(sys.argv[1])", "IndexError: list index out of range (line 2 of script"),
        ("import sys\nsys.exit('usage: script FILE')", "ends the program while it is imported (line 2"),
        ("import os\nos._exit(0)", "ends the program while it is imported (line 2"),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('file')\np.parse_args()",
            "the following arguments are required: file",
        ),
    ],
)
def test_a_module_that_is_a_script_is_reported_as_such_in_one_line(
    tmp_path, monkeypatch, capsys, content, words
):
    name = f"script{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_text(content, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.argv)
    with pytest.raises(InputError) as caught:
        load_solver(f"{name}:solver")
    assert words in str(caught.value)
    assert "if __name__ == '__main__'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sys.argv == before
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("solver", "item"),
    [
        (spoiled.Spoiled(spoiled.raises), "stop reason"),
        (spoiled.Spoiled(spoiled.writes_targets), "inputs"),
        (spoiled.Spoiled(change=spoiled.masked), "type"),
        (spoiled.Spoiled(change=spoiled.not_a_number), "finite"),
        (spoiled.Spoiled(change=lambda made: made.final), "stop reason"),
        (spoiled.Spoiled(spoiled.replaces_data), "stop reason"),
        (spoiled.Spoiled(change=lambda made: spoiled.replaces_data), "stop reason"),
        (spoiled.masked_function, "stop reason"),
    ],
)
def test_what_a_solver_does_wrong_is_a_fail_and_stays_with_it(solver, item):
    problem, _, verdict = judged(ExternalSolver(solver))
    assert verdict.status is Status.FAIL
    assert item in [one.item for one in verdict.violations]
    assert np.array_equal(problem.data, DATA)
    assert np.array_equal(problem.targets, LABELS)
    assert not problem.targets.flags.writeable


def test_settings_of_errors_and_warnings_are_as_before_and_where_the_observer_is_called():
    before, filters = np.geterr(), list(warnings.filters)
    seen = []
    solver = ExternalSolver(spoiled.Spoiled(spoiled.warns_no_more))
    _, _, verdict = judged(solver, lambda *_: seen.append(np.geterr()))
    assert verdict.status is Status.PASS
    assert np.geterr() == before
    assert list(warnings.filters) == filters
    assert seen
    assert all(one == before for one in seen)


def test_an_error_of_our_own_solver_is_an_error():
    with pytest.raises(ZeroDivisionError):
        judged(spoiled.Spoiled(spoiled.raises))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"update": "nonsense"}, "update 'nonsense'"),
        ({"rbf": "foo"}, "rbf 'foo'"),
        ({"level": 4}, "level = 4"),
        ({"weights": "foo"}, "weights = 'foo'"),
        ({"weights": True}, "weights = True"),
        ({"products": "foo"}, "products 'foo'.*known: any, rows"),
        ({"exchange": "foo"}, "exchange = 'foo'.*: give an Exchange"),
        ({"exchange": "allreduce"}, r"exchange = 'allreduce'.*: give Exchange\('allreduce'\)"),
    ],
)
def test_a_declaration_of_nonsense_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Declaration("mine", **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "foo"}, "exchange 'foo' is unknown; known: allreduce"),
        ({"kind": ""}, "exchange '' is unknown"),
        ({"kind": "kept-gram", "rows": -1}, "rows = -1, but it must be a whole number >= 0"),
        ({"kind": "kept-gram", "rows": True}, "rows = True"),
        ({"kind": "column-cache", "words": 1.0}, "words = 1.0"),
        ({"kind": "allreduce", "rows": 3}, "rows = 3 goes with exchange kept-gram only"),
        ({"kind": "kept-gram", "words": 3}, "words = 3 goes with exchange column-cache only"),
    ],
)
def test_an_exchange_of_nonsense_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Exchange(**fields)


def test_what_chooses_between_derivations_is_known_or_refused():
    # A field of text that may hold anything is one that no bound depends on.
    free = {"name"}
    texts = {
        one.name
        for one in fields_of(Declaration)
        if isinstance(getattr(Declaration("mine"), one.name), str)
    }
    for name in texts - free:
        with pytest.raises(InputError, match="known: "):
            Declaration("mine", **{name: "nonsense"})


FILE_OF_SOLVERS = """
from sstep_verify import CallableSolver, Declaration
raise RuntimeError("no file is run for its names")
def function(problem, blocks, s, a0): ...
data = read()
first = CallableSolver(function, Declaration("first"))
_hidden = CallableSolver(function, Declaration("hidden"))
def make(): ...
"""


@pytest.mark.parametrize("name", ["mine.py", "./mine.py", "mine", "mine:", "folder/mine.py"])
def test_a_file_instead_of_an_object_is_reported_with_its_objects(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ("folder/mine.py" if "folder" in name else "mine.py")
    file.parent.mkdir(exist_ok=True)
    file.write_text(FILE_OF_SOLVERS)
    module = "folder.mine" if "folder" in name else "mine"
    with pytest.raises(InputError) as caught:
        make_solvers(SolverTable(solver=name))
    assert f"did you mean {module}:first or {module}:data or {module}:make?" in str(caught.value)
