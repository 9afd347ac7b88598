"""Scenarios: same bits from the same id, prescribed spectrum and structure, edge families, refusals."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import mpmath
import numpy as np
import pytest

from sstep_verify.bounds.rounding import OUTWARD, gamma, unit_roundoff
from sstep_verify.errors import InputError
from sstep_verify.problems import LinearKernel, PolynomialKernel, RBFKernel, scenario_data
from sstep_verify.problems.scenario_descent import design_kernel
from sstep_verify.problems.scenario_families import FAMILIES, compensated, edge_scenarios
from sstep_verify.problems.scenario_spectrum import (
    SHAPES,
    condition_levels,
    orthonormal_columns,
    singular_values,
)
from sstep_verify.problems.scenarios import SCALES, TASKS, Scenario
from sstep_verify.solver import RunRequest

EVERY_EDGE = [
    pytest.param(family, scenario, id=f"{family}-{precision}-{place}")
    for family in FAMILIES
    for precision in ("float64", "float32")
    for place, scenario in enumerate(edge_scenarios(family, precision=precision))
]
GOLDEN = Scenario(
    task="svm-l2",
    kernel=RBFKernel(0.1),
    samples=9,
    features=5,
    s=4,
    iterations=7,
    seed=3,
    parameter=1e-3,
    spectrum="logrand",
    condition=1e7,
    density=0.5,
    skew=1.0,
    start="mixed",
)


def exactly(matrix) -> mpmath.matrix:
    """The float64 matrix, nothing lost."""
    return mpmath.matrix(np.asarray(matrix).tolist())


def departure(factor: np.ndarray) -> float:
    """Frobenius norm of Q'Q - I, at 60 digits; at least the distance of Q from orthonormal columns."""
    columns = exactly(factor)
    return float(mpmath.mnorm(columns.T * columns - mpmath.eye(columns.cols), "f"))


def spectrum_bound(scenario: Scenario) -> float:
    """Largest distance of a singular value of the data from the prescribed one.

    With W the nearest orthonormal columns to a computed factor Q, ||Q - W||_2 <= ||Q'Q - I||_F = d, so
    U diag(sigma) V' is within sigma_1 (d_U (1 + d_V) + d_V) of a matrix with singular values sigma; forming
    it adds gamma_{r+1} |U| diag(sigma) |V|', rounding it to float32 another u32 |A|. Weyl: no singular
    value moves by more than the 2-norm of the difference, and the Frobenius norm is no smaller.
    """
    values, (left, right) = scenario_data.spectrum_of(scenario), scenario_data.factors_of(scenario)
    off_left, off_right = departure(left), departure(right)
    product = np.abs(left * values) @ np.abs(right).T
    bound = values.max() * (off_left * (1 + off_right) + off_right)
    bound += gamma(values.size + 1, unit_roundoff("float64")) * np.linalg.norm(product)
    if scenario.precision == "float32":
        bound += unit_roundoff("float32") * np.linalg.norm(product)
    return float(np.ldexp(bound, scenario.data_exponent)) * OUTWARD


def spectrum_error(scenario: Scenario) -> float:
    """Largest distance of the singular values of the data, at 60 digits, from the prescribed ones."""
    prescribed = np.sort(scenario_data.spectrum_of(scenario))[::-1]
    achieved = mpmath.svd_r(exactly(scenario.problem().dense), compute_uv=False)
    pairs = zip(achieved, np.ldexp(prescribed, scenario.data_exponent).tolist(), strict=True)
    return max(float(abs(found - value)) for found, value in pairs)


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(60):
        yield


def test_the_same_scenario_gives_the_same_bits():
    again = Scenario.from_id(GOLDEN.id)
    assert again == GOLDEN
    assert again.problem().digest == GOLDEN.problem().digest
    np.testing.assert_array_equal(again.stream().blocks(0, 7), GOLDEN.stream().blocks(0, 7))
    np.testing.assert_array_equal(again.initial(), GOLDEN.initial())
    assert replace(GOLDEN, seed=4).problem().digest != GOLDEN.problem().digest


