"""A program as a solver: its folder, its command, its end, and what it leaves."""

from __future__ import annotations

import ctypes
import json
import math
import os
import struct
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.campaign.definition import read_definition
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.checks import contract
from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.exchange import write_folder
from sstep_verify.made import make_run
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, PolynomialKernel, Problem, Ridge
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.program import (
    Conventions,
    Program,
    ProgramFile,
    ProgramSolver,
    program_from,
    read_program,
)
from sstep_verify.solvers.adapters.program.printed import printed_numbers
from sstep_verify.solvers.adapters.program.results import (
    ProgramError,
    read_number,
    read_numbers,
)
from sstep_verify.verdict import Status

ENDS = str(Path(__file__).with_name("programs") / "ends.py")
DATA = np.random.default_rng(5).standard_normal((6, 3))
LABELS = np.resize([1.0, -1.0], 6)


def request(**options) -> RunRequest:
    problem = Problem("small", DATA, LABELS, LinearKernel(), Hinge(0.5))
    stream = IndexStream("uniform", 6, 1, 20, seed=4)
    return RunRequest(problem, stream, 4, 14, start=3, **options)


def ending(mode: str, *more: str, limit: float = 20.0, memory: float = 0.0) -> ProgramSolver:
    command = (sys.executable, "-S", ENDS, "{dir}", mode, *more)
    return ProgramSolver(ProgramFile(Program("ends", command, time_limit=limit, memory=memory)))


# ---- What the program finds. -----------------------------------------------------------------------------


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


# ---- How it is started. ----------------------------------------------------------------------------------


def test_places_of_a_command_are_filled_in_without_a_shell():
    program = Program(
        "p", ("mpiexec", "-n", "{np}", "./x", "{dir}", "s={s} b={b} {H} {m} {n}", "{{}}; $HOME")
    )
    words = program.words(dir="/a b", np=2, s=4, b=1, H=9, m=5, n=6)
    assert words == ["mpiexec", "-n", "2", "./x", "/a b", "s=4 b=1 9 5 6", "{}; $HOME"]
    assert program.takes_ranks
    assert not Program("p", ("./x", "{{np}}")).takes_ranks


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"command": ()}, "command is empty"),
        ({"command": ("x", "{folder}")}, r"\{folder\} is unknown; known: \{dir\}"),
        ({"command": ("x", "{dir!r}")}, "is unknown"),
        ({"command": ("x", "{dir:9}")}, "is unknown"),
        ({"command": ("x", "{")}, "a brace itself is written twice"),
        ({"command": ("x", "a\0b")}, "NUL"),
        ({"command": ("x",), "writes": "logs"}, "did you mean 'log'"),
        ({"command": ("x",), "time_limit": 0.0}, "must be > 0 s"),
        ({"command": ("x",), "memory": -1.0}, "must be >= 0 GiB"),
    ],
)
def test_a_command_that_cannot_be_used_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Program("p", **fields)


GOOD = '[program]\nname = "mine"\ncommand = ["./x", "{dir}"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + "[declaration]\nupdate = 'nonsense'\n", "update: 'nonsense' is refused"),
        (GOOD + "[declaration]\nname = 'x'\n", "name is not declared, but follows"),
        (GOOD + "[declaration]\nupdat = 'frozen'\n", "did you mean 'update'"),
        (GOOD + "[other]\n", "unknown table 'other'"),
        (GOOD + "nice = 1\n", "nice"),
        (GOOD.replace("[program]", "[progam]"), "program"),
        ("[program\n", "not a TOML file"),
        ("[program]\nname = 1\ncommand = ['x']\n", "name: 1 is refused"),
        (GOOD.replace('["./x", "{dir}"]', '"./x"'), "command"),
    ],
)
def test_a_program_file_that_cannot_be_used_is_refused_with_its_place(tmp_path, text, words):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_program(path)
    assert str(path) in str(caught.value) or "mine" in str(caught.value)


def test_a_program_file_and_options_say_the_same(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        GOOD.replace("mine", "x")
        + 'writes = "trace"\n[declaration]\nupdate = "frozen"\nfunction_ulps = 2.0\n'
    )
    read = read_program(path)
    options = program_from(("./x", "{dir}"), (), "trace", 60.0, ("update=frozen", "function_ulps=2.0"))
    assert read == options
    declared = read.declared(3)
    assert (declared.update, declared.function_ulps, declared.ranks, declared.log) == (
        "frozen",
        2.0,
        3,
        False,
    )
    with pytest.raises(InputError, match="NAME=VALUE"):
        program_from(("./x",), (), "log", 60.0, ("frozen",))


