"""Correct solvers lie within the bounds of a vector, and solvers that make a flagged mistake do not."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from daily import crossed
from sstep_reference.arithmetic import Float
from vector_cases import EVERY_KIND, made, outside, states_of

from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.declaration import Declaration, Update
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.quantities import QUANTITIES
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.recurrence.mutation import NONE
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.solver.run import ProductionSolver
from sstep_verify.vectors.allowed import trajectory_bounds
from sstep_verify.vectors.make import EFFECTS, MISTAKES, mistaken_states

BY_ID = {mistake.name: mistake for mistake in MISTAKES}


def planted(request, mutation, precision: str) -> dict[int, np.ndarray]:
    """A run that makes a mistake, in floating point."""
    with np.errstate(all="ignore"):  # what a mistake makes may well overflow
        kernel = exact_kernel(request.problem, Float(precision))
        states = mistaken_states(request, kernel, mutation)
    return {end: np.array([float(value) for value in state]) for end, state in states.items()}


@pytest.mark.parametrize(
    ("number", "form", "precision"),
    crossed(EVERY_KIND, ["sstep", "classical"], ["float64", "float32"], of=2),
)
def test_the_reference_lies_within_the_bounds(number, form, precision):
    request, _, expected = made(number)
    solver = ReferenceSolver(precision, form)
    assert outside(expected, states_of(solver.run(request)), precision) == 0


@pytest.mark.parametrize("number", EVERY_KIND)
def test_the_production_solver_lies_within_the_bounds(number):
    request, _, expected = made(number)
    linear = request.problem.kernel.linear
    for options in ({}, {"exchange": "gram"}) if linear else ({},):
        assert outside(expected, states_of(ProductionSolver(**options).run(request))) == 0


@pytest.mark.parametrize(("number", "precision"), crossed(EVERY_KIND, ["float64", "float32"], of=2))
def test_a_planted_mistake_lies_outside_wherever_it_is_flagged(number, precision):
    request, _, expected = made(number)
    assert outside(expected, planted(request, NONE, precision), precision) == 0
    flags = [shown for shown in expected.flags if precision == "float64" or shown.float32]
    assert flags
    for shown in flags:
        wrong = planted(request, BY_ID[shown.flag].mutation, precision)
        assert outside(expected, wrong, precision) > 0, shown.flag


@pytest.mark.parametrize("number", EVERY_KIND[::3])
def test_a_flag_says_where_the_mistake_shows_first_and_how_far_off_it_is(number):
    request, _, expected = made(number)
    for shown in expected.flags:
        wrong = planted(request, BY_ID[shown.flag].mutation, "float64")
        right = planted(request, NONE, "float64")
        off = np.abs(wrong[shown.iteration] - right[shown.iteration])[shown.coordinate]
        point = next(one for one in expected.points if one.iteration == shown.iteration)
        assert off == pytest.approx(float(shown.effect), rel=0.02)
        assert float(shown.effect) > 2 * point.float64.entries[shown.coordinate]


def test_every_defect_and_every_quantity_of_a_step_can_be_flagged():
    mutations = [replace(mistake.mutation, name="") for mistake in MISTAKES]
    assert len(set(mutations)) == len(mutations) == len(BY_ID)
    assert {defect.name for defect in CATALOGUE} <= set(BY_ID)
    assert len(MISTAKES) == len(CATALOGUE) + 4  # four quantities are left out by no defect of the catalogue
    assert {mistake.bug_type for mistake in MISTAKES} == set(EFFECTS)
    assert {name.removesuffix("-left-out") for name in set(BY_ID) - {one.name for one in CATALOGUE}} <= {
        quantity.name for quantity in QUANTITIES
    }


FORMS = [
    *({"update": update} for update in get_args(Update)),
    {"rbf": "difference"}, {"products": "rows"}, {"factorisation": "ldl"}, {"factorisation": "lu"},
    {"update": "frozen", "factorisation": "ldl"},
]  # fmt: skip


@pytest.mark.parametrize("number", [5, 6, 8, 9, 13])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_no_form_of_a_program_has_a_wider_bound_than_the_one_stated(number, form):
    request, proved, expected = made(number)
    places, declaration = proved.exact.places, Declaration("one", **form)
    entries = kernel_entries(request.problem, declaration, places)
    bounds = trajectory_bounds(request, proved.exact, declaration, entries)
    for point in expected.points[1:]:
        radius, stated = bounds[point.iteration].radius, point.float64
        if stated.norm is None:
            assert (radius <= np.array(stated.entries)[places]).all()
        else:
            assert radius[0] <= stated.norm
            assert radius[0] / np.sqrt(request.problem.samples) <= max(stated.entries)
