"""What a K-RR step leaves of its right-hand side, on worked numbers against its derivation in fractions.

The constants are as large as nothing real is, so that every term of a bound counts.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from bounds.worked import dot, exact, g, is_bound, size

from sstep_verify.bounds.step.ridge import RidgeInputs, ridge_step_constants
from sstep_verify.bounds.step.roundings import StepRoundings
from sstep_verify.checks.steps.ridge_residual import judged_residual
from sstep_verify.checks.steps.rows import LISTED, Rows, rounded_terms, row_terms, side_by_side
from sstep_verify.checks.steps.state import ridge_state
from sstep_verify.solver import Declaration

DRAWN, SLOTS = np.array([1, 3]), np.array([0, 0, 0, 1])
KERNEL = np.array([[0.5, 2.5, -0.25, -1.5], [0.25, -1.5, 0.75, 0.5]])
"""Rows of coordinates 1 and 3 of four: over lambda = 1/2 and with m = 4, G = [[9, -3], [-3, 5]]."""

SIZES, ERRORS = np.abs(KERNEL) * 4 + 1 / 64, np.abs(KERNEL) / 256 + 1 / 512
SYSTEM, OWN = np.abs(KERNEL) / 1024 + 1 / 2048, np.abs(KERNEL) / 2048 + 1 / 4096
ALPHA, LOG = np.array([0.5, -0.25, 0.0, 0.75]), np.array([0.125, 0.25])
TARGETS, BOUNDED = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.625, 0.5, 0.25, 1.0])
SLACK, MOVED = np.array([1 / 16, 1 / 32, 1 / 64, 1 / 128]), np.array([0.5, 0.375, 0.125, 0.875])
INPUTS = RidgeInputs(0.5, 0.25, 1 / 16, np.array([1 / 8, 1 / 16, 1 / 32, 1 / 64]))
COUNT, DRIFT = (3, 4, 1, 2, 4), 1 / 32
"""All coordinates were drawn before."""

U = Fraction(1, 256)
ROWS = Rows(
    side_by_side(KERNEL, SIZES, ERRORS),
    np.zeros(4),
    SYSTEM,
    OWN,
    np.array([16.0, 8.0]),
    SLOTS.astype(np.int64),
)


def of_steps(factorisation="cholesky", **changes):
    declaration = Declaration("worked", precision="float32", factorisation=factorisation)
    made = ridge_step_constants(declaration, 4, 4, 3, 2)
    return made._replace(
        roundings=StepRoundings(8, 5, 4, 3, False, float(U), 2.0**-12), system=1 / 1024, backward=1 / 64, eliminate=1 / 2048,
        solve=1 / 128, doubt=1 / 1024, judge=1 / 512, underflow=1 / 8192, u=1 / 512,
    )._replace(**changes)  # fmt: skip


def made_state(block=2):
    state = ridge_state(TARGETS, ALPHA.copy(), block)
    state.bounded[:], state.slack[:], state.moved[:] = BOUNDED, SLACK, MOVED
    state.drawn[DRAWN], state.listed[:] = 1, (2, 0, 3, 1)
    state.terms[:] = 100.0  # what another step has left there
    return state


def judged(constants, *, log=LOG, inputs=INPUTS, drawn=DRAWN, bounded=BOUNDED, **changes):
    """The state after a step was judged, and what was returned."""
    state = made_state(drawn.size)
    state.bounded[:] = bounded
    rows = ROWS._replace(**{name: np.asarray(value) for name, value in changes.items()})
    return state, judged_residual(rows, state, drawn, log, inputs, constants, DRIFT, COUNT)


def derived(c, drawn=DRAWN, log=LOG):
    """The same numbers by the derivation of bounds/step/ridge.py and bounds/step/solve.py."""
    c = SimpleNamespace(**{name: Fraction(value) if isinstance(value, float) else value
                           for name, value in c._asdict().items()})  # fmt: skip
    y, off, alpha, bounded, slack = map(exact, (TARGETS, INPUTS.targets, ALPHA, BOUNDED, SLACK))
    kernel, sizes, errors, system, own = ([exact(row) for row in one] for one in (KERNEL, SIZES, ERRORS, SYSTEM, OWN))  # fmt: skip
    places, (support, corrections, _, held, _) = list(enumerate(drawn)), COUNT
    roundings = g(support + corrections + 5, U) + g(held + 4, c.roundings.own)
    moved = [Fraction(new) - alpha[i] for new, i in zip(log, drawn, strict=True)]
    entries = [[2 * kernel[k][j] + (4 if k == other else 0) for other, j in places] for k, _ in places]
    bounds = [[abs(entries[k][other]) + errors[k][j] for other, j in places] for k, _ in places]
    rounding = [c.u * abs(Fraction(new)) for new in log]
    reach = [abs(one) + more for one, more in zip(moved, rounding, strict=True)]
    error = []
    for k, i in places:
        terms = dot(sizes[k], bounded) + 4 * bounded[i] + abs(y[i]) + off[i]
        used = dot(sizes[k], slack)
        error.append(dot(errors[k], bounded) + used + roundings * terms + 4 * slack[i] + off[i])
    trace = sum(bounds[k][k] for k, _ in places)
    rounded = c.system * size([one for row in bounds for one in row])
    given = size([system[k][j] for k, _ in places for _, j in places]) + rounded
    mine = size([own[k][j] * 2 for k, _ in places for _, j in places]) + rounded
    return SimpleNamespace(
        right=[y[i] - 4 * alpha[i] - 2 * dot(kernel[k], alpha) for k, i in places],
        unsure=[one + c.underflow * 5 + Fraction(DRIFT) for one in error],
        left=[
            error[k]
            + sum((system[k][j] + c.system * bounds[k][o]) * reach[o] for o, j in places)
            + sum(bounds[k][o] * rounding[o] for o, _ in places)
            + sum(2 * own[k][j] * abs(moved[o]) for o, j in places) * (c.judge > 0)
            + c.judge * sum(abs(entries[k][o] * moved[o]) for o, _ in places)
            for k, _ in places
        ],
        lost=c.underflow * (5 + 2 * trace) * drawn.size + Fraction(DRIFT),
        applied=[dot(entries[k], moved) for k, _ in places],
        error=error, reach=reach, trace=trace, given=given, bounds=bounds,
        doubt=2 * (given + mine) + c.doubt * trace,
    )  # fmt: skip


def by_trace(c, found):
    """Bound on ``||dG||``: of Cholesky's factorisation the system held is factored, error and all."""
    return Fraction(c.backward) * (found.trace + size([1, 1]) * found.given)


