"""A program as a solver: the folder that it finds, and every way in which it ends."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from program_cases import ending, request

from sstep_verify.adapters.program import (
    Program,
    ProgramFile,
    ProgramSolver,
    set_up,
)
from sstep_verify.adapters.program.run import Ended, execute
from sstep_verify.checks import contract
from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.errors import InputError, NoLogError, ProgramError, RefusedError
from sstep_verify.exchange import write_folder
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, PolynomialKernel, Problem, Ridge
from sstep_verify.protocol import RunRequest
from sstep_verify.runs import make_run
from sstep_verify.verdict import Status


def test_the_folder_holds_the_run_in_text_and_in_binary(tmp_path):
    data = np.array([[0.1, 0.0, -2.5], [0.0, 0.0, 0.0], [1e-300, 3.0, 1 / 3]])
    problem = Problem("p", sp.csr_array(data), [0.1, -7.0, 2.0], PolynomialKernel(3, 0.5), Ridge(0.25))
    stream = IndexStream("uniform", 3, 2, 9, seed=1)
    asked = RunRequest(problem, stream, 2, 5, 1, np.array([0.5, -1 / 3, 0.0]), record=(4,), log=True)
    write_folder(asked, tmp_path, log=True)
    lines = dict(line.split(" ", 1) for line in (tmp_path / "problem.txt").read_text().splitlines())
    assert lines == {
        "format": "sstep-exchange", "version": "1", "task": "krr", "samples": "3", "features": "3", "entries": "5",
        "kernel": "polynomial", "degree": "3", "offset": "0.5", "lambda": "0.25", "s": "2", "iterations": "5",
        "block": "2", "points": "3", "log": "1",
    }  # fmt: skip
    assert {
        name: str(value) for name, value in json.loads((tmp_path / "problem.json").read_text()).items()
    } == lines
    blocks = stream.blocks(1, 6)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "indices.bin", "<i8").reshape(5, 2), blocks)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "indices.txt", dtype=int), blocks)
    for name in ("initial", "points"):
        kind = {"initial": "<f8", "points": "<i8"}[name]
        np.testing.assert_array_equal(
            np.fromfile(tmp_path / f"{name}.bin", kind), np.loadtxt(tmp_path / f"{name}.txt")
        )
    assert np.fromfile(tmp_path / "points.bin", "<i8").tolist() == [0, 4, 5]
    np.testing.assert_array_equal(np.fromfile(tmp_path / "data.bin").reshape(3, 3), data)
    parts = [np.fromfile(tmp_path / f"{name}.bin", kind) for name, kind in
             (("values", "<f8"), ("columns", "<i8"), ("row_starts", "<i8"))]  # fmt: skip
    np.testing.assert_array_equal(sp.csr_array(tuple(parts), shape=(3, 3)).toarray(), data)
    text = [line.split() for line in (tmp_path / "data.svm").read_text().splitlines()]
    assert (
        [float(words[0]) for words in text]
        == np.fromfile(tmp_path / "targets.bin").tolist()
        == [0.1, -7.0, 2.0]
    )
    found = np.zeros((3, 3))
    for row, words in enumerate(text):
        for word in words[1:]:
            found[row, int(word.split(":")[0]) - 1] = float(word.split(":")[1])
    np.testing.assert_array_equal(found, data)


def test_a_large_problem_has_no_dense_array(tmp_path):
    data = sp.csr_array(([1.0], ([0], [1 << 21])), shape=(3, (1 << 21) + 1))
    problem = Problem("wide", data, [1.0, -1.0, 1.0], LinearKernel(), Hinge(1.0))
    write_folder(RunRequest(problem, IndexStream("uniform", 3, 1, 4), 1, 4), tmp_path, log=False)
    assert not (tmp_path / "data.bin").exists()
    assert (tmp_path / "data.svm").read_text().splitlines()[0] == f"1 {(1 << 21) + 1}:1"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash", r"crash: ended by signal 11 \(SIGSEGV\)"),
        ("three", "exit code 3; its last words: a bad thing"),
        (
            "nothing",
            'left no log.bin or log.txt; if it leaves its final alpha only, set writes = "final"; it said nothing',
        ),
        ("short", "log.txt has 13 words, but there must be 14 numbers"),
        ("long", "log.bin has 120 bytes, but 14 float64 have 112"),
        ("huge", "at most 120 bytes are read"),
        ("word", "log.txt, number 14: 'x' is no number"),
        ("digits", "at most 4 significant digits"),
        ("both", "both log.bin and log.txt"),
        ("link", "it is a link"),
        ("fifo", "not a regular file"),
        ("counters", "'collectives many'"),
    ],
)
def test_every_end_that_is_no_run_has_its_own_reason(mode, words):
    with pytest.raises(ProgramError, match=words) as raised:
        ending(mode).run(request(log=True))
    # How it ended is one thing, what it left of its steps another, and another sentence.
    assert isinstance(raised.value, NoLogError) == (mode not in ("crash", "three"))


def test_a_message_names_the_place_of_the_run_folder_and_not_its_random_name():
    code = "import sys; sys.exit(f'{sys.argv[1]}/points.bin is of no use')"
    doubled = code.replace("{", "{{").replace("}", "}}")
    program = ProgramSolver(ProgramFile(Program("p", (sys.executable, "-S", "-c", doubled, "{dir}"))))
    for _ in range(2):
        with pytest.raises(ProgramError) as raised:
            program.run(request())
        assert str(raised.value) == "exit code 1; its last words: {dir}/points.bin is of no use"
        assert raised.value.said == ("{dir}/points.bin is of no use",)


def test_a_program_that_cannot_be_started_says_so():
    missing = ProgramSolver(ProgramFile(Program("p", ("./no-such-program", "{dir}"))))
    with pytest.raises(
        ProgramError, match=r"exit code 127; its last words: \./no-such-program: cannot be started"
    ):
        missing.run(request())


def test_a_program_may_come_of_its_set_up(tmp_path):
    place = str(tmp_path / "built")
    set_up(Program("p", (place, "{dir}"), setup=("install", "-m", "755", sys.executable, place)))
    with pytest.raises(InputError, match="elsewhere' is no executable file"):
        set_up(Program("p", (str(tmp_path / "elsewhere"),)))
    set_up(Program("p", ("{dir}/program",)))  # Known with the folder of a run only.


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["a.c:3:1: error: expected ;", "a.c:9:1: error: more", "make: *** [x] Error 1"], "error: expected ;"),
        (["ld: write: No space left on device", "make: *** [x] Error 1"], "No space left"),
        (["make[1]: *** [x] Error 1", "make: *** [y] Error 2"], ""),
        (["one line", "fatal error: the last"], "the last"),
    ],
)  # fmt: skip
def test_a_set_up_that_fails_is_reported_with_the_first_line_of_an_error(lines, named):
    script = "import sys; sys.exit(sys.argv[1])"
    with pytest.raises(InputError) as refused:
        set_up(Program("p", ("p",), setup=(sys.executable, "-c", script, "\n".join(lines))))
    told = str(refused.value).partition("] failed, ")[2]
    assert told.endswith(f"its last words: {lines[-1]}")
    assert told.count(named or "last words") == 1
    assert ("it said: " in told) == (named not in lines[-1])


def test_a_script_that_does_not_exist_is_no_failure_of_a_solver(tmp_path):
    script = tmp_path / "solver.py"
    with pytest.raises(InputError, match=r"solver\.py', which does not exist"):
        set_up(Program("p", (sys.executable, str(script), "{dir}")))
    script.touch()
    set_up(Program("p", (sys.executable, str(script), "{dir}", "other.py")))
    set_up(Program("p", (sys.executable, "-m", "package", "{dir}/solver.py")))


def test_a_hang_ends_with_everything_that_was_started(tmp_path):
    told = tmp_path / "child"
    begin = time.monotonic()
    with pytest.raises(ProgramError, match="hang: did not end within"):
        ending("hang", str(told), limit=4.0).run(request())
    assert time.monotonic() - begin < 40
    child = int(told.read_text())
    for _ in range(50):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.1)
    os.kill(child, 9)
    raise AssertionError("what the program started is still there")


def test_a_process_beyond_its_memory_fails():
    with pytest.raises(ProgramError, match="exit code 1; its last words: MemoryError"):
        ending("memory", memory=1.0).run(request())


def test_a_refusal_is_no_failure_of_the_solver():
    with pytest.raises(
        RefusedError, match="exit code 65 refuses this input; its last words: no such kernel"
    ):
        make_run(ending("refuse"), request())


@pytest.mark.parametrize(("mode", "item"), [("crash", contract.STOP), ("nan", contract.FINITE)])
def test_a_run_that_is_none_fails_the_contract(mode, item):
    tested, asked = ending(mode), request()
    case = Case("small", asked.problem, asked.stream, (4,), 14, tested.declaration, points={4: (14,)})
    made = make_run(tested, plain_request(case, 4))
    (verdict,) = contract.judge(case, {run_key(4): made}, None)
    assert verdict.status is Status.FAIL
    assert item in [one.item for one in verdict.violations]
    assert not verdict.raised or "SIGSEGV" in verdict.raised[0].message


@pytest.mark.parametrize(
    ("mode", "said"),
    [("three", ("a bad thing",)), ("printed", ("second", "third", "last")), ("short", ()), ("crash", ())],
)
def test_the_last_lines_that_a_program_printed_are_kept(mode, said):
    assert make_run(ending(mode), request(log=True)).raised.said == said


RULE = 74 * "-"
ROOT = f"""{RULE}
mpirun has detected an attempt to run as root.

