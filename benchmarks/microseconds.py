"""Microseconds per iteration of the production solver, against a NumPy loop and against the floor.

Every number is the median of interleaved repeats on one BLAS thread; ratios are taken within a repeat, so
that a busy machine touches both sides. Usage: ``python benchmarks/microseconds.py --data DIR``.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import floor
import numpy as np
import numpy_loops
from threadpoolctl import threadpool_limits

from sstep_verify import provenance
from sstep_verify.errors import SstepVerifyError
from sstep_verify.outputs import write_text
from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.problems.data import datasets
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ProductionSolver

DATA_SETS = {"duke": (1,), "colon-cancer": (1,), "diabetes": (1,), "abalone": (1, 4, 128)}
"""Block sizes (b) by data set; abalone is K-RR, the others K-SVM-L1."""

KERNELS = ("linear", "polynomial", "rbf")
WINDOWS = (1, 8, 64)
SEED = 20
MOST_DRAWS = 1 << 20


@dataclass(frozen=True)
class Cell:
    """One line of the table; times in microseconds per iteration, ratios with their quartiles."""

    data: str
    kernel: str
    b: int
    s: int
    production: float
    spread: float
    numpy_loop: float
    floor: float
    ratio: float
    ratio_low: float
    ratio_high: float
    speedup: float
    target: float | None
    repeats: list[dict[str, float]]

    @property
    def mark(self) -> str:
        """Whether the target is met."""
        return "-" if self.target is None else "met" if self.ratio <= self.target else "MISSED"


def target_of(s: int, b: int) -> float | None:
    """Largest ratio to the floor that is aimed at."""
    return 1.5 if s * b >= 16 else 2.0 if s == 1 else None


def calibrated(work: Callable[[int], None], most: int, seconds: float) -> int:
    """Number of windows that takes about the given time, after a first call that compiles and warms up."""
    work(1)
    count = 1
    while True:
        begin = perf_counter()
        work(count)
        taken = perf_counter() - begin
        if taken >= seconds / 2 or count == most:
            return count
        count = min(most, max(2 * count, int(count * seconds / max(taken, 1e-9))) if taken else 2 * count)


def measure(problem: Problem, b: int, s: int, repeats: int, seconds: float) -> Cell:
    """Time one cell."""
    # No more distinct windows than fill the time: their columns are kept for the floor.
    most = max(MOST_DRAWS // (s * b) // 16, 1)
    stream = IndexStream("uniform", problem.samples, b, most * s, SEED)
    blocks = stream.blocks(0, most * s)
    solver = ProductionSolver()

    def production(count: int) -> None:
        solver.run(RunRequest(problem, stream, s, count * s))

    def numpy_loop(count: int) -> None:
        numpy_loops.run(problem, blocks[: count * s], s)

    # Columns in order of first draw, as the solver asks for them.
    distinct = [np.array(list(dict.fromkeys(window.ravel().tolist()))) for window in np.split(blocks, most)]
    contestants: dict[str, Callable[[int], None]] = {
        "production": production,
        "numpy loop": numpy_loop,
        "floor, numpy": floor.Floor(problem, distinct, compiled=False),
    }
    if problem.kernel.name != "linear":
        contestants["floor, compiled"] = floor.Floor(problem, distinct, compiled=True)
    counts = {name: calibrated(work, most, seconds) for name, work in contestants.items()}
    rounds = []
    for _ in range(repeats):
        times = {}
        for name, work in contestants.items():
            begin = perf_counter()
            work(counts[name])
            times[name] = (perf_counter() - begin) / (counts[name] * s) * 1e6
        rounds.append(times)
    return summarise(problem, b, s, rounds)


def summarise(problem: Problem, b: int, s: int, rounds: list[dict[str, float]]) -> Cell:
    """Medians over the repeats; the floor is that of the faster kernel function."""
    median = {name: float(np.median([times[name] for times in rounds])) for name in rounds[0]}
    lowest = min((name for name in median if name.startswith("floor")), key=median.__getitem__)
    production = np.array([times["production"] for times in rounds])
    ratios = production / [times[lowest] for times in rounds]
    low, ratio, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return Cell(
        data=problem.name,
        kernel=problem.kernel.name,
        b=b,
        s=s,
        production=median["production"],
        spread=float(np.subtract(*np.quantile(production, (0.75, 0.25)))),
        numpy_loop=median["numpy loop"],
        floor=median[lowest],
        ratio=float(ratio),
        ratio_low=float(low),
        ratio_high=float(high),
        speedup=float(np.median([times["numpy loop"] / times["production"] for times in rounds])),
        target=target_of(s, b),
        repeats=rounds,
    )


HEADER = (
    f"{'data':<13}{'kernel':<11}{'b':>4}{'s':>4}{'production':>12}{'(IQR)':>9}{'NumPy loop':>12}"
    f"{'floor':>11}{'ratio to floor':>21}{'target':>8}  {'':<7}{'x NumPy':>8}"
)


def line(cell: Cell) -> str:
    """One line of the table."""
    ratio = f"{cell.ratio:.2f} [{cell.ratio_low:.2f}, {cell.ratio_high:.2f}]"
    target = "-" if cell.target is None else f"{cell.target:g}"
    return (
        f"{cell.data:<13}{cell.kernel:<11}{cell.b:>4}{cell.s:>4}"
        f"{cell.production:>12.2f}{cell.spread:>9.2f}{cell.numpy_loop:>12.2f}"
        f"{cell.floor:>11.2f}{ratio:>21}{target:>8}  {cell.mark:<7}{cell.speedup:>8.1f}"
    )


def cells_of(
    chosen: argparse.Namespace, digests: dict[str, str | None], skipped: dict[str, str]
) -> Iterator[tuple[Problem, int, int]]:
    """Problem, b and s of every cell; a problem for each kernel, with the paper's parameters."""
    for name in chosen.only or DATA_SETS:
        try:
            data = datasets.load(name, directory=chosen.data)
        except SstepVerifyError as error:
            skipped[name] = str(error)
            print(f"{name:<13}skipped: {error}")
            continue
        digests[name] = data.sha256
        loss = Ridge(1.0) if data.task == "regression" else Hinge(1.0)
        for kernel in map(kernel_from, KERNELS):
            problem = Problem(name, data.data, data.targets, kernel, loss)
            yield from ((problem, b, s) for b in DATA_SETS[name] for s in WINDOWS)


