"""Predicted strong scaling up to 4,096 ranks, and the paper's claims beside it, as plain tables.

Speed-ups are of the paper's programs: best classical time over P by best s-step time over P and s, as their
own evaluation has it, unless a claim names its P. A claim is supported if the prediction is at least 3/4 of
it: two predicted times are each off by about a fifth; it says "up to", so more is no contradiction.
Verdicts rest on s <= 64 and P <= 2,048, as far as timings were published. A claim is not reproducible where
no timings of its data set, its P or its s were; the prediction then stands beside it without a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from sstep_verify.costs.model.machine import Machine
from sstep_verify.costs.model.production import Method
from sstep_verify.costs.model.profiles import Profile, uniform_profile
from sstep_verify.costs.model.table import Row, predict

SUPPORTED, NOT_SUPPORTED, NOT_REPRODUCIBLE = "supported", "not supported", "not reproducible"

RANKS = tuple(1 << power for power in range(13))
STEPS = tuple(1 << power for power in range(9))
KNOWN_RANKS, KNOWN_STEPS = RANKS[:12], STEPS[:7]
ENOUGH, TOTAL = 0.75, 640
"""Share of a claim that a prediction must reach; iterations of the published runs, times b."""

KERNELS = ("linear", "polynomial", "rbf")
UNPUBLISHED = {"colon-cancer", "synthetic"}
"""Data sets of the paper without published timings."""

SPEEDUPS = (
    ("duke", True, 1, (4.8, 5.4, 9.8)),
    ("colon-cancer", True, 1, (3.5, 4.3, 8.9)),
    ("synthetic", True, 1, (2.4, 2.4, 2.0)),
    ("colon-cancer", False, 1, (4.18, 4.08, 4.78)),
    ("colon-cancer", False, 2, (3.63, 2.41, 3.63)),
    ("colon-cancer", False, 4, (1.86, 1.71, 2.48)),
    ("duke", False, 1, (5.48, 4.08, 3.59)),
    ("duke", False, 2, (3.50, 2.41, 2.54)),
    ("duke", False, 4, (2.61, 1.71, 1.68)),
    ("news20.binary", False, 1, (2.03, 1.74, 1.63)),
    ("news20.binary", False, 2, (1.32, 1.16, 1.17)),
    ("news20.binary", False, 4, (1.11, 1.09, 1.11)),
)
"""The paper's speed-ups: data set, whether of the K-SVM, b, and linear, polynomial, RBF."""


class Claim(NamedTuple):
    """A claim of the paper.

    Parameters
    ----------
    text : str
        What it says.
    stated, predicted : str
        Its figures, and the prediction.
    verdict : {"supported", "not supported", "not reproducible"}
        See above.
    reason : str
        Why.
    """

    text: str
    stated: str
    predicted: str
    verdict: str
    reason: str


def paper_profiles(published: dict[str, Profile]) -> dict[str, Profile]:
    """The four data sets of the paper; those that are published, and two stated as even."""
    return {
        "colon-cancer": uniform_profile("colon-cancer", 62, 2000, 124_000),
        "duke": published["duke"],
        "synthetic": uniform_profile("synthetic", 2000, 800_000, 16_000_000),
        "news20.binary": published["news20.binary"],
    }


