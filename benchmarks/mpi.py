"""The production solver on P ranks against its floor: panel product, kernel function and collective alone.

Every case is one run, in whose pauses the pieces of its floor are timed on the same windows, so that a busy
machine touches both sides of a ratio. Each time is that of the slowest rank. Wall-clock time decides; the
ratio of processor times stands beside it, for a machine on which other processes take turns. More ranks
than cores are marked with *. Usage: ``python benchmarks/mpi.py --data DIR``, ``--quick`` for a look.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import lookalike
import mpi_ranks
import numpy as np
from mpi_pieces import Case
from mpi_table import HEADER, LEGEND, line, say, summarise, write

from sstep_verify.launch import run
from sstep_verify.parallel.data.partition import partition_of

LOOK_ALIKE, WIDE = "look-alike", "dense"
COUNTS = "news20.binary.colnnz.txt.xz"
DATA_SETS = ("duke", "colon-cancer", "abalone", WIDE, LOOK_ALIKE)
WIDE_SHAPE, QUICK_SHAPE = (2_000, 100_000), (500, 10_000)
CACHED = ("duke", "colon-cancer")
LIMIT = 1800.0
"""Seconds that one call of the ranks may take."""

PARTS = ("reading", "cache", "cells", "table")

CLASSICAL_MS, WINDOW_MS, READ_SECONDS = 1.5, 1.0, 60.0
"""Targets on the look-alike at P = 1: milliseconds per iteration for s = 1 and s = 64; seconds to read."""


def cases(name: str, quick: bool) -> list[Case]:
    """The cases of a data set."""
    tasks: tuple[tuple[str, int], ...] = (("krr", 1), ("krr", 4))
    if name != "abalone":
        tasks = (("svm", 1), *tasks[1:]) if quick or name in (WIDE, LOOK_ALIKE) else (("svm", 1), *tasks)
    exchanges = {"linear": ("allreduce", "reduce-scatter", "gram"), "rbf": ("allreduce", "reduce-scatter")}
    return [
        Case(name, task, kernel, b, s, exchange)
        for kernel in exchanges
        for task, b in tasks
        for exchange in exchanges[kernel]
        for s in (1, 8, 64)
    ]


def prepared(name: str, chosen: argparse.Namespace) -> str | tuple[int, int]:
    """What the ranks load: a file, a data set's name, or the shape of a matrix to be drawn."""
    if name == WIDE:
        return QUICK_SHAPE if chosen.quick else WIDE_SHAPE
    if name != LOOK_ALIKE:
        return name
    path = chosen.out.with_name("look-alike.svm").resolve()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        lookalike.write_svmlight(part, *lookalike.look_alike(lookalike.column_counts(counts_path(chosen))))
        os.replace(part, path)
    return str(path)


def counts_path(chosen: argparse.Namespace) -> Path:
    """The file of the column counts."""
    return Path(chosen.data or os.environ.get("SSTEP_VERIFY_DATA", ".")) / COUNTS


def balance(chosen: argparse.Namespace) -> dict[str, float]:
    """Imbalance of work on the look-alike, also over the floor that its densest column sets."""
    counts, found = lookalike.column_counts(counts_path(chosen)), {}
    squares = counts.astype(np.float64) ** 2
    for ranks in (2, 4, 8, 16, 64, 896):
        floor = max(1.0, squares.max() * ranks / squares.sum())
        found[f"P = {ranks}"] = partition_of(counts, ranks).work_imbalance
        found[f"P = {ranks}, over the floor"] = found[f"P = {ranks}"] / floor
    return found


