"""Twins with a planted fault: each is found by the cases that the exact equality is tested on."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_cases import EXACT, Case, cases
from hypothesis import Phase, find, settings
from hypothesis.errors import NoSuchExample
from sstep_reference import bdcd_krr, dcd_ksvm, exact_fraction


def svm_twin(case: Case, s: int, loss: str, fault: str) -> list[Fraction]:
    """Independent s-step DCD in plain fractions, with one fault (or "none")."""
    C, m = case.parameter, case.samples
    shift = Fraction(0) if loss == "svm-l1" else 1 / (2 * C)
    Q = [
        [exact_fraction(case.kernel.column(j)[i]) * case.labels[i] * case.labels[j] for j in range(m)]
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
FEW = settings(QUICK, max_examples=25)
MANY = pytest.mark.parametrize(
    "tried", [FEW, pytest.param(QUICK, marks=pytest.mark.nightly)], ids=["few", "many"]
)
"""A fault is found in a few draws."""


def svm_twin_differs(loss: str, fault: str):
    def differs(case: Case) -> bool:
        indices = [i for (i,) in case.blocks]
        exact = dcd_ksvm(
            EXACT, case.kernel, case.labels, case.initial, indices, loss=loss, C=case.parameter
        )
        return any(
            svm_twin(case, s, loss, fault) != [exact_fraction(x) for x in exact]
            for s in range(1, len(indices) + 1)
        )

    return differs


@pytest.mark.parametrize(("loss", "fault"), SVM_FAULTS)
def test_a_planted_svm_fault_is_found(loss, fault):
    find(cases(blocks_of_one=True), svm_twin_differs(loss, fault), settings=QUICK)


@MANY
@pytest.mark.parametrize("loss", ["svm-l1", "svm-l2"])
def test_the_svm_twin_without_a_fault_is_not_found(loss, tried):
    with pytest.raises(NoSuchExample):
        find(cases(blocks_of_one=True), svm_twin_differs(loss, "none"), settings=tried)


def krr_twin(case: Case, s: int, fault: str) -> list[Fraction]:
    """Independent s-step BDCD in plain fractions, with one fault (or "none")."""
    m, penalty = case.samples, case.parameter
    K = [[exact_fraction(case.kernel.column(j)[i]) for j in range(m)] for i in range(m)]
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
            G = [[K[i][j] / penalty for j in block] for i in block]
            for place, row in enumerate(G):
                row[place] += m
            for i, delta in zip(
                block, EXACT.solve([EXACT.vector(g) for g in G], EXACT.vector(rhs)), strict=True
            ):
                made[i] += exact_fraction(delta)
        alpha = [x + d for x, d in zip(alpha, made, strict=True)]
    return alpha


def krr_twin_differs(fault: str):
    def differs(case: Case) -> bool:
        exact = bdcd_krr(
            EXACT, case.kernel, case.targets, case.initial, case.blocks, penalty=case.parameter
        )
        return any(
            krr_twin(case, s, fault) != [exact_fraction(x) for x in exact]
            for s in range(1, len(case.blocks) + 1)
        )

    return differs


REPLACED = pytest.mark.parametrize("replacement", [False, True])


@REPLACED
@pytest.mark.parametrize("fault", ["overlap dropped", "kernel correction dropped"])
def test_a_planted_krr_fault_is_found(fault, replacement):
    find(cases(blocks_of_one=False, replacement=replacement), krr_twin_differs(fault), settings=QUICK)


@MANY
@REPLACED
def test_the_krr_twin_without_a_fault_is_not_found(replacement, tried):
    with pytest.raises(NoSuchExample):
        find(cases(blocks_of_one=False, replacement=replacement), krr_twin_differs("none"), settings=tried)
