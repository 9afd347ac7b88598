"""`solve --s auto` against an exhaustive sweep of fixed s, and what it does when the latency jumps.

A cell is a data set, kernel, exchange and number of ranks. All fixed s are tried, then those within 1.5 of
the best and the tuner make the same iterations in turn, several times: at least 200 windows of the best s,
and at least `--seconds`. The ratio is the median of the tuner's time over the least median of a fixed s;
beside it stands that of the least times, which other processes on the machine touch less. Times are
processor times where P = 1, of the slowest rank and by the wall clock where P = 2.
Usage: ``python benchmarks/tuning.py --data DIR``, ``--quick`` for a look.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tuning_ranks
from grid import Report, parser
from tuning_ranks import Cell

from sstep_verify.ranks import run

LIMIT = 1800.0
CALLS = 600
"""Reductions before the latency jumps."""

MEDIAN, WORST, WITHIN = 1.05, 1.15, 20
"""Aims: median and worst ratio; windows after a jump of the latency."""

WIDE, NARROW = ("duke", "colon-cancer"), "diabetes_scale"


def cells() -> list[Cell]:
    """What is measured."""
    found = []
    for P in (1, 2):
        scatter = ["reduce-scatter"] if P > 1 else []
        for data in WIDE:
            found += [Cell(data, "svm", "linear", 1, name, P) for name in ("allreduce", "gram")]
            found += [Cell(data, "svm", "rbf", 1, name, P) for name in ("allreduce", *scatter)]
        found += [Cell(NARROW, "svm", "linear", 1, "gram", P)]
        found += [Cell(NARROW, "svm", "rbf", 1, name, P) for name in ("allreduce", *scatter)]
        found += [Cell("abalone_scale", "krr", "linear", 4, "gram", P)]
        found += [Cell("abalone_scale", "krr", "rbf", 4, name, P) for name in ("allreduce", *scatter)]
    found += [Cell("duke", "svm", kernel, 1, "auto", 2) for kernel in ("linear", "rbf")]
    return [*found, Cell("duke", "svm", "linear", 1, "auto", 1)]


def summarise(cell: Cell, answer: dict[str, Any]) -> dict[str, Any]:
    """One line of the table."""
    rounds = answer["rounds"]
    medians = {one: float(np.median([taken[one] for taken, _ in rounds])) for one in rounds[0][0]}
    best = min(medians, key=medians.__getitem__)
    auto = float(np.median([taken for _, taken in rounds]))
    least = min(taken for _, taken in rounds) / min(min(taken.values()) for taken, _ in rounds)
    return {
        **vars(cell), "least": least, "iterations": answer["iterations"], "best": list(best),
        "fixed us": medians[best] * 1e6, "auto us": auto * 1e6, "ratio": auto / medians[best],
        "found": answer["found"],
        "s = 16 us": min(t for (_, s), t in answer["rough"].items() if s == 16) * 1e6,
        "sweep us": {f"{name} {s}": seconds * 1e6 for (name, s), seconds in answer["rough"].items()},
        "final us": {f"{name} {s}": [t[name, s] * 1e6 for t, _ in rounds] for name, s in medians},
        "auto rounds us": [taken * 1e6 for _, taken in rounds],
    }  # fmt: skip


COLUMNS = (
    ("data", "<16", "{data}"), ("task", "<5", "{task}"), ("kernel", "<8", "{kernel}"), ("b", ">2", "{b}"),
    (" exchange", "<16", " {exchange}"), ("P", ">2", "{P}"), ("s = 16", ">9", "{rough:.2f}"),
    ("best", ">9", "{fixed:.2f}"), ("auto", ">9", "{auto:.2f}"), ("ratio", ">7", "{ratio:.3f}"),
    ("least", ">7", "{least:.3f}"), ("  best s, and what the tuner found", "", "  {first}: {rest}"),
)  # fmt: skip


def shown(cell: dict[str, Any]) -> dict[str, Any]:
    """What a line tells more: s with its exchange, where that may be chosen."""
    told = [
        f"{s} {name}" if cell["exchange"] == "auto" else str(s)
        for name, s, *_ in (cell["best"], *cell["found"])
    ]
    times = {"rough": cell["s = 16 us"], "fixed": cell["fixed us"], "auto": cell["auto us"]}
    return {**times, "first": told[0], "rest": ", ".join(told[1:])}


def jumped(cell: Cell, directory: str, before: float, after: float, report: Report) -> None:
    """The experiment with the latency, and the window from which on s is within 1.15 of the best."""
    answer = run(cell.P, tuning_ranks.jump, cell, directory, before, after, CALLS, limit=LIMIT)[0]
    times, sizes, at = answer["times"], answer["sizes"], answer["jump"]
    least = min(times.values())
    known = {s for s, each in times.items() if each <= WORST * least}
    later = sizes[at:]
    # A cut window at the very end has another size.
    bad = [place for place, s in enumerate(later[:200]) if s not in known and s in times]
    first = next((place for place, s in enumerate(later) if s in known), len(later))
    best, rest = min(times, key=times.__getitem__), later[100:200]
    entry = {
        **vars(cell), "before": sizes[at - 20 : at], "after": later[:200], "unsuitable": bad,
        "first": first + 1,
        "times us": {s: t * 1e6 for s, t in times.items()},
    }  # fmt: skip
    report.add(
        "jumps",
        entry,
        f"latency {before * 1e6:.0f} -> {after * 1e6:.0f} us, {cell.data}, gram, P = {cell.P}: s before "
        f"{sizes[at - 1]}, best fixed after {best}, s found {max(set(rest), key=rest.count)}; suitable "
        f"(within {WORST} of the best) first in window {first + 1}; of the windows from {WITHIN} to 200 "
        f"{sum(place >= WITHIN for place in bad)} are not\n    windows after the jump: {later[:24]}",
    )


def main() -> int:
    arguments = parser(__doc__, "tuning", 9, 0.4)
    arguments.add_argument("--ranks", type=int, choices=[1, 2], help="P (default: both)")
    arguments.add_argument("--quick", action="store_true", help="three cells")
    chosen = arguments.parse_args()
    report = Report(chosen.out, COLUMNS, format="sstep-verify tuning benchmark 1", cells=[], jumps=[])
    report.say("Microseconds per iteration, medians of interleaved runs; s = 16 from the sweep alone.\n")
    report.head()
    wanted = [cell for cell in cells() if chosen.ranks in (None, cell.P)]
    for cell in wanted[:: 9 if chosen.quick else 1]:
        given = cell, chosen.data, chosen.repeats, chosen.seconds
        entry = summarise(cell, run(cell.P, tuning_ranks.measure, *given, limit=LIMIT)[0])
        report.add("cells", entry, **shown(entry))
        report.write()
    ratios, least = ([cell[name] for cell in report.document["cells"]] for name in ("ratio", "least"))
    report.say(
        f"\n{len(ratios)} cells: median ratio {np.median(ratios):.3f} (aim {MEDIAN}), worst "
        f"{max(ratios):.3f} (aim {WORST}), above {WORST}: {sum(ratio > WORST for ratio in ratios)}; of "
        f"the least times: median {np.median(least):.3f}, worst {max(least):.3f}\n"
    )
    for data in () if chosen.ranks == 1 else ("drawn 3000x4000", "drawn 3000x16000"):
        jumped(Cell(data, "svm", "linear", 1, "gram", 2), chosen.data, 2e-5, 1e-3, report)
    report.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
