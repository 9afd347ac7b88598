"""Bounds of K-SVM windows and runs of two steps, by the derivation of bounds/window/svm.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY32, U, gamma, is_bound

from sstep_verify.bounds.screen import screen_svm
from sstep_verify.bounds.window.split import (
    ACCUMULATION,
    CORRECTIONS,
    KERNEL,
    REST_SVM,
    STALE,
    svm_window_split,
)
from sstep_verify.bounds.window.svm import svm_trajectory_bound, svm_window_bound
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem
from sstep_verify.problems.losses import Dual
from sstep_verify.quantities import SvmSteps
from sstep_verify.rounding.right_hand_side import CarriedTerms
from sstep_verify.rounding.rows import KernelEntries

MATRIX = [[Fraction(4), Fraction(-1), Fraction(1, 2)], [Fraction(-1), Fraction(2), Fraction(1)]]
"""Rows of two of three samples."""

DELTA, ORACLE = Fraction(1, 2**50), Fraction(1, 2**51)
"""What entries, and an oracle's unclipped values, are off by."""

START = [Fraction(1), Fraction(0), Fraction(-2)]
NEW = [Fraction(3), Fraction(-1)]
"""Of one step on each of the two coordinates: free values in a box from -8 to 8."""

OMEGA = Fraction(1, 2)
FREE = Dual(0.5, 8.0, -8.0)


def floats(values) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def entries(judge: Fraction = Fraction(0)) -> KernelEntries:
    return KernelEntries(floats(MATRIX), np.full((2, 3), float(judge)), np.full((2, 3), float(DELTA)))


def steps(start=START, new=NEW) -> SvmSteps:
    values = floats(start[:2])
    return SvmSteps(np.arange(2), values, floats(new) - values, floats(new), floats(new))


class Window:
    """What two steps of a window err by, with formulas written as the derivation has them."""

    def __init__(self, update: str, start=START, carried: CarriedTerms | None = None, windows: int = 1):
        self.update, self.start, self.carried, self.windows = update, start, carried, windows
        self.radius, self.moved = [Fraction(0)] * 2, [Fraction(0)] * 2
        self.rounded, self.delta = [Fraction(0)] * 2, DELTA
        self.judge: Fraction | None = None

    def used(self, i: int, j: int) -> Fraction:
        return abs(MATRIX[i][j]) + self.delta

    def gradient(self, i: int, made: int) -> tuple[Fraction, Fraction, int]:
        """Sizes of its terms, what they are off by, and how often they round."""
        terms = 1 + OMEGA * (abs(self.start[i]) + self.moved[i])
        off = OMEGA * self.rounded[i]
        if self.carried is None:
            terms += sum(self.used(i, j) * abs(self.start[j]) for j in range(3))
            off += sum(self.delta * abs(self.start[j]) for j in range(3))
            k = sum(a != 0 for a in self.start) + made + 6
        else:
            terms += Fraction(self.carried.size[i])
            off += Fraction(self.carried.error[i])
            k = self.carried.roundings + 2 * made + 6
        size = 0 if self.carried is None else 3  # |x_i|'|x_j| of what is maintained
        terms += sum(max(self.used(i, j), size) * self.moved[j] for j in range(2))
        off += sum(self.delta * self.moved[j] + self.used(i, j) * self.rounded[j] for j in range(2))
        return terms, off, k

    def unclipped(self, i: int, terms, off, k, u, entry, more=Fraction(0)) -> Fraction:
        """Gradient, curvature, quotient and difference."""
        eta, new, own = MATRIX[i][i] + OMEGA, abs(NEW[i]) + more, abs(self.start[i])
        size = abs(MATRIX[i][i]) + self.delta + OMEGA
        error = (gamma(k, u) * terms + off + (own + new) * (entry + gamma(3, u) * size)) / eta
        return error + gamma(2, u) * (own + 2 * new + 2 * error)

    def step(self, i: int, made: int, oracle: Fraction = Fraction(0)) -> None:
        terms, off, k = self.gradient(i, made)
        handed = sum(
            abs(MATRIX[i][j]) / (MATRIX[i][i] + OMEGA) * self.radius[j] for j in range(2) if j != i
        )
        fresh = oracle + self.unclipped(i, terms, off, k, U, self.delta, oracle)
        change = abs(NEW[i] - self.start[i])
        if self.update == "frozen":
            # A value that was drawn r times before: a sum of as many increments, in r + 2 roundings.
            fresh += self.windows * gamma(2, U) * (abs(self.start[i]) + self.moved[i]) + U * change
        elif self.update == "added":
            self.rounded[i] += gamma(2, U) * (abs(self.start[i]) + 2 * change)
            fresh += self.rounded[i]
        self.radius[i] = handed + fresh
        self.moved[i] += change + self.radius[i]

    def end(self) -> list[Fraction]:
        if self.update == "frozen":
            sizes = [abs(self.start[i]) + self.moved[i] for i in range(2)]
            self.radius = [
                r + gamma(1, U) * (x + r) + gamma(3, U) * x for r, x in zip(self.radius, sizes, strict=True)
            ]
        return self.radius


