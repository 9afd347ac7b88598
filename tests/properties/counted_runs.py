"""The production solver over numbers that count: flops of its own code, by its own phases."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
from counted_numbers import CountedNumber, Tally, counted
from flops_by_term import Flops, Held, Method, window_flops

from sstep_verify.protocol import RunRequest
from sstep_verify.solver import clock, packet, ridge_window
from sstep_verify.solver.clock import FUNCTION, GRADIENT, PANEL, PHASES, RECURRENCE
from sstep_verify.solver.data.partition import column_nonzeros, local_columns, partition_of
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Options

INSIDE = ("sstep_verify.solver",)
SKIPPED = ("_request", "_options", "_communicator", "communicator", "clock")
MEASURED = ("panel", "function", "functions", "gradient", "recurrence", "solves")


def recast(thing, tally: Tally, memo: dict):
    """The same with counted numbers in place of float64, in all arrays and attributes of a run's objects."""
    if id(thing) in memo:
        return memo[id(thing)][1]
    found = thing
    if isinstance(thing, np.ndarray) and thing.dtype == np.float64:
        found = counted(thing, tally)
    elif type(thing) is float:
        found = CountedNumber(thing, tally)
    elif type(thing) is tuple:
        found = tuple(recast(item, tally, memo) for item in thing)
    memo[id(thing)] = thing, found
    if type(thing).__module__.startswith(INSIDE):
        for name, value in list(vars(thing).items()):
            if name not in SKIPPED:
                setattr(thing, name, recast(value, tally, memo))
    return found


@contextmanager
def counting(tally: Tally, solves: list[int]):
    """Compiled functions as plain Python, a clock that tells flops, and solves told apart."""
    plain = ridge_window.solve_in_place
    plain = getattr(plain, "py_func", plain)

    def solve(system, vector):
        before = tally.flops
        plain(system, vector)
        solves[0] += tally.flops - before

    def now() -> complex:
        return complex(tally.flops, tally.functions)

    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith(INSIDE):
                uncompiled = {
                    key: value.py_func for key, value in vars(module).items() if hasattr(value, "py_func")
                }
                if uncompiled:
                    stack.enter_context(mock.patch.multiple(module, **uncompiled))
        for owner, name in ((ridge_window, "solve_in_place"), (ridge_window, "solve_long")):
            stack.enter_context(mock.patch.object(owner, name, solve))
        stack.enter_context(mock.patch.object(packet.Packet, "sign"))
        stack.enter_context(mock.patch.object(clock, "perf_counter", now))
        yield


def measured_flops(request: RunRequest, communicator, **options) -> tuple[dict[str, int], np.ndarray]:
    """Flops by phase of a run's windows, and the log of its values."""
    run = Run(Options(**options), communicator, request)
    recurrence = run.recurrence
    recurrence._functions = tuple(getattr(made, "py_func", made) for made in recurrence._functions)
    tally, solves = Tally(), [0]
    recast(run, tally, {})
    run.clock.seconds = [0.0] * len(PHASES)
    with counting(tally, solves):
        run.advance(0, request.iterations)
    spent = run.clock.seconds
    figures = spent[PANEL], spent[FUNCTION], spent[GRADIENT], spent[RECURRENCE]
    panel, function, gradient, recurrence = (int(complex(figure).real) for figure in figures)
    functions = int(complex(spent[FUNCTION]).imag)
    found = panel, function, functions, gradient, recurrence - solves[0], solves[0]
    return dict(zip(MEASURED, found, strict=True)), np.asarray(run.log, dtype=np.float64)


def formula_flops(request: RunRequest, log: np.ndarray, rank: int, ranks: int, options: dict) -> Flops:
    """What the formulas say of the same run on one rank, from its draws and which of them moved."""
    problem, exchange = request.problem, options.get("exchange", "allreduce")
    shares = partition_of(column_nonzeros(problem.data), ranks)
    data = local_columns(problem.data, shares.columns(rank))
    samples = problem.samples
    own = (
        samples * (rank + 1) // ranks - samples * rank // ranks if exchange == "reduce-scatter" else samples
    )
    differences = problem.kernel.of_distance and options.get("rbf") == "difference"
    alone = ranks == 1 and not options.get("separate_timers", False)
    method = Method(
        exchange, problem.kernel, problem.is_svm, options.get("update") == "frozen", differences, alone
    )
    total, values = Flops(), np.zeros(samples) if request.initial is None else request.initial.copy()
    initial = values.copy()
    draws, moved = request.stream.blocks(0, request.iterations), np.empty(log.shape, dtype=bool)
    for step, (block, new) in enumerate(zip(draws, log, strict=True)):
        moved[step] = values[block] != new
        values[block] = new
    values = initial
    for begin in range(0, request.iterations, request.s):
        window = slice(begin, min(begin + request.s, request.iterations))
        now = values.copy()
        for block, new in zip(draws[window], log[window], strict=True):
            now[block] = new
        changed = np.flatnonzero(now != values)
        values = now
        total = total.plus(window_flops(Held.of(data, own), method, draws[window], moved[window], changed))
    return total


def as_measured(flops: Flops) -> dict[str, int]:
    """Terms as the production solver's phases tell them apart: exchange allreduce has one for the updates."""
    recurrence = flops.corrections + flops.steps + flops.weights
    found = flops.panel, flops.function, flops.functions, flops.gradient, recurrence, flops.solves
    return dict(zip(MEASURED, found, strict=True))


def together(flops: dict[str, int]) -> dict[str, int]:
    """With the gradient in the recurrence, where its timer is not separate."""
    return flops | {"gradient": 0, "recurrence": flops["gradient"] + flops["recurrence"]}
