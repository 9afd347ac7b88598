"""Executable counterexamples to what the paper prints; reference/ERRATA.md names each of these tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sstep_reference import (
    Balls,
    Float,
    Gram,
    Kernel,
    Mpmath,
    Rational,
    bdcd_krr,
    dcd_ksvm,
    exact_fraction,
    sstep_bdcd_krr,
    sstep_dcd_ksvm,
)

EXACT = Rational()
HALF = Fraction(1, 2)


def fractions(vector) -> list[Fraction]:
    return [exact_fraction(x) for x in vector]


def quadratic(Q, a, b) -> Fraction:
    return sum(Q[i][j] * a[i] * b[j] for i in range(len(a)) for j in range(len(b)))


def dual(Q, a, shift=Fraction(0)) -> Fraction:
    """Dual value: minus the objective that the paper minimises."""
    return sum(a) - quadratic(Q, a, a) / 2 - shift * sum(x * x for x in a) / 2


def primal(Q, a, C, power: int) -> Fraction:
    """Primal value at w = sum_i a_i y_i phi(a_i); |w|^2 = a'Qa and the margins are Qa."""
    margins = [sum(q * x for q, x in zip(row, a, strict=True)) for row in Q]
    return quadratic(Q, a, a) / 2 + C * sum(max(1 - z, Fraction(0)) ** power for z in margins)


@pytest.mark.parametrize("C", [Fraction(1, 64), Fraction(1, 2), Fraction(1), Fraction(64), Fraction(10**9)])
def test_the_hard_margin_is_the_limit_of_large_c(C):
    # Samples -1 and +1 with labels -1 and +1: the hard margin is w = 1, both margins equal to 1.
    kernel = Kernel(EXACT, [[-1], [1]], "linear")
    a = fractions(dcd_ksvm(EXACT, kernel, [-1, 1], [0, 0], [0, 1] * 4, loss="svm-l1", C=C))
    w = -1 * -1 * a[0] + a[1]
    assert w == min(2 * C, Fraction(1))  # 1 for every large C; it tends to 0 with C


def test_the_printed_constraint_is_satisfied_by_doing_nothing():
    # Printed: y_i (<a_i, x> + rho) <= 1 - xi_i. x = 0, rho = 0, xi = 0 has objective 0 on any data.
    for label, sample in ((1, 3), (-1, 3), (1, -2)):
        margin = label * (sample * 0 + 0)
        assert margin <= 1 - 0
        assert not margin >= 1 - 0  # the corrected constraint excludes it


def test_the_l2_primal_squares_the_slack():
    # One sample, K = 1, C = 1: a = 1 / (1 + 1/2) = 2/3. Strong duality holds with the square only.
    Q, C = [[Fraction(1)]], Fraction(1)
    a = fractions(dcd_ksvm(EXACT, Gram(EXACT, Q), [1], [0], [0], loss="svm-l2", C=C))
    assert a == [Fraction(2, 3)]
    assert primal(Q, a, C, 2) == dual(Q, a, HALF) == Fraction(1, 3)
    assert primal(Q, a, C, 1) == Fraction(5, 9)


def test_the_l2_dual_needs_its_sign_constraint():
    # Without a >= 0 the minimiser solves (Q + I/(2C)) a = 1, here with a negative entry.
    Q, C = [[1, 2], [2, 5]], Fraction(4)
    shift = 1 / (2 * C)
    system = [EXACT.vector([Q[i][j] + (shift if i == j else 0) for j in range(2)]) for i in range(2)]
    free = fractions(EXACT.solve(system, EXACT.vector([1, 1])))
    assert min(free) < 0
    a = fractions(dcd_ksvm(EXACT, Gram(EXACT, Q), [1, 1], [0, 0], [1, 0, 1, 0, 1], loss="svm-l2", C=C))
    assert a == [1 / (1 + shift), 0]
    assert dual(Q, a, shift) == primal(Q, a, C, 2)  # optimal over a >= 0
    assert dual(Q, free, shift) > dual(Q, a, shift)  # a different problem


def test_libsvm_solves_another_problem():
    # LIBSVM's bias adds the constraint y'a = 0; the optimum without a bias violates it.
    labels = [1, 1, -1]
    kernel = Kernel(EXACT, [[2], [1], [-1]], "linear")
    a = fractions(dcd_ksvm(EXACT, kernel, labels, [0] * 3, [0, 1, 2] * 3, loss="svm-l1", C=1))
    Q = [[exact_fraction(x) for x in kernel.labelled(labels).column(i)] for i in range(3)]
    assert dual(Q, a) == primal(Q, a, Fraction(1), 1)
    assert sum(y * x for y, x in zip(labels, a, strict=True)) != 0


