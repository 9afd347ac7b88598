"""The command ``solve`` as its user meets it: what it reaches, and what it says of that."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from solve_runs import SAMPLES, alpha_of, solve, with_points

from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.data.datasets import load
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks.environment import promised_size
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.training.pipeline import at_most

OWN_MODULES = 127
"""Modules of ours that a training on one process loads, at most."""

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own")


@pytest.fixture
def folder(tmp_path):
    return with_points(tmp_path, "points", "more")


def problem_of(folder: Path, kernel, loss) -> Problem:
    task = "regression" if isinstance(loss, Ridge) else "classification"
    data = load(str(folder / "points"), task=task)
    return Problem("points", data.data, data.targets, kernel, loss)


def test_one_process_reaches_the_librarys_vector_and_says_how(folder):
    options = [
        "--task",
        "svm-l1",
        "--kernel",
        "rbf,sigma=0.3",
        "--C",
        "2",
        "--seed",
        "5",
        "--s",
        "8",
    ]
    done = solve(folder, "points", *options, "--out", "r.npz", "--iterations", "2500", "--tolerance", "0")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    problem = problem_of(folder, RBFKernel(0.3), Hinge(2.0))
    stream = IndexStream("uniform", SAMPLES, 1, 2500, 5)
    solver = ProductionSolver(keep_gram=True)
    expected = solver.run(RunRequest(problem, stream, 8, 2500))
    np.testing.assert_array_equal(alpha_of(folder / "r.npz"), expected.final)
    with np.load(folder / "r.npz", allow_pickle=False) as found:
        assert int(found["iterations"]) == 2500
        options = json.loads(str(found["options"]))
        assert (options["seed"], options["intervals"]) == (5, "lengthening")
        first = options["interval"]
        assert found["measured_iterations"].tolist() == [0, first, 3 * first, 2500]
        gap = float(found["gap"])
        assert float(found["last_relative"]) == found["measured_relative"][-1]
        assert found["gap_at_least"] <= gap
    lines = done.stdout.splitlines()
    assert lines[0].startswith("points / rbf sigma=0.3 / svm-l1 C=2: 40 samples, 3 features, 1 rank")
    assert "labels mapped: 1 -> -1, 2 -> +1" in lines
    assert any(line.startswith("exchange allreduce; all kernel rows kept: all 40 kernel") for line in lines)
    assert any(line.startswith("windows: 313 of up to 8 iterations, 40 kernel rows") for line in lines)
    assert "cap reached, relative gap at most " in lines[-2]
    assert f", gap at most {at_most(gap)}, after 2500 iterations" in lines[-2]
    assert lines[-1] == "result: r.npz"
    assert sorted(path.name for path in folder.iterdir()) == ["more", "points", "r.npz", "r.npz.checkpoint"]


@pytest.mark.nightly
@pytest.mark.parametrize(("exchange", "row"), [("allreduce", "kernel row"), ("gram", "Gram row")])
def test_one_of_a_thing_is_reported_in_the_singular_and_a_window_is_no_longer_than_it_was(
    folder, exchange, row
):
    (folder / "one").write_text("2 1:3\n", encoding="ascii")
    options = "--task", "krr", "--iterations", "1", "--exchange", exchange, "--out", "r.npz"
    lines = solve(folder, "one", *options).stdout.splitlines()
    assert lines[0] == "one / linear / krr lambda=1: 1 sample, 1 feature, 1 rank"
    assert any(line.startswith("windows: 1 of ") and f", 1 {row}, 1 coll" in line for line in lines)
    every = r"monitoring: first, every \d+ iterations, later in up to 17 times as many, and last, "
    assert any(re.match(every, line) for line in lines)
    assert lines[-2].endswith(", after 1 iteration")


def test_targets_that_are_too_large_are_named_alone_at_a_of_0(folder):
    (folder / "large").write_text("1e308 1:1\n-1e308 2:1\n", encoding="ascii")
    done = solve(folder, "large", "--task", "krr", "--out", "r.npz")
    assert done.returncode == 2
    assert "gap is inf: targets are so large that float64 overflows; scale them\n" in done.stderr


def test_it_works_without_mpi4py(folder):
    hide = "import sys; sys.modules['mpi4py'] = None; from sstep_verify.cli.main import main; main()"
    done = solve(
        folder, "points", "--task", "krr", "--block", "4", "--out", "r.npz",
        program=[sys.executable, "-c", hide],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tolerance reached, relative residual at most " in done.stdout


PIXELS = """1 1:227 2:203 3:214 4:242 5:148
1 1:222 2:188 3:218 4:213 5:209
-1 1:59 2:32 3:22 4:15 5:248
-1 1:38 2:81 3:40 4:37 5:248
"""


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_tolerance_that_float64_cannot_show_ends_with_code_3(folder, ranks):
    """Bytes raised to the fourth power: an optimal alpha of 1e-22 and gaps of 1e-16."""
    (folder / "bytes").write_text(PIXELS, encoding="ascii")
    done = solve(
        folder, "bytes", "--task", "svm-l1", "--kernel", "polynomial,degree=4,offset=1", "--iterations", "9000",
        "--out", "r.npz", ranks=ranks,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("tolerance 1e-06 "))
    with np.load(folder / "r.npz", allow_pickle=False) as found:
        assert str(found["stopped"]) == "precision"
        assert float(found["last_relative"]) <= 1e-6 < float(found["relative"])
        assert f"relative gap at most {at_most(float(found['relative']))}, " in line
        # What is measured says nothing here: the lower limit decides whether the tolerance may be reached.
        may_be = float(found["relative_at_least"]) <= 1e-6
        assert ("may be reached" in line, "is below" in line) == (may_be, not may_be)


AT_END = (
    "import atexit, gc, sys\n"
    "def show():\n"
    "    print(*[found['collections'] for found in gc.get_stats()], gc.get_freeze_count())\n"
    "    print(*sys.modules)\n"
    "atexit.register(show)\n"
    "from sstep_verify.cli.main import main\n"
    "main()\n"
)


def test_a_short_training_on_one_process_waits_for_little(tmp_path):
    """What is loaded, and how often it is looked through for garbage, is most of a short run's time."""
    pytest.importorskip("sklearn", reason="scikit-learn is absent: install the extra [data]")
    done = solve(
        tmp_path, "breast_cancer", "--task", "svm-l1", "--iterations", "100", "--out", "r.npz",
        program=[sys.executable, "-c", AT_END],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    collections, modules = done.stdout.splitlines()[-2:]
    young, middle, old, frozen = map(int, collections.split())
    # By Python's own thresholds it is some 400, 36 and 3 times, and all once more at the end.
    assert young < 100
    assert middle < 10
    assert old == 0
    assert frozen > 0
    names = set(modules.split())
    assert not names & {
        "mpi4py",
        "sklearn",
        "pooch",
        "flint",
        "hypothesis",
        "jinja2",
        "matplotlib",
    }
    assert {name for name in names if name.startswith("scipy.") and name.count(".") == 1} <= {
        "scipy._lib", "scipy.__config__", "scipy._distributor_init", "scipy._cyutility", "scipy.version",
        "scipy.sparse", "scipy.linalg",
    }, "each further part of SciPy takes 10 to 500 ms"  # fmt: skip
    assert sum(name.startswith("sstep_verify") for name in names) <= OWN_MODULES


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [4])
def test_ranks_share_the_features_and_end_alike(folder, ranks):
    """Four ranks, three features: one rank has none."""
    done = solve(
        folder, "points", "--task", "krr", "--block", "2", "--lambda", "0.5", "--kernel", "linear", "--s", "4",
        "--iterations", "500", "--exchange", "allreduce", "--out", "r.npz", "--timers", "separate",
        "--test", "more", "--predictions", "p.txt", ranks=ranks,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("result: r.npz") == 1
    assert f", {ranks} rank{'s' * (ranks > 1)}\n" in done.stdout
    for word in (
        "waiting",
        "transfer",
        "recurrence",
        "monitoring: first, every",
        "largest over mean of a rank",
    ):
        assert word in done.stdout
    alpha = alpha_of(folder / "r.npz")
    problem = problem_of(folder, LinearKernel(), Ridge(0.5))
    with np.load(folder / "r.npz", allow_pickle=False) as found:
        reached, iterations = float(found["last_residual"]), int(found["iterations"])
    _judge_claims(problem, alpha, iterations, {"residual": reached}, ranks)
    predictions = (folder / "p.txt").read_text("ascii").splitlines()
    assert len(predictions) == SAMPLES
    assert "predictions: root mean square error" in done.stdout


def _judge_claims(problem, alpha, iterations, claims, ranks):
    """What the command says of its result, judged like the claims of any other solver."""
    from sstep_verify.checks.recorded import claim_honesty
    from sstep_verify.checks.shared.case import Case, run_key
    from sstep_verify.oracle.facade import Oracle
    from sstep_verify.solver.settings import Options
    from sstep_verify.trajectory import Claim, Trajectory
    from sstep_verify.verdict import Status

    alphas = np.array([np.zeros_like(alpha), alpha])
    told = {name: Claim(value) for name, value in claims.items()}
    trajectory = Trajectory(4, 0, np.array([0, iterations]), alphas, claims=told)
    stream = IndexStream("uniform", problem.samples, 2, iterations)
    case = Case("told", problem, stream, (4,), iterations, Options().declaration(ranks))
    (verdict,) = claim_honesty.CHECK.judge(case, {run_key(4): trajectory}, Oracle(problem))
    assert verdict.status is Status.PASS, verdict.reason