@pytest.mark.parametrize("windows", [1, 2])
@pytest.mark.parametrize("update", ["in-place", "added", "frozen"])
def test_a_window_of_two_steps(update, windows):
    found = svm_window_bound(
        entries(), np.arange(2), floats(START), steps(), FREE, Declaration("svm", update=update),
        windows=windows,
    )  # fmt: skip
    window = Window(update, windows=windows)
    window.step(0, 0)
    window.step(1, 1)
    is_bound(found.radius, window.end())
    assert (found.undecided, found.amplification) == (0, 1.0)


def test_a_window_from_maintained_weights():
    carried = CarriedTerms(np.array([8.0, 16.0]), np.array([2.0**-50, 2.0**-51]), 5, np.full((2, 2), 3.0))
    declaration = Declaration("svm", weights=0)
    found = svm_window_bound(entries(), np.arange(2), floats(START), steps(), FREE, declaration, carried)
    window = Window("in-place", carried=carried)
    window.step(0, 0)
    window.step(1, 1)
    is_bound(found.radius, window.end())


def test_a_run_of_two_windows_hands_on_its_errors():
    """From 0: the second window's stale product is made from what the first one left."""
    zero = [Fraction(0)] * 3
    found = svm_trajectory_bound(
        entries(), np.arange(2), np.zeros(3), steps(zero), np.full(2, float(ORACLE)), 1, [1, 2], FREE,
        Declaration("svm"),
    )  # fmt: skip
    run = Window("in-place", zero)
    run.step(0, 0, ORACLE)
    is_bound(found[1].radius, [run.radius[0], 0])
    second = Window("in-place", [abs(NEW[0]) + run.radius[0], Fraction(0), Fraction(0)])
    second.radius = [run.radius[0], Fraction(0)]
    second.step(1, 0, ORACLE)
    is_bound(found[2].radius, [run.radius[0], second.radius[1]])
    assert (found[2].undecided, found[2].amplification) == (0, 1.0)


@pytest.mark.parametrize(("new", "off"), [(8, 0), (7.9, 3)])
def test_an_undecided_clip_is_off_by_the_radius_and_by_the_end(new, off):
    """In float32, in which 7.9 is no number: its ends are off by gamma_3."""
    u = Fraction(1, 2**24)
    zero, one = np.zeros(3), np.arange(1)
    values = floats([new])
    made = SvmSteps(one, np.zeros(1), values, values, values)
    rows = entries().at(one)
    found = svm_window_bound(
        rows, one, zero, made, Dual(0.5, float(new), -float(new)), Declaration("svm", precision="float32")
    )
    eta, size = MATRIX[0][0] + OMEGA, Fraction(new)
    error = (gamma(6, u) + size * (DELTA + gamma(3, u) * (eta + DELTA))) / eta
    error += gamma(2, u) * (2 * size + 2 * error)
    is_bound(found.radius, [error + gamma(off, u) * Fraction(new)])
    assert found.undecided == 1


@pytest.mark.parametrize("judge", [Fraction(0), Fraction(1, 2**49)])
def test_a_screen_allows_the_sum_of_both_errors(judge):
    """One step from a: the judge's own error in float64, and the solver's next to it."""
    problem = Problem("screened", np.eye(3), np.ones(3), LinearKernel(), Hinge(8.0))
    start, i = [Fraction(1), Fraction(0), Fraction(2)], 1
    ends = floats([start, [1, 0.5, 2]])
    rows = KernelEntries(floats(MATRIX)[1:], np.full((1, 3), float(judge)), np.full((1, 3), float(DELTA)))
    screened = screen_svm(
        problem, Declaration("svm"), rows, np.array([i]), ends, np.array([i], dtype=np.int64), 1
    )
    # z = -(-1 + 2 - 1) / 2 = 0 lies on the box: an undecided clip. The gradient has terms 1, 2 and 1.
    eta, sizes = MATRIX[1][1], sum(abs(MATRIX[1][j]) * start[j] for j in range(3)) + 1
    off = judge * 3
    terms = sizes + off + DELTA * 3
    own = (gamma(2 + 6, U) * terms + off) / eta
    own += gamma(2, U) * 2 * own
    other = (gamma(2 + 6, U) * terms + DELTA * 3 + own * (DELTA + 3 * gamma(1, U) * eta)) / eta
    other += gamma(2, U) * (2 * own + 2 * other)
    is_bound(screened.bound, [own + other])
    assert abs(screened.distance[0] - 0.5) < 1e-8
    assert abs(screened.ratio[0] * screened.bound[0] / screened.distance[0] - 1) < 1e-12


