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
from pathlib import Path

import numpy as np

from sstep_verify.costs.model import holdouts
from sstep_verify.costs.model.fitting import errors, fit
from sstep_verify.costs.model.machine import published_machine, write
from sstep_verify.costs.model.published import START, times
from sstep_verify.costs.model.timings import Timings, published_timings

FEWEST = 2
"""Rank counts below which Extra-P is asked for no model."""

FOLDS = 6
"""One rank count of so many is held out where the others are to be known."""


def extrap_times(timings: Timings, split: holdouts.Split) -> np.ndarray | None:
    """What Extra-P predicts for what is held out; NaN where too little is fitted; None without Extra-P."""
    try:
        from extrap.entities.experiment import Experiment  # noqa: F401
    except ImportError:
        return None
    runs, cells, fitted = timings.runs, timings.runs.cells(), split[0]
    made: dict[tuple[int, float], object] = {}
    predicted = []
    for place in split[1]:
        key = int(cells[place]), float(runs.s[place])
        if key not in made:
            same = fitted[(cells[fitted] == key[0]) & (runs.s[fitted] == key[1])]
            made[key] = _function(runs.ranks[same], timings.total[same])
        function = made[key]
        predicted.append(np.nan if function is None else max(function.evaluate(runs.ranks[place]), 1e-3))
    return np.array(predicted, dtype=np.float64)


def _function(ranks: np.ndarray, taken: np.ndarray):
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
        values = taken[ranks == count].tolist()
        experiment.add_measurement(Measurement(coordinate, path, metric, values))
    generator = ModelGenerator(experiment)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        generator.model_all()
    return generator.models[path, metric].hypothesis.function


def line(name: str, timings: Timings, held: np.ndarray, predicted: np.ndarray | None) -> str:
    """One line of the table: median errors in percent, and how good the best s is."""
    if predicted is None:
        return f"| {name} | not installed |"
    asked = np.isfinite(predicted)
    off, classical = errors(predicted, timings.total[held])[asked], timings.runs.classical[held][asked]
    whole = held[asked]
    ratios, excess = holdouts.best_s(timings, whole, predicted[asked])
    near = np.mean((ratios >= 0.5) & (ratios <= 2))
    return (
        f"| {name} | {100 * np.median(off[classical]):.1f} | {100 * np.median(off[~classical]):.1f} | "
        f"{100 * near:.0f} | {100 * np.median(excess):.1f} | {off.size} runs, {ratios.size} choices of s |"
    )


def stated_errors(timings: Timings) -> dict[str, float]:
    """What predictions were off by where they were not fitted, by `ERRORS` of the machine, in whole %."""
    split = holdouts.beyond(timings)
    predicted = holdouts.modelled(timings, split)
    off = errors(predicted, timings.total[split[1]])
    classical = timings.runs.classical[split[1]]
    ratios, _ = holdouts.best_s(timings, split[1], predicted)
    others = []
    for _, one in holdouts.without(timings):
        away, first = holdouts.modelled(timings, one), timings.runs.classical[one[1]]
        away = errors(away, timings.total[one[1]])
        others += [np.median(away[first]), np.median(away[~first])]
    found = {
        "classical": np.median(off[classical]),
        "s_step": np.median(off[~classical]),
        "unfitted_least": min(others),
        "unfitted_most": max(others),
        "best_s": np.mean((ratios >= 0.5) & (ratios <= 2)),
    }
    return {name: float(round(100 * value)) for name, value in found.items()}


def table(timings: Timings) -> None:
    """Print all splits."""
    print("| held out, predicted by | classical, % | s-step, % | s within 2, % | excess, % | of |")
    print("|---|---|---|---|---|---|")
    split = holdouts.beyond(timings)
    held = split[1]
    print(line("P > 64: model", timings, held, holdouts.modelled(timings, split)), flush=True)
    for name in np.unique(timings.runs.data[held]):
        which = timings.runs.data[held] == name
        of = holdouts.modelled(timings, (split[0], held[which]))
        print(line(f"P > 64, {name}: model", timings, held[which], of), flush=True)
    print(
        line("P > 64: neighbours continued", timings, held, holdouts.neighbours(timings, split)), flush=True
    )
    print(line("P > 64: Extra-P", timings, held, extrap_times(timings, split)), flush=True)
    splits = [holdouts.between(timings, first) for first in (1, 2)]
    held = np.concatenate([one[1] for one in splits])
    ways = {
        "model": holdouts.modelled,
        "model, corrected": lambda *given: holdouts.modelled(*given, corrected=True),
        "neighbours": holdouts.neighbours,
        "Extra-P": extrap_times,
    }
    for name, way in ways.items():
        found = [way(timings, one) for one in splits]
        whole = None if found[0] is None else np.concatenate(found)
        print(line(f"every second P, both halves: {name}", timings, held, whole), flush=True)
    bounds(timings)
    for name, split in holdouts.without(timings):
        print(line(f"{name}: model", timings, split[1], holdouts.modelled(timings, split)), flush=True)


def bounds(timings: Timings) -> None:
    """Print what is left where more is known than an interpolation knows, and what one job alone is off."""
    sixths = [holdouts.between(timings, first, FOLDS) for first in range(1, FOLDS + 1)]
    for name, splits in (("one P of six", sixths), ("a tenth of the runs", list(holdouts.tenths(timings)))):
        held = np.concatenate([one[1] for one in splits])
        found = np.concatenate([holdouts.modelled(timings, one, corrected=True) for one in splits])
        print(line(f"{name}, in turn: model, corrected", timings, held, found), flush=True)
    which, off = holdouts.twins(timings)
    classical, data = timings.runs.classical[which], timings.runs.data[which]
    for name in ("", *np.unique(data)):
        mine = (data == name) | (name == "")
        first, s_step = (100 * np.median(off[mine & those]) for those in (classical, ~classical))
        title = f"one job, by its twin{name and ', '}{name}"
        print(f"| {title} | {first:.1f} | {s_step:.1f} | | | {mine.sum()} pairs |", flush=True)


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
        off = 100 * errors(times(parameters, timings.runs).total, timings.total)
        classical = timings.runs.classical
        print(f"fitted to all: {np.median(off[classical]):.1f} / {np.median(off[~classical]):.1f} %")
        write(published_machine(parameters, stated_errors(timings)), given.write)
        return
    table(timings)


if __name__ == "__main__":
    main()
