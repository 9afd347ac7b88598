"""The C header: it compiles cleanly, reads what stands in a run folder, and refuses what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_examples import EXAMPLES, call, needed
from exchange_case import CASES, SHORT_LAST_WINDOW, points_of, write_folder
from octave_bound import FEATURES, ITERATIONS, SAMPLES
from spoilt_folders import FAILED, REFUSED, line, longer, number, shorter

pytestmark = pytest.mark.pool_only

READER = Path(__file__).with_name("exchange_reader.c")
CLEAN = ["-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{EXAMPLES}"]


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Path:
    """The program that reads a folder by the header."""
    program = tmp_path_factory.mktemp("reader") / "exchange_reader"
    made = call(needed("cc"), "-std=c99", *CLEAN, "-o", program, READER)
    assert made.returncode == 0, made.stderr
    return program


@pytest.mark.parametrize("panel", [[], ["-DSSTEP_PANEL"]])
@pytest.mark.parametrize(("compiler", "standard", "kind"), [("cc", "c99", "c"), ("c++", "c++11", "c++")])
def test_the_header_compiles_without_a_warning(tmp_path, compiler, standard, kind, panel):
    (tmp_path / "program").write_text('#include "sstep_trace.h"\nint main(void) { return 0; }\n')
    made = call(
        needed(compiler),
        f"-std={standard}",
        *CLEAN,
        *panel,
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


OWN_DRAWS = """
#include "sstep_trace.h"

int main(int argc, char **argv) {
    sstep_problem p;
    int code = sstep_read(argv[1], SSTEP_DENSE | (argc > 2 ? SSTEP_OWN_DRAWS : 0), &p);
    if (code) return code;
    for (int64_t k = 0; k < p.iterations * p.block && argc == 3; k++) p.indices[k] = (3 * k) % p.samples;
    code = sstep_write_draws(&p);
    sstep_free(&p);
    return code;
}
"""


@pytest.fixture(scope="module")
def drawer(tmp_path_factory) -> Path:
    """A program that draws by itself if it gets a second argument; with a third one it forgets to."""
    folder = tmp_path_factory.mktemp("drawer")
    (folder / "drawer.c").write_text(OWN_DRAWS)
    made = call(needed("cc"), "-std=c99", *CLEAN, "-o", folder / "drawer", folder / "drawer.c")
    assert made.returncode == 0, made.stderr
    return folder / "drawer"


def test_a_program_that_draws_by_itself_writes_its_draws(tmp_path, drawer):
    folder = write_folder(tmp_path / "exchange", CASES["krr", "rbf", 4])
    for name in ("indices.bin", "indices.txt"):
        (folder / name).unlink()
    said = call(drawer, folder, "own")
    assert (said.returncode, said.stderr) == (0, "")
    drawn = np.fromfile(folder / "indices.bin", "<i8")
    assert drawn.tolist() == [3 * k % SAMPLES for k in range(drawn.size)]
    assert drawn.size == 44


@pytest.mark.parametrize(
    ("words", "there", "said"),
    [
        ([], False, 'under [stream] kind = "logged" the program draws by itself'),
        (["own"], True, 'write [stream] kind = "logged" into the program file'),
        (["own", "forgotten"], False, "problem.indices: number 0 is -1"),
    ],
)
def test_draws_that_are_nobodys_are_a_clear_error(tmp_path, drawer, words, there, said):
    folder = write_folder(tmp_path / "exchange", CASES["krr", "rbf", 4])
    if not there:
        (folder / "indices.bin").unlink()
    ended = call(drawer, folder, *words)
    assert ended.returncode == FAILED
    assert said in ended.stderr
    assert (folder / "indices.bin").exists() is there