def test_a_screen_of_two_steps_hands_on_both_errors():
    """From (2, 3) to (1, 1), all free; entries are off for the judge as well."""
    problem = Problem("screened", np.eye(3), np.ones(3), LinearKernel(), Hinge(8.0))
    judge, start = Fraction(1, 2**49), [Fraction(2), Fraction(3), Fraction(0)]
    ends = floats([start, [1, 1, 0]])
    draws = np.arange(2, dtype=np.int64)
    screened = screen_svm(problem, Declaration("svm"), entries(judge), np.arange(2), ends, draws, 2)
    reach, before = list(start), list(start)
    radius: list[Fraction] = []
    for i, made in ((0, 0), (1, 1)):
        eta, row = MATRIX[i][i], MATRIX[i]

        def unclipped(terms, off, entry, more, *, eta=eta, k=2 + made + 6, own=before[i]):
            error = gamma(k, U) * terms + off
            error += (own + 1 + more) * (entry + gamma(3, U) * (eta + judge + DELTA))
            error /= eta
            return error + gamma(2, U) * (own + 2 * (1 + more) + 2 * error)

        total = sum(reach)
        terms = sum((abs(k) + judge + DELTA) * a for k, a in zip(row, reach, strict=True)) + 1
        own = unclipped(terms, judge * total, judge, 0)
        radius.append(own + unclipped(terms, DELTA * total, DELTA, own))
        if made:
            radius[1] += abs(row[0]) / eta * radius[0]
        reach[i] += before[i] - 1 + radius[i]
    # Nothing moved where it should not: the ratio is that of what float64 rounds a distance of 0 to.
    assert screened.ratio[0] == screened.distance[0] == 0.0
    is_bound(screened.bound, radius[:1])
    for i in range(2):
        off = ends.copy()
        off[1, i] += 0.25
        again = screen_svm(problem, Declaration("svm"), entries(judge), np.arange(2), off, draws, 2)
        is_bound(again.bound, [radius[i]])


def test_a_window_of_zeros_is_off_by_what_underflows():
    single, rows = Declaration("svm", precision="float32", products="rows"), np.arange(1)
    kernel, nothing = KernelEntries(np.ones((1, 1)), *np.zeros((2, 1, 1))), np.zeros(1)
    steps_of = SvmSteps(rows, *np.zeros((4, 1)))
    dual = Dual(0.0, 8.0, -8.0, linear=nothing)
    found = svm_window_bound(kernel, rows, nothing, steps_of, dual, single)
    # A product with a, two for the step, six others, and the quotient.
    is_bound(found.radius, [(1 + 2 + 6 + 1) * TINY32])


def test_the_share_of_each_source():
    arguments = (entries(), np.arange(2), floats(START), steps(), FREE)
    parts = svm_window_split(*arguments, Declaration("svm", update="frozen"))
    whole = Window("frozen")
    without = Window("frozen")
    without.delta = Fraction(0)
    for window in (whole, without):
        window.step(0, 0)
        window.step(1, 1)
        window.end()
    near = Fraction(1, 1000)  # Differences of bounds, of which 30 bits are kept.
    is_bound(
        parts[KERNEL],
        [(x - y) * (1 - near) for x, y in zip(whole.radius, without.radius, strict=True)],
        3 * near,
    )
    # Of the first step: products with a, gamma_8 (4 * 1 + 1/2 * 2) over eta; no correction; A before and after.
    eta, size = MATRIX[0][0] + OMEGA, abs(START[0])
    stale = gamma(8, U) * 5 / eta
    is_bound(parts[STALE][:1], [stale * (1 - near)], 3 * near)
    assert parts[CORRECTIONS][0] < float(near * stale)
    landed = gamma(2, U) * size + gamma(3, U) * (size + 2)
    is_bound(parts[ACCUMULATION][:1], [landed * (1 - near)], 3 * near)
    # Of the second, the first increment's correction, and what the first step's errors hand on.
    handed = 1 / (MATRIX[1][1] + OMEGA)
    correction = gamma(9, U) * 2 * handed
    is_bound(parts[CORRECTIONS][1:], [correction * (1 - near)], 3 * near)
    is_bound(sum(parts.values()), whole.radius)
    assert (parts[REST_SVM] > 0).all()