Running as root is *strongly* discouraged as any mistake (e.g., in
defining TMPDIR) or bug can result in catastrophic damage to the OS
file system, leaving your system in an unusable state.

We reiterate our advice against doing so - please proceed at your own risk.
{RULE}
"""
SLOTS = f"""{RULE}
There are not enough slots available in the system to satisfy the 64
slots that were requested by the application:

  ./solver

Either request fewer slots for your application, or make more slots
available for use.
{RULE}
"""
ABSENT = f"""{RULE}
mpirun was unable to launch the specified application as it could not access
or execute an executable:

Executable: ./no-such-program
Node: here
{RULE}
"""
OWN = f"""Traceback (most recent call last):
ValueError: a bad thing
{RULE}
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
{RULE}
"""
MPICH = """a bad thing
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)
Please see the FAQ page for debugging suggestions
"""
HYDRA_OF_INTEL = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 1 PID 4242 RUNNING AT here
=   KILLED BY SIGNAL: 6 (Aborted)
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Aborted (signal 6)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
PYTHON = """  File "mine.py", line 3, in <module>
    x[7]
    ~^^^
IndexError: out of range
"""
TABLE = "name value\n----------\n" + "".join(f"row {k}\n" for k in range(9))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ROOT, "mpirun has detected an attempt to run as root. Running as root"),
        (SLOTS, "There are not enough slots available in the system to satisfy the 64 slots that were"),
        (ABSENT, "could not access or execute an executable: Executable: ./no-such-program Node: here"),
        (
            OWN,
            "ValueError: a bad thing Primary job terminated normally, but 1 process returned a non-zero",
        ),
        (MPICH, "a bad thing YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault"),
        (
            HYDRA_OF_INTEL,
            "RANK 1 PID 4242 RUNNING AT here YOUR APPLICATION TERMINATED WITH THE EXIT STRING",
        ),
        (PYTHON, "its last words: IndexError: out of range"),
        (TABLE, "its last words: row 8"),
        (f"{RULE}\n", "it said nothing"),
        (f"{RULE}\n{RULE}\n", "it said nothing"),
    ],
)
def test_what_a_launcher_says_is_reported_and_no_rule_is(text, words):
    ended = Ended(1, 0.1, errors=text)
    assert words in ended.last_words
    assert len(ended.last_words) < 230
    assert len(ended.said) <= 3
    assert "FAQ" not in ended.last_words
    assert all(any(map(str.isalnum, line)) for line in ended.said)


ABORTED = (
    "Abort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 7) - process 1\n"
)
UNNAMED = "the end of its output names none of its 3 ranks: witness = 'mpicc' shows"
PLACES = (
    "rank 0 was in MPI_Allreduce (collective 2); rank 1 had left MPI_Allreduce (collective 1); "
    "rank 2 had not left MPI_Init"
)


def failed(text: str, ranks: int, witness: str, tmp_path: Path, monkeypatch) -> str:
    """What is said of a program on some ranks of which a launcher says a text."""
    monkeypatch.setattr("sstep_verify.adapters.program.solver.witness_variables", lambda *_: {})
    (tmp_path / "said").write_text(text)
    code = (
        "import sys; folder, said = sys.argv[1:]\n"
        "open(folder + '/place-0.txt', 'w').write('2 in MPI_Allreduce')\n"
        "open(folder + '/place-1.txt', 'w').write('1 after MPI_Allreduce')\n"
        "sys.exit(open(said).read())"
    )
    words = (sys.executable, "-S", "-c", code, "{dir}", str(tmp_path / "said"))
    with pytest.raises(ProgramError) as raised:
        ProgramSolver(ProgramFile(Program("p", words, witness=witness)), ranks).run(request())
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "ranks", "witness", "told"),
    [
        pytest.param(MPICH, 3, "", UNNAMED, id="nobody knows"),
        pytest.param("", 3, "", UNNAMED, id="nothing said"),
        pytest.param(MPICH, 3, "mpicc", PLACES, id="the witness knows"),
        pytest.param(HYDRA_OF_INTEL, 3, "", "RANK 1 PID 4242", id="the launcher knows"),
        pytest.param(ABORTED, 3, "", "(rank 1 in comm 0)", id="the library knows"),
        pytest.param(MPICH, 1, "", "Segmentation fault", id="one rank"),
    ],
)
def test_of_ranks_that_end_a_run_is_said_what_is_known(text, ranks, witness, told, tmp_path, monkeypatch):
    found = failed(text, ranks, witness, tmp_path, monkeypatch)
    assert told in found
    assert (UNNAMED in found) == (told == UNNAMED)
    assert (PLACES in found) == (told == PLACES)


@pytest.mark.skipif(not os.path.exists("/usr/bin/mpirun.openmpi"), reason="no Open MPI of the system")
@pytest.mark.parametrize(
    ("program", "words"), [("./no-such-program", "no-such-program"), ("/bin/false", "non-zero")]
)
def test_what_open_mpi_says_of_a_job_is_reported(program, words):
    ended = execute(["/usr/bin/mpirun.openmpi", "--allow-run-as-root", "-n", "1", program], 30.0)
    assert ended.code != 0
    assert words in ended.last_words


def test_a_program_that_hangs_or_is_not_there_is_started_once(tmp_path):
    hanging, begin = ending("hang", str(tmp_path / "child"), limit=1.0), time.monotonic()
    missing = ProgramSolver(ProgramFile(Program("p", ("./no-such-program",))))
    for tested, words in ((hanging, "hang"), (missing, "127")):
        for _ in range(20):
            with pytest.raises(ProgramError, match=words):
                tested.run(request())
    assert time.monotonic() - begin < 40