def test_the_bits_are_the_same_on_every_machine_and_in_every_release():
    """Golden values: a change makes the ids in old reports mean something else."""
    assert GOLDEN.id == (
        "svm-l2,rbf,sigma=0.1,m=9,n=5,b=1,s=4,H=7,P=1,seed=3,parameter=0.001,spectrum=logrand,"
        "cond=10000000,density=0.5,skew=1,start=mixed"
    )
    assert GOLDEN.problem().digest == "adafe4a6d617fee62d0e637e14bdc574671204d22967d3e5cc36c599b0cdbd51"
    dense = Scenario(task="krr", samples=17, features=6, spectrum="geo", condition=1e14)
    assert dense.problem().digest == "3aed684982650d9a75388c6406c0a0179de447d6a0dcee9826ef8579636dc38d"


def test_one_field_leaves_the_draws_of_the_others_alone():
    base = Scenario(samples=8, features=3, iterations=5)
    other = replace(base, density=0.5, spectrum="geo", zero_rows=1)
    np.testing.assert_array_equal(base.problem().targets, other.problem().targets)
    np.testing.assert_array_equal(base.stream().blocks(0, 5), other.stream().blocks(0, 5))


def test_ids_tell_every_field_apart():
    changes = {
        "samples": 5, "features": 3, "s": 2, "iterations": 3, "ranks": 2, "seed": 9, "parameter": 0.1,
        "spectrum": "rgeo", "condition": 1e14 / 3, "scale": "large", "offset": -1e6, "unit_rows": True,
        "duplicates": 1 / 3, "zero_rows": 1, "constant_features": 1, "density": 0.1, "positive": 0.05,
        "start": "near", "precision": "float32", "order": "cyclic", "task": "svm-l2",
        "kernel": PolynomialKernel(4, 0.1),
    }  # fmt: skip
    made = [Scenario(**{field: value}) for field, value in changes.items()]
    made += [Scenario(task="krr", block=2), Scenario(density=0.5, skew=0.1), Scenario()]
    made += [Scenario(kernel=RBFKernel(sigma)) for sigma in (0.1, 5e-324, 1e300)]
    assert len({scenario.id for scenario in made}) == len(made)
    for scenario in made:
        assert Scenario.from_id(scenario.id) == scenario
        assert not set(scenario.id) & set(" /\\'\"\n")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "kernel ''"),
        ("svm-l1", "kernel ''"),
        ("svm-l1,cosine,m=4", "'cosine'"),
        ("svm-l1,linear,m=4,m=5", "'m=5'"),
        ("svm-l1,linear,sigma=1", "'sigma=1'"),
        ("svm-l1,linear,m", "'m'"),
        ("svm-l1,linear,m=four", "'four'"),
        ("svm-l1,linear,unit=2", "'2'"),
        ("svm,linear,m=4", "'svm'"),
    ],
)
def test_malformed_ids_are_refused_by_the_part_at_fault(text, named):
    with pytest.raises(InputError) as caught:
        Scenario.from_id(text)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"samples": 1}, "samples = 1"),
        ({"samples": 4.0}, "samples = 4.0"),
        ({"block": 2}, "block = 2"),
        ({"task": "krr", "block": 5}, "block = 5"),
        ({"s": 0}, "s = 0"),
        ({"condition": 0.5}, "condition = 0.5"),
        ({"condition": float("nan")}, "condition = nan"),
        ({"spectrum": "rlogrand"}, "'rlogrand'"),
        ({"scale": "huge"}, "'huge'"),
        ({"density": 0.5, "offset": 1.0}, "offset = 1.0"),
        ({"skew": 1.0}, "skew = 1.0"),
        ({"scale": "near-overflow", "offset": 1e6}, "offset = 1000000.0"),
        ({"duplicates": 1.0}, "duplicates = 1.0"),
        ({"zero_rows": 5}, "zero_rows = 5"),
        ({"parameter": 0.0}, "C = 0.0"),
    ],
)
def test_contradictory_fields_are_refused_by_name(fields, named):
    with pytest.raises(InputError) as caught:
        Scenario(**fields)
    assert named in str(caught.value)


