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
from grid import Report, parser, several
from mpi_ranks import Case

from sstep_verify.outputs import write_whole
from sstep_verify.ranks import run
from sstep_verify.timing.measure import quartiles, spread

LOOK_ALIKE, WIDE = "look-alike", "dense"
COUNTS = "news20.binary.colnnz.txt.xz"
DATA_SETS = ("duke", "colon-cancer", "abalone", WIDE, LOOK_ALIKE)
WIDE_SHAPE, QUICK_SHAPE = (2_000, 100_000), (500, 10_000)
CACHED = ("duke", "colon-cancer")
CORES = len(os.sched_getaffinity(0))
LIMIT = 1800.0
"""Seconds that one call of the ranks may take."""

PIECES = ("product", "kernel function", "collective")


def target_of(case: Case) -> float | None:
    """Largest ratio to the floor that is aimed at."""
    return 1.3 if case.s * case.b >= 16 else 2.0 if case.s == 1 else None


def summarise(case: Case, ranks: int, answers: list[dict[str, Any]], bytes_: list[dict]) -> dict[str, Any]:
    """One line of the table: medians over the stretches, with quartiles, of the slowest rank."""
    cell: dict[str, Any] = {**case._asdict(), "P": ranks, "windows": answers[0]["windows"]}
    repeats = range(len(answers[0]["rounds"]))
    for place, clock in enumerate(("wall", "processor")):
        times = {
            name: np.array([max(one["rounds"][k][name][place] for one in answers) for k in repeats])
            for name in ("run", *PIECES)
        }
        floor = sum(times[name] for name in PIECES)
        cell[clock] = {name: float(np.median(taken) / case.s * 1e6) for name, taken in times.items()}
        cell[clock]["floor"] = float(np.median(floor) / case.s * 1e6)
        cell[clock]["ratio"] = quartiles(times["run"] / floor)
    cell["target"] = target_of(case)
    cell["met"] = cell["target"] is None or cell["wall"]["ratio"][1] <= cell["target"]
    cell["memory"] = max(one["bytes"] / one["formula"] for one in bytes_)
    cell["memory, vectors"] = max(one["bytes"] / (one["formula"] + one["vectors"]) for one in bytes_)
    cell["bytes"] = bytes_
    return cell


LEGEND = """\
Medians of the slowest rank, wall-clock microseconds per iteration. ratio: time over the floor (product,
kernel function and collective, each alone in the same run), median and quartiles; cpu: the same of
processor times. memory: array bytes of a rank over f m n / P + s b m or the exchange's formula; vectors:
over that and 6 vectors of m words. * more ranks than cores.
"""


COLUMNS = (
    ("data", "<13", "{data}"), ("task", "<5", "{task}"), ("kernel", "<8", "{kernel}"), ("b", ">2", "{b}"),
    ("s", ">4", "{s}"), (" exchange", "<16", " {exchange}"), ("P", ">3", "{P}{crowded}"),
    ("us/iter", ">11", "{wall[run]:.1f}"), ("product", ">10", "{wall[product]:.1f}"),
    ("function", ">9", "{wall[kernel function]:.1f}"), ("collect.", ">9", "{wall[collective]:.1f}"),
    ("ratio", ">21", "{ratio}"), ("target", ">7", "{aim:g}"), ("", "<8", " {verdict}"),
    ("cpu", ">6", "{processor[ratio][1]:.2f}"), ("memory", ">8", "{memory:.2f}"),
    ("vectors", ">9", "{vectors:.2f}"),
)  # fmt: skip


def shown(cell: dict[str, Any]) -> dict[str, Any]:
    """What a line tells more."""
    return {
        "crowded": "*" if cell["P"] > CORES else " ", "ratio": spread(cell["wall"]["ratio"]),
        "aim": cell["target"] or 0, "vectors": cell["memory, vectors"],
        "verdict": "-" if cell["target"] is None else "met" if cell["met"] else "MISSED",
    }  # fmt: skip


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
        counts = Path(os.environ.get("SSTEP_VERIFY_DATA", ".")) / COUNTS
        drawn = lookalike.look_alike(lookalike.column_counts(counts))
        write_whole(path, lambda file: lookalike.write_svmlight(file, *drawn))
    return str(path)


def cached(report: Report, name: str, ranks: int, repeats: int) -> None:
    """Iterations after the first 10 m with kernel rows kept and formed."""
    for s in (1, 8, 64):
        case = Case(name, "svm", "rbf", 1, s, "allreduce")
        answers = run(ranks, mpi_ranks.cache, case, repeats, limit=LIMIT)
        kept, formed = (np.max([one[key] for one in answers], axis=0) for key in ("kept", "formed"))
        gain = quartiles(formed / kept)
        us = {"kept": float(np.median(kept) * 1e6), "formed": float(np.median(formed) * 1e6)}
        entry = {"data": name, "P": ranks, "s": s, **us, "gain": gain, "met": gain[1] >= 10.0}
        report.add(
            "cache",
            entry,
            f"{name:<13}kernel rows kept, P = {ranks}, s = {s}: {us['kept']:.2f} us/iter, formed "
            f"{us['formed']:.2f}: {gain[1]:.1f}x [{gain[0]:.1f}, {gain[2]:.1f}], target 10x "
            f"{'met' if entry['met'] else 'MISSED'}",
        )


def main() -> int:
    known = parser(__doc__, "mpi", 7, 0.05, only=DATA_SETS)
    known.add_argument("--ranks", type=int, action="append", help="P; may be repeated (default: 1, 2, 4)")
    known.add_argument("--quick", action="store_true", help="P = 1, fewer cases, smaller dense matrix")
    chosen = several(known)
    if chosen.data:
        os.environ["SSTEP_VERIFY_DATA"] = str(Path(chosen.data).resolve())
    report = Report(
        chosen.out, COLUMNS, format="sstep-verify mpi benchmark 2", units="microseconds per iteration",
        cores=CORES, reading=[], cache=[], cells=[], **{"blas threads": 1},
    )  # fmt: skip
    report.say(LEGEND)
    report.head()
    for name in chosen.only or DATA_SETS:
        source = prepared(name, chosen)
        for ranks in chosen.ranks or ([1] if chosen.quick else [1, 2, 4]):
            measure(report, name, source, ranks, chosen)
            report.write()
    aimed = [cell for cell in report.document["cells"] if cell["target"]]
    report.say(f"targets met in {sum(cell['met'] for cell in aimed)} of {len(aimed)} cells")
    report.done()
    return 0


def measure(report: Report, name: str, source, ranks: int, chosen: argparse.Namespace) -> None:
    """All measurements of one data set on some ranks."""
    loaded = run(ranks, mpi_ranks.load, name, source, limit=LIMIT)[0]
    report.add(
        "reading",
        {"data": name, "P": ranks, **loaded},
        f"{name:<13}loaded by {ranks} in {loaded['seconds']:.1f} s, imbalance {loaded['imbalance']:.4f}",
    )
    for case in cases(name, chosen.quick):
        answers = run(ranks, mpi_ranks.measure, case, chosen.repeats, chosen.seconds, limit=LIMIT)
        cell = summarise(case, ranks, answers, run(ranks, mpi_ranks.memory, case, limit=LIMIT))
        report.add("cells", cell, **shown(cell))
    if name in CACHED:
        cached(report, name, ranks, chosen.repeats)


if __name__ == "__main__":
    sys.exit(main())
