"""The C/MPI solvers of the examples under `check`: the one that speaks the protocol, the other, and the witness."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from c_examples import call, wrapper
from command import command

from sstep_verify import verify
from sstep_verify.adapters.program import (
    Conventions,
    Program,
    ProgramFile,
    ProgramSolver,
    program_from,
)
from sstep_verify.campaign.verdicts.other_conventions import name_conventions
from sstep_verify.checks.registry import CHECKS, verdicts_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import ProgramError, RefusedError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks.environment import launcher
from sstep_verify.runs import make_run
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Hint, HintKind, Status, Verdict

pytestmark = pytest.mark.pool_only


def test_check_judges_every_step_of_the_solver_that_speaks_the_protocol_and_counts(solvers, tmp_path):
    line = shlex.join([str(launcher()), "-n", "{np}", str(solvers["right"]), "{dir}"])
    words = [
        "--np",
        "2",
        "--profile",
        "smoke",
        "--task",
        "krr",
        "--kernel",
        "polynomial",
        "--s",
        "7",
        "--set",
        f"witness={wrapper()}",
    ]
    report = tmp_path / "report"
    code, out, err = command("check", "--exec", line, *words, "--jobs", "1", "--out", str(report))
    assert code == 0, out + err
    assert out.startswith("protocol_solver-smoke: correct wherever judged: s = 7 on 1 of 1 problem")
    assert "judged 43 of 43 steps" in out
    found = json.loads((report / "results.json").read_text("utf-8"))["verdicts"]
    (counted,) = [verdict for verdict in found if verdict["check"] == "message-count"]
    assert counted["status"] == "PASS"
    assert (counted["evidence"]["counted"], counted["evidence"]["expected"]) == (
        {"collectives": 4},
        {"collectives": 4},
    )


def witnessed(
    program: Path, ranks: int, *words: str, fault_injection="", time_limit=60.0, features=6, compiler=None
) -> Trajectory:
    """A run of a program, seen from outside."""
    mpicc = wrapper() if compiler is None else compiler
    settings = [
        f"time_limit={time_limit}",
        f"witness={mpicc}",
        f"fault_injection={fault_injection if mpicc else ''}",
    ]
    described = program_from((*words, str(program), "{dir}"), settings)
    data = np.random.Generator(np.random.PCG64(5)).standard_normal((6, features))
    problem = Problem("small", data, np.resize([1.0, -1.0], 6), LinearKernel(), Hinge(50.0))
    request = RunRequest(problem, IndexStream("cyclic", 6, 1, 20), 4, 20, log=True)
    return ProgramSolver(described, ranks).run(request)


def test_the_witness_counts_what_the_program_does_not_say(solvers):
    ranks = (str(launcher()), "-n", "2")
    assert witnessed(solvers["right"], 2, *ranks).counters["collectives"] == 5 + 1
    with pytest.raises(ProgramError, match=r"but the witness counted \d+ \(\d+ allreduce"):
        witnessed(solvers["talkative"], 2, *ranks)


@pytest.mark.nightly
def test_what_the_witness_cannot_see_is_said(solvers, tmp_path):
    with pytest.raises(ProgramError, match="3 ranks were started, but 2 ended in worlds of"):
        witnessed(solvers["right"], 3, str(launcher()), "-n", "2")
    program = tmp_path / "no_mpi.py"
    program.write_text("import sys, pathlib; pathlib.Path(sys.argv[1], 'log.bin').write_bytes(bytes(160))")
    with pytest.raises(RefusedError, match="saw no MPI_Finalize"):
        witnessed(program, 1, sys.executable)


PLAIN = """
[program]
name = "plain"
command = {command}
writes = "final"
witness = {wrapper}

[final]
after = "alpha:"

