"""The two C/MPI solvers of the examples end where exact arithmetic does, or with the code of the header.

The bound on both is that of octave_bound.py, which holds for any order of summation, so on any
number of ranks.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from c_examples import start
from daily import some
from exchange_case import (
    CASES,
    SEED,
    SHORT_LAST_WINDOW,
    blocks_of,
    drawn_by_rand,
    points_of,
    write_folder,
    write_samples,
)
from octave_bound import FEATURES, ITERATIONS, PARAMETER, SAMPLES, Case, ends, spread
from spoilt_folders import FAILED, REFUSED, block_of_two, line, shorter

pytestmark = pytest.mark.pool_only

# Windows of 1 for the linear kernel, and one window of all iterations for the others, on one rank.
WINDOWS = [
    pytest.param(case, 2 if case.s == 4 else 1, id=f"{case.loss}-{case.kernel}-{case.s}")
    for case in CASES.values()
    if case.s == 4 or (case.s == 1) == (case.kernel == "linear")
]


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


@pytest.mark.parametrize(("case", "ranks"), some(WINDOWS, of=8, first=1))
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
    assert not [*folder.glob("*.part"), *folder.glob("trace*"), *folder.glob("panel*")]


@pytest.mark.parametrize("loss", ["svm-l1", "svm-l2", "krr"])
def test_the_bound_sees_a_dropped_correction(tmp_path, solvers, loss):
    case = CASES[loss, "rbf", 4]
    folder = write_folder(tmp_path / "exchange", case, log=False)
    assert start(2, solvers["wrong"], folder).returncode == 0
    trace = np.fromfile(folder / "trace.bin").reshape(-1, SAMPLES)
    assert np.array_equal(trace[0], case.start)
    assert excess(case, trace[1:]) > 0


def panels(path: Path) -> dict[int, np.ndarray]:
    """Records of a file of kernel rows: numbers by the iteration at which the window begins."""
    content, place, found = path.read_bytes(), 0, {}
    while place < len(content):
        iteration, count = np.frombuffer(content, "<i8", 2, place).tolist()
        found[iteration] = np.frombuffer(content, "<f8", count, place + 16)
        place += 16 + 8 * count
    return found


@pytest.mark.parametrize("loss", ["svm-l2", "krr"])
def test_the_panel_holds_the_kernel_rows_of_every_window(tmp_path, solvers, loss):
    case = CASES[loss, "polynomial", 4]
    folder, blocks = write_folder(tmp_path / "exchange", case), blocks_of(case)
    assert start(2, solvers["panel"], folder).returncode == 0
    log = np.fromfile(folder / "log.bin").reshape(blocks.shape)
    assert excess(case, at_window_ends(case, log)) <= 0
    found = panels(folder / "panel.bin")
    assert list(found) == points_of(case)[:-1]
    rows = np.concatenate([*found.values()]).reshape(blocks.size, SAMPLES)
    for i, row in zip(blocks.ravel(), rows, strict=True):
        off = [abs(Fraction(x) - y) for x, y in zip(row, case.matrix[i], strict=True)]
        assert all(x <= radius for x, radius in zip(off, case.errors[i], strict=True))


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
    """A run of the solver that knows of no run folder; `more` samples are asked for than there are."""
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
