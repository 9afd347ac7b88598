"""NumPy's treatment of floating-point errors and the filters of warnings: ours are ours, a solver's its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from sstep_verify.floating_point import OWN, own_state, state_of_caller

SOLVER = """
import json, sys, warnings
import numpy as np
from sstep_verify import *
BEFORE

class Once(UserWarning):
    pass

def solve(problem, blocks, s, a0, log, correction=1.0):
    INSIDE
    with np.errstate(all="ignore"):
        return computed(problem, blocks, s, a0, log, correction)

def computed(problem, blocks, s, a0, log, correction):
    X, y = problem.dense, problem.targets
    if problem.kernel.name == "linear":
        K = X @ X.T
    else:
        K = np.exp(-problem.kernel.sigma * np.square(X[:, None] - X).sum(axis=2))
    Q = K * y * y[:, None]
    a = a0.copy()
    for b in range(0, len(blocks), s):
        w = blocks[b : b + s, 0]
        g = Q[w] @ a - 1
        for t, i in enumerate(w):
            new = min(max(a[i] - g[t] / Q[i, i], 0.0), problem.loss.C)
            g[t + 1 :] += correction * Q[w[t + 1 :], i] * (new - a[i])
            a[i] = log[b + t, 0] = new
    return a

def without(problem, blocks, s, a0, log):
    return solve(problem, blocks, s, a0, log, correction=0.0)

mine = CallableSolver(solve, Declaration("mine", log=True))
wrong = CallableSolver(without, Declaration("wrong", log=True))
"""
SESSION = """
import solver
from sstep_verify import *
import json, sys, warnings, numpy as np
SESSION
def state():
    import decimal, flint, mpmath
    bits = flint.ctx.prec, mpmath.mp.prec, mpmath.iv.prec, decimal.getcontext().prec
    return dict(np.geterr()), [one[0] for one in warnings.filters], bits
if __name__ == "__main__":
    before, found = state(), []
    generator = np.random.Generator(np.random.PCG64(5))
    for scale, C in ((1.0, 1.0), (1e-120, 1e200), (1e-7, 1e-300)):
        data = scale * generator.standard_normal((20, 4))
        labels = np.resize([1.0, -1.0, -1.0], 20)
        problem = Problem("drawn", data, labels, LinearKernel(), Hinge(C=C))
        stream = IndexStream("uniform", samples=20, block=1, length=60, seed=2)
        for tested in (solver.mine, solver.wrong)[: SOLVERS if scale == 1.0 else 1]:
            for checks in (["step-replay"], ["window-replay", "determinism"]):
                verdicts = judge(tested, problem, stream, s=6, checks=checks)
                found += [(one.check, str(one.status), one.ratio) for one in verdicts]
    for named in (solver.mine, "solver:mine", solver.wrong)[:WAYS]:
        report = verify(named, "smoke", tasks=["svm-l1"], kernels=["rbf"], s=[4], seed=1)
        found.append((report.results.summary.exit_code, report.results.summary.steps_judged))
    assert state() == before
    print(json.dumps(found))
"""
RAISES = "np.seterr(all='raise')"
ERRORS = "warnings.simplefilter('error')"
BITS = (
    "import decimal, flint, mpmath; flint.ctx.prec, mpmath.mp.prec, mpmath.iv.prec = 12, 9, 9; "
    "decimal.getcontext().prec = 2; np.seterr(all='call'); np.seterrcall(lambda *_: 1 / 0)"
)


def said(folder, *options, before="", session="", inside="pass", ways=1, solvers=1):
    """What a session prints whose solver has its own module.

    It is verified in this process; where `ways` is 2, in one of its own, too; where it is 3, a wrong one is, too.
    Of `solvers` the second is the wrong one, which has one problem.
    """
    (folder / "solver.py").write_text(SOLVER.replace("BEFORE", before).replace("INSIDE", inside))
    text = (
        SESSION.replace("SESSION", session, 1).replace("WAYS", str(ways)).replace("SOLVERS", str(solvers))
    )
    (folder / "session.py").write_text(text)
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, *options, str(folder / "session.py")], env=os.environ | {"PYTHONPATH": paths},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.nightly
@pytest.mark.parametrize("ways", [1, 3])
def test_a_judgement_is_the_same_whatever_the_caller_does_about_errors(tmp_path, ways):
    plain = said(tmp_path, ways=ways, solvers=2)
    assert {"PASS", "FAIL"} <= {one[1] for one in plain[:-ways]}
    assert [one[0] for one in plain[-ways:]] == [0, 0, 1][:ways]
    assert ways == 1 or plain[-2] == plain[-3]
    every = f"{BITS}; {ERRORS}"
    assert said(tmp_path, "-W", "error", before=RAISES, session=every, ways=ways, solvers=2) == plain


@pytest.mark.nightly
def test_a_judgement_is_the_same_where_the_session_alone_raises(tmp_path):
    assert said(tmp_path, session=f"{RAISES}; {ERRORS}", solvers=2) == said(tmp_path, solvers=2)


@pytest.mark.nightly
def test_a_solver_keeps_its_own_state(tmp_path):
    """What its module sets holds in all its runs, and an error that it has raised so is its error."""
    inside = "assert np.geterr()['under'] == 'raise' and warnings.filters[0][0] == 'error'"
    kept = said(tmp_path, before=f"{RAISES}; {ERRORS}", inside=inside, ways=2)
    assert [one[0] for one in kept[-2:]] == [0, 0]
    failed = said(tmp_path, before=RAISES, inside="np.float64(1e-300) * np.float64(1e-300)")
    assert {tuple(one[:2]) for one in failed[:-1]} == {("contract", "FAIL")}
    assert failed[-1][0] == 1


def test_what_other_code_changes_is_put_back_unless_it_is_kept():
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        outside = np.geterr()
        with own_state(), own_state():
            assert np.geterr() == OWN
            for keep in (False, True):
                with state_of_caller(keep=keep):
                    assert np.geterr() == outside
                    assert warnings.filters[0][0] == "error"
                    with own_state():  # An observer is ours.
                        assert np.geterr() == OWN
                    np.seterr(over="print")
                    warnings.simplefilter("ignore")
                assert np.geterr() == OWN
            with state_of_caller():
                assert np.geterr() == outside | {"over": "print"}
                assert warnings.filters[0][0] == "ignore"
        assert np.geterr() == outside
        assert warnings.filters[0][0] == "error"


def test_a_warning_is_shown_where_the_caller_has_it_as_an_error(monkeypatch):
    monkeypatch.setattr("sstep_verify.floating_point.SHOWN_AS", "default")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("error")
        with own_state():
            warnings.warn("shown", UserWarning, stacklevel=1)
    assert [str(one.message) for one in found] == ["shown"]
