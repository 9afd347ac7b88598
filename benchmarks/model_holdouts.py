"""How well the model of costs predicts published timings that it was not fitted to.

Three splits: fitted up to 64 ranks, predicted above; every second rank count of a cell held out; a data
set held out. Beside it, power laws through neighbouring rank counts of the same cell and s, and, where the
wheel is installed (its own environment: ``tox -e bench-model``), Extra-P with a model for each cell and s.
Usage: ``python benchmarks/model_holdouts.py --data DIR [--write FILE]``; --write stores the machine file
fitted to all timings.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from model_fit import (
    Split,
    Timings,
    between,
    beyond,
    cell_of,
    errors,
    fit,
    modelled,
    published_machine,
    published_timings,
)

from sstep_verify.costs.prediction import write
from sstep_verify.costs.published import START, Array, times

FEWEST = 2
"""Rank counts below which Extra-P is asked for no model."""

FOLDS = 6
"""One rank count of so many is held out where the others are to be known."""


def curves(timings: Timings, split: Split, law) -> Array:
    """Of each held-out run, what `law` makes of those fitted of its cell and s; NaN where there is none."""
    cells, s, ranks = cell_of(timings), timings.s, timings.ranks
    known: dict[tuple[int, float], object] = {}
    predicted = []
    for place in split[1]:
        key = int(cells[place]), float(s[place])
        if key not in known:
            same = split[0][(cells[split[0]] == key[0]) & (s[split[0]] == key[1])]
            known[key] = law(ranks[same], timings.total[same]) if same.size else None
        predicted.append(np.nan if known[key] is None else known[key](ranks[place]))
    return np.array(predicted, dtype=np.float64)


def power_laws(ranks: Array, taken: Array):
    """Power laws through the neighbouring rank counts, also beyond the last two; of one, its time."""
    x, order = np.unique(np.log(ranks), return_index=True)
    y = np.log(taken)[order]
    if x.size < 2:
        return lambda _: np.exp(y[0])

    def at(count: float) -> float:
        right = int(np.clip(np.searchsorted(x, np.log(count)), 1, x.size - 1))
        slope = (y[right] - y[right - 1]) / (x[right] - x[right - 1])
        return np.exp(y[right - 1] + slope * (np.log(count) - x[right - 1]))

    return at


def neighbours(timings: Timings, split: Split) -> Array:
    """Power laws through the rank counts of the same cell and s."""
    return curves(timings, split, power_laws)


def extrap_times(timings: Timings, split: Split) -> Array | None:
    """What Extra-P predicts for what is held out; NaN where too little is fitted; None without Extra-P."""
    try:
        from extrap.entities.experiment import Experiment  # noqa: F401
    except ImportError:
        return None
    return curves(timings, split, extrap_law)


def extrap_law(ranks: Array, taken: Array):
    """Extra-P's function of P, with its defaults; None where too few rank counts are fitted."""
    from extrap.entities.callpath import Callpath
    from extrap.entities.coordinate import Coordinate
    from extrap.entities.experiment import Experiment
    from extrap.entities.measurement import Measurement
    from extrap.entities.metric import Metric
    from extrap.entities.parameter import Parameter
    from extrap.modelers.model_generator import ModelGenerator

    if np.unique(ranks).size < FEWEST:
        return None
    experiment, metric, path = Experiment(), Metric("time"), Callpath("iteration")
    experiment.add_parameter(Parameter("p"))
    experiment.add_metric(metric)
    experiment.add_callpath(path)
    for count in np.unique(ranks):
        coordinate = Coordinate(float(count))
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(Measurement(coordinate, path, metric, taken[ranks == count].tolist()))
    generator = ModelGenerator(experiment)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        generator.model_all()
    function = generator.models[path, metric].hypothesis.function
    return lambda count: max(function.evaluate(count), 1e-3)


def best_s(timings: Timings, predicted: Array) -> tuple[Array, Array]:
    """Of each cell and rank count: predicted over measured best s, and what that one costs more.

    Returns
    -------
    ratios, excess : ndarray
        Best s predicted over measured; time measured there over the measured best, less 1. Of s-step runs.
    """
    ranks, s, cells = timings.ranks, timings.s, cell_of(timings)
    ratios, excess = [], []
    for cell, count in sorted(set(zip(cells.tolist(), ranks.tolist(), strict=True))):
        which = np.flatnonzero((cells == cell) & (ranks == count) & (s > 1))
        if which.size < 3:
            continue
        chosen, best = (which[np.argmin(of[which])] for of in (predicted, timings.total))
        ratios.append(s[chosen] / s[best])
        excess.append(timings.total[chosen] / timings.total[best] - 1)
    return np.array(ratios), np.array(excess)


def twins(timings: Timings) -> tuple[Array, Array]:
    """What one job is off by, as two tell that do nearly the same: K-SVM and K-RR with b = 1.

    They ran on the same data set, kernel, P and s, in jobs of their own. Of the logarithm of the ratio of
    their times its median over P is taken away: all that the best prediction could know of both.

    Returns
    -------
    which, off : ndarray
        Indices of the runs of K-RR that have a twin; relative errors, one run's share of the difference.
    """
    single = timings.block == 1
    keys = timings[["dataset", "kernel", "s", "ranks"]].tolist()
    other = {keys[place]: place for place in np.flatnonzero(single & (timings.method == "ksvm"))}
    which = np.array([k for k in np.flatnonzero(single & (timings.method == "krr")) if keys[k] in other])
    ratio = np.log(timings.total[which] / timings.total[[other[keys[k]] for k in which]])
    lines = np.unique(timings[["dataset", "kernel", "s"]][which], return_inverse=True)[1]
    for one in np.unique(lines):
        ratio[lines == one] -= np.median(ratio[lines == one])
    return which, np.abs(np.expm1(ratio / np.sqrt(2)))


