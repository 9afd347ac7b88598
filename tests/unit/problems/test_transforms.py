"""Transformations of problems: in exact arithmetic the path of the new one is the mapped path of the old."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sstep_reference import Rational, bdcd_krr, dcd_ksvm, exact_fraction

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
    transforms,
)
from sstep_verify.problems.streams import relabelling

EXACT = Rational()
SAMPLES, ITERATIONS = 5, 6

LOSSES = {"svm-l1": (Hinge(0.75), 1), "svm-l2": (SquaredHinge(2.5), 1), "krr": (Ridge(0.3), 2)}
KERNELS = [LinearKernel(), PolynomialKernel(3, 0.0), PolynomialKernel(2, 1.5)]


def make(task, kernel, seed=0, sparse=False):
    generator = np.random.Generator(np.random.PCG64(seed))
    # Quarters of small integers: duplicates, zeros and exact ties occur, and rationals stay short.
    data = generator.integers(-4, 5, size=(SAMPLES, 3)) / 4.0
    targets = generator.integers(-8, 9, size=SAMPLES) / 2.0
    if task != "krr":
        targets = np.where(np.arange(SAMPLES) % 3 == 0, 1.0, -1.0)
    loss, block = LOSSES[task]
    problem = Problem("toy", sp.csr_array(data) if sparse else data, targets, kernel, loss)
    return problem, IndexStream("uniform", SAMPLES, block, ITERATIONS, seed=seed)


def exact_end(problem, stream, initial):
    kernel = exact_kernel(problem, EXACT)
    blocks = stream.blocks(0, stream.length)
    if problem.is_svm:
        end = dcd_ksvm(
            EXACT, kernel, problem.targets.tolist(), initial, blocks.ravel().tolist(),
            loss=problem.loss.task, C=problem.hinge.C,
        )  # fmt: skip
    else:
        end = bdcd_krr(
            EXACT, kernel, problem.targets.tolist(), initial, blocks.tolist(), penalty=problem.ridge.penalty
        )
    return [exact_fraction(value) for value in end]


def transformed(problem, stream, seed):
    """Every transformation that fits the problem."""
    yield transforms.relabel(problem, stream, seed)
    for power in (3, -5):
        yield transforms.scale_data(problem, stream, power)
        if not problem.is_svm:
            yield transforms.scale_targets(problem, stream, power)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("task", LOSSES)
@settings(max_examples=8)
@given(seed=st.integers(0, 50), sparse=st.booleans())
def test_the_exact_path_is_mapped(task, kernel, seed, sparse):
    problem, stream = make(task, kernel, seed, sparse)
    start = np.linspace(0.0, 0.5, SAMPLES)
    expected = exact_end(problem, stream, start)
    for changed in transformed(problem, stream, seed):
        assert changed.problem.is_sparse == sparse
        moved = exact_end(changed.problem, changed.stream, changed.forward(start))
        factor = Fraction(2) ** changed.exponent
        order = range(SAMPLES) if changed.order is None else changed.order.tolist()
        assert moved == [factor * expected[old] for old in order]


@given(st.integers(0, 50), st.integers(-40, 40))
def test_the_rbf_exponent_stays_exactly(seed, power):
    problem, stream = make("svm-l1", RBFKernel(0.3), seed)
    changed = transforms.scale_data(problem, stream, power)
    assert (changed.exponent, changed.kernel_exponent) == (0, 0)

    def exponents(item):
        rows = [[Fraction(value) for value in row] for row in item.dense.tolist()]
        sigma = Fraction(item.kernel.sigma)
        return [sigma * sum((x - z) ** 2 for x, z in zip(a, b, strict=True)) for a in rows for b in rows]

    assert exponents(changed.problem) == exponents(problem)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("power", [3, -5])
def test_kernel_entries_grow_by_the_stated_power_of_two(kernel, power):
    problem, stream = make("krr", kernel)
    changed = transforms.scale_data(problem, stream, power)
    old, new = (exact_kernel(item, EXACT) for item in (problem, changed.problem))
    factor = Fraction(2) ** changed.kernel_exponent
    for i in range(SAMPLES):
        for j in range(SAMPLES):
            assert exact_fraction(new.column(j)[i]) == factor * exact_fraction(old.column(j)[i])


@given(st.sampled_from(sorted(LOSSES)), st.integers(0, 50))
def test_mapping_forward_and_back_changes_no_bit(task, seed):
    problem, stream = make(task, PolynomialKernel(2, 1.5), seed)
    alpha = np.random.Generator(np.random.PCG64(seed)).standard_normal(SAMPLES)
    for changed in transformed(problem, stream, seed):
        np.testing.assert_array_equal(changed.back(changed.forward(alpha)), alpha)
        wide = alpha.astype(np.longdouble) / 3
        np.testing.assert_array_equal(changed.back(changed.forward(wide)), wide)


def test_a_renumbered_stream_draws_the_same_samples_in_the_same_order():
    problem, stream = make("krr", LinearKernel())
    changed = transforms.relabel(problem, stream, 4)
    order, number = relabelling(SAMPLES, 4)
    assert sorted(order.tolist()) == list(range(SAMPLES))
    assert order.tolist() != list(range(SAMPLES))
    np.testing.assert_array_equal(order[number], np.arange(SAMPLES))
    for begin, end in ((0, ITERATIONS), (2, 5), (4, 4)):
        old, new = stream.blocks(begin, end), changed.stream.blocks(begin, end)
        np.testing.assert_array_equal(order[new], old)
        np.testing.assert_array_equal(changed.problem.dense[new], problem.dense[old])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, s: transforms.scale_data(p, s, 1200), "the data .* cannot be multiplied by 2\\*\\*1200"),
        (lambda p, s: transforms.scale_data(p, s, -1080), "cannot be multiplied by 2\\*\\*-1080"),
        (lambda p, s: transforms.scale_data(p, s, -540), "C .* cannot be multiplied by 2\\*\\*1080"),
        (lambda p, s: transforms.scale_targets(p, s, 1), "a K-RR is needed here"),
        (
            lambda p, s: transforms.relabel(p, transforms.relabel(p, s, 1).stream, 2),
            "renumbered already \\(seed 1\\)",
        ),
    ],
)
def test_what_cannot_be_transformed_exactly_is_refused(change, message):
    problem, stream = make("svm-l1", LinearKernel())
    with pytest.raises(InputError, match=message):
        change(problem, stream)


def test_a_negative_renumbering_seed_is_refused():
    with pytest.raises(InputError, match="seed -1"):
        IndexStream("uniform", 4, 1, 3, relabel=-1)
