"""The paper's claims on time, each next to a prediction of its programs and what was published of them.

Speed-ups are best classical time over P by best s-step time over P and s, as in the paper's evaluation,
unless a claim names its P. A claim is judged where its cell (data set, method, kernel, b), its P and its s
were timed, over those alone. A speed-up is supported if both the prediction and the timings are above 1 and
reach 3/4 of it (two predicted times are each off by about a fifth); since it says "up to", more is no
contradiction. Elsewhere it cannot be reproduced, and the prediction stands next to it without a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from sstep_verify.costs.prediction import Machine, Row
from sstep_verify.costs.profiles import Profile
from studies.report.scaling.part import MARKS, PaperClaim
from studies.scaling.curve import (
    DATA,
    KERNELS,
    LAST,
    RANKS,
    STEPS,
    TIMED,
    UNKNOWN,
    Cell,
    ends,
    program_error,
    published_rows,
)

SUPPORTED, NOT_SUPPORTED, NOT_REPRODUCIBLE = MARKS

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


class Asked(NamedTuple):
    """What a claim is on: a cell, its data, and a machine fitted to the published programs."""

    case: str
    machine: Machine
    profile: Profile
    cell: Cell

    def rows(self, *ranks: int) -> list[Row]:
        """Predictions of the paper's program on some P, by default over all P and s that were timed."""
        steps, timed = STEPS, TIMED.get(self.cell)
        if not ranks:
            ranks = tuple(count for count in RANKS if not timed or count <= timed.ranks)
            steps = tuple(s for s in STEPS if not timed or s <= LAST)
        return published_rows(self.machine, self.profile, self.cell, ranks, steps)

    @property
    def absent(self) -> str:
        """Why a cell that was not timed cannot be judged."""
        if self.cell.data not in DATA:
            return "no timings of this data set were published"
        return "no timings of this kernel with this b were published"

    def errors(self, *rows: Row) -> str:
        """Errors stated of the two times of a speed-up."""
        both = [program_error(self.machine, self.cell, int(row["P"]), int(row["s"])) for row in rows]
        return " / ".join(dict.fromkeys(both))

    def claim(self, *figures: str, reason: str, timed: str = "", holds: bool | None = None) -> PaperClaim:
        """A claim: text, figure, what is predicted, error; `holds` unless nothing published bears on it."""
        mark = NOT_REPRODUCIBLE if holds is None else SUPPORTED if holds else NOT_SUPPORTED
        text, stated, predicted, error = figures
        return PaperClaim(self.case, text, stated, predicted, error, timed, mark, reason)


def claims_on(case: str, machine: Machine, profile: Profile, cell: Cell) -> list[PaperClaim]:
    """What the paper claims on a cell, as `Asked` has it."""
    asked = Asked(case, machine, profile, cell)
    stated = SPEEDUPS.get((cell.data, cell.svm, cell.block))
    first = [_speedup(asked, stated[KERNELS.index(cell.kernel)])] if stated else []
    return [*first, *(claim(asked) for about, claim in _OTHERS if about == cell)]


def _speedup(asked: Asked, figure: float) -> PaperClaim:
    """A speed-up over all P; by the rule above."""
    known, (classical, s_step) = TIMED.get(asked.cell), ends(asked.rows())
    predicted = classical["total"] / s_step["total"]
    shown = f"{predicted:.2f} (P = {classical['P']:,} / {s_step['P']:,}, s = {s_step['s']})"
    off = asked.errors(classical, s_step)
    if known is None:
        return asked.claim("speed-up", f"{figure:g}", shown, off, reason=asked.absent)
    enough = all(speedup >= 0.75 * figure and speedup > 1 for speedup in (predicted, known.speedup))
    reason = f"predicted is {predicted / figure:.2f} of it, timed {known.speedup / figure:.2f}"
    if known.speedup <= 1:
        reason += ": s-step was slower"
    timed = f"{known.speedup:.2f}"
    return asked.claim("speed-up", f"{figure:g}", shown, off, timed=timed, holds=enough, reason=reason)


