"""The C header and the two C/MPI solvers: they compile cleanly, and end where exact arithmetic does.

The bound on both solvers is that of octave_bound.py, which holds for any order of summation, so on any
number of ranks.
"""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from c_examples import EXAMPLES, call, needed, start
from exchange_case import SEED, blocks_of, drawn_by_rand, points_of, write_folder, write_samples

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

from octave_bound import FEATURES, ITERATIONS, PARAMETER, SAMPLES, Case, cases, ends, g, spread

pytestmark = pytest.mark.pool_only

READER = Path(__file__).with_name("exchange_reader.c")
CLEAN = ["-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{EXAMPLES}"]
REFUSED, FAILED = 65, 74
CASES = {(case.loss, case.kernel, case.s): case for case in cases() if case.s}
SHORT_LAST_WINDOW = [
    pytest.param(case, id=f"{case.loss}-{case.kernel}") for case in CASES.values() if case.s == 4
]
# Windows of 1 for the linear kernel, and one window of all iterations for the others, on one rank.
WINDOWS = [
    pytest.param(case, 2 if case.s == 4 else 1, id=f"{case.loss}-{case.kernel}-{case.s}")
    for case in CASES.values()
    if case.s == 4 or (case.s == 1) == (case.kernel == "linear")
]


@pytest.fixture(scope="session")
def reader(tmp_path_factory) -> Path:
    """The program that reads a folder by the header."""
    program = tmp_path_factory.mktemp("reader") / "exchange_reader"
    made = call(needed("cc"), "-std=c99", *CLEAN, "-o", program, READER)
    assert made.returncode == 0, made.stderr
    return program


def at_window_ends(case: Case, log: np.ndarray) -> np.ndarray:
    """The start vector and the log give a at the window ends."""
    alpha, blocks, found = case.start.copy(), blocks_of(case), []
    for window in case.windows():
        for k in window:
            alpha[blocks[k]] = log[k]
        found.append(alpha.copy())
    return np.array(found)


def excess(case: Case, trace: np.ndarray) -> Fraction:
    """By how much numbers at the window ends are farther from the exact ones than the bound, at most."""
    return max(
        abs(Fraction(x) - exact) - radius
        for row, truth, radii in zip(trace, ends(case), spread(case), strict=True)
        for x, exact, radius in zip(row, truth, radii, strict=True)
    )


@pytest.mark.parametrize("probes", [[], ["-DSSTEP_PROBE"]])
@pytest.mark.parametrize(("compiler", "standard", "kind"), [("cc", "c99", "c"), ("c++", "c++11", "c++")])
def test_the_header_compiles_without_a_warning(tmp_path, compiler, standard, kind, probes):
    (tmp_path / "program").write_text('#include "sstep_trace.h"\nint main(void) { return 0; }\n')
    made = call(
        needed(compiler),
        f"-std={standard}",
        *CLEAN,
        *probes,
        "-fsyntax-only",
        "-x",
        kind,
        tmp_path / "program",
    )
    assert made.stderr == ""
    assert made.returncode == 0


@pytest.mark.parametrize("case", SHORT_LAST_WINDOW)
def test_the_header_reads_what_is_there(tmp_path, reader, case):
    case = replace(case, data=np.where(np.abs(case.data) < 0.3, 0, case.data))
    folder = write_folder(tmp_path / "exchange", case, log=False)
    said = call(reader, folder)
    assert (said.returncode, said.stderr) == (0, "")
    read = dict(line.partition(" ")[::2] for line in said.stdout.splitlines())
    named = dict(line.split() for line in (folder / "problem.txt").read_text().splitlines())
    assert [read.pop(name) for name in ("task", "kernel", "log")] == [case.loss, case.kernel, "0"]
    sizes = ("samples", "features", "entries", "degree", "s", "iterations", "block", "points")
    assert read.pop("sizes").split() == [named.get(name, "0") for name in sizes]
    penalty = named.get("lambda", named.get("C", ""))
    given = [float(x) for x in (named.get("offset", 0), named.get("sigma", 0), penalty)]
    assert [float.fromhex(x) for x in read.pop("parameters").split()] == given
    for name, numbers in read.items():
        kind, number = (
            ("<i8", int)
            if name in ("row_starts", "columns", "indices", "points")
            else ("<f8", float.fromhex)
        )
        assert [number(x) for x in numbers.split()] == np.fromfile(folder / f"{name}.bin", kind).tolist(), (
            name
        )
    assert len(read) == 8

    points = points_of(case)
    trace = np.tile(case.start, (len(points), 1))
    for k, row in zip(points, trace, strict=True):
        row[0] = sum([1.0] * k, start=row[0])
    assert np.array_equal(np.fromfile(folder / "trace.bin").reshape(len(points), SAMPLES), trace)
    assert np.array_equal(np.fromfile(folder / "final.bin"), case.y)
    assert (folder / "counters.txt").read_text() == "collectives 3\nwords 1000000000000\nwindows 2\n"
    assert not list(folder.glob("*.part"))