DATA = np.array([[1.0, 2.0], [-1.0, 0.5], [0.25, -1.0]])
LABELS = [1, -1, 1]


@pytest.mark.parametrize(
    ("arithmetic", "name", "parameters", "equal"),
    [
        (EXACT, "linear", {}, True),
        (EXACT, "polynomial", {"degree": 3}, True),
        (EXACT, "polynomial", {"degree": 2}, False),
        (EXACT, "polynomial", {"degree": 3, "offset": 1}, False),
        (Mpmath(128), "rbf", {}, False),
    ],
    ids=["linear", "odd homogeneous", "even", "offset", "rbf"],
)
def test_labels_belong_outside_the_kernel(arithmetic, name, parameters, equal):
    inside = Kernel(arithmetic, np.array(LABELS)[:, None] * DATA, name, **parameters)
    outside = Kernel(arithmetic, DATA, name, **parameters).labelled(LABELS)
    same = all(inside.column(j)[i] == outside.column(j)[i] for i in range(3) for j in range(3))
    assert same == equal


def test_the_ridge_dual_has_m_on_the_diagonal_only():
    data, y, penalty, m = [[1, 0], [1, 2], [0, 1]], [1, 2, -1], Fraction(2), 3
    kernel = Kernel(EXACT, data, "linear")
    K = [fractions(kernel.column(i)) for i in range(m)]
    a = fractions(bdcd_krr(EXACT, kernel, y, [0] * m, [[0, 1, 2]], penalty=penalty))
    # Algorithm 3 reaches (K/lambda + m I) a = y, and x = A'a/lambda solves the primal ridge problem:
    x = [sum(a[i] * data[i][f] for i in range(m)) / penalty for f in range(2)]
    residual = [sum(p * q for p, q in zip(row, x, strict=True)) - t for row, t in zip(data, y, strict=True)]
    for f in range(2):
        assert sum(residual[i] * data[i][f] for i in range(m)) / m + penalty * x[f] == 0
    # The printed dual has K/lambda + m on all entries; its gradient does not vanish there.
    diagonal, printed = (
        [
            sum((K[i][j] / penalty + (m if i == j or everywhere else 0)) * a[j] for j in range(m)) - y[i]
            for i in range(m)
        ]
        for everywhere in (False, True)
    )
    assert diagonal == [0, 0, 0]
    assert any(printed)