# ---- How it ends. ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash", r"crash: ended by signal 11 \(SIGSEGV\)"),
        ("three", "exit code 3; its last words: a bad thing"),
        ("nothing", "left no log.bin or log.txt; it said nothing"),
        ("short", "log.txt has 13 numbers, but there must be 14"),
        ("long", "log.bin has 120 bytes, but 14 float64 have 112"),
        ("huge", "of at most 120 bytes"),
        ("word", "log.txt, number 14: 'x' is no number"),
        ("digits", "at most 4 significant digits"),
        ("both", "both log.bin and log.txt"),
        ("link", "it is a link"),
        ("fifo", "not a regular file"),
        ("counters", "'collectives many'"),
    ],
)
def test_every_end_that_is_no_run_has_its_own_reason(mode, words):
    with pytest.raises(ProgramError, match=words):
        ending(mode).run(request(log=True))


def test_a_program_that_cannot_be_started_says_so():
    missing = ProgramSolver(ProgramFile(Program("p", ("./no-such-program", "{dir}"))))
    with pytest.raises(
        ProgramError, match=r"exit code 127; its last words: \./no-such-program: cannot be started"
    ):
        missing.run(request())


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


@pytest.mark.parametrize(("mode", "words"), [("crash", "SIGSEGV"), ("nan", "not finite")])
def test_a_run_that_is_none_fails_the_contract(mode, words):
    tested, asked = ending(mode), request()
    case = Case("small", asked.problem, asked.stream, (4,), 14, tested.declaration, points={4: (14,)})
    made = make_run(tested, plain_request(case, 4))
    (verdict,) = contract.judge(case, {run_key(4): made}, None)
    assert verdict.status is Status.FAIL
    assert words in verdict.reason


# ---- What it leaves. -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["binary", "decimal", "hex"])
def test_a_log_gives_a_before_every_step(mode):
    asked = request(log=True, record=(8,))
    made = ending(mode).run(asked)
    values = np.arange(14) / 3
    np.testing.assert_array_equal(made.log[:, 0], values)
    alpha = np.zeros(6)
    for step, (i,) in enumerate(asked.stream.blocks(3, 17)):
        if step == 8:
            np.testing.assert_array_equal(made.alphas[1], alpha)
        alpha[i] = values[step]
    np.testing.assert_array_equal(made.final, alpha)
    assert made.iterations.tolist() == [0, 8, 14]


def test_counts_are_read():
    assert ending("counted").run(request()).counters == {"windows": 4, "collectives": 5, "words": 70}


@pytest.mark.parametrize(
    ("word", "value", "digits"),
    [
        (b"0.5", 0.5, 1), (b"-1.25e-3", -1.25e-3, 3), (b"0", 0.0, 0), (b"12", 12.0, 2), (b"0.0010", 0.001, 2),
        (b"0x1.8p+1", 3.0, 17), (b"1.2345678901234567e5", 1.2345678901234567e5, 17), (b"-inf", -np.inf, 0), (b".5", 0.5, 1),
    ],
)  # fmt: skip
def test_a_number_is_read_with_its_digits(word, value, digits):
    assert read_number(word, "x") == (value, digits)


@pytest.mark.parametrize("word", [b"", b"1,5", b"0x", b"one", b"1e", b"\xff", b"0x1p99999"])
def test_what_is_no_number_is_refused(word):
    with pytest.raises(ProgramError, match="is no number"):
        read_number(word, "x")


@pytest.mark.parametrize("form", [repr, "{:.17g}".format, "{:.16e}".format, "{:.20f}".format, float.hex])
@pytest.mark.parametrize(
    "values", [[0.0], [0.1], [0.25, 3.0], np.random.default_rng(3).random(40).tolist()]
)
def test_text_that_holds_every_bit_is_taken(tmp_path, form, values):
    (tmp_path / "log.txt").write_text("\n".join(map(form, values)))
    found = read_numbers(tmp_path, "log", (len(values),))
    assert found.exact
    assert found.values.tolist() == values


