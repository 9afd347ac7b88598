"""Ranks whose products have other last bits, as on nodes with other processors: rank 0's windows decide."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mixed_ranks
import numpy as np
import pytest

from sstep_verify.checks.registry import checks_of, verdicts_of
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.errors import MissingExtraError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
)
from sstep_verify.ranks.environment import implementation, launch_variables, launcher
from sstep_verify.ranks.interposer import build_interposer
from sstep_verify.solver.packet import IncoherenceError
from sstep_verify.solver.settings import Options
from sstep_verify.solver.training.checkpoint import read_checkpoint
from sstep_verify.verdict import NoteKind, Status

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
pytestmark = [
    pytest.mark.pool_only,
    pytest.mark.skipif(implementation() != "MPICH", reason="the launcher's words are MPICH's"),
]

CORES = ("Prescott", "Haswell", "SkylakeX", "Sandybridge")
"""Kinds of processor that OpenBLAS has kernels for; each sums in its own order."""

SAMPLES, FEATURES, ITERATIONS, S = 24, 300, 24, 7
FORMS = {
    "allreduce": ({}, RBFKernel(0.05)),
    "allreduce, timed": ({"separate_timers": True}, PolynomialKernel(3, 0.5)),
    "support": ({"exchange": "support"}, RBFKernel(0.05)),
    "reduce-scatter": ({"exchange": "reduce-scatter"}, PolynomialKernel(3, 0.5)),
    "gram": ({"exchange": "gram"}, LinearKernel()),
    "all rows kept": ({"keep_gram": True}, RBFKernel(0.05)),
    "some rows kept": ({"cache": 22 * SAMPLES}, RBFKernel(0.05)),
}
CHECKS = checks_of(("contract", "step-replay", "rank-coherence", "message-count"))


def words_of(cores, *words) -> list[str]:
    """A job with one rank of each kind."""
    parts = [["-n", "1", "-env", "OPENBLAS_CORETYPE", core, sys.executable, *words] for core in cores]
    return [str(launcher()), *parts[0], *(word for part in parts[1:] for word in (":", *part))]


def ended(words, folder: Path, variables=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        words, cwd=folder, env=launch_variables() | (variables or {}), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def case_of(name: str, ranks: int) -> tuple[dict, Case]:
    """The options and the case of a form and a task, drawn from both."""
    form, task = name.split(": ")
    options, kernel = FORMS[form]
    generator = np.random.Generator(np.random.PCG64([*FORMS].index(form)))
    data = generator.normal(size=(SAMPLES, FEATURES)) / 8
    signs = np.where(generator.random(SAMPLES) < 0.5, 1.0, -1.0)
    block, loss = (3, Ridge(0.3)) if task == "krr" else (1, Hinge(2.0))
    problem = Problem(name, data, generator.normal(size=SAMPLES) if task == "krr" else signs, kernel, loss)
    stream = IndexStream("uniform", SAMPLES, block, ITERATIONS, seed=4)
    declared = Options(**options).declaration(ranks)
    return options, Case(name, problem, stream, (S,), ITERATIONS, declared)


@pytest.fixture(scope="module")
def witness(tmp_path_factory) -> dict[str, str]:
    try:
        return {"LD_PRELOAD": str(build_interposer(tmp_path_factory.mktemp("mixed")))}
    except MissingExtraError as error:
        pytest.skip(str(error))


def more(traffic):
    """The same with a broadcast more."""
    found = traffic["broadcast"]
    return {**traffic, "broadcast": replace(found, calls=found.calls + 1)}


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_runs_of_ranks_of_other_kinds_are_right_and_the_same_on_all(tmp_path, ranks, witness):
    cases = {
        f"{form}: {task}": case_of(f"{form}: {task}", ranks) for form in FORMS for task in ("svm", "krr")
    }
    asked = {
        (name, key): (options, request)
        for name, (options, case) in cases.items()
        for key, request in merge_requests(check.runs(case) for check in CHECKS).items()
    }
    (tmp_path / "asked").write_bytes(pickle.dumps(asked))
    found = ended(words_of(CORES[:ranks], mixed_ranks.__file__, "asked", "answer"), tmp_path, witness)
    assert found.returncode == 0, found.stderr
    kinds, made, ends = pickle.loads((tmp_path / "answer").read_bytes())
    assert len({kind.split("products ")[1] for kind in kinds}) > 1, "the products must differ for a test"
    assert ends == ends[:1] * ranks
    for name, (_, case) in cases.items():
        runs = {key: trajectory for (other, key), trajectory in made.items() if other == name}
        assert all(run.counters["broadcasts"] for run in runs.values())
        verdicts = [
            verdict for check in CHECKS for verdict in verdicts_of(check, case, runs, Oracle(case.problem))
        ]
        assert {verdict.check for verdict in verdicts} == {check.id for check in CHECKS}
        bad = [(verdict.check, verdict.reason) for verdict in verdicts if verdict.status is not Status.PASS]
        assert not bad, name
        counted = [one for one in verdicts if one.check == "message-count"]
        assert counted
        assert not {note.kind for one in counted for note in one.notes} & {NoteKind.OWN_WORD}
        assert all(one.evidence["broadcasts"] for one in counted)
        assert {one.evidence["arithmetic_kinds"] for one in counted} == {ranks}
        # What was measured excuses what is sent; a broadcast more than the solver counts is none of that.
        check = next(check for check in CHECKS if check.id == "message-count")
        for change, wanted in (({"arithmetic_kinds": 1}, Status.FAIL), ({"traffic": more}, Status.FAIL)):
            changed = {
                key: replace(run, seen=replace(run.seen, **{
                    field: value(run.seen.traffic) if callable(value) else value
                    for field, value in change.items()
                }))
                for key, run in runs.items()
            }  # fmt: skip
            for verdict in verdicts_of(check, case, changed, Oracle(case.problem)):
                assert verdict.status is wanted
                assert "broadcasts" in verdict.place.item


def test_solve_goes_on_where_nodes_differ_and_says_so(tmp_path):
    lines = [f"{1 if k % 3 else -1} 1:{k / 7} 2:{(k * k) % 11 / 5} 3:1" for k in range(40)]
    (tmp_path / "F").write_text("\n".join(lines) + "\n")
    options = [
        "-m", "sstep_verify", "solve", "F", "--task", "svm-l1", "--kernel", "rbf,sigma=0.5", "--exchange",
        "allreduce", "--iterations", "320", "--interval", "160", "--tolerance", "0", "--out", "r.npz",
    ]  # fmt: skip
    found = ended(words_of(CORES[:2], *options), tmp_path)
    assert found.returncode == 0, found.stderr
    assert "rank 0's numbers" in found.stdout
    machine = read_checkpoint(tmp_path / "r.npz.checkpoint").options["machine"]
    assert machine.startswith("rank 0: ")
    assert "; rank 1: " in machine
    # On other processors it goes on too, and neither it nor what it leaves is taken for one run of one kind.
    again = ended([sys.executable, *options, "--resume", "--iterations", "480"], tmp_path)
    assert again.returncode == 2  # on other ranks
    moved = words_of(CORES[1::-1], *options, "--resume", "--iterations", "480")
    found = ended(moved, tmp_path)
    assert found.returncode == 0, found.stderr
    assert "not to the last bit: until iteration 320 on rank 0: " in found.stderr
    machine = read_checkpoint(tmp_path / "r.npz.checkpoint").options["machine"]
    assert "; from iteration 320 on rank 0: " in machine.replace(" | ", "; ")
    same = ended(words_of(CORES[1::-1], *options, "--resume", "--iterations", "640"), tmp_path)
    assert same.returncode == 0
    assert "not to the last bit" not in same.stderr


def test_what_is_known_of_ranks_that_differ_is_said():
    alone = IncoherenceError(3, ("aa", "bb"), ("Haswell", "Haswell"))
    assert alone.ranks == (0, 1)
    assert "rank 0: aa; rank 1: bb; none is that of most; all are of one kind (Haswell)" in str(alone)
    most = IncoherenceError(3, ("aa", "bb", "aa"), ("Haswell", "Zen", "Haswell"))
    assert most.ranks == (1,)
    assert (
        "rank 0, 2: aa; rank 1: bb; most hold aa; their kinds differ (rank 0, 2: Haswell; rank 1: Zen)"
        in str(most)
    )
