"""The sources that a window bound is shared out over: they add up, and each stands for what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from acting_draws import draw_acting_scenario

from sstep_verify.bounds.window.ridge import ridge_component_bound, ridge_window_errors
from sstep_verify.bounds.window.split import (
    ACCUMULATION,
    CORRECTIONS,
    KERNEL,
    REST_RIDGE,
    STALE,
    ridge_window_split,
    svm_window_split,
)
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import SvmSteps
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.solver import ProductionSolver

# A difference over h = 2**-20 of float64 bounds, each of fewer than 2**10 roundings, is off by no more than
# this part of the bound; what several sources leave, by so much a source.
LOST = 2.0**10 * 2.0**-52 / 2.0**-20


def window(task: str, update: str, start: str = "mixed"):
    """Arguments of a split: those of the bound of the first window of a drawn run."""
    generator = np.random.Generator(np.random.PCG64(8))
    scenario = draw_acting_scenario(generator, task, ["kernel-correction"], starts=(start,))
    solver, problem, stream = ProductionSolver(update=update), scenario.problem(), scenario.stream()
    begin = np.zeros(problem.samples) if scenario.initial() is None else scenario.initial()
    end = solver.run(RunRequest(problem, stream, scenario.s, scenario.s, initial=begin)).final
    replay = Oracle(problem).replay(problem, begin, end, stream.blocks(0, scenario.s))
    common = (kernel_entries(problem, solver.declaration, replay.places), replay.places, begin)
    if isinstance(replay.steps, SvmSteps):
        return (*common, replay.steps, problem.dual, solver.declaration)
    return (*common, problem.targets, replay.steps, problem.loss.penalty, solver.declaration)


def without_kernel_errors(entries: KernelEntries) -> KernelEntries:
    return replace(entries, solver_error=np.zeros_like(entries.solver_error))


@pytest.mark.parametrize("update", ["in-place", "frozen"])
@pytest.mark.parametrize("task", ["svm-l1", "svm-l2"])
def test_the_sources_of_a_svm_bound_are_what_they_say(task, update):
    arguments = window(task, update)
    parts, bound = svm_window_split(*arguments), svm_window_bound(*arguments).radius
    assert (ACCUMULATION in parts) == (update == "frozen")
    assert all((part >= -len(parts) * LOST * bound).all() for part in parts.values())
    assert all(part.max() > 0 for part in parts.values())
    total = np.sum(list(parts.values()), axis=0)
    assert (np.abs(total - bound) <= len(parts) * np.finfo(np.float64).eps * bound).all()
    assert not svm_window_split(without_kernel_errors(arguments[0]), *arguments[1:])[KERNEL].any()
    # From a = 0 there is no product with a.
    assert not svm_window_split(*window(task, update, "zero"))[STALE].any()


def test_a_window_of_one_step_has_no_corrections():
    entries, places, start, steps, *rest = window("svm-l2", "in-place")
    free = int(np.argmax(steps.lower > 0))
    single = SvmSteps(*(getattr(steps, name)[free : free + 1] for name in SvmSteps.__dataclass_fields__))
    parts = svm_window_split(entries, places, start, single, *rest)
    assert not parts[CORRECTIONS].any()
    assert parts[STALE].any()


@pytest.mark.parametrize("update", ["in-place", "frozen"])
def test_the_sources_of_a_ridge_bound_are_what_they_say(update):
    arguments = window("krr", update)
    norm, parts = ridge_window_split(*arguments)
    errors = ridge_window_errors(*arguments)
    bound = ridge_component_bound(*arguments[:2], errors, arguments[5])
    assert bound is not None
    assert all(part > 0 for part in norm.values())
    assert abs(sum(norm.values()) - errors.norm) <= len(norm) * np.finfo(np.float64).eps * errors.norm
    named = [part for name, part in parts.items() if name != REST_RIDGE]
    assert all((part >= -LOST * bound).all() for part in named)
    # All is linear but what the bound allows for its own rounding, an error of an error.
    assert (np.abs(parts[REST_RIDGE]) <= len(parts) * LOST * bound).all()
    norm_left, left = ridge_window_split(without_kernel_errors(arguments[0]), *arguments[1:])
    assert norm_left[KERNEL] == 0.0
    assert not left[KERNEL].any()


def test_an_infinite_bound_has_no_parts():
    entries, *rest = window("svm-l1", "frozen")
    unbounded = replace(entries, solver_error=np.full_like(entries.solver_error, np.inf))
    assert svm_window_split(unbounded, *rest) == {}
    entries, *rest = window("krr", "frozen")
    unbounded = replace(entries, solver_error=np.full_like(entries.solver_error, np.inf))
    assert ridge_window_split(unbounded, *rest) == ({}, {})