@pytest.mark.parametrize("form", ["{:.6f}", "{:.12e}", "{:.15g}"])
def test_text_that_shows_a_rounding_is_refused(tmp_path, form):
    (tmp_path / "log.txt").write_text("\n".join(map(form.format, np.random.default_rng(3).random(40))))
    assert not read_numbers(tmp_path, "log", (40,)).exact


def test_a_program_that_hangs_or_is_not_there_is_started_once(tmp_path):
    hanging, begin = ending("hang", str(tmp_path / "child"), limit=1.0), time.monotonic()
    missing = ProgramSolver(ProgramFile(Program("p", ("./no-such-program",))))
    for tested, words in ((hanging, "hang"), (missing, "127")):
        for _ in range(20):
            with pytest.raises(ProgramError, match=words):
                tested.run(request())
    assert time.monotonic() - begin < 40


def test_every_float64_survives_printing_with_seventeen_digits():
    bits = np.random.default_rng(1).integers(0, 2**63, 500, dtype=np.int64).tolist()
    for value in (struct.unpack("<d", struct.pack("<q", bit))[0] for bit in bits):
        if np.isfinite(value):
            assert read_number(f"{value:.17g}".encode(), "x")[0] == value
            assert read_number(value.hex().encode(), "x") == (value, 17)


# ---- Programs that know nothing of the folder. -----------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "values", "rounding"),
    [
        ("alpha:\n1.25e-01 2\n", [0.125, 2.0], [0.5e-3, 0.5]),
        ("alpha: 9 9\nbeta\nalpha: 0x1.8p+0 -0.5000", [1.5, -0.5], [0.0, 0.5e-4]),
        ("alpha: nan 1e300", [math.nan, 1e300], [0.0, 0.5e300]),
    ],
)
def test_numbers_printed_after_a_text_carry_half_a_unit_of_their_last_digit(output, values, rounding):
    found, errors = printed_numbers(output, "alpha:", 2)
    np.testing.assert_array_equal(found, values)
    assert (errors >= rounding).all()
    assert (errors <= np.array(rounding) * 1.001 + 1e-15 * np.abs(np.nan_to_num(found))).all()


@pytest.mark.parametrize(
    ("output", "words"),
    [("beta: 1 2", "not in its output"), ("alpha: 1", "printed 1 words"), ("alpha: 1 x", "'x' is no")],
)
def test_a_result_that_is_not_there_is_told(output, words):
    with pytest.raises(ProgramError, match=words):
        printed_numbers(output, "alpha:", 2)


@pytest.mark.parametrize("digits", [3, 12, 16])
def test_the_rounding_told_is_at_least_the_rounding_made(digits):
    values = np.random.default_rng(2).standard_normal(300) * 10.0 ** np.arange(-150, 150)
    told = " ".join(f"{value:.{digits - 1}e}" for value in values)
    found, rounding = printed_numbers(f"alpha: {told}", "alpha:", 300)
    assert (np.abs(found - values) <= rounding).all()


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 1, 2**31, 2**32 - 1])
def test_coordinates_are_those_of_the_c_library(seed):
    library = ctypes.CDLL(None)
    library.srand(ctypes.c_uint(seed))
    drawn = [library.rand() % 9 for _ in range(500)]
    stream = IndexStream("glibc-rand", 9, 1, 500, seed=seed)
    assert stream.blocks(0, 500)[:, 0].tolist() == drawn
    assert stream.blocks(120, 130)[:, 0].tolist() == drawn[120:130]
    assert all(
        len(set(block)) == 4
        for block in IndexStream("glibc-rand", 9, 4, 50, seed=seed).blocks(0, 50).tolist()
    )


