"""The production solver on P ranks against its floor: panel product, kernel function and collective alone.

Every case is one run, in whose pauses the pieces of its floor are timed on the same windows, so that a busy
machine touches both sides of a ratio. Each time is that of the slowest rank. Wall-clock time decides; the
ratio of processor times stands next to it, for a machine on which other processes take turns. More ranks
than cores are marked with *. Usage: ``python benchmarks mpi --data DIR``, ``--quick`` for a look.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import product
from typing import Any

import lookalike
import numpy as np
import ranks_part
from grid import Report
from ranks_part import Case

from sstep_verify.ranks import run
from sstep_verify.timing.measure import quartiles, spread

LOOK_ALIKE, WIDE = "look-alike", "dense"
DATA_SETS = ("duke", "colon-cancer", "abalone", WIDE, LOOK_ALIKE)
CORES = len(os.sched_getaffinity(0))
PIECES = ("product", "kernel function", "collective")

on_ranks = partial(run, limit=1800.0)

OPTIONS: dict[str, dict[str, Any]] = {
    "--repeats": {"default": 7}, "--seconds": {"default": 0.05}, "--only": {"choices": DATA_SETS},
    "--ranks": {"type": int, "action": "append", "help": "P; may be repeated (default: 1, 2, 4)"},
    "--quick": {"action": "store_true", "help": "P = 1, fewer cases, smaller dense matrix"},
}  # fmt: skip
DOCUMENT = {
    "format": "sstep-verify mpi benchmark 2", "units": "microseconds per iteration", "cores": CORES,
    "reading": [], "cache": [], "cells": [], "blas threads": 1,
}  # fmt: skip
COLUMNS = (
    ("data", "<13", "{data}"), ("task", "<5", "{task}"), ("kernel", "<8", "{kernel}"), ("b", ">2", "{b}"),
    ("s", ">4", "{s}"), (" exchange", "<16", " {exchange}"), ("P", ">3", "{P}{crowded}"),
    ("us/iter", ">11", "{wall[run]:.1f}"), ("product", ">10", "{wall[product]:.1f}"),
    ("function", ">9", "{wall[kernel function]:.1f}"), ("collect.", ">9", "{wall[collective]:.1f}"),
    ("ratio", ">21", "{ratio}"), ("target", ">7", "{aim:g}"), ("", "<8", " {verdict}"),
    ("cpu", ">6", "{processor[ratio][1]:.2f}"), ("memory", ">8", "{memory:.2f}"),
    ("vectors", ">9", "{vectors:.2f}"),
)  # fmt: skip
LEGEND = """\
Medians of the slowest rank, wall-clock microseconds per iteration. ratio: time over the floor (product,
kernel function and collective, each alone in the same run), median and quartiles; cpu: the same of
processor times. memory: array bytes of a rank over f m n / P + s b m or the exchange's formula; vectors:
over that and 6 vectors of m words. * more ranks than cores.
"""


def summarise(case: Case, ranks: int, answers: list[dict[str, Any]], bytes_: list[dict]) -> dict[str, Any]:
    """One line of the table: medians over the segments, with quartiles, of the slowest rank."""
    cell: dict[str, Any] = {**case._asdict(), "P": ranks, "windows": answers[0]["windows"]}
    segments = list(zip(*(one["rounds"] for one in answers), strict=True))
    for place, clock in enumerate(("wall", "processor")):
        times = {
            name: np.array([max(one[name][place] for one in segment) for segment in segments])
            for name in ("run", *PIECES)
        }
        times["floor"] = sum(times[name] for name in PIECES)
        cell[clock] = {name: float(np.median(taken) / case.s * 1e6) for name, taken in times.items()}
        cell[clock]["ratio"] = quartiles(times["run"] / times["floor"])
    # The largest ratio to the floor that is aimed at.
    target = 1.3 if case.s * case.b >= 16 else 2.0 if case.s == 1 else None
    return cell | {
        "target": target, "met": target is None or cell["wall"]["ratio"][1] <= target,
        "memory": max(one["bytes"] / one["formula"] for one in bytes_),
        "memory, vectors": max(one["bytes"] / (one["formula"] + one["vectors"]) for one in bytes_),
        "bytes": bytes_,
    }  # fmt: skip


def cases(name: str, quick: bool) -> list[Case]:
    """The cases of a data set."""
    tasks = [("svm", 1), ("krr", 1), ("krr", 4)]
    if name == "abalone" or quick or name in (WIDE, LOOK_ALIKE):
        tasks.remove(("svm", 1) if name == "abalone" else ("krr", 1))
    exchanges = {"linear": ("allreduce", "reduce-scatter", "gram"), "rbf": ("allreduce", "reduce-scatter")}
    return [
        Case(name, task, kernel, b, s, exchange)
        for kernel in exchanges
        for (task, b), exchange, s in product(tasks, exchanges[kernel], (1, 8, 64))
    ]


def source_of(name: str, report: Report) -> str:
    """What the ranks load: a data set by its name or file, or a matrix to be drawn."""
    if name == WIDE:
        return "drawn 500x10000" if report.chosen.quick else "drawn 2000x100000"
    return str(lookalike.made(report)) if name == LOOK_ALIKE else name


def measure(report: Report) -> None:
    report.say(LEGEND)
    report.head()
    chosen = report.chosen
    for name in chosen.only or DATA_SETS:
        source = source_of(name, report)
        for ranks in chosen.ranks or ([1] if chosen.quick else [1, 2, 4]):
            measure_one(report, name, source, ranks)
    cells = [cell for cell in report.document["cells"] if cell["target"]]
    report.count_met([cell["met"] for cell in cells])


def measure_one(report: Report, name: str, source: str, ranks: int) -> None:
    """All measurements of one data set on some ranks."""
    chosen = report.chosen
    loaded = on_ranks(ranks, ranks_part.load, source, chosen.data)[0]
    told = f"loaded by {ranks} in {loaded['seconds']:.1f} s, imbalance {loaded['imbalance']:.4f}"
    report.add("reading", {"data": name, "P": ranks, **loaded}, f"{name:<13}{told}")
    for case in cases(name, chosen.quick):
        answers = on_ranks(ranks, ranks_part.measure, case, chosen.repeats, chosen.seconds)
        cell = summarise(case, ranks, answers, on_ranks(ranks, ranks_part.memory, case))
        verdict = "-" if cell["target"] is None else "met" if cell["met"] else "MISSED"
        report.add(
            "cells", cell, crowded="*" if ranks > CORES else " ", ratio=spread(cell["wall"]["ratio"]),
            aim=cell["target"] or 0, vectors=cell["memory, vectors"], verdict=verdict,
        )  # fmt: skip
    for s in (1, 8, 64) if name in ("duke", "colon-cancer") else ():
        case = Case(name, "svm", "rbf", 1, s, "allreduce")
        answers = on_ranks(ranks, ranks_part.cache, case, chosen.repeats)
        kept, formed = (np.max([one[key] for one in answers], axis=0) for key in ("kept", "formed"))
        gain, us = quartiles(formed / kept), [float(np.median(each) * 1e6) for each in (kept, formed)]
        entry = {"data": name, "P": ranks, "s": s, "kept": us[0], "formed": us[1]}
        report.add(
            "cache",
            {**entry, "gain": gain, "met": gain[1] >= 10.0},
            f"{name:<13}kernel rows kept, P = {ranks}, s = {s}: {us[0]:.2f} us/iter, formed {us[1]:.2f}: "
            f"{gain[1]:.1f}x [{gain[0]:.1f}, {gain[2]:.1f}], target 10x "
            f"{'met' if gain[1] >= 10.0 else 'MISSED'}",
        )
