"""The paper's claims on time, each beside a prediction of its programs and what was published of them.

Speed-ups are best classical time over P by best s-step time over P and s, as in the paper's evaluation,
unless a claim names its P. A claim is judged where its cell (data set, method, kernel, b), its P and its s
were timed, over those alone. A speed-up is supported if both the prediction and the timings are above 1 and
reach 3/4 of it (two predicted times are each off by about a fifth); since it says "up to", more is no
contradiction. Elsewhere it cannot be reproduced, and the prediction stands beside it without a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

from sstep_verify.costs.model.machine import Machine
from sstep_verify.costs.model.production import Method
from sstep_verify.costs.model.profiles import Profile
from sstep_verify.costs.model.scaling import RANKS, STEPS, ends, published_rows
from sstep_verify.costs.model.table import Row
from sstep_verify.costs.model.timed import DATA, KERNELS, TIMED, UNKNOWN, Cell, Timed, program_error
from sstep_verify.costs.model.timed import STEPS as LAST

Mark = Literal["supported", "not supported", "not reproducible"]
SUPPORTED: Mark = "supported"
NOT_SUPPORTED: Mark = "not supported"
NOT_REPRODUCIBLE: Mark = "not reproducible"

ENOUGH = 0.75
"""Share of a claim that prediction and timings must reach."""

SPEEDUPS = {
    ("duke", True, 1): (4.8, 5.4, 9.8),
    ("colon-cancer", True, 1): (3.5, 4.3, 8.9),
    ("synthetic", True, 1): (2.4, 2.4, 2.0),
    ("colon-cancer", False, 1): (4.18, 4.08, 4.78),
    ("colon-cancer", False, 2): (3.63, 2.41, 3.63),
    ("colon-cancer", False, 4): (1.86, 1.71, 2.48),
    ("duke", False, 1): (5.48, 4.08, 3.59),
    ("duke", False, 2): (3.50, 2.41, 2.54),
    ("duke", False, 4): (2.61, 1.71, 1.68),
    ("news20.binary", False, 1): (2.03, 1.74, 1.63),
    ("news20.binary", False, 2): (1.32, 1.16, 1.17),
    ("news20.binary", False, 4): (1.11, 1.09, 1.11),
}
"""The paper's speed-ups by data set, whether of the K-SVM, and b: linear, polynomial, RBF."""

Rows = Callable[..., list[Row]]
"""Predictions of the paper's program of a cell over P (and s)."""


class Claim(NamedTuple):
    """A claim of the paper.

    Parameters
    ----------
    text : str
        What of a cell it speaks of.
    stated, predicted, error : str
        Its figures, the prediction, and the error stated of that.
    timed : str
        What the published timings have; empty where there is nothing to compare.
    mark : {"supported", "not supported", "not reproducible"}
        See above.
    reason : str
        Why.
    """

    text: str
    stated: str
    predicted: str
    error: str
    timed: str
    mark: Mark
    reason: str


def claims_on(machine: Machine, profile: Profile, cell: Cell) -> list[Claim]:
    """What the paper claims on a cell.

    Parameters
    ----------
    machine : Machine
        Fitted to the published programs.
    profile : Profile
        The cell's data.
    cell : Cell
        What is run.
    """
    method = Method("allreduce", cell.kernel, cell.svm, cell.block)
    rows: Rows = partial(published_rows, machine, profile, method)
    stated = SPEEDUPS.get((cell.data, cell.svm, cell.block))
    found = [_speedup(machine, cell, rows, stated[KERNELS.index(cell.kernel)])] if stated else []
    return [*found, *(one for about, make in _OTHERS if about == cell for one in make(machine, cell, rows))]


def _absent(cell: Cell) -> str:
    """Why a cell that was not timed cannot be judged."""
    if cell.data not in DATA:
        return "no timings of this data set were published"
    return "no timings of this kernel with this b were published"


