"""In exact arithmetic the s-step trajectory equals the classical one: no tolerance, no exception.

Each property compares, for one drawn problem and *every* s from 1 to beyond the number of iterations H,
the dual vector at every window end. Counters assert that the run as a whole met coordinates that end free,
clipped low and clipped high, overlaps inside windows, and short last windows; the twins of
test_exact_equality_faults.py show that each property can fail.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from exact_cases import EXACT, Case, cases
from hypothesis import given, settings
from sstep_reference import Gram, bdcd_krr, dcd_ksvm, exact_fraction, sstep_bdcd_krr, sstep_dcd_ksvm


def count_windows(seen: Counter, case: Case, s: int) -> None:
    """Count what the windows of s of a case exercise."""
    blocks = case.blocks
    seen["short last window"] += s < len(blocks) and len(blocks) % s != 0
    seen["s beyond H"] += s > len(blocks)
    for start in range(0, len(blocks), s):
        drawn = [i for block in blocks[start : start + s] for i in block]
        seen["overlap inside a window"] += len(set(drawn)) < len(drawn)
        seen["coordinate twice in a block"] += any(
            len(set(block)) < len(block) for block in blocks[start : start + s]
        )
        earlier = {i for block in blocks[:start] for i in block}
        seen["overlap across windows"] += bool(earlier.intersection(drawn))


def count_clips(seen: Counter, case: Case, trace: list, loss: str) -> None:
    """Count, by an independent evaluation of each step, where its coordinate ended."""
    before = case.initial
    C, shift = case.parameter, Fraction(0) if loss == "svm-l1" else 1 / (2 * case.parameter)
    for (i,), after in zip(case.blocks, trace, strict=True):
        after = [exact_fraction(x) for x in after]
        row = [
            exact_fraction(case.kernel.column(j)[i]) * case.labels[i] * case.labels[j]
            for j in range(case.samples)
        ]
        gradient = sum(q * x for q, x in zip(row, before, strict=True)) - 1 + shift * before[i]
        if row[i] + shift == 0:
            seen["zero row"] += 1
            assert after[i] == C
        else:
            target = before[i] - gradient / (row[i] + shift)
            bounded = loss == "svm-l1" and target > C
            seen["clipped low" if target < 0 else "clipped high" if bounded else "free"] += 1
            assert after[i] == (0 if target < 0 else C if bounded else target)
        before = after


MANY = pytest.mark.parametrize("draws", [50, pytest.param(250, marks=pytest.mark.nightly)])


@MANY
@pytest.mark.parametrize("loss", ["svm-l1", "svm-l2"])
def test_sstep_dcd_equals_dcd(loss, draws):
    seen: Counter = Counter()

    @settings(max_examples=draws)
    @given(cases(blocks_of_one=True))
    def holds(case):
        indices = [i for (i,) in case.blocks]
        H = len(indices)
        arguments = (EXACT, case.kernel, case.labels, case.initial, indices)
        classical: list = []
        dcd_ksvm(*arguments, loss=loss, C=case.parameter, trace=classical)
        count_clips(seen, case, classical, loss)
        for s in range(1, H + 3):
            windows: list = []
            final = sstep_dcd_ksvm(*arguments, s, loss=loss, C=case.parameter, trace=windows)
            assert windows == [classical[min(end, H) - 1] for end in range(s, H + s, s)]
            assert final == classical[-1]
            count_windows(seen, case, s)

    holds()
    expected = {"free", "clipped low", "short last window", "s beyond H"}
    expected |= {"overlap inside a window", "overlap across windows"}
    if loss == "svm-l1":
        expected |= {"clipped high", "zero row"}
    assert {key for key in expected if seen[key]} == expected, seen


@MANY
@pytest.mark.parametrize("replacement", [False, True])
def test_sstep_bdcd_equals_bdcd(replacement, draws):
    seen: Counter = Counter()

    @settings(max_examples=draws // (2 if replacement else 1))
    @given(cases(blocks_of_one=False, replacement=replacement))
    def holds(case):
        H, b = len(case.blocks), len(case.blocks[0])
        arguments = (EXACT, case.kernel, case.targets, case.initial, case.blocks)
        classical: list = []
        bdcd_krr(*arguments, penalty=case.parameter, trace=classical)
        seen["b = 1"] += b == 1
        seen["1 < b < m"] += 1 < b < case.samples
        seen["b = m > 1"] += b == case.samples > 1
        for s in range(1, H + 3):
            windows: list = []
            final = sstep_bdcd_krr(*arguments, s, penalty=case.parameter, trace=windows)
            assert windows == [classical[min(end, H) - 1] for end in range(s, H + s, s)]
            assert final == classical[-1]
            count_windows(seen, case, s)

    holds()
    expected = {"1 < b < m", "b = m > 1", "short last window", "s beyond H"}
    expected |= {"overlap inside a window", "overlap across windows"}
    expected |= {"coordinate twice in a block" if replacement else "b = 1"}
    assert {key for key in expected if seen[key]} == expected, seen
    assert bool(seen["coordinate twice in a block"]) == replacement


def test_the_increments_of_a_coordinate_drawn_twice_are_equal_and_added():
    # G = [[1 + 2, 1], [1, 1 + 2]] and r = (4, 4): each draw adds 1.
    kernel = Gram(EXACT, [[1, 0], [0, 1]])
    log: list = []
    end = bdcd_krr(EXACT, kernel, [4, 0], [0, 0], [[0, 0]], penalty=1, log=log)
    assert ([*end], log) == ([2, 0], [1, 2])