def line(name: str, value: str):
    """A change of a line of problem.txt; of no value, the line goes."""

    def change(folder: Path) -> None:
        lines = (folder / "problem.txt").read_text().splitlines()
        kept = [f"{name} {value}" if text.split()[0] == name else text for text in lines]
        (folder / "problem.txt").write_text("".join(text + "\n" for text in kept if text != f"{name} "))

    return change


def shorter(name: str, by: int):
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size - by)


def longer(name: str):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + bytes(8))


def number(name: str, place: int, value: int):
    def change(folder: Path) -> None:
        numbers = np.fromfile(folder / name, "<i8")
        numbers[place] = value
        numbers.tofile(folder / name)

    return change


def block_of_two(folder: Path) -> None:
    """Half the iterations, of two coordinates each."""
    line("block", "2")(folder)
    line("iterations", str(ITERATIONS // 2))(folder)
    points = np.minimum(np.fromfile(folder / "points.bin", "<i8"), ITERATIONS // 2)
    points.tofile(folder / "points.bin")


ARRAYS = ("targets", "row_starts", "columns", "values", "data", "indices", "initial", "points")


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        *((shorter(f"{name}.bin", 8), FAILED, "numbers of 8 bytes are due") for name in ARRAYS),
        *((shorter(f"{name}.bin", 1), FAILED, "numbers of 8 bytes are due") for name in ARRAYS),
        *((longer(f"{name}.bin"), FAILED, "numbers of 8 bytes are due") for name in ARRAYS),
        (lambda folder: (folder / "values.bin").unlink(), FAILED, "values.bin cannot be opened"),
        (lambda folder: (folder / "problem.txt").unlink(), FAILED, "problem.txt cannot be opened"),
        (lambda folder: (folder / "problem.txt").write_bytes(b""), FAILED, "is empty"),
        (lambda folder: (folder / "problem.txt").write_bytes(b"format\0"), FAILED, "is no text"),
        (lambda folder: (folder / "problem.txt").write_text("a" * 20000), FAILED, "16384 bytes or more"),
        (shorter("problem.txt", 6), FAILED, "log is absent"),
        (line("version", "2"), REFUSED, "version = 2, but 1 is read"),
        (line("version", ""), FAILED, "version is absent"),
        (line("format", "other"), REFUSED, "format = other"),
        (line("task", "lasso"), REFUSED, "task = lasso is none of svm-l1, svm-l2, krr"),
        (line("kernel", "cosine"), REFUSED, "kernel = cosine is none of"),
        (line("samples", "99999999999999999999"), REFUSED, "samples = 99999999999999999999 is not in 1.."),
        (line("samples", "1000000000000000000"), REFUSED, "numbers are more than this program can address"),
        (line("features", "500000000000000000"), REFUSED, "numbers are more than this program can address"),
        (line("iterations", "1000000000000000000"), REFUSED, "numbers are more than this program can address"),
        (line("samples", "-9"), REFUSED, "samples = -9 is not in"),
        (line("samples", "9.5"), FAILED, "samples = 9.5 is no integer"),
        (line("block", "10"), REFUSED, "block = 10 is not in 1..9"),
        (line("sigma", "inf"), FAILED, "sigma = inf is no finite number"),
        (line("sigma", "0.5\nsigma 0.5"), FAILED, "sigma is there twice"),
        (line("sigma", ""), FAILED, "sigma is absent"),
        (line("lambda", ""), FAILED, "lambda is absent"),
        (number("indices.bin", 5, SAMPLES), FAILED, "number 5 is 9, but it has to be in 0..8"),
        (number("indices.bin", 5, -1), FAILED, "number 5 is -1"),
        (number("columns.bin", 2, FEATURES), FAILED, "number 2 is 3"),
        (number("row_starts.bin", 1, 7), FAILED, "the numbers ascend"),
        (number("row_starts.bin", 0, 1), FAILED, "goes from 1 to"),
        (number("points.bin", 1, ITERATIONS + 1), FAILED, "number 1 is 23"),
    ],
)  # fmt: skip
def test_the_header_refuses(tmp_path, reader, change, code, said):
    folder = write_folder(tmp_path / "exchange", CASES["krr", "rbf", 4])
    change(folder)
    ended = call(reader, folder)
    assert ended.returncode == code
    assert said in ended.stderr
    assert ended.stderr.startswith("sstep_trace: ")
    assert ended.stderr.count("\n") == 1
    assert not list(folder.glob("trace*"))


@pytest.mark.parametrize(("count", "code"), [(43, FAILED), (44, 0), (45, FAILED)])
def test_a_log_appears_only_when_it_is_whole(tmp_path, reader, count, code):
    folder = write_folder(tmp_path / "exchange", CASES["krr", "rbf", 4])
    ended = call(reader, folder, count)
    assert ended.returncode == code, ended.stderr
    assert (folder / "log.bin").exists() is (code == 0)
    assert ("44" in ended.stderr) is (code != 0)


@pytest.mark.parametrize(("case", "ranks"), WINDOWS)
def test_the_protocol_solver_stays_within_the_bound(tmp_path, solvers, case, ranks):
    folder = write_folder(tmp_path / "exchange", case)
    ended = start(ranks, solvers["right"], folder)
    assert ended.returncode == 0, ended.stderr
    log = np.fromfile(folder / "log.bin").reshape(blocks_of(case).shape)
    trace = at_window_ends(case, log)
    assert excess(case, trace) <= 0
    assert np.array_equal(np.fromfile(folder / "final.bin"), trace[-1])
    # One for each window; at the start one word by which all ranks go on or none, and for RBF the norms.
    windows, norms = len(trace), int(case.kernel == "rbf")
    counted = [
        f"collectives {windows + norms + 1}",
        f"words {log.size * SAMPLES + norms * SAMPLES + 1}",
        f"windows {windows}",
    ]
    assert (folder / "counters.txt").read_text().splitlines() == counted
    assert not [*folder.glob("*.part"), *folder.glob("trace*"), *folder.glob("probe*")]


@pytest.mark.parametrize("loss", ["svm-l1", "svm-l2", "krr"])
def test_the_bound_sees_a_dropped_correction(tmp_path, solvers, loss):
    case = CASES[loss, "rbf", 4]
    folder = write_folder(tmp_path / "exchange", case, log=False)
    assert start(2, solvers["wrong"], folder).returncode == 0
    trace = np.fromfile(folder / "trace.bin").reshape(-1, SAMPLES)
    assert np.array_equal(trace[0], case.start)
    assert excess(case, trace[1:]) > 0


def probed(path: Path) -> dict[str, dict[int, np.ndarray]]:
    """Records of a file of probes: numbers by quantity and iteration."""
    content, place, found = path.read_bytes(), 0, {}
    while place < len(content):
        name = content[place : place + 8].rstrip(b"\0").decode()
        iteration, count = np.frombuffer(content, "<i8", 2, place + 8).tolist()
        found.setdefault(name, {})[iteration] = np.frombuffer(content, "<f8", count, place + 24)
        place += 24 + 8 * count
    return found


@pytest.mark.parametrize("loss", ["svm-l2", "krr"])
def test_probes_hold_every_quantity_of_every_step(tmp_path, solvers, loss):
    case = CASES[loss, "polynomial", 4]
    folder, blocks = write_folder(tmp_path / "exchange", case), blocks_of(case)
    assert start(2, solvers["probed"], folder).returncode == 0
    log = np.fromfile(folder / "log.bin").reshape(blocks.shape)
    assert excess(case, at_window_ends(case, log)) <= 0
    found, b, ridge = probed(folder / "probe.bin"), blocks.shape[1], loss == "krr"
    assert list(found) == ["panel", "gradient", "eta", "theta"]
    assert list(found["panel"]) == points_of(case)[:-1]
    assert all(list(found[name]) == list(range(ITERATIONS)) for name in ("gradient", "eta", "theta"))
    panel = np.concatenate([*found["panel"].values()]).reshape(ITERATIONS, b, SAMPLES)
    alpha = case.start.copy()
    for k, block in enumerate(blocks):
        for i, row in zip(block, panel[k], strict=True):
            off = [abs(Fraction(x) - y) for x, y in zip(row, case.matrix[i], strict=True)]
            assert all(x <= radius for x, radius in zip(off, case.errors[i], strict=True))
        gradient, eta, theta = (found[name][k] for name in ("gradient", "eta", "theta"))
        own, before = panel[k][:, block], alpha[block]
        if ridge:
            system = own / PARAMETER + SAMPLES * np.eye(b)
            assert np.array_equal(log[k], before + theta)
            # Solved by Cholesky: Higham 2002, Theorem 10.4, and as much for the product made here.
            size = np.linalg.norm(system) * np.linalg.norm(theta)
            assert np.linalg.norm(system @ theta - gradient) <= 2 * b * float(g(3 * b + 1)) * size
        else:
            system = own + 1 / (2 * PARAMETER)
            assert np.array_equal(log[k], np.maximum(before - gradient / system[0], 0))
            assert np.array_equal(theta, log[k] - before)
        assert np.array_equal(eta, system.ravel())
        alpha[block] = log[k]


@pytest.mark.parametrize(
    ("key", "change", "code", "said"),
    [
        (("krr", "rbf", 4), line("version", "2"), REFUSED, "version = 2"),
        (("krr", "rbf", 4), shorter("values.bin", 8), FAILED, "values.bin has"),
        (("krr", "rbf", 4), line("features", "3000000000"), REFUSED, "more than 2147483647"),
        (("svm-l1", "rbf", 4), block_of_two, REFUSED, "block = 2, but K-SVM takes 1"),
        (("krr", "rbf", 4), lambda folder: (folder / "log.bin.part").mkdir(), FAILED, "cannot be written"),
    ],
)
def test_the_protocol_solver_ends_with_the_code_of_the_header(tmp_path, solvers, key, change, code, said):
    folder = write_folder(tmp_path / "exchange", CASES[key])
    change(folder)
    ended = start(2, solvers["right"], folder)
    assert ended.returncode == code
    assert said in ended.stderr
    assert not (folder / "final.bin").exists()


def plain(solvers: dict[str, Path], samples: Path, case: Case, ranks: int, seed: int = SEED, more: int = 0):
    """A run of the solver that knows of no exchange folder; `more` samples are asked for than there are."""
    parameter = {"linear": 0, "polynomial": 2, "rbf": 0.5}[case.kernel]
    return start(
        ranks, solvers["plain"], case.loss, samples, SAMPLES + more, FEATURES, PARAMETER, case.kernel, parameter,
        case.s, blocks_of(case).shape[1], ITERATIONS, seed,
    )  # fmt: skip


def is_within(case: Case, printed: list[str]) -> bool:
    """Whether printed numbers lie within the bound and the rounding of their decimals."""
    half = [Fraction(10) ** int(Decimal(text).as_tuple().exponent) / 2 for text in printed]
    return all(
        abs(Fraction(text) - exact) <= radius + rounding
        for text, rounding, exact, radius in zip(
            printed, half, ends(case)[-1], spread(case)[-1], strict=True
        )
    )


@pytest.mark.parametrize("case", SHORT_LAST_WINDOW)
def test_the_plain_solver_prints_what_its_seed_leads_to(tmp_path, solvers, case):
    case = drawn_by_rand(case)
    samples, ranks = write_samples(tmp_path / "data.svm", case), 1 if case.kernel == "linear" else 2
    ended = plain(solvers, samples, case, ranks)
    assert ended.returncode == 0, ended.stderr
    progress, _, printed = ended.stdout.partition("alpha:\n")
    assert progress.splitlines() == ["4 of 22 iterations", f"done: 6 windows on {ranks} ranks"]
    assert is_within(case, printed.splitlines())


def test_another_seed_leads_elsewhere(tmp_path, solvers):
    case = drawn_by_rand(CASES["krr", "rbf", 4])
    ended = plain(solvers, write_samples(tmp_path / "data.svm", case), case, 1, SEED + 1)
    assert not is_within(case, ended.stdout.partition("alpha:\n")[2].splitlines())


def test_the_plain_solver_fails_where_samples_are_missing(tmp_path, solvers):
    case = CASES["krr", "rbf", 4]
    ended = plain(solvers, write_samples(tmp_path / "data.svm", case), case, 2, more=1)
    # What it said may be lost: MPI_Abort ends the launcher too.
    assert ended.returncode == 1
    assert "alpha" not in ended.stdout
