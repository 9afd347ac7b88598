"""In exact arithmetic the s-step trajectory equals the classical one: no tolerance, no exception.

Each property compares, for one drawn problem and *every* s from 1 to beyond the number of iterations H,
the dual vector at every window end. Counters assert that the run as a whole met coordinates that end free,
clipped low and clipped high, overlaps inside windows, and short last windows; twins with a planted fault
show that each property can fail.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from sstep_reference import Gram, Kernel, Rational, bdcd_krr, dcd_ksvm, sstep_bdcd_krr, sstep_dcd_ksvm

EXACT = Rational()
small = st.builds(Fraction, st.integers(-4, 4), st.integers(1, 3))
positive = st.builds(Fraction, st.integers(1, 24), st.integers(1, 8))


@dataclass
class Case:
    """One drawn problem: a kernel over m samples, and blocks of indices."""

    kernel: Gram | Kernel
    labels: list[int]
    targets: list[Fraction]
    initial: list[Fraction]
    parameter: Fraction
    blocks: list[list[int]]

    @property
    def samples(self) -> int:
        return len(self.labels)


@st.composite
def kernels(draw, m: int):
    """Linear or polynomial kernel of rational data, or an arbitrary Gram matrix B B', often singular."""
    kind = draw(st.sampled_from(["gram", "linear", "polynomial"]))
    width = draw(st.integers(1, m + 1))
    rows = draw(st.lists(st.lists(small, min_size=width, max_size=width), min_size=m, max_size=m))
    if kind == "gram":
        products = [[sum(x * z for x, z in zip(p, q, strict=True)) for q in rows] for p in rows]
        return Gram(EXACT, products)
    if draw(st.booleans()):
        rows[draw(st.integers(0, m - 1))] = [Fraction(0)] * width
    degree, offset = draw(st.integers(2, 4)), abs(draw(small))
    return Kernel(EXACT, rows, kind, degree=degree, offset=offset)


@st.composite
def cases(draw, blocks_of_one: bool):
    """A problem whose stream draws few coordinates many times."""
    m = draw(st.integers(1, 6))
    b = 1 if blocks_of_one else draw(st.integers(1, m))
    block = st.permutations(range(m)).map(lambda order: order[:b])
    parameter = draw(positive)
    share = st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 3), Fraction(1)])
    return Case(
        kernel=draw(kernels(m)),
        labels=draw(st.lists(st.sampled_from([-1, 1]), min_size=m, max_size=m)),
        targets=draw(st.lists(small, min_size=m, max_size=m)),
        initial=[parameter * x for x in draw(st.lists(share, min_size=m, max_size=m))],
        parameter=parameter,
        blocks=draw(st.lists(block, min_size=1, max_size=9)),
    )


def count_windows(seen: Counter, case: Case, s: int) -> None:
    """Count what the windows of s of a case exercise."""
    blocks = case.blocks
    seen["short last window"] += s < len(blocks) and len(blocks) % s != 0
    seen["s beyond H"] += s > len(blocks)
    for start in range(0, len(blocks), s):
        drawn = [i for block in blocks[start : start + s] for i in block]
        seen["overlap inside a window"] += len(set(drawn)) < len(drawn)
        earlier = {i for block in blocks[:start] for i in block}
        seen["overlap across windows"] += bool(earlier.intersection(drawn))