def test_the_description_says_what_is_out_of_the_ordinary():
    text = replace(GOLDEN, duplicates=0.25, ranks=4).describe()
    for part in ("svm-l2 C=0.001", "rbf sigma=0.1", "9 x 5", "1e+07 (logrand)", "P=4", "duplicates 0.25"):
        assert part in text
    assert ";" not in Scenario().describe()


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_span_exactly_the_condition(shape):
    for condition in (1.0, *condition_levels()):
        for count in (1, 2, 3, 7):
            values = singular_values(shape, count, condition, np.random.default_rng(1))
            smallest = 1 / condition if count > 1 else 1.0
            assert (values.max(), values.min()) == (1.0, smallest)
            assert values.shape == (count,)


def test_shapes_are_those_of_their_names():
    def values(shape):
        return singular_values(shape, 4, 8.0, np.random.default_rng(1)).tolist()

    assert values("geo") == [1, 1 / 2, 1 / 4, 1 / 8]
    assert values("cluster0") == [1, 1 / 8, 1 / 8, 1 / 8]
    assert values("cluster1") == [1, 1, 1, 1 / 8]
    assert singular_values("arith", 8, 8.0, np.random.default_rng(1)).tolist() == [
        k / 8 for k in range(8, 0, -1)
    ]
    for shape in ("arith", "geo", "cluster0", "cluster1"):
        assert values(f"r{shape}") == values(shape)[::-1]
    assert values("logrand") not in [values(shape) for shape in SHAPES if shape != "logrand"]


@pytest.mark.parametrize("shape", SHAPES)
def test_data_have_the_prescribed_spectrum(shape):
    sizes = [(7, 3, "normal", "float64"), (3, 6, "large", "float64"), (5, 5, "small", "float32")]
    for samples, features, scale, precision in sizes:
        for condition in (1.0, *condition_levels()):
            scenario = Scenario(
                samples=samples, features=features, spectrum=shape, condition=condition,
                scale=scale, precision=precision, seed=samples,
            )  # fmt: skip
            assert scenario.prescribes_spectrum
            assert spectrum_error(scenario) <= spectrum_bound(scenario)


@pytest.mark.parametrize("condition", condition_levels()[:2])
def test_a_generator_that_loses_the_spectrum_is_caught(condition):
    scenario = Scenario(samples=7, features=3, condition=condition)
    bound = spectrum_bound(scenario)

    def gaussian(left, values, right):
        return np.random.default_rng(0).standard_normal((left.shape[0], right.shape[0]))

    def lossy(left, values, right):
        return (left[:, :-1] * values[:-1]) @ right[:, :-1].T

    for wrong in (gaussian, lossy):
        with mock.patch.object(scenario_data, "with_singular_values", wrong):
            assert spectrum_error(scenario) > bound


def test_factors_are_orthonormal_and_uniform():
    rng = np.random.default_rng(0)
    corners = [orthonormal_columns(3, 2, rng)[0, 0] for _ in range(400)]
    # Uniform directions in three dimensions have a first coordinate uniform in [-1, 1]: each quarter of it
    # is met 100 times on average; a missing or doubled sign leaves a quarter empty.
    counts, _ = np.histogram(corners, bins=4, range=(-1, 1))
    assert counts.min() > 0
    assert departure(orthonormal_columns(1, 1, rng)) == 0.0
    square = orthonormal_columns(6, 6, rng)
    assert departure(square) < 1 / 6  # enough for full rank; its effect is in the spectrum's bound