[stream]
kind = "glibc-rand"
seed = {seed}
"""


def plain_file(folder: Path, program: Path, seed: str = "{seed}") -> str:
    """A program file of the solver that knows nothing of us, which gets this seed."""
    given = ["{task}", "{data}", "{m}", "{n}", "{penalty}", "{kernel}", "{parameter}", "{s}", "{b}", "{H}"]
    command = [str(launcher()), "-n", "{np}", str(program), *given, seed]
    path = folder / "plain.toml"
    path.write_text(PLAIN.format(command=json.dumps(command), wrapper=json.dumps(wrapper()), seed=11))
    return str(path)


@pytest.mark.nightly
def test_other_draws_than_those_stated_fail(solvers, tmp_path):
    report = verify(
        plain_file(tmp_path, solvers["plain"], seed="12"),
        "smoke",
        tasks=["krr"],
        kernels=["polynomial"],
        s=[7],
    )
    assert {one["check"] for one in report.failures} == {"trajectory"}


REDRAWN = "if (k < j) j--; /* it is there already */"
ADDED = "double old = alpha[drawn[r]];"
LAST = """static double first[4096];
        double old = first[r] = alpha[drawn[r]];
        for (int t = r - 1; t >= j; t--) if (drawn[t] == drawn[r]) old = first[r] = first[t];"""
ENTRY = "row(j)[i] = kernel(row(j)[i], i, drawn[j]);"
OFF = f"{ENTRY} if (i == 5) row(j)[i] *= 1 + 1e-9;"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param((), id="right"),
        pytest.param((ADDED, LAST), id="the last increment counts"),
        pytest.param((ENTRY, OFF), id="a kernel column off by 1e-9"),
    ],
)
def test_a_program_that_draws_with_replacement_is_judged_over_its_whole_run(solvers, tmp_path, wrong):
    source = (solvers["plain"].parent / "plain_solver.c").read_text("utf-8")
    for text, other in ((REDRAWN, "(void)k;"), ('"%.12e', '"%.17g'), *([wrong] if wrong else [])):
        assert source.count(text) == 1
        source = source.replace(text, other)
    (tmp_path / "replaced.c").write_text(source)
    program = tmp_path / "replaced"
    made = call(wrapper(), "-O2", "-DOFFSET=1.0", "-o", program, tmp_path / "replaced.c", "-lm")
    assert made.returncode == 0, made.stderr
    path = Path(plain_file(tmp_path, program))
    path.write_text(path.read_text() + "replacement = true\n[declaration]\nfactorisation = 'lu'\n")
    report = verify(str(path), "smoke", tasks=["krr"], kernels=["polynomial"], s=[7])
    (told,) = (one for one in report.results.verdicts if one["check"] == "trajectory")
    assert told["status"] == ("FAIL" if wrong else "PASS"), told["reason"]
    assert told["evidence"]["iterations"] == [43, 43]


HANGS = """
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    double number = argc;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 1) sleep(60);
    MPI_Bcast(&number, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
"""


@pytest.mark.nightly
def test_a_hang_names_the_last_collective_of_every_rank(tmp_path):
    source, program = tmp_path / "hangs.c", tmp_path / "hangs"
    source.write_text(HANGS)
    assert call(wrapper(), "-o", program, source).returncode == 0
    said = (
        r"hang: did not end within .*; rank 0 was in MPI_Barrier \(collective 3\); "
        r"rank 1 had left MPI_Allreduce \(collective 1\); its last|; it said nothing"
    )
    with pytest.raises(ProgramError, match=said):
        witnessed(program, 2, str(launcher()), "-n", "2", time_limit=1.5)


CRASHES = HANGS.replace("#include <unistd.h>", "#include <unistd.h>\n#include <signal.h>").replace(
    "sleep(60)", "raise(SIGSEGV)"
)


@pytest.mark.nightly
def test_a_crash_is_reported_with_the_last_collective_of_every_rank(tmp_path):
    """The launcher of MPICH names a process, and no rank."""
    source, program = tmp_path / "crashes.c", tmp_path / "crashes"
    source.write_text(CRASHES)
    assert call(wrapper(), "-o", program, source).returncode == 0
    with pytest.raises(ProgramError, match=r"rank 1 had left MPI_Allreduce \(collective 1\)"):
        witnessed(program, 2, str(launcher()), "-n", "2")


def on_ranks(solvers, ranks: int, fault_injection: str) -> Trajectory:
    return witnessed(
        solvers["right"],
        ranks,
        str(launcher()),
        "-n",
        str(ranks),
        fault_injection=fault_injection,
        features=23,
    )


def test_the_fault_injection_delays_a_rank_and_changes_nothing(solvers):
    plain, late = on_ranks(solvers, 2, ""), on_ranks(solvers, 2, "delay")
    assert np.array_equal(plain.alphas, late.alphas)
    assert plain.counters == late.counters
    assert late.fingerprints == plain.fingerprints


@pytest.mark.nightly
def test_a_right_solver_keeps_its_verdict_when_sums_are_reordered(solvers, tmp_path):
    plain, other = on_ranks(solvers, 3, ""), on_ranks(solvers, 3, "order")
    assert not np.array_equal(plain.alphas, other.alphas)
    assert np.allclose(plain.alphas, other.alphas, rtol=1e-12, atol=0)
    assert plain.counters == other.counters
    found = report_under("order", solvers["right"], tmp_path)
    assert found.passed, found
    coherent = [one for one in found.results.verdicts if one["check"] == "rank-coherence"]
    assert [one["status"] for one in coherent] == ["PASS"]


@pytest.mark.nightly
def test_one_ulp_on_one_rank_is_seen(solvers, tmp_path):
    (digests,) = on_ranks(solvers, 3, "ulp").fingerprints.values()
    assert [digest == digests[0] for digest in digests] == [True, True, False]
    found = report_under("ulp", solvers["plain"], tmp_path)
    (failed,) = found.failures
    assert failed["check"] == "rank-coherence"
    assert failed["place"]["item"].endswith("rank 2")
    assert "S-6.3" in failed["reason"]


@pytest.mark.nightly
def test_a_rank_that_leaves_no_vector_is_named(solvers, tmp_path):
    program = tmp_path / "two.py"
    program.write_text(
        "import sys, pathlib; folder = pathlib.Path(sys.argv[1]); m = 6\n"
        "(folder / 'log.bin').write_bytes(bytes(160)); (folder / 'rank-0.bin').write_bytes(bytes(8 * m))\n"
    )
    with pytest.raises(ProgramError, match=r"rank-1\.bin is not there, but others are: all 2 ranks leave"):
        witnessed(program, 2, sys.executable, compiler="")


def report_under(fault_injection: str, program: Path, folder: Path):
    """A report of a program on three ranks with an injected fault."""
    if program.name == "plain_solver":
        path = Path(plain_file(folder, program))
        path.write_text(
            path.read_text().replace("witness =", f'fault_injection = "{fault_injection}"\nwitness =')
        )
    else:
        command = json.dumps([str(launcher()), "-n", "{np}", str(program), "{dir}"])
        path = folder / "protocol.toml"
        path.write_text(
            f'[program]\nname = "protocol"\ncommand = {command}\nwitness = "{wrapper()}"\n'
            f'fault_injection = "{fault_injection}"\n'
        )
    return verify(str(path), "smoke", tasks=["krr"], kernels=["polynomial"], s=[7], ranks=[3])


def judged_rows(program: Path, rows: str) -> Verdict:
    """The verdict of kernel-entries on two ranks of a program that leaves its kernel rows, said to hold K or Q."""
    words = (str(launcher()), "-n", "2", str(program), "{dir}")
    solver = ProgramSolver(
        ProgramFile(Program("panel", words, panel=True), conventions=Conventions(rows=rows)), 2
    )
    generator = np.random.Generator(np.random.PCG64(5))
    problem = Problem(
        "small",
        generator.standard_normal((9, 4)),
        np.resize([1.0, -1.0, -1.0], 9),
        RBFKernel(0.3),
        Hinge(0.7),
    )
    stream = IndexStream("uniform", 9, 1, 33, seed=2)
    case = Case("small", problem, stream, (5,), 33, solver.declaration, points={5: (33,)})
    check, oracle = CHECKS["kernel-entries"], Oracle(problem)
    runs = {key: make_run(solver, request) for key, request in check.runs(case).items()}
    verdicts = verdicts_of(check, case, runs, oracle)
    (verdict,) = name_conventions(check, case, runs, solver, verdicts, oracle)
    return verdict


@pytest.mark.nightly
@pytest.mark.parametrize("labels", [True, False])
def test_rows_with_labels_multiplied_in_are_named_and_read(solvers, labels):
    program, told, other = ("panel labels", "Q", "K") if labels else ("panel", "K", "Q")
    wrong = judged_rows(solvers[program], other)
    assert wrong.status is Status.FAIL
    assert Hint(HintKind.CONVENTION, (f'rows = "{told}"',)) in wrong.hints
    right = judged_rows(solvers[program], told)
    assert right.status is Status.PASS
    assert right.executed > 50


@pytest.mark.nightly
def test_kernel_rows_that_a_program_leaves_are_judged(solvers, tmp_path):
    path = tmp_path / "panel.toml"
    command = json.dumps([str(launcher()), "-n", "{np}", str(solvers["panel norms"]), "{dir}"])
    path.write_text(f'[program]\nname = "panel"\ncommand = {command}\npanel = true\n')
    report = verify(str(path), "smoke", tasks=["svm-l1"], kernels=["rbf"], s=[7])
    found = {one["check"]: one for one in report.results.verdicts}
    assert found["kernel-entries"]["status"] == "FAIL"
    assert "norms dropped" in found["kernel-entries"]["reason"]
    assert "S-1.7" in found["kernel-entries"]["reason"]
