"""Bounds of one step on worked numbers, against their derivations evaluated in fractions.

The constants are as large as nothing real is, so that every term of a bound counts.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from bounds.worked import g, is_bound, root, size

from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.kernel.factored import longest_sample
from sstep_verify.bounds.step.probed import (
    recorded_constants,
    ridge_increment,
    ridge_system,
    svm_curvature_bounds,
    svm_increments,
)
from sstep_verify.bounds.step.ridge import RidgeInputs, ridge_errors, ridge_step_constants
from sstep_verify.bounds.step.roundings import sum_error
from sstep_verify.bounds.step.slack import ridge_slack, svm_slack
from sstep_verify.bounds.step.solve import factored, solve_error, solve_errors, solve_numbers
from sstep_verify.bounds.step.svm import svm_step_bound, svm_stored_bound
from sstep_verify.bounds.step.svm_constants import ADDED, FORMS, FROZEN, Factored, svm_step_constants
from sstep_verify.problems import Hinge, LinearKernel, Problem
from sstep_verify.solver import Declaration

U, OWN, LEAST = Fraction(1, 2**24), Fraction(1, 2**53), Fraction(1, 2**149) + Fraction(1, 2**1074)
UPDATES = ("in-place", "added", "frozen")


def declared(update="in-place", **options):
    return Declaration("test", precision="float32", update=update, **options)


def of_svm(update="in-place"):
    """Constants of a size that shows: gamma of a gradient 1/8, the smallest number 1/64."""
    constants = svm_step_constants(declared(update), 12, 9, 5, 0.5, 1.0)
    return constants._replace(
        gradient=1 / 8, curvature=1 / 16, quotient=1 / 32, shift_error=1 / 128, upper_error=1 / 256,
        tiny=1 / 64, u=1 / 512,
    )  # fmt: skip


def step_bound(c, gradient_error, curvature, off, value, new):
    c = c._replace(
        **{name: Fraction(getattr(c, name)) for name in ("curvature", "quotient", "shift_error", "tiny")}
    )
    off = Fraction(off) + c.curvature * Fraction(curvature) + c.shift_error
    least, quotient = Fraction(curvature) - off, abs(Fraction(value) - Fraction(new))
    error = (Fraction(gradient_error) + quotient * off + c.tiny) / least + c.tiny
    return error + c.quotient * (quotient + error) + c.quotient * (abs(Fraction(new)) + error)


def landing(c, draws, size):
    if c.form != FROZEN or draws == 0:
        return Fraction(0)
    # gamma_{r+1} of the sizes of what was added, which are at most those of the logged increments and theirs.
    k = (draws + 1) * Fraction(c.u)
    gamma = k / (1 - k)
    return gamma * Fraction(size) / (1 - 2 * draws * gamma)


def landings(c, draws, before, size):
    """Of a sum and of the one before."""
    return landing(c, draws, Fraction(before) + Fraction(size)) + landing(c, draws - 1, before)


def stored_bound(c, error, draws, moved, value, new, upper):
    error, value, new, upper, end = map(Fraction, (error, value, new, upper, c.upper_error))
    clipped = min(max(new, Fraction(0)), upper)
    change, bound = abs(clipped - value), error
    if not c.sharp or upper - end - error <= new < upper + end + error:
        bound += end
    if c.sharp and new + error <= 0:
        if c.form != FROZEN:
            return Fraction(0)
        bound = Fraction(0)
    if c.sharp and new - error >= upper + end:
        bound = end
    if c.form == ADDED:
        # The difference, u |change|, and the sum, u |stored|, each of numbers that are off themselves.
        bound += Fraction(c.u) * (2 * change + value + clipped + 4 * bound)
    if c.form == FROZEN:
        bound += 2 * landings(c, draws, moved, change + bound) + Fraction(c.u) * (change + bound)
    return bound


@pytest.mark.parametrize("new", [-0.75, 0.25, 3.0])
def test_an_unclipped_value(new):
    constants = of_svm()
    found = svm_step_bound(constants, 0.03, 1.5, 0.02, 0.5, new)
    is_bound(found, step_bound(constants, 0.03, 1.5, 0.02, 0.5, new))


def test_an_unclipped_value_of_which_nothing_is_promised():
    constants = of_svm()._replace(largest=100.0)
    assert svm_step_bound(constants, 0.03, 90.0, 0.02, 0.5, 40.0) < np.inf
    assert svm_step_bound(constants, 0.03, 95.0, 0.02, 0.5, 0.5) == np.inf  # eta may overflow
    assert svm_step_bound(constants, 13.0, 1.5, 0.02, 0.5, 0.5) == np.inf  # a term of the gradient may
    assert svm_step_bound(constants, 0.03, 90.0, 0.02, 30.0, 65.0) == np.inf  # the quotient and the value
    assert svm_step_bound(constants, 0.03, 0.03, 0.03, 0.5, 0.5) == np.inf  # eta may be 0


@pytest.mark.parametrize(("update", "sharp"), list(product(UPDATES, (True, False))))
def test_a_stored_value(update, sharp):
    constants = of_svm(update)._replace(sharp=sharp)
    # Certainly 0, perhaps 0, free, perhaps at the upper end, certainly there.
    for new in (-0.5, -0.01, 0.01, 0.5, 0.99, 1.01, 1.5):
        found = svm_stored_bound(constants, 0.02, 3, 0.75, 0.25, new, 1.0)
        is_bound(found, stored_bound(constants, 0.02, 3, 0.75, 0.25, new, 1.0))


@pytest.mark.parametrize("update", UPDATES)
def test_the_increment_that_a_step_used(update):
    constants, of_ridge = of_svm(update), ridge_step_constants(declared(update), 12, 9, 5, 3)
    both = landings(constants, 3, 0.75, 0.25)
    plain = Fraction(constants.u) * (Fraction(0.25) + (Fraction(0.625) if update == "added" else 0))
    is_bound(svm_slack(constants, 3, 0.75, 0.25, 0.625), both or plain)
    of_ridge = of_ridge._replace(u=constants.u)
    is_bound(ridge_slack(of_ridge, 3, 0.75, 0.25, 0.625), both or Fraction(constants.u) * Fraction(0.625))
    # The first increment is one of a value that is exact.
    first = landings(constants, 1, 0.75, 0.25)
    assert first == landing(constants, 1, 1.0)
    is_bound(svm_slack(constants, 1, 0.75, 0.25, 0.625), first or plain)


@pytest.mark.parametrize("factored", [Factored(), Factored(7, 2.5)])
@pytest.mark.parametrize("judge", [True, False])
def test_constants_of_svm_steps(judge, factored):
    found = svm_step_constants(declared(summation="any"), 12, 9, 5, 0.5, 1.0, factored, judge=judge)
    own = OWN if judge else Fraction(0)
    is_bound(found.gradient, g(9 + 5 + 6 + factored.features, U) + g(19, own))
    # After three steps from an a of four entries that are not 0, of which there now are six.
    each = g(4 + 3 + 6 + factored.features, U) + g(6 + 7, own)
    is_bound(sum_error(found.roundings, 4, 3, 6), each)
    is_bound(found.curvature, g(3, U) + g(3, own))
    is_bound(found.quotient, g(2, U) + g(2, own))
    is_bound(found.tiny, LEAST)
    # m products of a, two of each step, 6 others, and one of every feature.
    is_bound(found.underflow, ((12 + 10) * (1 + Fraction(factored.length)) + 6 + factored.features) * LEAST)
    assert (found.sharp, found.u, found.form) == (judge, U, FORMS["in-place"])


@pytest.mark.parametrize("factored", [Factored(), Factored(7, 2.5)])
@pytest.mark.parametrize("increments", ["summed", "separate"])
def test_constants_of_ridge_steps(factored, increments):
    found = ridge_step_constants(declared(summation="any", increments=increments), 12, 9, 5, 3, factored)
    roundings = 9 + (12 + 5 if increments == "summed" else 15 + 5) + 5 + factored.features
    is_bound(found.residual, g(roundings, U) + g(25, OWN))
    is_bound(found.system, g(3, U))
    is_bound(found.judge, g(13, OWN))
    # After two blocks on five coordinates, from four entries that are not 0, of which there now are seven.
    made = 5 + 2 if increments == "summed" else 6 + 2
    each = g(4 + made + 5 + factored.features, U) + g(7 + 13, OWN)
    is_bound(sum_error(found.roundings, 4, made, 7), each)
    assert found.summed == (increments == "summed")
    # One for each entry of a and each draw, 3 b (b + 3) of the solve, 8 others, and one of every feature.
    is_bound(
        found.underflow, ((12 + 15) * (1 + Fraction(factored.length)) + 54 + 8 + factored.features) * LEAST
    )
    assert (found.u, found.modulus) == (U, 12.0)


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_a_curvature(shift):
    constants = of_svm()
    found = svm_curvature_bounds(np.array([1.5, 2.0]), np.array([0.02, 0.01]), shift, constants)
    for bound, diagonal, error in zip(found, (1.5, 2.0), (0.02, 0.01), strict=True):
        off = Fraction(error) + Fraction(1, 16) * (Fraction(diagonal) + Fraction(shift)) + Fraction(1, 128)
        is_bound(bound, off + (Fraction(1, 64) if shift else 0))


@pytest.mark.parametrize("update", UPDATES)
def test_increments_and_what_became_of_a(update):
    declared_, upper, upper_error = of_svm(update), 1.0, 1 / 256
    own = recorded_constants(declared_)
    assert (own.curvature, own.shift_error, own.form) == (declared_.u, 0.0, FORMS["in-place"])
    draws = np.array([1, 0, 1, 1, 0, 1])
    log = np.array([0.625, 1.0, 0.25, 0.375, 0.5, 0.125])
    gradient = np.array([-0.5, -9.0, 0.4, -0.1, -0.3, 0.2])
    curvature = np.array([1.5, 1.5, 1.25, 1.0, 0.0, 2.0])
    increment = np.array([0.4, 0.5, -0.3, 0.1, 0.45, -0.2])
    start, width, found = np.array([0.5, 0.25]), 4, np.zeros((4, 6))
    a, moved, times = [Fraction(0.5), Fraction(0.25)], [Fraction(0.5), Fraction(0.25)], [0, 0]
    svm_increments(
        start.copy(), (draws, log, width), (gradient, curvature, increment), (upper, upper_error),
        (declared_, own), found,
    )  # fmt: skip
    u = Fraction(declared_.u)
    for k, i in enumerate(draws):
        if k % width == 0:
            moved, times = [abs(one) for one in a], [0, 0]
        times[i] += 1
        change, size = Fraction(log[k]) - a[i], abs(Fraction(log[k]) - a[i])
        slack = {
            "in-place": u * size,
            "added": u * size + u * abs(Fraction(log[k])),
            "frozen": Fraction(0),
        }[update]
        slack += landings(declared_, times[i], moved[i], size)
        assert found[2, k] == pytest.approx(float(abs(Fraction(increment[k]) - change)), rel=1e-12)
        is_bound(found[3, k], slack + OWN * size)
        twice = 2 * landing(declared_, times[i], moved[i])
        if curvature[k]:
            new = a[i] - Fraction(gradient[k]) / Fraction(curvature[k])
            free = step_bound(own, u * abs(Fraction(gradient[k])), curvature[k], 0, a[i], new)
            bound = stored_bound(own, free + twice, times[i], moved[i], a[i], new, upper)
        else:
            new, bound = Fraction(upper), Fraction(upper_error)
        move = min(max(new, Fraction(0)), Fraction(upper)) - a[i]
        bound += twice
        is_bound(found[1, k], bound + u * (abs(move) + bound) + OWN * abs(move))
        assert found[0, k] == pytest.approx(float(abs(Fraction(increment[k]) - move)), rel=1e-12)
        a[i], moved[i] = Fraction(log[k]), moved[i] + size


SYSTEM = np.array([[9.0, 1.0], [1.5, 8.0]])


@pytest.mark.parametrize("factorisation", ["cholesky", "ldl"])
def test_an_increment_of_a_block(factorisation):
    constants = ridge_step_constants(declared(factorisation=factorisation), 8, 8, 4, 2)
    constants = constants._replace(backward=1 / 64, underflow=1 / 128, u=1 / 256, eliminate=1 / 512)
    inputs = RidgeInputs(0.5, 0.25, 0.0, np.zeros(8))
    right, increment, given = np.array([1.0, -2.0]), np.array([0.25, -0.375]), 0.125
    distance, bound = ridge_increment(right, SYSTEM, increment, given, inputs, constants)
    trace = Fraction(17)
    solve = Fraction(1, 64) * (trace + (root(2) * Fraction(given) if factorisation == "cholesky" else 0))
    lost = Fraction(1, 128) * (1 + 1 / Fraction(0.25) + 2 * trace) * 2
    change = solve + root(Fraction(1, 2))
    reach = [1 + Fraction(9) / 4 + Fraction(3, 8), 2 + Fraction(3, 8) + Fraction(3)]
    rounded = (Fraction(2, 256) + g(4, OWN)) * size(reach)
    is_bound(bound, change * size(increment) + rounded + lost)
    is_bound(distance, size(right - SYSTEM @ increment))
    # No right increment is longer than this.
    most = 2 * (size(right) + lost) / (8 - change - Fraction(given))
    far, limit = ridge_increment(right, SYSTEM, 10 * increment, given, inputs, constants)
    is_bound(limit, most)
    is_bound(far, size(10 * increment))
    assert ridge_increment(right, SYSTEM, np.full(2, np.nan), given, inputs, constants)[0] == np.inf
    # At that length it is still bounded by the residual.
    near = right * float(most) * 0.999 / float(size(right))
    assert ridge_increment(right, SYSTEM, near, given, inputs, constants)[1] != limit


def test_the_matrix_of_a_block():
    values, solver, own = (np.array(rows) for rows in ([[1.0, -0.5], [-0.5, 2.0]], [[0.01, 0.02], [0.02, 0.03]],
                                                       [[0.001, 0.002], [0.002, 0.001]]))  # fmt: skip
    inputs = RidgeInputs(0.5, 0.25, 0.125, np.zeros(8))
    entries = KernelEntries(values, own, solver)
    system, bound = ridge_system(entries, inputs, "float32", 8)
    sizes, errors, given = ridge_errors(entries, inputs)
    assert system.tolist() == [[10.0, -1.0], [-1.0, 12.0]]
    for place in np.ndindex(2, 2):
        sized = (abs(Fraction(values[place])) + Fraction(own[place]) + Fraction(solver[place])) / Fraction(
            0.25
        )
        off = Fraction(solver[place]) / Fraction(0.25) + Fraction(0.125) * sized
        is_bound(given[place], off)
        mine = Fraction(own[place]) / Fraction(0.5)
        is_bound(sizes[place], sized)
        is_bound(errors[place], off + mine)
        entry = off + mine
        whole = (
            entry + (g(3, U) + g(3, OWN)) * (abs(Fraction(system[place])) + entry) + 4 * Fraction(1, 2**149)
        )
        is_bound(bound[place], whole)


def test_a_declared_tree_may_round_a_product_less_than_its_nonzero_entries():
    pairwise = svm_step_constants(declared(summation="pairwise"), 60, 60, 5, 0.0, 1.0).roundings
    # ceil(log2(60 + 5 + 3)) + 1 roundings for however many entries are not 0, and no more than there are.
    assert pairwise.tree == 8
    is_bound(sum_error(pairwise, 40, 2, 41), g(8 + 2 + 6, U) + g(41 + 7, OWN))
    is_bound(sum_error(pairwise, 3, 2, 4), g(3 + 2 + 6, U) + g(4 + 7, OWN))


@pytest.mark.parametrize("factorisation", ["cholesky", "ldl"])
def test_a_block_solve_by_its_factors(factorisation):
    constants = ridge_step_constants(declared(factorisation=factorisation), 8, 8, 4, 2)
    is_bound(constants.doubt, 2 * (g(10, U) + g(10, OWN)))
    solve = g(10, U) / (1 - g(4, U)) if factorisation == "cholesky" else g(18, U)
    is_bound(constants.solve, solve)
    constants = constants._replace(solve=1 / 64)
    system, factor, bound = np.array([[9.0, 3.0], [3.0, 10.0]]), np.zeros((2, 2)), np.array([1.0, 2.0])
    assert factored(system, factor)
    assert factor.tolist() == [[3.0, 0.0], [1.0, 3.0]]
    shared = solve_errors(constants, factor, np.array([0.5, 0.25]), 0.5, 19.0, bound)
    # |C||C'| = [[9, 3], [3, 10]] here, times (0.5, 0.25).
    for found, derived in zip(bound, (1 + Fraction(21, 4) / 64, 2 + Fraction(4) / 64), strict=True):
        assert found == float(derived)
    theta = Fraction(1, 2) / (8 - Fraction(1, 2))
    is_bound(shared, 8 * Fraction(1, 64) * theta * 19)
    # Beyond an eighth nothing is said by the factors.
    assert solve_errors(constants, factor, np.array([0.5, 0.25]), 0.9, 19.0, bound) == np.inf
    assert not factored(np.array([[1.0, 2.0], [2.0, 1.0]]), factor)


@pytest.mark.parametrize(
    ("factorisation", "block", "moved"),
    [("ldl", 2, 2 * g(10, U)), ("ldl", 1, 0), ("cholesky", 2, 0), ("lu", 2, 0)],
)
def test_what_elimination_may_move_a_system_by(factorisation, block, moved):
    read = "".join(
        list(factorisation)
    )  # as a file gives it: equal to the name in the code, and another object
    is_bound(ridge_step_constants(declared(factorisation=read), 8, 8, 4, block).eliminate, moved)


def test_elimination_may_break_down_where_it_moves_a_system_by_more_than_a_share_of_its_eigenvalues():
    constants = ridge_step_constants(declared(factorisation="ldl"), 9, 9, 4, 4)
    constants = constants._replace(backward=1 / 64, eliminate=1 / 128)
    # What is moved is at most (9 - moved) / (4 sqrt(4)) up to 1: a half of the trace, and what is given.
    is_bound(solve_error(constants, 64.0, 0.499, 4), Fraction(1))
    assert solve_error(constants, 64.0, 0.501, 4) == np.inf
    # A single quotient is none.
    is_bound(solve_error(constants, 64.0, 8.0, 1), Fraction(72, 64))


@pytest.mark.parametrize("data_rounding", [False, True])
def test_the_longest_sample_is_a_row_and_the_larger_of_what_is_given_and_what_is_used(data_rounding):
    third, more = 1 / 3, 1 + 2.0**-24 + 2.0**-50
    data = np.array([[more, -third], [-0.5, more], [third, 0.25]])  # The longest column is longer.
    problem = Problem("longest", data, np.ones(3), LinearKernel(), Hinge(1.0))
    longest, height = longest_sample(problem, declared(data_rounding=data_rounding))
    above = float(np.float32(more)) if data_rounding else more
    assert above > more or not data_rounding
    is_bound(longest, Fraction(above) + Fraction(0.5))
    assert height == above


def test_products_formed_from_samples_may_overflow_whatever_their_row():
    alpha, log = np.array([1.0, -2.0]), np.array([[3.0], [-0.5]])
    # Twice the first values and four times the logged ones, times the largest feature.
    assert not Factored(3, 5.0, 0.5).may_overflow(alpha, log, 10.0)
    assert Factored(3, 5.0, 0.5).may_overflow(alpha, log, np.nextafter(10.0, 0.0))
    assert not Factored(3, 5.0, 0.5).may_overflow(alpha, np.zeros((0, 1)), 3.0)
    assert Factored(3, 5.0, 0.5).may_overflow(alpha, np.array([[np.nan]]), np.inf)
    assert not Factored().may_overflow(alpha, np.array([[np.inf]]), 1.0)


def test_what_underflows_over_lambda_counts_for_what_it_multiplies():
    tiny, zero = np.full((1, 2), 2.0**-1000), np.zeros((1, 2))
    entries = KernelEntries(tiny, zero, zero)
    sizes, errors, solver = ridge_errors(entries, RidgeInputs(2.0**200, 2.0**200, 0.0, zero[0], 2.0**-149))
    assert (sizes >= 2.0**-1074).all()
    for found in (errors, solver):
        assert ((found >= 2.0**-149) & (found < 2.0**-148)).all()
    # An entry that is 0 is 0 over anything.
    nothing = ridge_errors(KernelEntries(zero, zero, zero), RidgeInputs(2.0, 2.0, 0.0, zero[0], 2.0**-149))
    assert not np.stack(nothing).any()


def test_a_solve_may_overflow_where_its_result_does_not():
    single = ridge_step_constants(declared(factorisation="lu"), 8, 8, 4, 3)
    assert single.growth == (2 * (1 + 2.0**-24) ** 4) ** 2
    plain = ridge_step_constants(declared(), 8, 8, 4, 3)
    assert plain.growth == 2.0
    is_bound(solve_numbers(plain, 17.0, 0.25, 4, 3.0), 64 * 2 * (17 + Fraction(1, 2)) * 3)
    assert solve_numbers(plain, 17.0, 0.25, 4, 0.5) == solve_numbers(plain, 17.0, 0.25, 4, 1.0)
    inputs, right = RidgeInputs(0.5, 0.25, 0.0, np.zeros(8)), np.array([1.0, -2.0])
    constants = ridge_step_constants(declared(), 8, 8, 4, 2)
    for largest, promised in ((1e30, True), (1e3, False)):
        found = ridge_increment(
            right, SYSTEM, np.full(2, np.inf), 0.125, inputs, constants._replace(largest=largest)
        )
        assert (found[1] < np.inf) == promised