def within_two(ratios: Array) -> float:
    """Share of the best s that are predicted within a factor 2."""
    return np.mean((ratios >= 0.5) & (ratios <= 2))


def medians(off: Array, classical: Array) -> tuple[float, float]:
    """Median errors in %, classical and s-step."""
    return 100 * np.median(off[classical]), 100 * np.median(off[~classical])


def tenths(timings: Timings) -> Iterator[Split]:
    """A tenth of the runs held out at a time, drawn: of most, the same job at another s is fitted."""
    inner = np.concatenate([between(timings, first)[1] for first in (1, 2)])
    for held in np.array_split(np.random.default_rng(0).permutation(inner), 10):
        yield np.setdiff1d(np.arange(len(timings)), held), held


def without(timings: Timings) -> Iterator[tuple[str, Split]]:
    """Each data set held out in turn."""
    for name in np.unique(timings.dataset):
        other = timings.dataset != name
        yield str(name), (np.flatnonzero(other), np.flatnonzero(~other))


def say(name: str, timings: Timings, held: Array, predicted: Array | None) -> None:
    """Print a line of the table: median errors in percent, and how good the best s is."""
    if predicted is None:
        print(f"| {name} | not installed |", flush=True)
        return
    asked = np.isfinite(predicted)
    whole = timings[held[asked]]
    first, s_step = medians(errors(predicted[asked], whole.total), whole.s == 1)
    ratios, excess = best_s(whole, predicted[asked])
    print(
        f"| {name} | {first:.1f} | {s_step:.1f} | {100 * within_two(ratios):.0f} | "
        f"{100 * np.median(excess):.1f} | {len(whole)} runs, {ratios.size} choices of s |",
        flush=True,
    )


def stated_errors(timings: Timings) -> dict[str, float]:
    """What predictions were off by where they were not fitted, by `ERRORS` of the machine, in whole %."""

    def off(split: Split) -> tuple[Timings, Array]:
        return timings[split[1]], modelled(timings, split)

    held, predicted = off(beyond(timings))
    classical, s_step = medians(errors(predicted, held.total), held.s == 1)
    others = []
    for _, split in without(timings):
        other, away = off(split)
        others += medians(errors(away, other.total), other.s == 1)
    stated = (classical, s_step, min(others), max(others), 100 * within_two(best_s(held, predicted)[0]))
    names = ("classical", "s_step", "unfitted_least", "unfitted_most", "best_s")
    return {name: float(round(value)) for name, value in zip(names, stated, strict=True)}


def table(timings: Timings) -> None:
    """Print all splits."""
    print("| held out, predicted by | classical, % | s-step, % | s within 2, % | excess, % | of |")
    print("|---|---|---|---|---|---|")
    split = beyond(timings)
    held = split[1]
    say("P > 64: model", timings, held, modelled(timings, split))
    for name in np.unique(timings.dataset[held]):
        which = held[timings.dataset[held] == name]
        say(f"P > 64, {name}: model", timings, which, modelled(timings, (split[0], which)))
    say("P > 64: neighbours continued", timings, held, neighbours(timings, split))
    say("P > 64: Extra-P", timings, held, extrap_times(timings, split))

    def together(title: str, splits: list[Split], way) -> None:
        parts = [way(timings, one) for one in splits]
        whole = None if parts[0] is None else np.concatenate(parts)
        say(title, timings, np.concatenate([one[1] for one in splits]), whole)

    def corrected(timings: Timings, split: Split) -> Array:
        return modelled(timings, split, corrected=True)

    halves = [between(timings, first) for first in (1, 2)]
    ways = {
        "model": modelled,
        "model, corrected": corrected,
        "neighbours": neighbours,
        "Extra-P": extrap_times,
    }
    for name, way in ways.items():
        together(f"every second P, both halves: {name}", halves, way)
    # What is left where more is known than an interpolation knows, and what one job alone is off.
    sixths = [between(timings, first, FOLDS) for first in range(1, FOLDS + 1)]
    for name, splits in (("one P of six", sixths), ("a tenth of the runs", list(tenths(timings)))):
        together(f"{name}, in turn: model, corrected", splits, corrected)
    which, off = twins(timings)
    for name in ("", *np.unique(timings.dataset[which])):
        mine = (timings.dataset[which] == name) | (name == "")
        first, s_step = medians(off[mine], timings.s[which][mine] == 1)
        title = f"one job, by its twin{name and ', '}{name}"
        print(f"| {title} | {first:.1f} | {s_step:.1f} | | | {mine.sum()} pairs |", flush=True)
    for name, split in without(timings):
        say(f"{name}: model", timings, split[1], modelled(timings, split))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of the published timings and of the counts")
    parser.add_argument("--write", type=Path, help="machine file to write")
    given = parser.parse_args()
    timings = published_timings(given.data)
    print(f"{timings.total.size} medians; {len(START)} fitted parameters shared by all data sets")
    print("the correction: 2 numbers, chosen among what is fitted\n")
    if given.write:
        parameters = fit(timings)
        off = errors(times(parameters, timings).total, timings.total)
        classical, s_step = medians(off, timings.s == 1)
        print(f"fitted to all: {classical:.1f} / {s_step:.1f} %")
        write(published_machine(parameters, stated_errors(timings)), given.write)
        return
    table(timings)


if __name__ == "__main__":
    main()
