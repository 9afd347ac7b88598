"""The Python reference in float64 and the MATLAB reference in GNU Octave agree within rounding error.

The bound is that of octave_bound.py.
"""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from octave_bound import KERNELS, PARAMETER, SAMPLES, Case, cases, ends, spread
from sstep_reference import Float, Kernel, Rational, bdcd_krr, exact_fraction

MATLAB = Path(__file__).parents[2] / "reference" / "matlab"


@pytest.fixture(scope="module")
def both(octave, tmp_path_factory) -> list[tuple[Case, np.ndarray, np.ndarray]]:
    """Every case with its Python and its Octave trace, shape (windows, m); one call of Octave."""
    folder = tmp_path_factory.mktemp("octave")
    drawn = cases()
    described = [
        {
            "loss": c.loss,
            "A": c.data,
            "y": c.y,
            "alpha": c.start,
            "blocks": (c.blocks if c.loss == "krr" else c.blocks[:, :1]) + 1.0,
            "s": float(c.s),
            "parameter": PARAMETER,
            "kernel": {"name": c.kernel, **{k: float(v) for k, v in KERNELS[c.kernel].items()}},
        }
        for c in drawn
    ]
    scipy.io.savemat(folder / "cases.mat", {"cases": np.array(described, dtype=object)})
    call = f"reference_batch('{folder / 'cases.mat'}', '{folder / 'results.mat'}')"
    command = [octave, "--norc", "-qf", "--path", str(MATLAB), "--eval", call]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    results = scipy.io.loadmat(folder / "results.mat")["results"].ravel()
    assert len(results) == len(drawn)
    python = [c.run(Float(), Kernel(Float(), c.data, c.kernel, **KERNELS[c.kernel]), c.s) for c in drawn]
    return [(c, np.array(p), r.T) for c, p, r in zip(drawn, python, results, strict=True)]


def test_both_lie_within_the_bound_of_the_exact_trajectory_and_of_each_other(both):
    for case, python, octave in both:
        exact, bound = ends(case), spread(case)
        assert python.shape == octave.shape == (len(exact), SAMPLES)
        for k, (truth, radius) in enumerate(zip(exact, bound, strict=True)):
            for i in range(SAMPLES):
                p, o = Fraction(python[k, i]), Fraction(octave[k, i])
                where = f"{case.loss} {case.kernel} s={case.s} window {k} coordinate {i}"
                assert abs(p - truth[i]) <= radius[i], f"Python: {where}"
                assert abs(o - truth[i]) <= radius[i], f"Octave: {where}"
                assert abs(p - o) <= 2 * radius[i], where


def without_corrections(case: Case) -> list[list[Fraction]]:
    """Exact trace of the s-step method with every correction dropped, from a rational matrix."""
    penalty = C = Fraction(PARAMETER)
    shift = Fraction(0) if case.loss == "svm-l1" else 1 / (2 * C)
    alpha, out, rational = [Fraction(x) for x in case.start], [], Rational()
    y = [Fraction(v) for v in case.y.tolist()]
    for window in case.windows():
        made = [Fraction(0)] * SAMPLES
        for k in window:
            block = case.blocks[k].tolist()
            products = {i: sum(q * x for q, x in zip(case.matrix[i], alpha, strict=True)) for i in block}
            if case.loss == "krr":
                G = [
                    [case.matrix[i][j] / penalty + (SAMPLES if i == j else 0) for j in block] for i in block
                ]
                r = [y[i] - SAMPLES * alpha[i] - products[i] / penalty for i in block]
                solved = rational.solve([rational.vector(row) for row in G], rational.vector(r))
                for i, delta in zip(block, solved, strict=True):
                    made[i] += exact_fraction(delta)
            else:
                i = block[0]
                signed = sum(y[i] * t * q * x for t, q, x in zip(y, case.matrix[i], alpha, strict=True))
                gradient = signed - 1 + shift * alpha[i]
                new = max(alpha[i] - gradient / (case.matrix[i][i] + shift), Fraction(0))
                made[i] += (min(new, C) if case.loss == "svm-l1" else new) - alpha[i]
        alpha = [x + d for x, d in zip(alpha, made, strict=True)]
        out.append(alpha)
    return out


def test_the_bound_would_see_a_dropped_correction():
    for case in cases():
        if case.s < 2:
            continue
        excess = [
            abs(x - y) - 2 * radius
            for row, other, radii in zip(without_corrections(case), ends(case), spread(case), strict=True)
            for x, y, radius in zip(row, other, radii, strict=True)
        ]
        assert max(excess) > 0, f"{case.loss} {case.kernel} s={case.s}: the bound is vacuous"


def test_a_block_that_holds_an_index_twice_adds_both_increments(octave):
    # K = I, lambda = 1/2, m = 2: G = [4 2; 2 4] of the block (1, 1); every number is exact.
    call = (
        "k.name = 'linear'; A = eye(2); B = [1 1; 1 2]; y = [6; 3];"
        "a = bdcd_krr(A, y, [0; 0], B, 0.5, k); b = sstep_bdcd_krr(A, y, [0; 0], B, 2, 0.5, k);"
        "printf('%.17g ', a, b)"
    )
    command = [octave, "--norc", "-qf", "--path", str(MATLAB), "--eval", call]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    exact = bdcd_krr(Rational(), Kernel(Rational(), np.eye(2), "linear"), [6, 3], [0, 0],
                     [[0, 0], [0, 1]], penalty=0.5)  # fmt: skip
    assert [Fraction(word) for word in finished.stdout.split()] == [*map(exact_fraction, exact)] * 2
