"""Cases for two programs of one algorithm, their exact trajectories, and a forward bound on both.

Both programs are compared with the exact trajectory in rationals (for the RBF kernel: of a 160-bit kernel
matrix, whose own error is added), and with each other, by a forward bound on *any* implementation of the
recurrence in IEEE double precision, in any order of summation. Notation: u = 2^-53, g(k) = k u / (1 - k u)
(Higham 2002, Lemma 3.1: k roundings); `spread` e bounds the distance from the exact iterate; w_l bounds
|alpha_l| at the window start plus the increments of l in the window; d_il bounds the error of K_il.
The exponential and the power function of the C library are taken to err by at most 1 ulp = 2u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sstep_reference import (
    Balls,
    Gram,
    Kernel,
    Rational,
    bdcd_krr,
    dcd_ksvm,
    exact_fraction,
    sstep_bdcd_krr,
    sstep_dcd_ksvm,
)

SAMPLES, FEATURES, ITERATIONS, BLOCK = 9, 3, 22, 2
PARAMETER = 0.7  # C, or lambda
KERNELS = {"linear": {}, "polynomial": {"degree": 2, "offset": 1.0}, "rbf": {"sigma": 0.5}}
WINDOWS = [0, 1, 4, 64]  # 0: classical; 4 leaves a short last window; 64 is beyond H
UNIT = Fraction(1, 2**53)


def up(x: Fraction | int) -> Fraction:
    """Upper bound of x >= 0 with 53 bits, so that bounds stay short numbers."""
    return Fraction(math.nextafter(float(x), math.inf)) if x else Fraction(0)


def g(k: int) -> Fraction:
    """Relative error of k roundings (Higham 2002, Lemma 3.1)."""
    return k * UNIT / (1 - k * UNIT)


@dataclass
class Case:
    """One problem and window length; `matrix` is K in rationals (RBF: to 160 bits), `errors` is d."""

    loss: str
    kernel: str
    s: int
    data: np.ndarray
    y: np.ndarray
    start: np.ndarray
    blocks: np.ndarray
    matrix: list[list[Fraction]]
    errors: list[list[Fraction]]

    def run(self, arithmetic, kernel, s: int) -> list:
        """Trace of the reference: every iteration (s = 0) or every window."""
        trace: list = []
        window = (s,) if s else ()
        common = (arithmetic, kernel, self.y, self.start)
        if self.loss == "krr":
            run = sstep_bdcd_krr if s else bdcd_krr
            run(*common, self.blocks, *window, penalty=PARAMETER, trace=trace)
        else:
            run = sstep_dcd_ksvm if s else dcd_ksvm
            run(*common, self.blocks[:, 0], *window, loss=self.loss, C=PARAMETER, trace=trace)
        return trace

    def exact(self) -> list[list[Fraction]]:
        """Exact iterates 0, 1, ..., H."""
        trace = self.run(Rational(), Gram(Rational(), self.matrix), 0)
        return [[exact_fraction(x) for x in alpha] for alpha in (self.start, *trace)]

    def windows(self) -> list[range]:
        """Iterations (from 0) of every window."""
        return [range(k, min(k + max(self.s, 1), ITERATIONS)) for k in range(0, ITERATIONS, max(self.s, 1))]


def kernel_matrix(data: np.ndarray, name: str) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Kernel matrix in rationals, and a bound on the error of any of the two float64 kernels.

    Inner product: g(n) |x|.|y|. Polynomial: the base errs by D = g(n+1)(c + |x|.|y|), and the power adds at
    most the larger of d - 1 multiplications and 1 ulp. RBF: a norm expansion and a direct difference both
    err by at most E = sigma g(n+6)(|x|^2 + |y|^2 + 2 |x|.|y|) in the exponent, the exponential by 1 ulp;
    |exp(E) - 1| <= E / (1 - E).
    """
    rows = [[Fraction(x) for x in row] for row in data.tolist()]
    balls = Kernel(Balls(160), data, name, **KERNELS[name])
    matrix, errors = [], []
    for i, x in enumerate(rows):
        matrix.append([exact_fraction(balls.column(j)[i].mid()) for j in range(len(rows))])
        errors.append([])
        for j, z in enumerate(rows):
            value, radius = abs(matrix[i][j]), exact_fraction(balls.column(j)[i].rad())
            size = sum(abs(p * q) for p, q in zip(x, z, strict=True))
            if name == "linear":
                error = g(FEATURES) * size
            elif name == "polynomial":
                base = 1 + size  # offset 1, degree 2
                widest = abs(1 + sum(p * q for p, q in zip(x, z, strict=True))) + g(FEATURES + 1) * base
                error = widest**2 * (1 + g(3)) - value
            else:
                norms = sum(p * p for p in x) + sum(q * q for q in z)
                exponent = Fraction(1, 2) * g(FEATURES + 6) * (norms + 2 * size)
                error = value * (exponent / (1 - exponent) * (1 + g(2)) + g(2))
            errors[-1].append(up(error + 2 * radius))
    return matrix, errors


