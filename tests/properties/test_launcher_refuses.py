"""A launcher that starts no program is named by what it says first, and is no FAIL of the solver.

The messages are those of Open MPI 4 and 5, MPICH 5 and SLURM. What stands above them, where they break
their lines, which of their rules is lost, and the exit code are drawn.
"""

from __future__ import annotations

import os
import textwrap

import numpy as np
import pytest
from small_solvers import drawn

from sstep_verify import judge
from sstep_verify.adapters.program import Program, ProgramFile, ProgramSolver
from sstep_verify.adapters.program.said import refusal
from sstep_verify.errors import CommandError, NotMadeError
from sstep_verify.verdict import Status

DRAWS = range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "5")))

PARAGRAPHS = {
    "root": (
        "prterun has detected an attempt to run as root.",
        "Running as root is *strongly* discouraged as any mistake (e.g., in defining TMPDIR) or bug can "
        "result in catastrophic damage to the OS file system, leaving your system in an unusable state.",
        "You can override this protection by adding the --allow-run-as-root option to your command line. "
        "However, we reiterate our strong advice against doing so - please do so at your own risk.",
    ),
    "executable": (
        "mpirun was unable to launch the specified application as it could not access an executable:",
        "Executable: ./no-such-program", "while attempting to start process rank 0.",
    ),
    "slots": (
        "There are not enough slots available in the system to satisfy the 64 slots that were requested by "
        "the application:", "./solver",
        "Either request fewer slots for your application, or make more slots available for use.",
    ),
    "option": (
        "An unrecognized option was included on the mpirun command line:", "Option: --nosuch",
        'Please use the "mpirun --help" command to obtain a list of all supported options.',
    ),
}  # fmt: skip
"""Messages between rules."""

OF_COMMAND = {"root", "executable", "option", "hydra executable", "hydra option", "slurm executable"}
"""Those of a command that can start no run."""

MISSING = {"executable": "./no-such-program", "hydra executable": "./a", "slurm executable": "./a"}
"""Those of a program that is not there, with its path."""

NAMED = {"root", "executable"}
"""Those that begin with the launcher's name, of which one rule may be lost."""

TAGGED = {
    "hydra executable": "[proxy:0@node] HYDU_create_process (/src/launch.c:73): execvp error on file ./a (No such file)",
    "hydra option": "[mpiexec@node] match_arg (/src/args.c:166): unrecognized argument nosuch\n"
    "[mpiexec@node] HYDU_parse_array (/src/args.c:181): argument matching returned error\n"
    "[mpiexec@node] main (/src/mpiexec.c:49): error parsing parameters",
    "hydra host": "[mpiexec@node] ui_cmd_cb (/src/pmiserv_pmci.c:51): Launch proxy failed.\n"
    "[mpiexec@node] main (/src/mpiexec.c:270): process manager error waiting for completion",
    "slurm": "srun: error: Unable to create step for job 7: More processors requested than permitted",
    "slurm executable": "slurmstepd: error: execve(): ./a: No such file or directory\n"
    "srun: error: node: task 0: Exited with exit code 2",
}
"""Messages whose lines begin with the launcher's name."""

ENDED = {
    "abort": (
        "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
        "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.",
    ),
    "status": ("mpirun detected that one or more processes exited with non-zero status.", "Exit code: 4"),
    "signal": ("prterun noticed that process rank 1 with PID 7 on node vm exited on signal 11.",),
}
"""Messages of launchers whose program did run."""


def framed(rng, paragraphs, one_rule=False):
    """A message as it is printed: lines of a drawn width, between two rules or above one."""
    width, rule = int(rng.integers(40, 90)), "-" * int(rng.integers(20, 80))
    text = "\n\n".join(textwrap.fill(one, width, break_long_words=False) for one in paragraphs)
    return "\n".join([*([] if one_rule else [rule]), text, rule, ""])