def test_rows_have_norm_about_one_at_normal_scale():
    for condition in condition_levels():
        for shape in SHAPES:
            scenario = Scenario(samples=9, features=4, condition=condition, spectrum=shape)
            mean_square = np.square(scenario_data.spectrum_of(scenario)).sum() / 9
            assert 0.5 <= mean_square < 2


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_sparse_columns_hold_the_prescribed_counts(skew):
    scenario = Scenario(samples=40, features=12, density=0.2, skew=skew)
    data = scenario.problem().data
    assert scenario.problem().is_sparse
    counts = np.bincount(data.indices, minlength=12)
    assert counts.tolist() == scenario_data.column_counts(scenario)
    assert (np.diff(counts) <= 0).all()
    assert counts.min() >= 1
    if skew == 0:
        assert set(counts.tolist()) == {8}
    else:
        # Exactly the power law wherever neither end (one entry, a full column) cuts it off.
        inner = [j for j in range(12) if 1 < counts[j] < 40]
        law = 0.2 * 40 * 12 / (np.arange(1.0, 13) ** -skew).sum() * np.arange(1.0, 13) ** -skew
        assert inner
        assert [counts[j] for j in inner] == [round(law[j]) for j in inner]


def test_repeated_zero_and_constant_parts_are_exact():
    scenario = Scenario(
        samples=12, features=5, duplicates=0.5, zero_rows=2, constant_features=1, offset=3.0
    )
    data = scenario.problem().dense
    assert (~data.any(axis=1)).sum() == 2
    nonzero = data[data.any(axis=1)]
    assert len(np.unique(nonzero, axis=0)) == 10 - 6
    assert set(nonzero[:, -1].tolist()) == {4.0}


@pytest.mark.parametrize("positive", [0.5, 0.25, 1e-9, 1 - 1e-9])
def test_both_classes_are_there_whatever_the_imbalance(positive):
    for samples in (2, 3, 20):
        scenario = Scenario(samples=samples, positive=positive)
        labels = scenario.problem().targets
        assert set(labels.tolist()) == {-1.0, 1.0}
        assert (labels == 1).sum() == scenario.positive_labels


def test_single_precision_scenarios_are_exact_input_to_single_precision_runs():
    for task in TASKS:
        for start in ("near", "mixed"):
            scenario = Scenario(
                task=task, kernel=RBFKernel(0.1), samples=9, precision="float32", parameter=0.1, start=start
            )
            problem = scenario.problem()
            parameters = [scenario.parameter, problem.kernel.sigma]
            for values in (problem.dense, problem.targets, scenario.initial(), np.array(parameters)):
                np.testing.assert_array_equal(values.astype(np.float32).astype(np.float64), values)
            assert Scenario.from_id(scenario.id) == scenario


def kernel_in(kind, scenario: Scenario) -> np.ndarray:
    """Kernel matrix in the precision of the scenario, feature by feature."""
    data = scenario.problem().dense.astype(kind)
    products = np.zeros((scenario.samples, scenario.samples), dtype=kind)
    for feature in data.T:
        products += feature[:, None] * feature
    return products if scenario.kernel.name == "linear" else products * products * products


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.0)])
@pytest.mark.parametrize(("precision", "kind"), [("float64", np.float64), ("float32", np.float32)])
def test_digits_are_lost_near_underflow_only_and_nothing_overflows(precision, kind, kernel):
    plain = Scenario(kernel=kernel, samples=16, features=4, precision=precision)
    degree = 3 if kernel.name == "polynomial" else 1
    for scale in SCALES:
        scenario = replace(plain, scale=scale)
        matrix = kernel_in(kind, scenario)
        moved = np.ldexp(kernel_in(kind, plain).astype(np.longdouble), 2 * degree * scenario.data_exponent)
        assert (matrix != moved).any() == (scale == "near-underflow")
        assert (matrix.diagonal() > 0).all()
        assert np.isfinite(matrix * kind(2.0**24)).all()
        # Squares of the largest entries are out of range, so the end is near.
        with np.errstate(over="ignore"):
            assert np.isinf(matrix.max() * matrix.max()) == (scale == "near-overflow")


def test_a_compensated_scenario_is_the_same_problem_in_other_units():
    for task in TASKS:
        for kernel in (LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.5)):
            plain = Scenario(task=task, kernel=kernel, samples=6, features=3)
            for scale in ("small", "large"):
                moved = compensated(replace(plain, scale=scale))
                ratios = design_kernel(moved.problem()) / design_kernel(plain.problem())
                assert np.unique(ratios).size == 1
                change = moved.parameter / plain.parameter
                assert ratios[0, 0] == (change if task == "krr" else 1 / change)