def _within(known: Timed | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """P and s over which a cell's claims are looked at."""
    if known is None:
        return RANKS, STEPS
    return tuple(count for count in RANKS if count <= known.ranks), tuple(s for s in STEPS if s <= LAST)


def _speedup(machine: Machine, cell: Cell, rows: Rows, figure: float) -> Claim:
    """A speed-up over all P; by the rule above."""
    known = TIMED.get(cell)
    classical, s_step = ends(rows(*_within(known)))
    predicted = classical["total"] / s_step["total"]
    shown = f"{predicted:.2f} (P = {classical['P']:,} / {s_step['P']:,}, s = {s_step['s']})"
    off = _errors(machine, cell, classical, s_step)
    if known is None:
        return Claim("speed-up", f"{figure:g}", shown, off, "", NOT_REPRODUCIBLE, _absent(cell))
    both = (predicted, known.speedup)
    enough = all(speedup >= ENOUGH * figure and speedup > 1 for speedup in both)
    reason = f"predicted is {predicted / figure:.2f} of it, timed {known.speedup / figure:.2f}"
    if known.speedup <= 1:
        reason += ": s-step was slower"
    mark = SUPPORTED if enough else NOT_SUPPORTED
    return Claim("speed-up", f"{figure:g}", shown, off, f"{known.speedup:.2f}", mark, reason)


def _errors(machine: Machine, cell: Cell, classical: Row, s_step: Row) -> str:
    """Errors stated of the two times of a speed-up."""
    both = [program_error(machine, cell, int(row["P"]), int(row["s"])) for row in (classical, s_step)]
    return " / ".join(dict.fromkeys(both))


def _at(ranks: int, figure: float, machine: Machine, cell: Cell, rows: Rows) -> Iterator[Claim]:
    """A speed-up at a P beyond what was timed."""
    known, found = TIMED[cell], rows((ranks,))
    classical, s_step = ends(found)
    yield Claim(
        f"speed-up at P = {ranks:,}",
        f"{figure:g}",
        f"{classical['total'] / s_step['total']:.2f} (s = {s_step['s']})",
        _errors(machine, cell, classical, s_step),
        "",
        NOT_REPRODUCIBLE,
        f"timings end at P = {known.ranks:,}; up to there the best is {known.speedup:.2f}",
    )


def _share(_machine: Machine, cell: Cell, rows: Rows) -> Iterator[Claim]:
    share = {row["P"]: _reduction(row) / row["total"] for row in rows((128, 2048)) if row["s"] == 256}
    yield Claim(
        "share of the allreduce at s = 256, P = 2,048 / 128",
        "> 45 % / < 20 %",
        f"{100 * share[2048]:.0f} % / {100 * share[128]:.0f} %",
        UNKNOWN,
        "",
        NOT_REPRODUCIBLE,
        f"timings end at s = {LAST} and P = {TIMED[cell].ranks:,}",
    )


def _best_s(figure: int, machine: Machine, cell: Cell, rows: Rows) -> Iterator[Claim]:
    known = TIMED.get(cell)
    found = int(ends(rows(*_within(known)))[1]["s"])
    if known is None:
        reason = f"{_absent(cell)}, nor of any s > {LAST}"
        yield Claim("best s", str(figure), str(found), UNKNOWN, "", NOT_REPRODUCIBLE, reason)
        return
    near = figure / 2 <= found <= 2 * figure
    reason = f"{'within' if near else 'not within'} a factor 2, of s <= {LAST}: larger ones were not timed"
    off = f"within a factor 2 in {machine.errors['best_s']:g} %" if machine.errors else UNKNOWN
    yield Claim("best s", str(figure), str(found), off, "32", SUPPORTED if near else NOT_SUPPORTED, reason)


def _growth(_machine: Machine, cell: Cell, rows: Rows) -> Iterator[Claim]:
    shown = {row["s"]: _reduction(row) for row in rows((512,))}
    yield Claim(
        "time of the allreduce for s > 16",
        "grows",
        ", ".join(f"{shown[s]:.0f} us at s = {s}" for s in (1, 16, 256)) + " (an iteration, P = 512)",
        UNKNOWN,
        "",
        NOT_REPRODUCIBLE,
        _absent(cell),
    )


def _kernel_time(_machine: Machine, _cell: Cell, rows: Rows) -> Iterator[Claim]:
    panels = [row["panel"] for row in rows((32,)) if row["s"] <= LAST]
    falls = all(later < earlier for earlier, later in pairwise(panels))
    yield Claim(
        "kernel time with s",
        "falls",
        f"{panels[0]:.1f} us at s = 1, {panels[-1]:.1f} us at s = {LAST} (P = 32)",
        f"{UNKNOWN} of a phase",
        f"78.5 us at s = 1, 16.1 us at s = {LAST}",
        SUPPORTED if falls else NOT_SUPPORTED,
        "the matrix is transposed in every iteration, of s-step in every window: a weak baseline",
    )


def _reduction(row: Row) -> float:
    """What the published timers call allreduce."""
    return row["waiting"] + row["start"] + row["latency"] + row["transfer"]


_OTHERS: tuple[tuple[Cell, Callable[[Machine, Cell, Rows], Iterator[Claim]]], ...] = (
    (Cell("news20.binary", True, "rbf"), partial(_at, 4096, 3.0)),
    (Cell("news20.binary", False, "rbf", 4), partial(_at, 2048, 1.14)),
    (Cell("news20.binary", False, "rbf", 4), _share),
    (Cell("colon-cancer", True, "rbf"), partial(_best_s, 256)),
    (Cell("duke", True, "rbf"), partial(_best_s, 32)),
    (Cell("synthetic", True, "rbf"), _growth),
    (Cell("duke", True, "rbf"), _kernel_time),
)
"""Claims that are no speed-up over all P, and the cell that each is on."""
