"""The command ``solve`` as its user meets it: results, messages, exit codes, death and resumption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sstep_verify.errors import MissingExtraError
from sstep_verify.launch.environment import launch_variables, launcher, promised_size
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.data.datasets import load
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ProductionSolver

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own")

SAMPLES = 40
PROGRAM = [sys.executable, "-m", "sstep_verify"]
SECONDS = 120


def mpiexec(ranks: int) -> list[str]:
    pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
    try:
        return [str(launcher()), "-n", str(ranks)]
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.fixture
def folder(tmp_path):
    generator = np.random.default_rng(6)
    for name in ("points", "more"):
        rows = generator.normal(size=(SAMPLES, 3))
        lines = [
            f"{2 if row.sum() > 0 else 1} "
            + " ".join(f"{k + 1}:{value:.4f}" for k, value in enumerate(row))
            for row in rows
        ]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    return tmp_path


def solve(folder: Path, *options: str, ranks: int = 0, program=PROGRAM) -> subprocess.CompletedProcess:
    words = [*(mpiexec(ranks) if ranks else []), *program, "solve", *options]
    return subprocess.run(
        words, cwd=folder, env=launch_variables(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip


def alpha_of(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as found:
        return found["alpha"]


def problem_of(folder: Path, kernel, loss) -> Problem:
    task = "regression" if isinstance(loss, Ridge) else "classification"
    data = load(str(folder / "points"), task=task)
    return Problem("points", data.data, data.targets, kernel, loss)


def test_one_process_reaches_the_librarys_vector_and_says_how(folder):
    options = [
        "--task",
        "svm-l1",
        "--kernel",
        "rbf",
        "--sigma",
        "0.3",
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
        assert found["measured_iterations"].tolist() == [0, 1000, 2000, 2500]
        assert json.loads(str(found["options"]))["seed"] == 5
        gap = float(found["gap"])
    lines = done.stdout.splitlines()
    assert lines[0].startswith("points / rbf sigma=0.3 / svm-l1 C=2: 40 samples, 3 features, 1 rank(s)")
    assert "labels mapped: 1 -> -1, 2 -> +1" in lines
    assert any(line.startswith("exchange allreduce; all kernel rows kept: all 40 kernel") for line in lines)
    assert any(line.startswith("windows: 313 of 8 iterations, 40 kernel rows") for line in lines)
    assert "cap reached, relative gap = " in lines[-2]
    assert f"gap = {gap:.6g}, after 2500 iterations" in lines[-2]
    assert lines[-1] == "result: r.npz"
    assert sorted(path.name for path in folder.iterdir()) == ["more", "points", "r.npz", "r.npz.checkpoint"]


def test_it_works_without_mpi4py(folder):
    hide = "import sys; sys.modules['mpi4py'] = None; from sstep_verify.cli.main import main; main()"
    done = solve(
        folder, "points", "--task", "krr", "--block", "4", "--out", "r.npz",
        program=[sys.executable, "-c", hide],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tolerance reached, relative residual = " in done.stdout


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
    assert f"{ranks} rank(s)" in done.stdout
    for word in ("waiting", "transfer", "recurrence", "monitoring: every", "largest over mean of a rank"):
        assert word in done.stdout
    alpha = alpha_of(folder / "r.npz")
    problem = problem_of(folder, LinearKernel(), Ridge(0.5))
    with np.load(folder / "r.npz", allow_pickle=False) as found:
        reached, iterations = float(found["residual"]), int(found["iterations"])
    _judge_claims(problem, alpha, iterations, {"residual": reached}, ranks)
    predictions = (folder / "p.txt").read_text("ascii").splitlines()
    assert len(predictions) == SAMPLES
    assert "predictions: root mean square error" in done.stdout


def _judge_claims(problem, alpha, iterations, claims, ranks):
    """What the command says of its result, judged like the claims of any other solver."""
    pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")
    from sstep_verify.checks import claim_honesty
    from sstep_verify.checks.shared.case import Case, run_key
    from sstep_verify.oracle.facade import Oracle
    from sstep_verify.solvers.production.options import Options
    from sstep_verify.trajectory import Claim, Trajectory
    from sstep_verify.verdict import Status

    alphas = np.array([np.zeros_like(alpha), alpha])
    told = {name: Claim(value) for name, value in claims.items()}
    trajectory = Trajectory(4, 0, np.array([0, iterations]), alphas, claims=told)
    stream = IndexStream("uniform", problem.samples, 2, iterations)
    case = Case("told", problem, stream, (4,), iterations, Options().declaration(ranks))
    (verdict,) = claim_honesty.judge(case, {run_key(4): trajectory}, Oracle(problem))
    assert verdict.status is Status.PASS, verdict.reason


LONG = [
    "points", "--task", "svm-l2", "--kernel", "rbf", "--sigma", "0.5", "--s", "2", "--exchange", "allreduce",
    "--cache", "1200", "--iterations", "20000", "--interval", "1000", "--tolerance", "0",
]  # fmt: skip


@pytest.mark.parametrize("ranks", [2])
def test_a_killed_run_goes_on_to_the_same_bits(folder, ranks):
    whole = solve(folder, *LONG, "--out", "whole.npz", ranks=ranks)
    assert whole.returncode == 0, whole.stderr
    words = [*mpiexec(ranks), *PROGRAM, "solve", *LONG, "--out", "killed.npz"]
    checkpoint = folder / "killed.npz.checkpoint"
    with open(folder / "log", "w", encoding="utf-8") as log:
        job = subprocess.Popen(words, cwd=folder, env=launch_variables(), stdin=subprocess.DEVNULL,
                               stdout=log, stderr=log)  # fmt: skip
        try:
            end = time.monotonic() + SECONDS
            while not checkpoint.exists() and time.monotonic() < end:
                time.sleep(0.001)
            os.kill(_rank_of(folder, ranks - 1), signal.SIGKILL)
            assert job.wait(60) != 0
            assert f"lost rank {ranks - 1} " in (folder / "log").read_text("utf-8")
        finally:
            job.kill()
    assert not (folder / "killed.npz").exists()
    assert _rank_of(folder, 0) is None, "no process may be left"
    refused = solve(folder, *LONG, "--out", "killed.npz", ranks=ranks)
    assert refused.returncode == 2
    assert "checkpoint: is there already; pass --resume to go on from it" in refused.stderr
    done = solve(folder, *LONG, "--out", "killed.npz", "--resume", ranks=ranks)
    assert done.returncode == 0, done.stderr
    begun = int(done.stderr.split("goes on from iteration ")[1].split()[0])
    assert 1000 <= begun < 20000
    assert alpha_of(folder / "killed.npz").tobytes() == alpha_of(folder / "whole.npz").tobytes()
    other = solve(folder, *LONG, "--out", "killed.npz", "--resume")
    assert other.returncode == 2
    assert f"made with ranks = {ranks}, but this run has ranks = 1" in other.stderr


def _rank_of(folder: Path, rank: int) -> int | None:
    """Process of a rank of the job that writes killed.npz in this folder."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
            here = (entry / "cwd").resolve() == folder.resolve()
        except OSError:
            continue
        if here and b"killed.npz" in words and f"PMI_RANK={rank}".encode() in variables:
            return int(entry.name)
    return None


