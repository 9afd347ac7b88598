"""How well the model of costs predicts published timings that it was not fitted to.

Three splits: fitted up to 64 ranks, predicted above; every second rank count of a cell held out; a data
set held out. Next to it, power laws through neighbouring rank counts of the same cell and s, and, where the
wheel is installed (its own environment: ``tox -e bench-model``), Extra-P with a model for each cell and s.
Usage: ``python benchmarks model --data DIR [--write FILE]``; --write stores the machine file fitted to all
timings.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from grid import Report
from model_fit import (
    CELL,
    Split,
    Timings,
    between,
    beyond,
    errors,
    fit,
    groups,
    modelled,
    published_machine,
    published_timings,
)
from scipy.interpolate import interp1d

from sstep_verify.costs.prediction import ERRORS, write
from sstep_verify.costs.published import START, Array, times
from sstep_verify.errors import InputError

OPTIONS = {"--write": {"type": Path, "help": "machine file to write"}}
DOCUMENT = {"rows": []}
COLUMNS = ()

Law = Callable[[float], float]
"""Microseconds at a rank count."""


def curves(timings: Timings, split: Split, law: Callable[[Array, Array], Law | None]) -> Array:
    """Of each held-out run, what `law` makes of those fitted of its cell and s; NaN where there is none."""
    (fitted, held), lines = split, groups(timings, *CELL, "s")
    predicted = np.full(held.size, np.nan)
    for line in np.unique(lines[held]):
        known, asked = fitted[lines[fitted] == line], lines[held] == line
        made = law(timings.ranks[known], timings.total[known]) if known.size else None
        if made is not None:
            predicted[asked] = [made(count) for count in timings.ranks[held[asked]]]
    return predicted


def power_laws(ranks: Array, taken: Array) -> Law:
    """Power laws through the neighbouring rank counts, also beyond the last two; of one, its time."""
    x, order = np.unique(np.log(ranks), return_index=True)
    y = np.log(taken)[order]
    if x.size < 2:
        return lambda _: np.exp(y[0])

    law = interp1d(x, y, fill_value="extrapolate")
    return lambda count: np.exp(law(np.log(count)))


def extrap_law(ranks: Array, taken: Array) -> Law | None:
    """Extra-P's function of P, with its defaults; None where only one rank count is fitted."""
    from extrap.entities.callpath import Callpath
    from extrap.entities.coordinate import Coordinate
    from extrap.entities.experiment import Experiment
    from extrap.entities.measurement import Measurement
    from extrap.entities.metric import Metric
    from extrap.entities.parameter import Parameter
    from extrap.modelers.model_generator import ModelGenerator

    if np.unique(ranks).size < 2:
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


neighbours, extra_p = partial(curves, law=power_laws), partial(curves, law=extrap_law)
"""Power laws through the rank counts of the same cell and s; Extra-P's functions of them."""


def best_s(timings: Timings, predicted: Array) -> tuple[Array, Array]:
    """Of each cell and rank count: predicted over measured best s, and what that one costs more.

    Of s-step runs; the cost is the time measured there over the measured best, less 1.
    """
    s, cells, found = timings.s, groups(timings, *CELL, "ranks"), []
    for cell in np.unique(cells):
        which = np.flatnonzero((cells == cell) & (s > 1))
        if which.size >= 3:
            chosen, best = (which[np.argmin(of[which])] for of in (predicted, timings.total))
            found.append((s[chosen] / s[best], timings.total[chosen] / timings.total[best] - 1))
    ratios, excess = np.array(found).reshape(-1, 2).T
    return ratios, excess


def twins(timings: Timings) -> tuple[Timings, Array]:
    """What one job is off by, as two tell that do nearly the same: K-SVM and K-RR with b = 1.

    They ran on the same data set, kernel, P and s, in jobs of their own. Of the logarithm of the ratio of
    their times its median over P is taken away: all that the best prediction could know of both. Returns
    the runs of K-RR that have a twin, and relative errors, one run's share of the difference.
    """
    single = timings[timings.block == 1]
    svm, krr = (single[single.method == method] for method in ("ksvm", "krr"))
    keys = ["dataset", "kernel", "s", "ranks"]
    other = dict(zip(svm[keys].tolist(), svm.total, strict=True))
    krr = krr[[key in other for key in krr[keys].tolist()]]
    ratio = np.log(krr.total / [other[key] for key in krr[keys].tolist()])
    lines = groups(krr, *keys[:3])
    for line in np.unique(lines):
        ratio[lines == line] -= np.median(ratio[lines == line])
    return krr, np.abs(np.expm1(ratio / np.sqrt(2)))


def within_two(ratios: Array) -> float:
    """Share in % of the best s that are predicted within a factor 2."""
    return 100 * np.mean((ratios >= 0.5) & (ratios <= 2))


