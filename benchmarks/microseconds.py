"""Microseconds per iteration of the production solver, against a NumPy loop and against the floor.

Every number is the median of interleaved repeats on one BLAS thread; ratios are taken within a repeat, so
that a busy machine touches both sides. Usage: ``python benchmarks/microseconds.py --data DIR``.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import floor
import numpy as np
from grid import SEED, Report, calibrated, column, parser, several, take_turns, timed
from threadpoolctl import threadpool_limits

from sstep_verify.errors import SstepVerifyError
from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.problems.data import datasets
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.timing.measure import quartiles

DATA_SETS = {"duke": (1,), "colon-cancer": (1,), "diabetes": (1,), "abalone": (1, 4, 128)}
"""Block sizes (b) by data set; abalone is K-RR, the others K-SVM-L1."""

KERNELS = ("linear", "polynomial", "rbf")
WINDOWS = (1, 8, 64)
MOST_DRAWS = 1 << 20


def target_of(s: int, b: int) -> float | None:
    """Largest ratio to the floor that is aimed at."""
    return 1.5 if s * b >= 16 else 2.0 if s == 1 else None


def most_windows(s: int, b: int) -> int:
    """No more distinct windows than fill the time: their columns are kept for the floor."""
    return max(MOST_DRAWS // (s * b) // 16, 1)


def measure(problem: Problem, b: int, s: int, repeats: int, seconds: float) -> dict[str, Any]:
    """Time one cell; the floor is that of the faster kernel function."""
    most = most_windows(s, b)
    stream = IndexStream("uniform", problem.samples, b, most * s, SEED)
    blocks = stream.blocks(0, most * s)
    solver = ProductionSolver()
    # Columns in order of first draw, as the solver asks for them.
    distinct = [np.array(list(dict.fromkeys(window.ravel().tolist()))) for window in np.split(blocks, most)]
    contestants: dict[str, Callable[[int], None]] = {
        "production": lambda count: solver.run(RunRequest(problem, stream, s, count * s)),
        "numpy loop": lambda count: floor.numpy_loop(problem, blocks[: count * s], s),
        "floor, numpy": floor.Floor(problem, distinct, compiled=False),
    }
    if problem.kernel.name != "linear":
        contestants["floor, compiled"] = floor.Floor(problem, distinct, compiled=True)

    def each(work: Callable[[int], None]) -> Callable[[], float]:
        count = calibrated(work, most, seconds)
        return lambda: timed(partial(work, count)) / (count * s) * 1e6

    rounds = take_turns({name: each(work) for name, work in contestants.items()}, repeats)
    median = {name: float(np.median(column(rounds, name))) for name in contestants}
    lowest = min((name for name in median if name.startswith("floor")), key=median.__getitem__)
    production, target = column(rounds, "production"), target_of(s, b)
    low, ratio, high = quartiles(production / column(rounds, lowest))
    first, _, third = quartiles(production)
    return {
        "data": problem.name, "kernel": problem.kernel.name, "b": b, "s": s,
        "production": median["production"], "spread": third - first, "numpy_loop": median["numpy loop"],
        "floor": median[lowest], "ratio": ratio, "ratio_low": low, "ratio_high": high,
        "speedup": float(np.median(column(rounds, "numpy loop") / production)), "target": target,
        "repeats": rounds, "mark": "-" if target is None else "met" if ratio <= target else "MISSED",
    }  # fmt: skip


COLUMNS = (
    ("data", "<13", "{data}"), ("kernel", "<11", "{kernel}"), ("b", ">4", "{b}"), ("s", ">4", "{s}"),
    ("production", ">12", "{production:.2f}"), ("(IQR)", ">9", "{spread:.2f}"),
    ("NumPy loop", ">12", "{numpy_loop:.2f}"), ("floor", ">11", "{floor:.2f}"),
    ("ratio to floor", ">21", "{ratio:.2f} [{ratio_low:.2f}, {ratio_high:.2f}]"),
    ("target", ">8", "{aim}"), ("", "<9", "  {mark}"), ("x NumPy", ">8", "{speedup:.1f}"),
)  # fmt: skip


def cells_of(only: list[str] | None, directory: str, report: Report) -> Iterator[tuple[Problem, int, int]]:
    """Problem, b and s of every cell; a problem for each kernel, with the paper's parameters."""
    for name in only or DATA_SETS:
        try:
            data = datasets.load(name, directory=directory)
        except SstepVerifyError as error:
            report.document.setdefault("skipped", {})[name] = str(error)
            print(f"{name:<13}skipped: {error}")
            continue
        report.digests[name] = data.sha256
        loss = Ridge(1.0) if data.task == "regression" else Hinge(1.0)
        for kernel in map(kernel_from, KERNELS):
            problem = Problem(name, data.data, data.targets, kernel, loss)
            yield from ((problem, b, s) for b in DATA_SETS[name] for s in WINDOWS)


def main() -> int:
    chosen = several(parser(__doc__, "microseconds", 7, 0.05, only=DATA_SETS))
    skipped: dict[str, str] = {}
    report = Report(
        chosen.out, COLUMNS, format="sstep-verify microseconds 1", units="microseconds per iteration",
        skipped=skipped, **{"blas threads": 1}, cells=[],
    )  # fmt: skip
    report.say("microseconds per iteration, medians; one BLAS thread")
    report.head()
    gc.disable()
    with threadpool_limits(1):
        for cell in cells_of(chosen.only, chosen.data, report):
            measured = measure(*cell, chosen.repeats, chosen.seconds)
            target = measured["target"]
            report.add("cells", measured, aim="-" if target is None else f"{target:g}")
    aimed = [cell["mark"] for cell in report.document["cells"] if cell["target"] is not None]
    report.say(
        f"targets met in {aimed.count('met')} of {len(aimed)} cells; {len(skipped)} data sets skipped"
    )
    report.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