@pytest.mark.parametrize(
    ("ranks", "options", "words"),
    [
        (3, ["points", "--task", "svm-l3", "--out", "r"], "'svm-l3' is not one of"),
        (3, ["pointz", "--task", "svm-l1", "--out", "r"], "data set 'pointz' is neither"),
        (3, ["bad", "--task", "svm-l1", "--out", "r"], "line 2"),
        (0, ["points", "--task", "svm-l1", "--out", "there"], "--out there: is there already; name another, or pass --force"),
        (0, ["points", "--task", "svm-l1", "--out", "no/r"], "/no is no folder to write in"),
        (0, ["points", "--task", "svm-l1", "--kernel", "rbf", "--sigma", "-1", "--out", "r"], "sigma = -1.0"),
        (0, ["points", "--task", "krr", "--block", "41", "--out", "r"], "b = 41"),
        (0, ["points", "--task", "svm-l1", "--test", "more", "--out", "r"], "--test and --predictions go together"),
        (3, ["points", "--task", "svm-l1", "--out", "there", "--resume"], "there.checkpoint: is not a whole checkpoint"),
    ],
)  # fmt: skip
def test_a_mistake_ends_all_ranks_with_code_2_and_one_message(folder, ranks, options, words):
    (folder / "bad").write_text("1 1:1\n2 1:x\n", encoding="ascii")
    (folder / "there").write_bytes(b"before")
    if "--resume" in options:
        (folder / "there.checkpoint").write_bytes(b"half")
    before = sorted(path.name for path in folder.iterdir())
    done = solve(folder, *options, ranks=ranks)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count(words) == 1
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "there").read_bytes() == b"before"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["solve", "--help"], 0, "Usage:"),
        (["--help"], 0, "Usage:"),
        (["solve", "points"], 2, "Usage:"),
        (["salve"], 2, "no such command"),
    ],
)
def test_help_and_usage_errors_of_a_job_are_printed_once(folder, words, code, said):
    done = subprocess.run(
        [*mpiexec(4), *PROGRAM, *words], cwd=folder, env=launch_variables(), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert (done.stdout + done.stderr).count(said) == 1


def test_tasks_that_no_mpi_joined_are_refused(folder):
    for place, words in (("0", "error: srun started 4 tasks"), ("3", "")):
        step = {**launch_variables(), "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": place}
        done = subprocess.run(
            [*PROGRAM, "solve", "points", "--task", "svm-l1", "--out", "r"], cwd=folder, env=step,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stderr.startswith(words)
        assert bool(done.stderr) == bool(words)
    assert not (folder / "r").exists()


FAULT = """
import os
import sys
from sstep_verify.cli.running import ranks
from sstep_verify.training import pipeline, samples
from sstep_verify.errors import InputError
from sstep_verify.parallel.panel import Panel
ranks.GRACE = 0.5
if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
    def fail(*arguments, **options):
        raise {error}
    {place} = fail
from sstep_verify.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("place", "error", "code", "words"),
    [
        ("samples.Problem", "InputError('no such thing')", 2, "error: rank 1: no such thing"),
        ("samples.Problem", "MemoryError('no room')", 4, "rank 1: MemoryError: no room"),
        ("pipeline.train", "InputError('not here')", 2, "rank 1 of 3 alone: error: not here"),
        ("pipeline.train", "RuntimeError('lost')", 4, "rank 1 of 3 ends the job"),
        ("Panel.partial", "RuntimeError('lost')", 4, "rank 1: RuntimeError: lost"),
    ],
)
def test_an_error_of_one_rank_ends_all_and_names_it(folder, place, error, code, words):
    program = [sys.executable, "-c", FAULT.format(place=place, error=error)]
    begin = time.monotonic()
    done = solve(
        folder, "points", "--task", "svm-l1", "--kernel", "rbf", "--out", "r", "--cache", "0", ranks=3,
        program=program,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr.count(words) == 1
    assert time.monotonic() - begin < 60
    assert not (folder / "r").exists()


def test_a_checkpoint_of_other_options_or_data_is_refused(folder):
    first = ["--task", "svm-l2", "--s", "4", "--iterations", "3000", "--out", "r.npz", "--tolerance", "0"]
    assert solve(folder, "points", *first).returncode == 0
    for changed, words in (
        (["points", *first, "--seed", "2"], "made with seed = 0, but this run has seed = 2"),
        (["points", *first, "--C", "3"], "loss = SquaredHinge(C=1.0), but this run has loss = SquaredHinge(C=3.0)"),
        (["more", *first], "was made from data with digest"),
        (["points", *first, "--iterations", "10"], "iteration 3000"),
    ):  # fmt: skip
        done = solve(folder, *changed, "--resume")
        assert done.returncode == 2
        assert words in done.stderr
    longer = solve(folder, "points", *first, "--iterations", "5000", "--resume")
    assert longer.returncode == 0, longer.stderr
    assert "after 5000 iterations" in longer.stdout
    anew = solve(folder, "points", *first, "--iterations", "5000", "--out", "s.npz")
    assert anew.returncode == 0
    assert alpha_of(folder / "r.npz").tobytes() == alpha_of(folder / "s.npz").tobytes()