def cached(document: dict[str, Any], name: str, ranks: int, repeats: int) -> None:
    """Iterations after the first 10 m with kernel rows kept and formed."""
    found = document["cache"]
    for s in (1, 8, 64):
        case = Case(name, "svm", "rbf", 1, s, "allreduce")
        answers = run(ranks, mpi_ranks.cache, case, repeats, limit=LIMIT)
        kept, formed = (np.max([one[key] for one in answers], axis=0) for key in ("kept", "formed"))
        gain = np.quantile(formed / kept, (0.25, 0.5, 0.75)).tolist()
        found.append(
            {"data": name, "P": ranks, "s": s, "kept": float(np.median(kept) * 1e6),
             "formed": float(np.median(formed) * 1e6), "gain": gain, "met": gain[1] >= 10.0}
        )  # fmt: skip
        say(
            document,
            f"{name:<13}kernel rows kept, P = {ranks}, s = {s}: {found[-1]['kept']:.2f} us/iter, formed "
            f"{found[-1]['formed']:.2f}: {gain[1]:.1f}x [{gain[0]:.1f}, {gain[2]:.1f}], target 10x "
            f"{'met' if found[-1]['met'] else 'MISSED'}",
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder of LIBSVM files (default: $SSTEP_VERIFY_DATA)")
    parser.add_argument("--only", choices=DATA_SETS, action="append", help="one data set; may be repeated")
    parser.add_argument("--ranks", type=int, action="append", help="P; may be repeated (default: 1, 2, 4)")
    parser.add_argument("--repeats", type=int, default=7, help="stretches of a run, >= 5 (default: 7)")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of one (default: 0.05)")
    parser.add_argument("--quick", action="store_true", help="P = 1, fewer cases, smaller dense matrix")
    default = Path("sstep-verify-out/benchmarks/mpi.json")
    parser.add_argument("--out", type=Path, default=default, help=f"JSON file (default: {default})")
    chosen = parser.parse_args()
    if chosen.repeats < 5 or not chosen.seconds > 0:
        parser.error("needed are at least 5 repeats and a positive length of a stretch")
    if chosen.data:
        os.environ["SSTEP_VERIFY_DATA"] = str(Path(chosen.data).resolve())
    return chosen


def main() -> int:
    chosen = arguments()
    cores = len(os.sched_getaffinity(0))
    document: dict[str, Any] = {"format": "sstep-verify mpi benchmark 2", "blas threads": 1, "cores": cores}
    document |= {
        "units": "microseconds per iteration",
        "reading": [],
        "cache": [],
        "cells": [],
        "table": [],
    }
    say(document, LEGEND)
    if LOOK_ALIKE in (chosen.only or DATA_SETS):
        document["imbalance"] = balance(chosen)
        say(
            document,
            "imbalance of the look-alike: "
            + ", ".join(f"{name}: {value:.4f}" for name, value in document["imbalance"].items()),
        )
    say(document, HEADER)
    for name in chosen.only or DATA_SETS:
        source = prepared(name, chosen)
        for ranks in chosen.ranks or ([1] if chosen.quick else [1, 2, 4]):
            measure(document, name, source, ranks, chosen)
            write(chosen.out, document)
    aimed = [cell for cell in document["cells"] if cell["target"]]
    say(document, f"targets met in {sum(cell['met'] for cell in aimed)} of {len(aimed)} cells")
    write(chosen.out, document)
    print(f"{chosen.out}, {chosen.out.with_suffix('.txt')}")
    return 0


def measure(document: dict[str, Any], name: str, source, ranks: int, chosen: argparse.Namespace) -> None:
    """All measurements of one data set on some ranks."""
    mark = "*" if ranks > document["cores"] else " "
    loaded = run(ranks, mpi_ranks.load, name, source, limit=LIMIT)
    document["reading"].append({"data": name, "P": ranks, **loaded[0]})
    seconds, imbalance = loaded[0]["seconds"], loaded[0]["imbalance"]
    say(document, f"{name:<13}loaded by {ranks} in {seconds:.1f} s, imbalance {imbalance:.4f}")
    for case in cases(name, chosen.quick):
        answers = run(ranks, mpi_ranks.measure, case, chosen.repeats, chosen.seconds, limit=LIMIT)
        taken = run(ranks, mpi_ranks.memory, case, limit=LIMIT)
        document["cells"].append(summarise(case, ranks, answers, taken))
        say(document, line(document["cells"][-1], mark))
    if name in CACHED:
        cached(document, name, ranks, chosen.repeats)
    if name == LOOK_ALIKE and ranks == 1:
        look_alike_targets(document, seconds)


def look_alike_targets(document: dict[str, Any], seconds: float) -> None:
    """The times aimed at on the look-alike, K-SVM, linear kernel, allreduce, and what was measured."""
    found: dict[str, Any] = {"reading": {"measured": seconds, "target": READ_SECONDS}}
    for s, target in ((1, CLASSICAL_MS), (64, WINDOW_MS)):
        for cell in document["cells"]:
            key = (cell["data"], cell["P"], cell["task"], cell["kernel"], cell["exchange"], cell["s"])
            if key == (LOOK_ALIKE, 1, "svm", "linear", "allreduce", s):
                clocks = {clock: cell[clock]["run"] / 1e3 for clock in ("wall", "processor")}
                found[f"milliseconds, s = {s}"] = {"measured": clocks["wall"], **clocks, "target": target}
    for what, one in found.items():
        met = "met" if one["measured"] <= one["target"] else "MISSED"
        processor = f" (processor time {one['processor']:.3g})" if "processor" in one else ""
        say(
            document,
            f"{LOOK_ALIKE}: {what}: {one['measured']:.3g}{processor}, target {one['target']:g} {met}",
        )
    document["look-alike"] = found


if __name__ == "__main__":
    sys.exit(main())