def svm_spread(case: Case) -> list[list[Fraction]]:
    """Bound on |alpha_l - exact| at every window end, coordinate by coordinate (s = 0, 1: classical).

    One exact step from a perturbed point moves its new coordinate by at most sum_{l != i} |Q_il| e_l / eta
    (the clip is 1-Lipschitz). To this the rounding of the value rho, the gradient, eta, the quotient, the
    difference and the stored increment is added; where the clip is decided with the whole radius to
    spare, the new coordinate is on the bound and only the increment is rounded.
    """
    exact, K, d = case.exact(), case.matrix, case.errors
    C = Fraction(PARAMETER)
    shift = Fraction(0) if case.loss == "svm-l1" else 1 / (2 * C)
    e, out, length = [Fraction(0)] * SAMPLES, [], max(case.s, 1)
    for window in case.windows():
        w = [up(abs(a)) + x for a, x in zip(exact[window[0]], e, strict=True)]
        for k in window:
            i, a = int(case.blocks[k, 0]), exact[k]
            signs = [int(case.y[i] * y) for y in case.y]
            eta = K[i][i] + shift
            value_error = g(length) * w[i]
            size = sum(up(abs(q)) * x for q, x in zip(K[i], w, strict=True)) + 1 + shift * w[i]
            moved = sum(up(abs(q)) * x for q, x in zip(K[i], e, strict=True)) + shift * e[i]
            gradient = (
                sum(sign * q * x for sign, q, x in zip(signs, K[i], a, strict=True)) - 1 + shift * a[i]
            )
            from_kernel = sum(x * y for x, y in zip(d[i], w, strict=True))
            gradient_error = from_kernel + g(SAMPLES + 2 * length + 3) * (size + from_kernel)
            eta_error = d[i][i] + g(2) * (eta + d[i][i])
            quotient = up((abs(gradient) + moved) / eta)
            quotient_error = (gradient_error + quotient * eta_error) / (eta - eta_error)
            quotient_error = (1 + UNIT) * quotient_error + UNIT * quotient
            local = (1 + UNIT) * (value_error + quotient_error) + UNIT * (w[i] + quotient)
            radius = up((moved - (K[i][i] + shift) * e[i]) / eta + local)
            target = a[i] - gradient / eta
            high = case.loss == "svm-l1" and target - radius >= C
            decided = target + radius <= 0 or high
            new, before = up(abs(exact[k + 1][i])), e[i]
            e[i] = Fraction(0) if decided else radius
            # theta = new - rho is rounded once, and rho stands for the value with its own error.
            e[i] = up(e[i] + value_error + UNIT * (new + e[i] + w[i] + value_error))
            w[i] = up(w[i] + abs(exact[k + 1][i] - a[i]) + before + e[i])
        e = [up(x + g(length) * size) for x, size in zip(e, w, strict=True)]  # the sum at the window end
        out.append(list(e))
    return out