@pytest.mark.parametrize(("family", "scenario"), EVERY_EDGE)
def test_edge_families_make_valid_requests(family, scenario):
    request = RunRequest(
        scenario.problem(), scenario.stream(), scenario.s, scenario.iterations, initial=scenario.initial()
    )
    assert Scenario.from_id(scenario.id) == scenario
    assert np.isfinite(design_kernel(request.problem)).all()
    if request.problem.is_svm:
        assert set(request.problem.targets.tolist()) == {-1.0, 1.0}


def test_edge_families_are_what_their_names_say():
    def every(family, predicate):
        scenarios = edge_scenarios(family)
        assert scenarios
        assert all(predicate(scenario) for scenario in scenarios)

    every("window-beyond-run", lambda scenario: scenario.s > scenario.iterations)
    every("classical", lambda scenario: scenario.s == 1)
    every("one-coordinate", lambda scenario: scenario.block == 1)
    every("whole-block", lambda scenario: scenario.block == scenario.samples)
    every("window-beyond-samples", lambda scenario: scenario.s * scenario.block > scenario.samples)
    every("window-beyond-samples", lambda scenario: scenario.overlaps)
    every("duplicates", lambda scenario: len(np.unique(scenario.problem().dense, axis=0)) == 6)
    every("constant-features", lambda scenario: (np.ptp(scenario.problem().dense, axis=0) == 0).any())
    every("zero-rows", lambda scenario: 0 in design_kernel(scenario.problem()).diagonal())
    every(
        "bound-at-curvature", lambda scenario: design_kernel(scenario.problem())[0, 0] == scenario.parameter
    )
    every("tiny-scale", lambda scenario: scenario.data_exponent < 0)
    every("huge-scale", lambda scenario: scenario.data_exponent > 0)
    every("offset", lambda scenario: abs(scenario.problem().dense).min() > scenario.offset / 2)
    with pytest.raises(InputError, match="window-beyond-run"):
        edge_scenarios("unheard-of")


@pytest.mark.parametrize("scenario", edge_scenarios("near-converged"), ids=lambda scenario: scenario.id)
def test_near_converged_starts_are_feasible_and_closer_than_zero(scenario):
    """Closer in the objective: half a'Qa - 1'a + half omega a'a, or half a'Ma - y'a."""
    problem, start = scenario.problem(), scenario.initial()
    kernel = design_kernel(problem)
    if problem.is_svm:
        assert ((start >= 0) & (start <= problem.hinge.upper)).all()
        system = problem.targets[:, None] * kernel * problem.targets + problem.hinge.shift * np.eye(12)
        right = np.ones(12)
    else:
        system, right = kernel / problem.ridge.penalty + 12 * np.eye(12), problem.targets
    assert start @ system @ start / 2 - right @ start < 0


def test_a_near_converged_start_exists_where_the_shift_is_lost_in_the_kernel():
    scenario = Scenario(
        task="krr", kernel=PolynomialKernel(4, 1.0), samples=8, scale="large", parameter=1e-5,
        duplicates=0.75, constant_features=2, start="near",
    )  # fmt: skip
    kernel = design_kernel(scenario.problem()) / scenario.parameter
    np.testing.assert_array_equal(kernel + 8 * np.eye(8), kernel)
    assert np.isfinite(scenario.initial()).all()


def test_a_near_converged_start_stays_in_the_box_where_a_step_overflows():
    scenario = Scenario(
        samples=8, scale="near-underflow", kernel=PolynomialKernel(3, 0.0), condition=1e7, start="near"
    )
    smallest = design_kernel(scenario.problem()).diagonal().min()
    with np.errstate(over="ignore"):
        assert np.isinf(1 / smallest)
    assert set(scenario.initial().tolist()) == {scenario.parameter}


def test_a_mixed_start_holds_both_ends_and_the_middle():
    assert set(Scenario(samples=20, start="mixed", parameter=3.0).initial().tolist()) == {0.0, 1.5, 3.0}
    assert Scenario().initial() is None