@pytest.mark.parametrize("factorisation", ["cholesky", "ldl"])
def test_what_is_left_by_the_factors(factorisation):
    c = of_steps(factorisation)
    state, (bound, distance, solved) = judged(c)
    found = derived(c)
    assert (bound, distance, solved) == (np.inf, 0.0, True)
    # |C||C'| of C = [[3, 0], [-1, 2]].
    product = [9 * found.reach[0] + 3 * found.reach[1], 3 * found.reach[0] + 5 * found.reach[1]]
    theta = found.doubt / (4 - found.doubt)
    shared = 8 * Fraction(c.solve) * theta * found.trace * size(found.reach)
    for place in (0, 1):
        assert state.right[place] == float(found.right[place])
        assert state.applied[place] == float(found.applied[place])
        assert state.residual[place] == float(found.right[place] - found.applied[place])
        is_bound(state.unsure[place], found.unsure[place])
        is_bound(
            state.left[place],
            found.left[place] + Fraction(c.solve) * product[place] + shared + found.lost,
        )
    # The larger of the diagonal's sizes, here the first.
    is_bound(state.diagonal[0], found.bounds[0][0])


@pytest.mark.parametrize("judge", [0.0, 1 / 512])
def test_what_is_left_of_a_solve_with_pivoting_is_bounded_by_the_trace(judge):
    c = of_steps("lu", judge=judge)
    state, _ = judged(c)
    found = derived(c)
    shared = Fraction(c.backward) * (found.trace + found.given) * size(found.reach)
    for place in (0, 1):
        is_bound(state.left[place], found.left[place] + shared + found.lost)


def test_a_block_of_one_is_not_pivoted_so_its_factor_stands():
    c = of_steps("lu")
    one, log = DRAWN[:1], LOG[:1]
    state, (_, _, solved) = judged(c, drawn=one, log=log)
    found = derived(c, one, log)
    assert solved
    theta = found.doubt / (4 - found.doubt)
    shared = min(
        8 * Fraction(c.solve) * theta * found.trace, Fraction(c.backward) * (found.trace + found.given)
    )
    product = Fraction(c.solve) * 9 * found.reach[0]
    is_bound(state.left[0], found.left[0] + product + shared * found.reach[0] + found.lost)


def test_beyond_an_eighth_the_bound_by_the_trace_stands():
    c = of_steps(doubt=1 / 16)
    state, _ = judged(c)
    found = derived(c)
    assert found.doubt / (4 - found.doubt) > Fraction(1, 8)
    for place in (0, 1):
        is_bound(state.left[place], found.left[place] + by_trace(c, found) * size(found.reach) + found.lost)


@pytest.mark.parametrize("factorisation", ["cholesky", "ldl"])
def test_an_increment_that_is_too_long_is_told_by_its_length(factorisation):
    c = of_steps(factorisation)
    found = derived(c)
    right = size(found.right) + size(found.error) + found.lost
    change = found.given + (
        Fraction(c.backward) * found.trace if factorisation == "ldl" else by_trace(c, found)
    )
    # Twice what (G - dG)^{-1} leaves of the right-hand side, and the largest a of the block, b times.
    most = 2 * (right / (4 - change) + size([1, 1]) * Fraction(BOUNDED[DRAWN].max()))
    for times, right_length in ((0.99, True), (1.01, False)):
        first = times * float(most)
        _, (bound, distance, solved) = judged(c, log=np.array([first - 0.25, 0.75]))
        assert solved == right_length
        assert [bound, distance] == (
            [np.inf, 0.0] if solved else pytest.approx([float(most), first], rel=1e-8)
        )
    _, (bound, distance, solved) = judged(c, log=np.array([np.nan, 0.25]))
    assert (bound < np.inf, distance < np.inf, solved) == (True, False, False)


