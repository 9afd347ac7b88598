"""Rates of a machine: what the solver's own timers say of runs that single them out."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable

import msgspec
import numpy as np

from sstep_verify.calibration.collectives import collective_table
from sstep_verify.calibration.runs import Case, timed, timed_on_rank
from sstep_verify.costs.model.machine import Machine
from sstep_verify.costs.model.prediction import Method, distinct, phases, solve_flops
from sstep_verify.costs.model.profiles import Profile, uniform_profile
from sstep_verify.launch import run

ROWS = (1, 4, 16, 64, 256)
"""Rows of a window at which panel rates are measured."""

DENSE, SPARSE = (1000, 512, 1.0), (2000, 2000, 0.1)
"""Samples, features and density of the data of the panel rates."""

LONG, TINY = (20_000, 4, 1.0), (64, 2, 1.0)
"""Of those of functions and products with a; and of those where next to nothing is computed."""

CHECKS = (
    Case(700, 300, 1.0, "linear", 0, 8),
    Case(700, 300, 1.0, "rbf", 0, 32),
    Case(1500, 900, 0.15, "polynomial", 4, 8),
    Case(1500, 900, 0.15, "linear", 0, 1),
)
"""Runs that are predicted and measured at the end: none of them was used."""

Tell = Callable[[str], None]


def calibrate(
    name: str, ranks: tuple[int, ...], seconds: float = 0.15, tell: Tell = lambda line: None
) -> Machine:
    """Measure this machine.

    Parameters
    ----------
    name : str
        What to call it.
    ranks : tuple of int
        Numbers of ranks (P > 1) whose collectives are measured; may be empty.
    seconds : float
        For each single measurement, about.
    tell : callable
        Told what is being measured.

    Returns
    -------
    Machine
    """
    tell("panel products, dense and sparse")
    tables = [_panel(shape, seconds) for shape in (DENSE, SPARSE)]
    tell("kernel functions, products with a, recurrences")
    function = {kernel: _function(kernel, seconds) for kernel in ("polynomial", "rbf")}
    step, correction = _recurrence(seconds)
    reduced: tuple[list[list[float]], list[list[float]]] = ([], [])
    for count in ranks:
        tell(f"collectives of {count} ranks")
        for rows, more in zip(reduced, collective_table(count, seconds), strict=True):
            rows += more
    found = Machine(
        name=name,
        source=f"sstep-verify perf calibrate on {platform.machine()}, {os.cpu_count()} processors",
        error="not yet measured",
        dense=tables[0],
        sparse=tables[1],
        polynomial=function["polynomial"],
        rbf=function["rbf"],
        gradient=_gradient(seconds),
        step=step,
        correction=correction,
        solve=_solve(seconds, step, correction),
        window=_window(seconds),
        allreduce=reduced[0],
        reduce_scatter=reduced[1],
    )
    tell("runs that were not used, to see how far predictions are off")
    return msgspec.structs.replace(found, error=_checked(found, (1, *ranks), seconds))


def profile_of(case: Case) -> Profile:
    """The column profile of drawn data."""
    entries = case.samples * case.features
    return uniform_profile("drawn", case.samples, case.features, case.density * entries)


def _panel(shape: tuple[int, int, float], seconds: float) -> list[list[float]]:
    """Rows [c, ns a product] of a panel."""
    table = []
    for s in ROWS:
        case = Case(*shape, "linear", 0, s)
        rows = distinct(case.samples, s)
        products = rows * profile_of(case).shares(1).most_pairs
        table.append([rows, 1e3 * timed(case, seconds).phases["panel"] / products])
    return table


def _function(kernel: str, seconds: float) -> float:
    """Nanoseconds an entry of a kernel function."""
    case = Case(*LONG, kernel, 0, 16)
    taken = timed(case, seconds).phases["kernel function"]
    return 1e3 * taken / (distinct(case.samples, case.s) * case.samples)


def _gradient(seconds: float) -> float:
    """Nanoseconds an entry of the product of the panel with a."""
    case = Case(*LONG, "linear", 0, 16)
    return 1e3 * timed(case, seconds).phases["gradient"] / (distinct(case.samples, case.s) * case.samples)


def _recurrence(seconds: float) -> tuple[float, float]:
    """Microseconds a step of a K-SVM, and nanoseconds a pair of steps of a window."""
    taken = {s: timed(Case(*TINY, "linear", 0, s), seconds).phases["recurrence"] for s in (16, 512)}
    # Two equations: s step + s (s - 1) / 2 pair = time of a window.
    matrix = np.array([[s, s * (s - 1) / 2e3] for s in taken])
    step, pair = np.linalg.solve(matrix, np.array(list(taken.values())))
    return max(float(step), 1e-3), max(float(pair), 0.0)


def _solve(seconds: float, step: float, correction: float) -> float:
    """Nanoseconds an operation of a block's solve."""
    case = Case(1000, 4, 1.0, "linear", 32, 1)
    taken = timed(case, seconds).phases["recurrence"]
    rest = taken - case.block * step - case.block * (case.block - 1) / 2 * correction / 1e3
    return max(1e3 * rest / solve_flops(case.block), 0.0)


def _window(seconds: float) -> float:
    """Microseconds of a window beside what its phases count."""
    case = Case(8, 2, 1.0, "linear", 0, 1)
    found = timed(case, seconds)
    return max(found.whole - found.phases["recurrence"], 0.0)


def _checked(machine: Machine, ranks: tuple[int, ...], seconds: float) -> str:
    """How far predictions of `CHECKS` are from measurements, in words."""
    off = []
    for count in ranks:
        for case in CHECKS:
            method = Method("allreduce", case.kernel, not case.block, max(case.block, 1))
            predicted = phases(machine, profile_of(case), method, count, case.s).total * case.s
            if count == 1:
                measured = timed(case, seconds).whole
            else:
                measured = run(count, timed_on_rank, case, seconds, "allreduce")[0]
            off.append(abs(predicted / measured - 1))
    return (
        f"median {100 * np.median(off):.0f} %, at most {100 * max(off):.0f} %, over {len(off)} runs of "
        f"this solver that were not used, P = {', '.join(map(str, ranks))}; beyond these P not validated"
    )