def test_a_program_with_draws_of_its_own_is_asked_for_nothing_else(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        GOOD + 'writes = "final"\n[final]\nafter = "alpha:"\n[stream]\nkind = "glibc-rand"\nseed = 3\n'
    )
    tested = ProgramSolver(read_program(path))
    with pytest.raises(RefusedError, match="starts from a = 0"):
        tested.run(request())
    asked = request()
    other = RunRequest(asked.problem, IndexStream("glibc-rand", 6, 1, 20, seed=4), 4, 14)
    with pytest.raises(RefusedError, match=r"glibc-rand, seed 3.* those of glibc-rand, seed 4"):
        tested.run(other)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ('[final]\nafter = "alpha:"\n', "writes must be 'final'"),
        ('writes = "final"\n[final]\nafter = ""\n', "after is empty"),
        ('writes = "final"\n[final]\nfile = "../a"\n', "leaves the exchange folder"),
        ('writes = "final"\n[final]\nfile = "{dir}/b/../../a"\n', "leaves the exchange folder"),
        ('writes = "final"\n[final]\nfile = "/etc/passwd"\n', "leaves the exchange folder"),
        ('writes = "final"\n[final]\nfile = "{dir}x/a"\n', "leaves the exchange folder"),
        ('writes = "final"\n[final]\nfile = "a{what}"\n', "is unknown"),
        ('writes = "final"\n[final]\nfile = "a\\u0000"\n', "NUL"),
        ('writes = "final"\n[final]\nafter = "a"\nfirst = -3\n', "first = -3"),
        ('writes = "final"\n[final]\nafter = "a"\nfirst = 1.5\n', "first"),
        ('writes = "final"\n[stream]\nkind = "logged"\n', "writes must be 'log'"),
        ('[stream]\nkind = "logged"\nreplacement = true\n', "replacement is for a generator"),
        ('[stream]\nkind = "mt19937"\nseed = 4294967296\n', "must lie in 0..4294967295"),
        ('[stream]\nkind = "mt19937"\n[conventions]\norder = "by-class"\n', "let the program log them"),
        ("[conventions]\nscale = 0\n", "scale = 0, but it must lie between"),
        ("[conventions]\nscale = -2.0\n", "the sign is told by sign = -1"),
        ("[conventions]\nscale = nan\n", "scale = nan, but"),
        ("[conventions]\nscale = 1e-300\n", "must lie between 2"),
        ('[conventions]\nscale = "1/n"\n', "known: m, C, lambda, 1/m"),
        ("[conventions]\nsign = 2\n", "sign = 2, but it must be 1, -1 or 'labels'"),
        ('[conventions]\norder = "sorted"\n', "'sorted' is refused"),
        ('[conventions]\ncounts = "passes"\n', "'passes' is refused"),
        ("[conventions]\nstart = 0\n", "start: 0 is refused"),
        ("[conventions]\nscales = 2\n", "scales"),
        ('environment = { "A=B" = "x" }\n', "no environment variable is named 'A=B'"),
        ('environment = { A = "{x}" }\n', "environment, A = '{x}': {x} is unknown"),
        ("environment = { A = 1 }\n", "environment"),
        ('witness = "mpicc"\nenvironment = { LD_PRELOAD = "x" }\n', "LD_PRELOAD, which the witness needs"),
        ("s = [0]\n", "s = 0, but a window"),
        ('[declaration]\nstate = ["gradient"]\n', "only .'weights'. is judged"),
        ('writes = "trace"\n[declaration]\nstate = ["weights"]\n', "and not 'trace'"),
        ('[declaration]\nstate = ["weights"]\n[conventions]\nscale = "m"\n', "a power of two"),
        ("[declaration]\nscaled = true\n", "scaled is not declared"),
        ('writes = "final"\n[final]\nbefore = "x"\n', "before|after"),
        ('[stream]\nkind = "rand48"\nseed = 1\n', "kind: 'rand48' is refused"),
        ('[stream]\nkind = "glibc-rand"\nseed = -1\n', "must lie in"),
    ],
)
def test_tables_of_such_a_program_are_strict(tmp_path, tables, words):
    path = tmp_path / "p.toml"
    path.write_text(GOOD + tables)
    with pytest.raises(InputError, match=words):
        read_program(path)


# ---- Files and logs that a program leaves for us to read. ------------------------------------------------


def leaving(text: str, tables: str, tmp_path: Path, writes: str = "final", more: str = "") -> ProgramSolver:
    """A program that runs some lines of Python in its exchange folder."""
    lines = f"import os, sys; os.chdir(sys.argv[1])\n{text}"
    command = json.dumps([sys.executable, "-S", "-c", lines.replace("{", "{{").replace("}", "}}"), "{dir}"])
    path = tmp_path / "p.toml"
    path.write_text(f'[program]\nname = "p"\ncommand = {command}\nwrites = "{writes}"\n{more}{tables}')
    return ProgramSolver(read_program(path))


