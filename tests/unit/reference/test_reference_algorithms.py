"""The four algorithms in every arithmetic, against the exact rational run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sstep_reference import (
    Balls,
    Float,
    Gram,
    InvalidInputError,
    Kernel,
    Mpmath,
    Rational,
    bdcd_krr,
    dcd_ksvm,
    exact_fraction,
    sstep_bdcd_krr,
    sstep_dcd_ksvm,
)

EVERY = [Float("float32"), Float("float64"), Float("longdouble"), Mpmath(256), Balls(256), Rational()]
every = pytest.mark.parametrize("arithmetic", EVERY, ids=lambda a: a.name)

# (algorithm, windows of s or None, loss or None): all four, both losses.
RUNS = [(None, "svm-l1"), (None, "svm-l2"), (3, "svm-l1"), (3, "svm-l2"), (None, None), (3, None)]
runs = pytest.mark.parametrize(("s", "loss"), RUNS)


def run(arithmetic, kernel, y, initial, blocks, s, loss, parameter, trace=None):
    """Run one of the four algorithms: the loss selects K-SVM or K-RR, s selects s-step or classical."""
    window = () if s is None else (s,)
    if loss is None:
        algorithm = bdcd_krr if s is None else sstep_bdcd_krr
        return algorithm(arithmetic, kernel, y, initial, blocks, *window, penalty=parameter, trace=trace)
    algorithm = dcd_ksvm if s is None else sstep_dcd_ksvm
    indices = [block[0] for block in blocks]
    return algorithm(arithmetic, kernel, y, initial, indices, *window, loss=loss, C=parameter, trace=trace)


def contains(ball, value: Fraction) -> bool:
    """Whether a ball contains a rational, decided in rationals."""
    return abs(exact_fraction(ball.mid()) - value) <= exact_fraction(ball.rad())


@st.composite
def problems(draw):
    m = draw(st.integers(2, 5))
    entry = st.builds(Fraction, st.integers(-4, 4), st.integers(1, 3))
    data = draw(st.lists(st.lists(entry, min_size=3, max_size=3), min_size=m, max_size=m))
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=m, max_size=m))
    blocks = draw(st.lists(st.permutations(range(m)).map(lambda p: p[:2]), min_size=1, max_size=7))
    return data, labels, blocks, draw(st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(7)]))


@runs
@pytest.mark.parametrize("name", ["linear", "polynomial"])
@pytest.mark.parametrize("draws", [30, pytest.param(100, marks=pytest.mark.nightly)])
def test_balls_contain_the_exact_iterates(s, loss, name, draws):
    @settings(max_examples=draws)
    @given(problem=problems())
    def holds(problem):
        data, labels, blocks, parameter = problem
        traces = []
        for arithmetic in (Rational(), Balls(128)):
            traces.append([])
            kernel = Kernel(arithmetic, data, name, degree=2, offset=Fraction(1, 3))
            run(arithmetic, kernel, labels, [0] * len(labels), blocks, s, loss, parameter, traces[-1])
        exact, balls = traces
        assert len(exact) == len(balls) == (len(blocks) if s is None else -(-len(blocks) // s))
        for values, enclosures in zip(exact, balls, strict=True):
            assert all(
                contains(ball, exact_fraction(x)) for ball, x in zip(enclosures, values, strict=True)
            )

    holds()


@runs
def test_a_wider_ball_contains_a_narrower_one_for_rbf(s, loss):
    generator = np.random.default_rng(3)
    data, y = generator.standard_normal((6, 3)), np.where(generator.random(6) < 0.5, -1.0, 1.0)
    blocks = [generator.permutation(6)[:2] for _ in range(8)]
    wide, narrow = (
        run(a, Kernel(a, data, "rbf", sigma=0.5), y, np.full(6, 0.25), blocks, s, loss, 0.3)
        for a in (Balls(64), Balls(512))
    )
    for u, v in zip(wide, narrow, strict=True):
        assert contains(u, exact_fraction(v.mid()))
        # 448 bits apart, of which the growth of the radii takes a few: no step works at another precision.
        assert exact_fraction(v.rad()) * 2**400 < exact_fraction(u.rad()) or u.is_exact()


@every
@runs
def test_dyadic_runs_are_the_same_numbers_in_every_arithmetic(arithmetic, s, loss):
    # Powers of two keep every intermediate value within 24 bits: no arithmetic rounds anything.
    gram = [[3, 1, 0], [1, 3, 0], [0, 0, 3]] if loss == "svm-l2" else [[4, 2, 0], [2, 4, 0], [0, 0, 4]]
    blocks = [[0], [1], [0], [2], [2]]
    parameter = {"svm-l1": 0.25, "svm-l2": 0.5, None: 4.0}[loss]
    expected = {
        # a0 <- 1/4 (tie with C), a1 <- 1/8, a0 <- 3/16, a2 <- 1/4 twice
        "svm-l1": [Fraction(3, 16), Fraction(1, 8), Fraction(1, 4)],
        # Q + I: eta = 4; a0 <- 1/4, a1 <- (1 - 1/4)/4, a0 <- (1 - 3/16)/4, a2 <- 1/4 twice
        "svm-l2": [Fraction(13, 64), Fraction(3, 16), Fraction(1, 4)],
        # K/4 + 3 I has 4 and 1/2; a0 <- 1/4, a1 <- (1 - 1/8)/4, a0 <- (1 - 7/64)/4, a2 <- 1/4 twice
        None: [Fraction(57, 256), Fraction(7, 32), Fraction(1, 4)],
    }[loss]
    result = run(arithmetic, Gram(arithmetic, gram), [1, 1, 1], [0] * 3, blocks, s, loss, parameter)
    assert [exact_fraction(x) for x in result] == expected


@every
@runs
def test_the_start_vector_is_not_modified_and_the_trace_is_independent(arithmetic, s, loss):
    kernel = Gram(arithmetic, [[2, 1], [1, 2]])
    for initial in (np.array([0.5, 0.25]), [0.5, 0.25], arithmetic.vector([0.5, 0.25])):
        trace = []
        result = run(arithmetic, kernel, [1, 1], initial, [[0], [1], [0], [1]], s, loss, 1.0, trace)
        assert [exact_fraction(x) for x in initial] == [Fraction(1, 2), Fraction(1, 4)]
        assert len(trace) == (4 if s is None else 2)
        assert [float(x) for x in trace[-1]] == [float(x) for x in result]
        kept = float(trace[0][0])
        result[0] = arithmetic.number(99)
        trace[-1][0] = arithmetic.number(99)
        assert float(trace[0][0]) == kept


@every
@pytest.mark.parametrize("s", [None, 1, 3])
@pytest.mark.parametrize("start", [0, 0.5, 2])
def test_a_zero_row_goes_to_the_upper_end(arithmetic, s, start):
    kernel = Kernel(arithmetic, [[0.0], [1.0]], "linear")
    result = run(arithmetic, kernel, [1, -1], [start, 0], [[0], [0], [1]], s, "svm-l1", 2)
    assert exact_fraction(result[0]) == 2


@pytest.mark.parametrize("name", ["float32", "float64", "longdouble"])
def test_a_clipped_coordinate_of_the_classical_method_lies_on_its_bound(name):
    # With a start of 0.2 and C = 0.9, alpha + (C - alpha) rounds to another number than C in float64.
    arithmetic = Float(name)
    kernel, C = Gram(arithmetic, [[1, 0], [0, 1]]), arithmetic.number(0.9)
    result = dcd_ksvm(arithmetic, kernel, [1, 1], [0.2, 0.2], [0, 1], loss="svm-l1", C=C)
    assert list(result) == [C, C]
    assert 0.2 + (0.9 - 0.2) != 0.9


@every
@runs
def test_no_iterations_return_the_start(arithmetic, s, loss):
    result = run(arithmetic, Gram(arithmetic, [[1]]), [1], [0.5], [], s, loss, 1.0)
    assert [exact_fraction(x) for x in result] == [Fraction(1, 2)]


GOOD = {"y": [1, -1], "initial": [0, 0], "blocks": [[0], [1]], "parameter": 1.0}


@pytest.mark.parametrize(
    ("s", "loss", "change", "words"),
    [
        (None, "svm-l1", {"y": [1, 2]}, "-1 or"),
        (None, "svm-l1", {"y": [1]}, "-1 or"),
        (None, None, {"y": [1]}, "targets: 1 entries for 2 samples"),
        (None, None, {"initial": [0]}, "initial: 1 entries"),
        (None, "svm-l2", {"blocks": [[2]]}, r"0\.\.1"),
        (2, None, {"blocks": [[-1]]}, r"0\.\.1"),
        (2, None, {"blocks": [[]]}, "b >= 1 coordinates"),
        (None, "svm-l1", {"parameter": 0}, "C = 0"),
        (None, "svm-l2", {"parameter": -1}, "C = -1"),
        (None, None, {"parameter": 0}, "lambda = 0"),
        (0, "svm-l1", {}, "s = 0"),
        (1.5, None, {}, r"s = 1\.5"),
        (None, "hinge", {}, "known: svm-l1, svm-l2"),
    ],
)
def test_unusable_input_is_refused(s, loss, change, words):
    arithmetic = Float()
    with pytest.raises(InvalidInputError, match=words):
        run(arithmetic, Gram(arithmetic, [[2, 1], [1, 2]]), **{**GOOD, **change}, s=s, loss=loss)