def count_clips(seen: Counter, case: Case, trace: list, loss: str) -> None:
    """Count, by an independent evaluation of each step, where its coordinate ended."""
    before = case.initial
    C, shift = case.parameter, Fraction(0) if loss == "svm-l1" else 1 / (2 * case.parameter)
    for (i,), after in zip(case.blocks, trace, strict=True):
        after = [EXACT.to_fraction(x) for x in after]
        row = [
            EXACT.to_fraction(case.kernel.entry(i, j)) * case.labels[i] * case.labels[j]
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


@pytest.mark.parametrize("loss", ["svm-l1", "svm-l2"])
def test_sstep_dcd_equals_dcd(loss):
    seen: Counter = Counter()

    @settings(max_examples=250)
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


def test_sstep_bdcd_equals_bdcd():
    seen: Counter = Counter()

    @settings(max_examples=250)
    @given(cases(blocks_of_one=False))
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
    expected = {"b = 1", "1 < b < m", "b = m > 1", "short last window", "s beyond H"}
    expected |= {"overlap inside a window", "overlap across windows"}
    assert {key for key in expected if seen[key]} == expected, seen


def svm_twin(case: Case, s: int, loss: str, fault: str) -> list[Fraction]:
    """Independent s-step DCD in plain fractions, with one fault (or "none")."""
    C, m = case.parameter, case.samples
    shift = Fraction(0) if loss == "svm-l1" else 1 / (2 * C)
    Q = [
        [EXACT.to_fraction(case.kernel.entry(i, j)) * case.labels[i] * case.labels[j] for j in range(m)]
        for i in range(m)
    ]
    alpha = list(case.initial)
    indices = [i for (i,) in case.blocks]
    if fault == "last short window lost":
        indices = indices[: len(indices) // s * s]
    for start in range(0, len(indices), s):
        made = [Fraction(0)] * m  # sum of the increments of this window, by coordinate
        for i in indices[start : start + s]:
            value = alpha[i] + (0 if fault == "overlap dropped" else made[i])
            gradient = sum(q * x for q, x in zip(Q[i], alpha, strict=True)) - 1 + shift * alpha[i]
            gradient += (
                0 if fault == "kernel correction dropped" else sum(map(Fraction.__mul__, Q[i], made))
            )
            gradient += 0 if fault == "shift correction dropped" else shift * made[i]
            curvature = Q[i][i] + shift
            new = C if curvature == 0 else max(value - gradient / curvature, Fraction(0))
            made[i] += (min(new, C) if loss == "svm-l1" else new) - value
        alpha = [x + d for x, d in zip(alpha, made, strict=True)]
    return alpha


SVM_FAULTS = [
    ("svm-l1", "overlap dropped"),
    ("svm-l1", "kernel correction dropped"),
    ("svm-l1", "last short window lost"),
    ("svm-l2", "overlap dropped"),
    ("svm-l2", "kernel correction dropped"),
    ("svm-l2", "shift correction dropped"),
]
QUICK = settings(phases=[Phase.generate], max_examples=200, derandomize=True, database=None)


def svm_twin_differs(loss: str, fault: str):
    def differs(case: Case) -> bool:
        indices = [i for (i,) in case.blocks]
        exact = dcd_ksvm(
            EXACT, case.kernel, case.labels, case.initial, indices, loss=loss, C=case.parameter
        )
        return any(
            svm_twin(case, s, loss, fault) != [EXACT.to_fraction(x) for x in exact]
            for s in range(1, len(indices) + 1)
        )

    return differs


@pytest.mark.parametrize(("loss", "fault"), SVM_FAULTS)
def test_a_planted_svm_fault_is_found(loss, fault):
    find(cases(blocks_of_one=True), svm_twin_differs(loss, fault), settings=QUICK)


@pytest.mark.parametrize("loss", ["svm-l1", "svm-l2"])
def test_the_svm_twin_without_a_fault_is_not_found(loss):
    with pytest.raises(NoSuchExample):
        find(cases(blocks_of_one=True), svm_twin_differs(loss, "none"), settings=QUICK)


def krr_twin(case: Case, s: int, fault: str) -> list[Fraction]:
    """Independent s-step BDCD in plain fractions, with one fault (or "none")."""
    m, penalty = case.samples, case.parameter
    K = [[EXACT.to_fraction(case.kernel.entry(i, j)) for j in range(m)] for i in range(m)]
    alpha = list(case.initial)
    for start in range(0, len(case.blocks), s):
        made = [Fraction(0)] * m
        for block in case.blocks[start : start + s]:
            rhs = []
            for i in block:
                stale = case.targets[i] - m * alpha[i]
                stale -= sum(k * x for k, x in zip(K[i], alpha, strict=True)) / penalty
                stale -= 0 if fault == "overlap dropped" else m * made[i]
                correction = sum(k * x for k, x in zip(K[i], made, strict=True)) / penalty
                rhs.append(stale - (0 if fault == "kernel correction dropped" else correction))
            G = [[K[i][j] / penalty + (m if i == j else 0) for j in block] for i in block]
            for i, delta in zip(
                block, EXACT.solve([EXACT.vector(g) for g in G], EXACT.vector(rhs)), strict=True
            ):
                made[i] += EXACT.to_fraction(delta)
        alpha = [x + d for x, d in zip(alpha, made, strict=True)]
    return alpha


def krr_twin_differs(fault: str):
    def differs(case: Case) -> bool:
        exact = bdcd_krr(
            EXACT, case.kernel, case.targets, case.initial, case.blocks, penalty=case.parameter
        )
        return any(
            krr_twin(case, s, fault) != [EXACT.to_fraction(x) for x in exact]
            for s in range(1, len(case.blocks) + 1)
        )

    return differs


@pytest.mark.parametrize("fault", ["overlap dropped", "kernel correction dropped"])
def test_a_planted_krr_fault_is_found(fault):
    find(cases(blocks_of_one=False), krr_twin_differs(fault), settings=QUICK)


def test_the_krr_twin_without_a_fault_is_not_found():
    with pytest.raises(NoSuchExample):
        find(cases(blocks_of_one=False), krr_twin_differs("none"), settings=QUICK)