RESULT = '[final]\nfile = "a.txt"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a.txt: cannot be read as a result: No such file"),
        ("os.symlink('/etc/hostname', 'a.txt')", "it is a link"),
        ("os.mkfifo('a.txt')", "not a regular file"),
        ("open('a.txt', 'w').write('1 ' * 5)", "has 5 words, but it must hold 6 numbers alone"),
        ("open('a.txt', 'w').write('1 ' * 5 + 'x')", "'x' is no number"),
        ("open('a.txt', 'w').truncate(1 << 30)", "of at most"),
        ("open('a.txt', 'w').write('0e999999 ' + '0.5 ' * 5)", ""),
    ],
)
def test_a_file_with_a_result_is_read_with_care(tmp_path, text, words):
    tested = leaving(text, RESULT, tmp_path)
    asked = RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4)
    if words:
        with pytest.raises(ProgramError, match=words):
            tested.run(asked)
    else:
        assert tested.run(asked).rounding[-1, 0] == math.inf


def test_a_link_to_a_folder_leads_to_no_file_of_another(tmp_path):
    (tmp_path / "a.txt").write_text("1 " * 6)
    tested = leaving(f"os.symlink({str(tmp_path)!r}, 'b')", '[final]\nfile = "b/a.txt"\n', tmp_path)
    with pytest.raises(ProgramError, match="where a link leads"):
        tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))


def test_more_entries_than_there_are_are_refused(tmp_path):
    tested = leaving("print('a: ' + '1 ' * 9)", '[final]\nafter = "a:"\nfirst = 7\n', tmp_path)
    with pytest.raises(RefusedError, match="first = 7, but a has only m = 6 entries"):
        tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        (None, "left no indices.bin or indices.txt"),
        ("0 1 2", "has 3 coordinates, but there must be 4 x 1"),
        ("0 1 2 6", "holds index 6, outside 0..5"),
        ("0 1 2 -1", "'-1' is no index"),
        ("0 1 2 1.0", "'1.0' is no index"),
        ("0 1 2 99999999999999999999", "is no index"),
        (b"\0" * 31, "has 31 bytes, but 4 int64 have 32"),
        (struct.pack("<4q", 0, 1, 2, -1), "holds index -1, outside"),
    ],
)
def test_draws_that_a_program_logs_are_read_with_care(tmp_path, indices, words):
    text = "open('log.bin', 'wb').write(bytes(32))\n"
    if isinstance(indices, str):
        text += f"open('indices.txt', 'w').write({indices!r})"
    elif indices is not None:
        text += f"open('indices.bin', 'wb').write({indices!r})"
    tested = leaving(text, '[stream]\nkind = "logged"\n', tmp_path, "log")
    asked = RunRequest(request().problem, IndexStream("logged", 6, 1, 4), 2, 4)
    with pytest.raises(ProgramError, match=words):
        tested.run(asked)


def test_a_problem_is_handed_over_by_environment_variables(tmp_path):
    text = "print('a:', os.environ['STEPS'], os.environ['C'], *[0] * 4)"
    more = 'environment = { STEPS = "{H}", C = "{penalty}" }\n'
    tested = leaving(text, '[final]\nafter = "a:"\n', tmp_path, more=more)
    made = tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))
    assert made.final.tolist() == [4.0, 0.5, 0, 0, 0, 0]
    assert ProgramFile(Program("p", ("x",), environment={"P": "{np}"})).program.takes_ranks


def test_a_run_of_another_s_than_it_knows_is_refused(tmp_path):
    tested = leaving("", RESULT, tmp_path, more="s = [1, 4]\n")
    with pytest.raises(RefusedError, match=r"knows s = 1, 4, but the run is of s = 2"):
        tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))
    with pytest.raises(InputError, match="s = 2 is asked for, but the program knows s = 1, 4 only"):
        profile_of("smoke", tested.described, Selection(s=(2,)), "")
    assert profile_of("smoke", tested.described, Selection(), "").families[0].s == (1, 4)


