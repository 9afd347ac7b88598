"""Bound C by itself: a run of one window has bound B, windows add up, and where nothing can be promised
nothing is; the M-norm in float64 and the oracle's run of exact points."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mutable_runs import mutable_sstep_bdcd, mutable_sstep_dcd
from sstep_reference import exact_fraction
from sstep_reference.arithmetic import Balls, Rational

from sstep_verify import quantities
from sstep_verify.bounds.window.ridge import ridge_trajectory_bound, ridge_window_errors
from sstep_verify.bounds.window.svm import svm_trajectory_bound, svm_window_bound
from sstep_verify.declaration import Declaration
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle import window_ends as oracle_module
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.trajectories import enclosed_trajectory, mutated_states
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.recurrence.mutation import NONE, left_out
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, unit_roundoff
from sstep_verify.rounding.block.energy import energy_norm, energy_reach
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries

IN_PLACE = Declaration("in place")
FROZEN = Declaration("frozen", update="frozen")
U = unit_roundoff("float64")
NEGLIGIBLE = U**2
"""Error that an oracle may have: bounds are multiples of u, so less than u squared is none of their digits."""
SAMPLES, LENGTH = 6, 40
LOSSES = [Hinge(0.5), SquaredHinge(2.0), Ridge(0.25)]


def problem_of(loss) -> Problem:
    generator = np.random.Generator(np.random.PCG64(5))
    data = generator.integers(-4, 5, size=(SAMPLES, 3)) / 4.0
    targets = np.where(np.arange(SAMPLES) % 2 == 0, 1.0, -1.0)
    return Problem("drawn", data, targets, LinearKernel(), loss)


def draws_of(problem: Problem, length: int = LENGTH) -> np.ndarray:
    generator = np.random.Generator(np.random.PCG64(7))
    block = 1 if problem.is_svm else 2
    return np.array([generator.permutation(SAMPLES)[:block] for _ in range(length)])


def truth_of(problem: Problem, draws: np.ndarray, bits: int = 192, at=()):
    kernel = exact_kernel(problem, Balls(bits))
    return enclosed_trajectory(problem, kernel, np.zeros(SAMPLES), draws, at)


def bounds_of(problem: Problem, draws, s: int, ends, declaration=IN_PLACE, entries=None, errors=None):
    exact = truth_of(problem, draws)
    entries = entries or kernel_entries(problem, declaration, exact.places)
    errors = exact.errors if errors is None else np.full(draws.shape[0], errors)
    start = np.zeros(SAMPLES)
    if problem.is_svm:
        return svm_trajectory_bound(
            entries, exact.places, start, exact.steps, errors, s, ends, problem.dual, declaration
        )
    return ridge_trajectory_bound(
        entries, exact.places, start, problem.targets, exact.steps, errors, s, ends,
        problem.loss.penalty, declaration,
    )  # fmt: skip


@pytest.mark.parametrize("declaration", [IN_PLACE, FROZEN])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_of_one_window_has_the_bound_of_that_window(loss, declaration):
    problem = problem_of(loss)
    draws = draws_of(problem, 12)
    exact = truth_of(problem, draws)
    entries = kernel_entries(problem, declaration, exact.places)
    (bound,) = bounds_of(problem, draws, 12, [12], declaration, errors=0.0).values()
    start = np.zeros(SAMPLES)
    if problem.is_svm:
        arguments = (exact.steps, problem.dual, declaration)
        window = svm_window_bound(entries, exact.places, start, *arguments)
        assert (window.amplification, window.undecided) == (bound.amplification, bound.undecided)
        own = window.radius
    else:
        arguments = (problem.targets, exact.steps, loss.penalty, declaration)
        own = np.array([ridge_window_errors(entries, exact.places, start, *arguments).norm])
    # Rounded outwards three times more: the sizes at the start, the window's sum, the total.
    assert (bound.radius >= own).all()
    assert (bound.radius <= own * ROUND_UP**3).all()


@pytest.mark.parametrize("s", [1, 7, 16])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_bound_of_a_prefix_does_not_depend_on_what_follows(loss, s):
    problem = problem_of(loss)
    draws = draws_of(problem)
    ends = [*range(s, LENGTH, s), LENGTH]
    whole = bounds_of(problem, draws, s, ends, errors=0.0)
    assert list(whole) == ends
    alone = bounds_of(problem, draws[: ends[0]], s, [ends[0]], errors=0.0)[ends[0]]
    # The same numbers, added in another order by BLAS.
    assert abs(whole[ends[0]].radius.max() / alone.radius.max() - 1) < gamma(64, U)
    assert (whole[ends[0]].amplification, whole[ends[0]].undecided) == (
        alone.amplification,
        alone.undecided,
    )


def test_windows_of_k_rr_add_up():
    problem = problem_of(Ridge(0.25))
    bounds = bounds_of(problem, draws_of(problem), 1, list(range(1, LENGTH + 1)))
    radii = [float(bound.radius[0]) for bound in bounds.values()]
    assert all(np.diff(radii) > 0)
    assert {bound.amplification for bound in bounds.values()} == {1.0}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_errors_of_the_oracles_run_enter_the_bound(loss):
    problem = problem_of(loss)
    draws = draws_of(problem)
    without = bounds_of(problem, draws, 4, [LENGTH], errors=0.0)[LENGTH].radius.max()
    with_errors = bounds_of(problem, draws, 4, [LENGTH], errors=1e-6)[LENGTH].radius.max()
    assert with_errors >= 1e-6 > without


@pytest.mark.parametrize("loss", LOSSES)
def test_a_kernel_error_that_is_not_finite_leaves_no_promise(loss):
    problem = problem_of(loss)
    draws = draws_of(problem)
    entries = kernel_entries(problem, IN_PLACE, truth_of(problem, draws).places)
    entries = replace(entries, solver_error=np.full_like(entries.solver_error, np.inf))
    bounds = bounds_of(problem, draws, 4, [8, LENGTH], entries=entries)
    assert all(np.isinf(bound.radius).all() for bound in bounds.values())


def test_a_frozen_form_may_err_more():
    problem = problem_of(Hinge(0.5))
    draws = draws_of(problem)
    frozen = bounds_of(problem, draws, 4, [LENGTH], FROZEN)[LENGTH].radius.max()
    assert frozen > bounds_of(problem, draws, 4, [LENGTH])[LENGTH].radius.max() > 0


# --- the M-norm --------------------------------------------------------------------------------------


def test_the_energy_norm_encloses_the_exact_one():
    problem, places = problem_of(Ridge(0.25)), np.array([4, 0, 2])
    entries = kernel_entries(problem, IN_PLACE, places)
    generator = np.random.Generator(np.random.PCG64(1))
    for scale in (1.0, 1e-200, 1e150):
        d = generator.standard_normal(3) * scale
        data = [[Fraction(x) for x in row] for row in problem.dense[places].tolist()]
        vector = [Fraction(x) for x in d.tolist()]
        combined = [sum(v * row[k] for v, row in zip(vector, data, strict=True)) for k in range(3)]
        square = sum(x * x for x in combined) * 4 + SAMPLES * sum(x * x for x in vector)
        low, high = energy_norm(entries, places, d, SAMPLES, 0.25)
        assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
        # Three of these round outwards, the fourth is ample for gamma_{2c+16} of the quadratic form.
        assert 0 < low <= high <= low * ROUND_UP**4


def test_the_energy_norm_is_at_least_that_of_the_identity_part():
    # What the kernel's error could take away is more than there is.
    entries = KernelEntries(np.zeros((2, 2)), np.full((2, 2), 1e3), np.zeros((2, 2)))
    low, high = energy_norm(entries, np.arange(2), np.array([3.0, 4.0]), 9, 1.0)
    assert 15 / ROUND_UP**2 <= low <= 15
    assert high > 100


def test_the_energy_norm_of_nothing_and_of_everything():
    entries = KernelEntries(np.eye(2), np.zeros((2, 2)), np.zeros((2, 2)))
    assert energy_norm(entries, np.arange(2), np.zeros(2), 2, 1.0) == (0.0, 0.0)
    assert energy_norm(entries, np.arange(2), np.array([np.nan, 0.0]), 2, 1.0) == (np.inf, np.inf)
    assert energy_norm(entries, np.arange(2), np.array([np.inf, 0.0]), 2, 1.0) == (np.inf, np.inf)
    huge = replace(entries, values=np.full((2, 2), 1e308))
    assert energy_norm(huge, np.arange(2), np.ones(2), 2, 1e-3) == (0.0, np.inf)


def test_no_difference_within_its_sizes_is_longer_than_their_reach():
    problem, places = problem_of(Ridge(0.25)), np.array([4, 0, 2])
    entries = kernel_entries(problem, IN_PLACE, places)
    generator = np.random.Generator(np.random.PCG64(1))
    for scale in (1.0, 1e-200, 1e150):
        sizes = generator.random(3) * scale
        reach = energy_reach(entries, places, sizes, SAMPLES, 0.25)
        ends = [np.array(signs) * sizes for signs in product((-1, 1), repeat=3)]
        within = [generator.uniform(-1, 1, 3) * sizes for _ in range(20)]
        longest = max(energy_norm(entries, places, d, SAMPLES, 0.25)[0] for d in (*ends, *within))
        assert longest <= reach
        assert reach <= 3 * longest  # signs of the kernel's entries cost something
    assert energy_reach(entries, places, np.zeros(3), SAMPLES, 0.25) == 0.0


# --- the oracle's run --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_the_run_of_points_is_near_the_exact_rational_one(loss):
    problem = problem_of(loss)
    draws, bits, short = draws_of(problem), 192, 8
    exact = truth_of(problem, draws, bits, at=(0, short))
    rational = Rational()
    kernel = exact_kernel(problem, rational)
    start = [0.0] * SAMPLES
    if problem.is_svm:
        arguments = (
            rational,
            kernel,
            rational.vector(problem.targets),
            start,
            draws[:short, 0].tolist(),
            3,
        )
        end = mutable_sstep_dcd(*arguments, loss=loss.task, C=loss.C)
    else:
        arguments = (rational, kernel, rational.vector(problem.targets), start, draws[:short].tolist(), 3)
        end = mutable_sstep_bdcd(*arguments, penalty=loss.penalty)
    for one, other in zip(exact.states[short], end, strict=True):
        assert one.rad().is_zero()
        assert abs(exact_fraction(one) - exact_fraction(other)) < Fraction(NEGLIGIBLE)
    assert all(value.is_zero() for value in exact.states[0])
    assert (exact.errors < NEGLIGIBLE).all()
    assert exact.errors.shape == (LENGTH,)


def test_fewer_bits_leave_a_larger_error_that_is_reported():
    problem = problem_of(SquaredHinge(2.0))
    draws = draws_of(problem)
    few, many = truth_of(problem, draws, 64), truth_of(problem, draws, 256)
    assert few.errors.max() > 2.0**-64 > many.errors.max()


@pytest.mark.parametrize("s", [1, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_unmutated_recurrence_follows_the_oracles_run(loss, s):
    problem = problem_of(loss)
    draws = draws_of(problem)
    exact = truth_of(problem, draws, at=(20, LENGTH))
    kernel = exact_kernel(problem, Balls(192))
    (states,) = mutated_states(problem, kernel, np.zeros(SAMPLES), draws, s, (20, LENGTH), [NONE])
    for iteration in (20, LENGTH):
        for one, other in zip(states[iteration], exact.states[iteration], strict=True):
            assert abs(float(one - other)) < NEGLIGIBLE
    assert mutated_states(problem, kernel, np.zeros(SAMPLES), draws, s, (20,), []) == []


@pytest.mark.parametrize("loss", LOSSES)
def test_a_mutant_that_draws_one_place_off_does_so_over_the_whole_stream(loss):
    problem, s = problem_of(loss), 5
    draws, kernel, start = draws_of(problem)[:12], exact_kernel(problem, Balls(192)), np.zeros(SAMPLES)
    early, short = left_out(quantities.STREAM), left_out(quantities.TAIL)
    off, cut = mutated_states(problem, kernel, start, draws, s, (10, 12), [early, short])
    (right,) = mutated_states(problem, kernel, start, np.roll(draws, -1, axis=0), s, (10, 12), [NONE])
    assert {end: list(map(float, state)) for end, state in off.items()} == {
        end: list(map(float, state)) for end, state in right.items()
    }
    assert list(cut[10]) == list(cut[12])


def test_two_oracles_that_contradict_each_other_end_the_run(monkeypatch):
    problem = problem_of(Hinge(0.5))

    def off(arithmetic, window, *arguments):
        return [arithmetic.number(7)]

    monkeypatch.setattr(oracle_module, "mutable_window", off)
    with pytest.raises(OracleDisagreementError, match="by the classical reference but at 7"):
        truth_of(problem, draws_of(problem))


def test_rbf_entries_enter_with_their_own_error():
    problem = replace(problem_of(Ridge(0.25)), kernel=RBFKernel(0.5))
    entries = kernel_entries(problem, IN_PLACE, np.arange(SAMPLES))
    low, high = energy_norm(entries, np.arange(SAMPLES), np.ones(SAMPLES), SAMPLES, 0.25)
    kernel = exact_kernel(problem, Balls(192))
    total = sum(float(kernel.column(j)[i]) for i in range(SAMPLES) for j in range(SAMPLES))
    square = total / 0.25 + SAMPLES**2
    assert low**2 * (1 - gamma(64, U)) <= square <= high**2 * (1 + gamma(64, U))