def write(path: Path, name: str, cells: Sequence[Any], digests: dict[str, str | None], **more: Any) -> None:
    """Write all repeats, where they were made, and what else is said of them."""
    facts = provenance.collect(["python", *sys.argv], seeds={"index stream": SEED}, data=digests)
    document = {
        "format": f"sstep-verify {name} 1",
        "provenance": facts,
        "blas threads": 1,
        **more,
        "cells": [{**asdict(cell), "mark": cell.mark} for cell in cells],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(document, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder of LIBSVM files (default: $SSTEP_VERIFY_DATA)")
    parser.add_argument("--only", choices=DATA_SETS, action="append", help="one data set; may be repeated")
    parser.add_argument(
        "--repeats", type=int, default=7, help="interleaved repeats, at least 5 (default: 7)"
    )
    parser.add_argument("--seconds", type=float, default=0.05, help="length of one timing (default: 0.05)")
    default = Path("sstep-verify-out/benchmarks/microseconds.json")
    parser.add_argument("--out", type=Path, default=default, help=f"JSON file (default: {default})")
    chosen = parser.parse_args()
    if chosen.repeats < 5 or not chosen.seconds > 0:
        parser.error("needed are at least 5 repeats and a positive length of a timing")
    return chosen


def main() -> int:
    chosen = arguments()
    cells, skipped, digests = [], {}, {}
    print("microseconds per iteration, medians; one BLAS thread")
    print(HEADER, flush=True)
    gc.disable()
    with threadpool_limits(1):
        for cell in cells_of(chosen, digests, skipped):
            cells.append(measure(*cell, chosen.repeats, chosen.seconds))
            print(line(cells[-1]), flush=True)
    gc.enable()
    write(chosen.out, "microseconds", cells, digests, units="microseconds per iteration", skipped=skipped)
    missed = sum(cell.mark == "MISSED" for cell in cells)
    aimed = sum(cell.target is not None for cell in cells)
    print(
        f"targets met in {aimed - missed} of {aimed} cells; {len(skipped)} data sets skipped; {chosen.out}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