@pytest.mark.parametrize(
    ("line", "task", "words"),
    [
        ('scale = "C"', "krr", "has no such parameter"),
        ('sign = "labels"', "krr", "no labels"),
        ('scale = "lambda"', "svm", "has no such parameter"),
        ('scale = "1/C"', "tiny", "between 2"),
        ('counts = "epochs"', "svm", "epochs of 6 iterations, but the run is to make 4"),
    ],
)
def test_a_problem_that_does_not_go_with_a_convention_is_refused(tmp_path, line, task, words):
    loss = {"krr": Ridge(0.5), "svm": Hinge(0.5), "tiny": Hinge(1e-30)}[task]
    problem = Problem("p", DATA, LABELS, LinearKernel(), loss)
    tested = leaving("", f"{RESULT}[conventions]\n{line}\n", tmp_path)
    with pytest.raises(RefusedError, match=words):
        tested.run(RunRequest(problem, IndexStream("cyclic", 6, 1, 4), 2, 4))


WORDS = [
    Conventions(),
    Conventions(scale=0.25, sign=-1),
    Conventions(sign="labels", order="by-class"),
    Conventions(scale=8, sign="labels", order="by-class"),
    Conventions(scale="1/C", order="by-class"),
]
UNSORTED = Problem("p", DATA, [-1.0, 1.0, -1.0, -1.0, 1.0, 1.0], LinearKernel(), Hinge(0.5))


@pytest.mark.parametrize("words", WORDS)
def test_a_start_in_the_program_s_words_is_the_same_in_ours(words):
    taken, alpha = words.of(UNSORTED), np.random.default_rng(3).random(6)
    back, errors = taken.ours(taken.theirs(alpha)[np.argsort(taken.order)], np.arange(6))
    np.testing.assert_array_equal(back, alpha)
    assert (errors == 0).all()  # 1/C is a power of two here
    drawn = np.array([[5], [0], [2]])
    np.testing.assert_array_equal(taken.order[taken.numbers(drawn)], drawn)
    if words.order == "by-class":
        assert taken.order.tolist() == [1, 4, 5, 0, 2, 3]


@pytest.mark.parametrize("first", WORDS)
@pytest.mark.parametrize("second", WORDS)
def test_what_one_convention_made_of_words_another_makes_anew(first, second):
    one, other, own = first.of(UNSORTED), second.of(UNSORTED), np.random.default_rng(4).random(6)

    def ours(taken):
        return taken.ours(own[np.argsort(taken.order)], np.arange(6))[0]

    change = one.into(other)
    np.testing.assert_array_equal(change.ours(ours(one)[change.order], np.arange(6))[0], ours(other))


def test_a_scale_that_is_no_power_of_two_rounds_once():
    taken, own = Conventions(scale=0.1).of(UNSORTED), np.random.default_rng(5).standard_normal(6)
    values, errors = taken.ours(own, np.arange(6))
    for value, error, mine in zip(values.tolist(), errors.tolist(), own.tolist(), strict=True):
        assert abs(Fraction(value) - Fraction(mine) * Fraction(0.1)) <= Fraction(error) / 2
        assert error <= 2.0**-52 * abs(value)


@pytest.mark.parametrize("value", [1e308, 5e-324])
def test_a_value_that_a_power_of_two_scales_out_of_range_is_told(value):
    taken = Conventions(scale=2.0**40 if value > 1 else 2.0**-40).of(UNSORTED)
    with pytest.raises(ProgramError, match="leaves the range of float64"):
        taken.ours(np.full(6, value), np.arange(6))


def test_a_campaign_file_fits_its_problems_to_the_program(tmp_path):
    program = tmp_path / "mine.toml"
    program.write_text(
        GOOD + '[stream]\nkind = "numpy-pcg64"\nseed = 9\n[conventions]\ncounts = "epochs"\n'
    )
    (tmp_path / "c.toml").write_text(
        '[campaign]\nname = "c"\ntitle = "c"\ndescription = "c"\n[[family]]\ndata = ["small"]\ntask = ["svm-l1"]\n'
        f'kernel = [{{ name = "linear" }}]\ns = [1]\nstart = 5\nsolver = {json.dumps(str(program))}\n'
    )
    (family,) = read_definition(tmp_path / "c.toml").families
    assert (family.stream, family.seed, family.counts, family.start) == ("numpy-pcg64", 9, "epochs", 0)
    assert "step-replay" in family.checks
    assert not {"metamorphic-exact", "residual-gap"} & set(family.checks)