NOTHING = (np.inf, 0.0, False)


def test_nothing_is_promised_where_an_entry_over_lambda_may_overflow():
    c = of_steps(largest=1e6)
    assert judged(c, largest=[1e6, 1e6])[1][2]
    assert judged(c, largest=[1.001e6, 8.0])[1] == NOTHING
    state, returned = judged(c, largest=[8.0, 1.001e6])
    assert returned == NOTHING
    assert state.unsure[0] < state.unsure[1] == np.inf


@pytest.mark.parametrize("penalty", [0.5, 2.0])
def test_nothing_is_promised_where_a_term_may_overflow_before_it_is_multiplied_by_lambda(penalty):
    c, many = of_steps(), np.array([1e9, 0.5, 0.25, 1.0])
    c = c._replace(roundings=c.roundings._replace(u=0.0, own=0.0))
    inputs, errors = INPUTS._replace(penalty=penalty, least=penalty), ERRORS * [0.0, 1.0, 1.0, 1.0]
    # The largest of both rows' products, with room for the other terms.
    terms = max(SIZES[:, 0]) * 1e9 * max(1.0, 2.0 * penalty)
    for room, promised in ((1.001, True), (0.999, False)):
        _, returned = judged(
            c._replace(largest=terms * room),
            inputs=inputs,
            bounded=many,
            table=side_by_side(KERNEL, SIZES, errors),
        )
        assert returned[2] == promised
        assert promised or returned == NOTHING


def test_nothing_is_promised_where_a_number_of_the_solve_may_overflow():
    c = of_steps()
    found = derived(c)
    assert judged(c._replace(largest=float(found.trace) - 0.1))[1] == NOTHING
    state, returned = judged(c._replace(largest=1000.0))
    assert returned == NOTHING
    assert state.unsure.max() < np.inf  # of the right-hand side it still is
    assert judged(c._replace(largest=1e4))[1][2]


def test_nothing_is_promised_where_the_reciprocal_of_lambda_may_overflow():
    for exponent, promised in ((-40, True), (-41, False)):
        c = of_steps(largest=2.0**40, underflow=0.0)
        state, returned = judged(c, inputs=INPUTS._replace(least=2.0**exponent))
        assert returned == (np.inf, 0.0, promised)
        assert (state.unsure < np.inf).tolist() == [promised] * 2
        assert (state.left < np.inf).tolist() == [promised] * 2


def test_terms_of_a_sum_are_sorted_with_the_two_that_are_no_products():
    roundings = StepRoundings(8, 5, 4, 3, True, float(U), 0.0)
    support, corrections, repeats, held, _ = COUNT
    for one, other in ((4.0, 1.0), (0.25, 16.0), (0.0, 3.0)):
        products = [a * b for a, b in zip(exact(SIZES[0]), exact(BOUNDED), strict=True)]
        terms = [*products, Fraction(one), Fraction(other)]
        longest = support + corrections + 5
        each = 3 + repeats
        additions = longest - each
        ordered = sorted(terms, reverse=True)
        worst = sum((max(additions - max(k - 1, 0), 1) + each) * term for k, term in enumerate(ordered))
        found = rounded_terms(
            ROWS, 0, made_state(), roundings, (support, corrections, repeats, held),
            (float(sum(terms)), one, other),
        )  # fmt: skip
        is_bound(found, min(worst * U / (1 - longest * U), g(longest, U) * sum(terms)))
        # Beside the judge's own step nothing is sorted.
        plain = rounded_terms(
            ROWS, 0, made_state(), roundings._replace(ordered=False),
            (support, corrections, repeats, held), (float(sum(terms)), one, other),
        )  # fmt: skip
        is_bound(plain, g(longest, U) * sum(terms))
    # Where so many roundings leave nothing sure, sorting does not either.
    none = roundings._replace(u=1 / 8)
    assert rounded_terms(ROWS, 0, made_state(), none, (3, 4, 1, 2), (9.0, 1.0, 1.0)) == np.inf


@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_what_increments_used_differ_by_is_summed_over_the_coordinates_drawn_or_over_all(drawn):
    samples = 2 * LISTED
    one = np.arange(samples, dtype=float)
    rows = ROWS._replace(table=side_by_side(*np.stack((one, one + 0.5, one / 64))[:, None]))
    state = ridge_state(np.zeros(samples), np.zeros(samples), 2)
    state.bounded[:], state.listed[:drawn] = one[::-1] / 4, (7, 2, 15)[:drawn]
    state.slack[state.listed[:drawn]] = (1 / 8, 1 / 4, 1 / 2)[:drawn]
    total, error = row_terms(rows, 0, state, drawn)
    assert total == (one + 0.5) @ state.bounded
    assert error == one @ state.bounded / 64 + [7.5 / 8, 2.5 / 4, 15.5 / 2][:drawn] @ np.ones(drawn)