def _beyond(ranks: int, figure: float) -> Callable[[Asked], PaperClaim]:
    """A speed-up at a P beyond what was timed."""

    def claim(asked: Asked) -> PaperClaim:
        known = TIMED[asked.cell]
        classical, s_step = ends(asked.rows(ranks))
        return asked.claim(
            f"speed-up at P = {ranks:,}",
            f"{figure:g}",
            f"{classical['total'] / s_step['total']:.2f} (s = {s_step['s']})",
            asked.errors(classical, s_step),
            reason=f"timings end at P = {known.ranks:,}; up to there the best is {known.speedup:.2f}",
        )

    return claim


def _share(asked: Asked) -> PaperClaim:
    share = {row["P"]: _reduction(row) / row["total"] for row in asked.rows(128, 2048) if row["s"] == 256}
    return asked.claim(
        "share of the allreduce at s = 256, P = 2,048 / 128",
        "> 45 % / < 20 %",
        f"{100 * share[2048]:.0f} % / {100 * share[128]:.0f} %",
        UNKNOWN,
        reason=f"timings end at s = {LAST} and P = {TIMED[asked.cell].ranks:,}",
    )


def _best_s(figure: int) -> Callable[[Asked], PaperClaim]:
    def claim(asked: Asked) -> PaperClaim:
        best = int(ends(asked.rows())[1]["s"])
        if asked.cell not in TIMED:
            reason = f"{asked.absent}, nor of any s > {LAST}"
            return asked.claim("best s", str(figure), str(best), UNKNOWN, reason=reason)
        near = figure / 2 <= best <= 2 * figure
        errors = asked.machine.errors
        return asked.claim(
            "best s",
            str(figure),
            str(best),
            f"within a factor 2 in {errors['best_s']:g} %" if errors else UNKNOWN,
            timed="32",
            holds=near,
            reason=f"{'' if near else 'not '}within a factor 2, of s <= {LAST}: larger ones were not timed",
        )

    return claim


def _growth(asked: Asked) -> PaperClaim:
    shown = {row["s"]: _reduction(row) for row in asked.rows(512)}
    return asked.claim(
        "time of the allreduce for s > 16",
        "grows",
        ", ".join(f"{shown[s]:.0f} us at s = {s}" for s in (1, 16, 256)) + " (an iteration, P = 512)",
        UNKNOWN,
        reason=asked.absent,
    )


def _kernel_time(asked: Asked) -> PaperClaim:
    panels = [row["panel"] for row in asked.rows(32) if row["s"] <= LAST]
    return asked.claim(
        "kernel time with s",
        "falls",
        f"{panels[0]:.1f} us at s = 1, {panels[-1]:.1f} us at s = {LAST} (P = 32)",
        f"{UNKNOWN} of a phase",
        timed=f"78.5 us at s = 1, 16.1 us at s = {LAST}",
        holds=all(later < earlier for earlier, later in pairwise(panels)),
        reason="the matrix is transposed in every iteration, of s-step in every window: a weak baseline",
    )


def _reduction(row: Row) -> float:
    """What the published timers call allreduce."""
    return row["waiting"] + row["start"] + row["latency"] + row["transfer"]


_OTHERS: tuple[tuple[Cell, Callable[[Asked], PaperClaim]], ...] = (
    (Cell("news20.binary", True, "rbf"), _beyond(4096, 3.0)),
    (Cell("news20.binary", False, "rbf", 4), _beyond(2048, 1.14)),
    (Cell("news20.binary", False, "rbf", 4), _share),
    (Cell("colon-cancer", True, "rbf"), _best_s(256)),
    (Cell("duke", True, "rbf"), _best_s(32)),
    (Cell("synthetic", True, "rbf"), _growth),
    (Cell("duke", True, "rbf"), _kernel_time),
)
"""Claims that are no speed-up over all P, and the cell that each is on."""