def test_h_iterations_are_h_iterations():
    kernel, indices = Gram(EXACT, [[2, 1], [1, 2]]), [0, 1, 0, 1, 0]
    blocks = [[i] for i in indices]
    for s, windows in ((1, 5), (2, 3), (5, 1), (9, 1)):
        svm, ridge = [], []
        sstep_dcd_ksvm(EXACT, kernel, [1, 1], [0, 0], indices, s, loss="svm-l2", C=1, trace=svm)
        sstep_bdcd_krr(EXACT, kernel, [1, 1], [0, 0], blocks, s, penalty=1, trace=ridge)
        printed = len(range(0, len(indices) // s + 1))  # k = 0, ..., H/s
        assert len(svm) == len(ridge) == windows
        assert len(indices) % s or printed == windows + 1
    trace: list = []
    bdcd_krr(EXACT, kernel, [1, 1], [0, 0], blocks, penalty=1, trace=trace)
    assert len(trace) == len(range(0, 5 + 1)) - 1  # Algorithm 3 prints k = 0, ..., H


def test_the_first_unrolled_gradient_needs_the_second_column():
    # The correction of g_{sk+2} is theta u_{sk+2}' e_{i1}, not the printed theta u_{sk+1}' e_{i1}.
    Q, alpha, i1, i2 = [[Fraction(3), Fraction(1)], [Fraction(1), Fraction(2)]], [Fraction(0)] * 2, 0, 1
    theta = fractions(dcd_ksvm(EXACT, Gram(EXACT, Q), [1, 1], alpha, [i1], loss="svm-l1", C=5))[i1]
    true_gradient = Q[i2][i1] * theta - 1
    assert -1 + theta * Q[i2][i1] == true_gradient
    assert -1 + theta * Q[i1][i1] != true_gradient


@pytest.mark.parametrize(("loss", "power"), [("svm-l1", 1), ("svm-l2", 2)])
def test_the_gap_is_primal_minus_dual(loss, power):
    Q, C = [[Fraction(3), Fraction(1)], [Fraction(1), Fraction(2)]], Fraction(1)
    shift = Fraction(0) if power == 1 else 1 / (2 * C)
    trace: list = []
    dcd_ksvm(EXACT, Gram(EXACT, Q), [1, 1], [0, 0], [0, 1, 0], loss=loss, C=C, trace=trace)
    gaps = [primal(Q, fractions(a), C, power) - dual(Q, fractions(a), shift) for a in trace]
    assert all(gap > 0 for gap in gaps)
    assert gaps[-1] < gaps[0]


def test_the_shift_is_one_over_two_c():
    # K = 1, C = 2: 1/2 a^2 - a + a^2/(4C) is least at 1 / (1 + 1/(2C)) = 4/5; (1/2) C would give 1/2.
    a = fractions(dcd_ksvm(EXACT, Gram(EXACT, [[1]]), [1], [0], [0], loss="svm-l2", C=2))
    assert a == [Fraction(4, 5)]
    assert a != [1 / (1 + HALF * 2)]


@pytest.mark.parametrize("s", [None, 1, 2])
def test_the_projected_gradient_is_not_tested_by_a_rounded_difference(s):
    # eta = 2^-60, alpha = 3/2 2^60, g = 1/2: alpha - g rounds to alpha, although g / eta = 2^59.
    arithmetic, tiny = Float(), 2.0**-60
    kernel = Gram(arithmetic, [[tiny, 0], [0, 1]])
    start, C = np.array([1.5 / tiny, 0.0]), 2.0**61
    gradient = tiny * start[0] - 1
    assert gradient == 0.5
    assert abs(min(max(start[0] - gradient, 0.0), C) - start[0]) == 0  # the test as printed: no update
    window = () if s is None else (s,)
    algorithm = dcd_ksvm if s is None else sstep_dcd_ksvm
    a = algorithm(arithmetic, kernel, [1, 1], start, [0], *window, loss="svm-l1", C=C)
    assert a[0] == 1 / tiny  # the minimiser of the one-variable problem
    assert a[0] != start[0]


def samples_and_labels(folder, name: str):
    """Dense samples and labels of a LIBSVM file, or skip."""
    loader = pytest.importorskip("sklearn.datasets")
    path = folder / name
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    data, labels = loader.load_svmlight_file(str(path))
    return data.toarray(), labels


@pytest.mark.parametrize("name", ["duke.bz2", "colon-cancer"])
def test_rbf_with_sigma_one_is_the_identity_on_the_gene_data(data_directory, name):
    samples, _ = samples_and_labels(data_directory, name)
    kernel = Kernel(Float(), samples, "rbf", sigma=1)
    assert (np.array(kernel.matrix()) == np.eye(len(samples))).all()


@pytest.mark.nightly
def test_a_gap_of_1e_8_exceeds_the_optimum_of_duke_with_the_polynomial_kernel(data_directory):
    # A point with all margins >= 1 has the primal value 1/2 a'Qa: an upper bound on the optimum, here in
    # balls. The dual vector comes from a float64 solver; its quality affects only how low the bound is.
    optimize = pytest.importorskip("scipy.optimize")
    samples, labels = samples_and_labels(data_directory, "duke.bz2")
    factor = np.linalg.cholesky((samples @ samples.T) ** 3 * np.outer(labels, labels))
    guess = (
        1.001 * optimize.nnls(factor.T, np.linalg.solve(factor, np.ones(len(labels))), maxiter=10_000)[0]
    )
    balls = Balls(256)
    Q = Kernel(balls, samples, "polynomial", degree=3).labelled(labels)
    a = balls.vector(guess)
    margins = balls.vector([balls.dot(Q.column(i), a) for i in range(len(a))])
    assert all(balls.at_most(balls.number(1), z) for z in margins)
    with balls.working():
        value = balls.dot(a, margins) / 2
        assert balls.at_most(19 * value, balls.number(1e-8))


def test_1e_8_is_below_single_precision():
    assert 1e-8 < 2.0**-24 == np.finfo(np.float32).eps / 2
    assert np.float32(1) + np.float32(1e-8) == np.float32(1)


def test_the_nonzeros_of_news20_fit_the_printed_sparsity():
    zeros = 1 - 9_097_916 / (19_996 * 1_355_191)
    assert f"{zeros:.2%}" == "99.97%"