def published_rows(
    machine: Machine,
    profile: Profile,
    method: Method,
    ranks: tuple[int, ...],
    steps: tuple[int, ...] = STEPS,
) -> list[Row]:
    """Predictions of the paper's programs over P and s."""
    return predict(machine, profile, method, ranks, steps, "published", max(TOTAL // method.block, 1))


def scaling(machine: Machine, profiles: dict[str, Profile]) -> list[dict[str, str | int | float]]:
    """A row for each data set, task, kernel, b and P: the paper's programs, ours with its best exchange.

    Parameters
    ----------
    machine : Machine
        Fitted to the published programs.
    profiles : dict of str to Profile
        As `paper_profiles` gives them.
    """
    found: list[dict[str, str | int | float]] = []
    for name, profile in profiles.items():
        for svm in (True, False):
            block = 4 if name == "news20.binary" and not svm else 1
            for kernel in KERNELS:
                method = Method("allreduce", kernel, svm, block)
                rows = published_rows(machine, profile, method, RANKS)
                for ranks in RANKS:
                    own = _ours(machine, profile, method, ranks)
                    best = _best(row for row in rows if row["P"] == ranks and row["s"] > 1)
                    (first,) = (row["total"] for row in rows if (row["P"], row["s"]) == (ranks, 1))
                    found.append({
                        "data": name, "task": "K-SVM" if svm else "K-RR", "kernel": kernel, "b": block,
                        "P": ranks, "classical": first, "s-step": best["total"], "s": best["s"], **own,
                    })  # fmt: skip
    return found


def _ours(machine: Machine, profile: Profile, method: Method, ranks: int) -> dict[str, str | int | float]:
    """Our solver with the exchange and s that take least."""
    ways = ("allreduce", "reduce-scatter", *(("gram",) if method.kernel == "linear" else ()))
    taken = []
    for exchange in ways:
        best = _best(predict(machine, profile, method._replace(exchange=exchange), (ranks,), STEPS))
        taken.append((best["total"], exchange, best["s"]))
    total, exchange, s = min(taken)
    return {"ours": total, "exchange": exchange, "our s": s}


def claims(machine: Machine, profiles: dict[str, Profile]) -> list[Claim]:
    """The paper's claims beside predictions of its programs."""
    found = []
    for name, svm, block, stated in SPEEDUPS:
        for kernel, figure in zip(KERNELS, stated, strict=True):
            method = Method("allreduce", kernel, svm, block)
            rows = published_rows(machine, profiles[name], method, *_known(name))
            classical, best = _ends(rows)
            predicted = classical["total"] / best["total"]
            text = f"{name}, {'K-SVM' if svm else f'K-RR b = {block}'}, {kernel}: speed-up"
            shown = f"{predicted:.2f} (P = {best['P']}, s = {best['s']})"
            found.append(_judged(text, figure, predicted, shown, name))
    return [*found, *_at_ranks(machine, profiles), *_of_s(machine, profiles)]


def _known(name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """P and s over which a data set's claims are looked at."""
    return (RANKS, STEPS) if name in UNPUBLISHED else (KNOWN_RANKS, KNOWN_STEPS)


def _judged(text: str, figure: float, predicted: float, shown: str, name: str) -> Claim:
    """A speed-up of a data set; by the rule above."""
    if name in UNPUBLISHED:
        return Claim(
            text, str(figure), shown, NOT_REPRODUCIBLE, "no timings of this data set were published"
        )
    enough = predicted >= ENOUGH * figure
    reason = f"predicted is {predicted / figure:.2f} of it"
    return Claim(text, str(figure), shown, SUPPORTED if enough else NOT_SUPPORTED, reason)


def _at_ranks(machine: Machine, profiles: dict[str, Profile]) -> list[Claim]:
    """Claims on news20.binary that name their P."""
    news = profiles["news20.binary"]
    found = []
    for svm, block, ranks, figure in ((True, 1, 4096, 3.0), (False, 4, 2048, 1.14)):
        rows = published_rows(machine, news, Method("allreduce", "rbf", svm, block), (ranks,))
        best = _best(row for row in rows if row["s"] > 1)
        predicted = rows[0]["total"] / best["total"]
        text = f"news20.binary, {'K-SVM' if svm else f'K-RR b = {block}'}, rbf at P = {ranks}: speed-up"
        reason = f"timings of this kernel end at P = {1024 if svm else 1280}"
        shown = f"{predicted:.2f} (s = {best['s']})"
        found.append(Claim(text, str(figure), shown, NOT_REPRODUCIBLE, reason))
    rows = published_rows(machine, news, Method("allreduce", "rbf", False, 4), (128, 2048))
    share = {row["P"]: _reduction(row) / row["total"] for row in rows if row["s"] == 256}
    shown = f"{100 * share[2048]:.0f} % / {100 * share[128]:.0f} %"
    text = "news20.binary, K-RR b = 4, s = 256: share of the allreduce at P = 2048 / 128"
    reason = "published timings end at s = 64 and P = 1280 here"
    return [*found, Claim(text, "> 45 % / < 20 %", shown, NOT_REPRODUCIBLE, reason)]


def _of_s(machine: Machine, profiles: dict[str, Profile]) -> list[Claim]:
    """Claims on s."""
    found = []
    for name, figure in (("colon-cancer", 256), ("duke", 32)):
        rows = published_rows(machine, profiles[name], Method("allreduce", "rbf", True), *_known(name))
        best = _ends(rows)[1]
        near = figure / 2 <= best["s"] <= 2 * figure
        reason = f"{'within' if near else 'not within'} a factor 2; of s <= 64: larger were not published"
        verdict = SUPPORTED if near else NOT_SUPPORTED
        if name in UNPUBLISHED:
            verdict, reason = NOT_REPRODUCIBLE, "no timings of this data set, nor of s > 64, were published"
        found.append(Claim(f"{name}, rbf: best s", str(figure), str(best["s"]), verdict, reason))
    method = Method("allreduce", "rbf", True)
    rows = published_rows(machine, profiles["synthetic"], method, (512,))
    shown = ", ".join(
        f"{_reduction(row):.0f} us at s = {row['s']}" for row in rows if row["s"] in (1, 16, 256)
    )
    text, reason = "synthetic: the allreduce grows for s > 16", "no timings of this data set were published"
    found.append(Claim(text, "grows", shown, NOT_REPRODUCIBLE, reason))
    rows = published_rows(machine, profiles["duke"], method, (128,))
    panels = [row["panel"] for row in rows if row["s"] <= 64]
    falls = all(later < earlier for earlier, later in pairwise(panels))
    shown = f"{panels[0]:.1f} us at s = 1, {panels[-1]:.1f} at s = 64 (P = 128)"
    reason = "the transpose is paid once a window: a weak baseline, not fewer messages"
    verdict = SUPPORTED if falls else NOT_SUPPORTED
    return [*found, Claim("duke: kernel time falls with s", "falls", shown, verdict, reason)]


def _best(rows: Iterable[Row]) -> Row:
    """The row that takes least."""
    return min(rows, key=lambda row: row["total"])


def _ends(rows: list[Row]) -> tuple[Row, Row]:
    """Best classical row, and best s-step row."""
    return _best(row for row in rows if row["s"] == 1), _best(row for row in rows if row["s"] > 1)


def _reduction(row: Row) -> float:
    """What the published timers call allreduce."""
    return row["waiting"] + row["start"] + row["latency"] + row["transfer"]