def above(rng, room):
    """Some lines that a program, or a shell before it, printed."""
    words = ["loading", "a", "module", "from", "the", "list", "of", "node", "7,", "see", "x=1.5e-3"]
    lines = [" ".join(rng.choice(words, 4)) for _ in range(rng.integers(0, room))]
    return "".join(f"{line}\n" for line in lines)


def judged(folder, text, code, output=False):
    """Judge a program that prints a text and ends with a code."""
    folder.mkdir()
    (folder / "said").write_text(text, "utf-8")
    (folder / "program").write_text(f"cat '{folder}/said'{'' if output else ' >&2'}\nexit {code}\n")
    program = Program("mine", ("sh", f"{folder}/program", "{dir}"))
    problem, stream = drawn(code, "svm-l1")
    return judge(ProgramSolver(ProgramFile(program)), problem, stream, s=4)


@pytest.mark.parametrize("seed", DRAWS)
def test_what_a_launcher_refuses_is_reported_and_fails_nobody(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for name, paragraphs in PARAGRAPHS.items():
        one_rule = name in NAMED and bool(rng.integers(2))
        text = above(rng, 3) + framed(rng, paragraphs, one_rule)
        with pytest.raises(NotMadeError, match="did not start the program") as error:
            judged(tmp_path / name, text, int(rng.choice([1, 183, 213])), output=bool(rng.integers(2)))
        assert paragraphs[0][:60] in str(error.value)
        assert isinstance(error.value, CommandError) == (name in OF_COMMAND)
        assert refusal(text).program == MISSING.get(name, "")
        assert "no error of the solver" in str(error.value)
    for name, text in TAGGED.items():
        with pytest.raises(NotMadeError, match="did not start the program") as error:
            judged(tmp_path / name, above(rng, 3) + text, int(rng.choice([1, 2, 255])))
        assert text.partition(": ")[2].partition("\n")[0] in str(error.value)
        assert ".c:" not in str(error.value)
        assert isinstance(error.value, CommandError) == (name in OF_COMMAND)
        assert refusal(text).program == MISSING.get(name, "")


MISMATCH = """Abort(270157072): Fatal error in internal_Init_thread: Internal MPI error!, error stack:
internal_Init_thread(71)........: MPI_Init_thread(argc=(nil), argv=(nil), required=3) failed
MPIR_pmi_init(225)..............:
check_MPIR_CVAR_PMI_VERSION(167):  Runtime environment uses unsupported PMI version PMIx. Aborting.
"""
"""What MPICH 5 says under mpirun of Open MPI 4."""


@pytest.mark.parametrize("seed", DRAWS)
def test_a_launcher_of_another_mpi_than_the_program_is_named_and_fails_nobody(tmp_path, seed):
    rng = np.random.default_rng(seed)
    text = above(rng, 3) + MISMATCH * int(rng.integers(1, 3)) + framed(rng, ENDED["status"])
    told = (
        "it belongs to another MPI than the program: Runtime environment uses unsupported PMI version PMIx"
    )
    with pytest.raises(NotMadeError, match=told):
        judged(tmp_path / "it", text, 16)


@pytest.mark.parametrize("seed", DRAWS)
@pytest.mark.parametrize("name", ENDED)
def test_a_program_that_ran_and_failed_is_failed_in_its_own_words(tmp_path, seed, name):
    rng = np.random.default_rng(seed)
    later = [framed(rng, ENDED["status"]) for _ in range(rng.integers(0, 2))]
    text = above(rng, 3) + "bad thing 17\n" + framed(rng, ENDED[name]) + "".join(later)
    contract = judged(tmp_path / "it", text, int(rng.choice([3, 4, 139])))[0]
    assert contract.status is Status.FAIL
    for words in ("bad thing 17", ENDED[name][0][:40]):
        assert words in contract.reason


def test_a_program_that_ends_well_may_quote_a_launcher(tmp_path):
    text = framed(np.random.default_rng(1), PARAGRAPHS["root"])
    contract = judged(tmp_path / "it", text, 0)[0]
    assert contract.status is Status.FAIL
    assert "left no log" in contract.reason
