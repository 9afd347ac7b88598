"""Table and JSON of the MPI benchmark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mpi_ranks
import numpy as np
from mpi_pieces import Case

from sstep_verify import provenance
from sstep_verify.outputs import write_text

PIECES = ("product", "kernel function", "collective")


def target_of(case: Case) -> float | None:
    """Largest ratio to the floor that is aimed at."""
    return 1.3 if case.s * case.b >= 16 else 2.0 if case.s == 1 else None


def summarise(case: Case, ranks: int, answers: list[dict[str, Any]], bytes_: list[dict]) -> dict[str, Any]:
    """One line of the table: medians over the stretches, with quartiles, of the slowest rank."""
    cell: dict[str, Any] = {**vars(case), "P": ranks, "windows": answers[0]["windows"]}
    repeats = range(len(answers[0]["rounds"]))
    for place, clock in enumerate(("wall", "processor")):
        times = {
            name: np.array([max(one["rounds"][k][name][place] for one in answers) for k in repeats])
            for name in ("run", *PIECES)
        }
        floor = sum(times[name] for name in PIECES)
        cell[clock] = {name: float(np.median(taken) / case.s * 1e6) for name, taken in times.items()}
        cell[clock]["floor"] = float(np.median(floor) / case.s * 1e6)
        cell[clock]["ratio"] = np.quantile(times["run"] / floor, (0.25, 0.5, 0.75)).tolist()
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

HEADER = (
    f"{'data':<13}{'task':<5}{'kernel':<8}{'b':>2}{'s':>4} {'exchange':<15}{'P':>3}{'us/iter':>11}"
    f"{'product':>10}{'function':>9}{'collect.':>9}{'ratio':>21}{'target':>7} "
    f"{'':<7}{'cpu':>6}{'memory':>8}{'vectors':>9}"
)


def line(cell: dict[str, Any], mark: str) -> str:
    """One line of the table."""
    wall = cell["wall"]
    low, ratio, high = wall["ratio"]
    verdict = "-" if cell["target"] is None else "met" if cell["met"] else "MISSED"
    return (
        f"{cell['data']:<13}{cell['task']:<5}{cell['kernel']:<8}{cell['b']:>2}{cell['s']:>4} "
        f"{cell['exchange']:<15}{cell['P']:>2}{mark}{wall['run']:>11.1f}"
        + "".join(f"{wall[name]:>{width}.1f}" for name, width in zip(PIECES, (10, 9, 9), strict=True))
        + f"{f'{ratio:.2f} [{low:.2f}, {high:.2f}]':>21}{cell['target'] or 0:>7g} {verdict:<7}"
        f"{cell['processor']['ratio'][1]:>6.2f}{cell['memory']:>8.2f}"
        f"{cell['memory, vectors']:>9.2f}"
    )


def say(document: dict[str, Any], text: str) -> None:
    """Print a line of the table, and keep it."""
    document["table"].append(text)
    print(text, flush=True)


def write(path: Path, document: dict[str, Any], seed: int = mpi_ranks.SEED) -> None:
    """Write what is measured so far and where it was made, and the table."""
    facts = provenance.collect(["python", *sys.argv], seeds={"index stream": seed}, data={})
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {key: value for key, value in document.items() if key != "table"}
    write_text(path, json.dumps({**content, "provenance": facts}) + "\n")
    write_text(path.with_suffix(".txt"), "\n".join(document["table"]) + "\n")