def medians(off: Array, runs: Timings) -> tuple[float, float]:
    """Median errors in %, classical and s-step."""
    return 100 * np.median(off[runs.s == 1]), 100 * np.median(off[runs.s > 1])


def tenths(timings: Timings) -> Iterator[Split]:
    """A tenth of the runs held out at a time, drawn: of most, the same job at another s is fitted."""
    inner = np.concatenate([held for _, held in between(timings)])
    for held in np.array_split(np.random.default_rng(0).permutation(inner), 10):
        yield np.setdiff1d(np.arange(len(timings)), held), held


def without(timings: Timings) -> Iterator[tuple[str, Split]]:
    """Each data set held out in turn."""
    for name in np.unique(timings.dataset):
        other = timings.dataset != name
        yield str(name), (np.flatnonzero(other), np.flatnonzero(~other))


def stated_errors(timings: Timings) -> dict[str, float]:
    """What predictions were off by where they were not fitted, by `ERRORS` of the machine, in whole %."""

    def off(split: Split) -> tuple[float, float]:
        held = timings[split[1]]
        return medians(errors(modelled(timings, split), held.total), held)

    split = beyond(timings)
    others = [error for _, other in without(timings) for error in off(other)]
    ratios = best_s(timings[split[1]], modelled(timings, split))[0]
    stated = (*off(split), min(others), max(others), within_two(ratios))
    return {name: float(round(value)) for name, value in zip(ERRORS, stated, strict=True)}


def table(report: Report, timings: Timings) -> None:
    """Say what all splits find."""

    def say(title: str, held: Array, predicted: Array) -> None:
        asked = np.isfinite(predicted)
        runs, found = timings[held[asked]], predicted[asked]
        ratios, excess = best_s(runs, found)
        each = (*medians(errors(found, runs.total), runs), within_two(ratios), 100 * np.median(excess))
        report.add(
            "rows",
            {"held out": title, **dict(zip(("classical", "s-step", "s", "excess"), each, strict=True))},
            f"| {title} | {each[0]:.1f} | {each[1]:.1f} | {each[2]:.0f} | {each[3]:.1f} | "
            f"{len(runs)} runs, {ratios.size} choices of s |",
        )

    def together(title: str, splits: Sequence[Split], way: Callable[[Timings, Split], Array]) -> None:
        if way is extra_p and find_spec("extrap") is None:
            report.say(f"| {title} | not installed |")
            return
        say(
            title,
            *(
                np.concatenate(part)
                for part in zip(*((one[1], way(timings, one)) for one in splits), strict=True)
            ),
        )

    corrected = partial(modelled, corrected=True)
    report.say("| held out, predicted by | classical, % | s-step, % | s within 2, % | excess, % | of |")
    report.say("|---|---|---|---|---|---|")
    split = beyond(timings)
    held, predicted = split[1], modelled(timings, split)
    say("P > 64: model", held, predicted)
    for name in np.unique(timings.dataset[held]):
        mine = timings.dataset[held] == name
        say(f"P > 64, {name}: model", held[mine], predicted[mine])
    together("P > 64: neighbours continued", [split], neighbours)
    together("P > 64: Extra-P", [split], extra_p)
    ways = {"model": modelled, "model, corrected": corrected, "neighbours": neighbours, "Extra-P": extra_p}
    for name, way in ways.items():
        together(f"every second P, both halves: {name}", between(timings), way)
    # What is left where more is known than an interpolation knows, and what one job alone is off.
    together("one P of six, in turn: model, corrected", between(timings, 6), corrected)
    together("a tenth of the runs, in turn: model, corrected", list(tenths(timings)), corrected)
    runs, off = twins(timings)
    for name in ("", *np.unique(runs.dataset)):
        mine = (runs.dataset == name) | (name == "")
        title, (first, s_step) = (
            f"one job, by its twin{name and ', '}{name}",
            medians(off[mine], runs[mine]),
        )
        report.say(f"| {title} | {first:.1f} | {s_step:.1f} | | | {mine.sum()} pairs |")
    for name, split in without(timings):
        together(f"{name}: model", [split], modelled)


def measure(report: Report) -> None:
    if report.chosen.data is None:
        raise InputError("no --data: needed is the folder of the published timings and of the counts")
    timings = published_timings(report.chosen.data)
    report.say(f"{timings.total.size} medians; {len(START)} fitted parameters shared by all data sets")
    report.say("the correction: 2 numbers, chosen among what is fitted\n")
    if report.chosen.write is None:
        table(report, timings)
        return
    parameters = fit(timings)
    first, s_step = medians(errors(times(parameters, timings).total, timings.total), timings)
    report.say(f"fitted to all: {first:.1f} / {s_step:.1f} %")
    write(published_machine(parameters, stated_errors(timings)), report.chosen.write)