def ridge_spread(case: Case) -> list[list[Fraction]]:
    """Bound on |alpha_l - exact| at every window end, the same for all coordinates.

    An exact block step is an M-orthogonal projection of the error, M = K/lambda + m I, so local errors
    add up in the M-norm. A computed increment D' solves (G' + F) D' = r' with, in the infinity norm,
    |F| <= g(3b+1)(1 + 2 (b^2 - b) 2^(b-1)) ||G'|| whatever the pivoting (Higham 2002, Theorems 9.4 and
    10.4, Lemma 9.6), so its error l has G l = z := r' - r - (G' - G + F) D', and, since M_BB = G >= m I,
    ||l||_M <= ||z||_1 / sqrt(m). As |e_i| <= ||e||_M / sqrt(m), a step adds ||z||_1 / m.
    The sum at the window end errs by c, and ||c||_M <= sqrt(trace M) ||c||_1, sqrt(x) <= (1 + x) / 2.
    """
    exact, K, d, m, b = case.exact(), case.matrix, case.errors, SAMPLES, BLOCK
    penalty, y = Fraction(PARAMETER), [up(abs(Fraction(v))) for v in case.y.tolist()]
    M = [[up(abs(K[i][j] / penalty + (m if i == j else 0))) for j in range(m)] for i in range(m)]
    root = (1 + sum(M[i][i] for i in range(m)) / m) / 2
    e, out, length = Fraction(0), [], max(case.s, 1)
    for window in case.windows():
        w = [up(abs(a)) + e for a in exact[window[0]]]
        for k in window:
            block = case.blocks[k].tolist()
            residual_error, system_error, norm = Fraction(0), Fraction(0), Fraction(0)
            for i in block:
                kernel_error = sum(x * z for x, z in zip(d[i], w, strict=True)) / penalty
                size = y[i] + m * w[i] + sum(up(abs(q)) * x for q, x in zip(K[i], w, strict=True)) / penalty
                residual_error += kernel_error + g(m + 2 * length * b + 6) * (size + kernel_error)
                row = sum(M[i][j] + d[i][j] / penalty for j in block)
                norm = max(norm, row * (1 + g(3)))
                system_error = max(system_error, sum(d[i][j] for j in block) / penalty + g(3) * row)
            # The 1-norm is at most b times the infinity norm.
            matrix_error = b * (system_error + g(3 * b + 1) * (1 + 2 * (b * b - b) * 2 ** (b - 1)) * norm)
            moved = Fraction(b, m) * sum(M[i][j] for i in block for j in range(m)) * e
            step = sum(up(abs(exact[k + 1][i] - exact[k][i])) for i in block) + moved
            z = up((residual_error + matrix_error * step) / (1 - matrix_error * b / m))
            for i in block:
                w[i] = up(w[i] + abs(exact[k + 1][i] - exact[k][i]) + moved + Fraction(b, m) * z)
            e = up(e + z / m)
        e = up(e + root * g(length * b) * sum(w))
        out.append([e] * m)
    return out


def cases() -> list[Case]:
    """Every loss, kernel and window length on one random problem a kernel."""
    generator = np.random.default_rng(20240601)
    drawn = []
    for name in KERNELS:
        data = generator.standard_normal((SAMPLES, FEATURES)) * 0.8 + 0.4
        y = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
        targets = generator.standard_normal(SAMPLES)
        start = generator.random(SAMPLES) * PARAMETER * (generator.random(SAMPLES) < 0.5)
        blocks = np.array([generator.permutation(SAMPLES)[:BLOCK] for _ in range(ITERATIONS)])
        matrix, errors = kernel_matrix(data, name)
        for loss in ("svm-l1", "svm-l2", "krr"):
            own = targets if loss == "krr" else y
            drawn += [Case(loss, name, s, data, own, start, blocks, matrix, errors) for s in WINDOWS]
    return drawn


def ends(case: Case) -> list[list[Fraction]]:
    """Exact iterates at the window ends."""
    exact = case.exact()
    return [exact[window[-1] + 1] for window in case.windows()]


def spread(case: Case) -> list[list[Fraction]]:
    return ridge_spread(case) if case.loss == "krr" else svm_spread(case)
