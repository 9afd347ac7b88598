"""Problem: frozen, checked, and refused with the value met."""

import copy
import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from toy_problem import DATA, LABELS, problem

from sstep_verify.errors import InputError
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest

STORAGE = {"dense": np.array, "csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}


# --- frozen -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", STORAGE.values(), ids=STORAGE)
def test_the_problem_owns_read_only_copies(store):
    data, targets = store(DATA), LABELS.copy()
    made = problem(data=data, targets=targets)
    digest = made.digest
    (data if isinstance(data, np.ndarray) else data.data)[:] = 99
    targets[:] = 99
    np.testing.assert_array_equal(made.dense, DATA)
    np.testing.assert_array_equal(made.targets, LABELS)
    assert problem().digest == digest
    held = [made.targets, made.dense]
    held += [made.data.data, made.data.indices, made.data.indptr] if made.is_sparse else [made.data]
    for array in held:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("field", ["name", "data", "targets", "kernel", "loss"])
def test_no_field_can_be_set(field):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(problem(), field, None)


def test_integers_and_single_precision_become_float64():
    made = problem(data=DATA.astype(np.float32), targets=LABELS.astype(int))
    assert made.data.dtype == made.targets.dtype == np.float64
    assert problem(data=sp.csr_array(np.eye(4, dtype=int))).data.dtype == np.float64


def test_shape_storage_and_task_are_reported():
    made = problem()
    assert (made.samples, made.features, made.is_sparse, made.is_svm) == (4, 3, False, True)
    assert made.dense is made.data
    assert problem(data=sp.csr_array(DATA)).is_sparse
    assert problem(loss=SquaredHinge(2.0)).is_svm
    assert not problem(loss=Ridge(2.0)).is_svm
    assert made.label == "toy / rbf sigma=1 / svm-l1 C=1"


def test_unsorted_and_repeated_sparse_entries_are_put_in_order():
    untidy = sp.csr_array(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    made = problem(data=untidy, targets=[1.0])
    np.testing.assert_array_equal(made.data.indices, [0, 2])
    np.testing.assert_array_equal(made.data.data, [2, 4])


# --- digest -------------------------------------------------------------------------------------------

OTHERS = {
    "a value": {"data": np.nextafter(DATA, 9)},
    "a swap of features": {"data": DATA[:, [1, 0, 2]]},
    "a swap of samples": {"data": DATA[[1, 0, 2, 3]]},
    "an empty feature": {"data": np.hstack([DATA, np.zeros((4, 1))])},
    "a target": {"targets": LABELS * [1, 1, 1, -1]},
    "the kernel": {"kernel": LinearKernel()},
    "sigma": {"kernel": RBFKernel(math.nextafter(1, 2))},
    "polynomial": {"kernel": PolynomialKernel(3, 0.0)},
    "degree": {"kernel": PolynomialKernel(2, 0.0)},
    "offset": {"kernel": PolynomialKernel(3, 1.0)},
    "the loss": {"loss": SquaredHinge(1.0)},
    "C": {"loss": Hinge(math.nextafter(1, 2))},
    "C of L2": {"loss": SquaredHinge(2.0)},
    "ridge": {"loss": Ridge(1.0)},
    "lambda": {"loss": Ridge(0.5)},
}


def test_the_digest_sees_every_field_that_matters():
    digests = {"as it is": problem().digest} | {
        what: problem(**change).digest for what, change in OTHERS.items()
    }
    assert len(set(digests.values())) == len(digests)
    assert all(len(digest) == 64 for digest in digests.values())


def test_the_digest_does_not_depend_on_name_or_storage():
    assert problem(name="other").digest == problem().digest
    for store in STORAGE.values():
        assert problem(data=store(DATA)).digest == problem().digest


# --- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", STORAGE.values(), ids=STORAGE)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(store, value):
    data = DATA.copy()
    data[2, 1] = value
    with pytest.raises(
        InputError, match=rf"toy: sample 2, feature 1 \(from 0\) is {value}; must be finite"
    ):
        problem(data=store(data))


def test_the_right_value_is_named_after_stored_zeros():
    data = sp.csr_array(([0.0, 0.0, 5.0, np.nan], [0, 1, 2, 1], [0, 3, 3, 4, 4]), shape=(4, 3))
    with pytest.raises(InputError, match=r"sample 2, feature 1 \(from 0\) is nan"):
        problem(data=data)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("loss", [Hinge(), Ridge()])
def test_a_target_that_is_not_finite_is_named(value, loss):
    with pytest.raises(InputError, match=rf"toy: target of sample 3 \(from 0\) is {value}"):
        problem(targets=[1, -1, 1, value], loss=loss)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()])
@pytest.mark.parametrize(
    ("targets", "found"),
    [([0, 1, 0, 1], "0, 1;"), ([1, 2, 3, 4], "1, 2, 3, 4;"), ([1, -1, 0.5, 1], "-1, 0.5, 1;")],
)
def test_labels_other_than_plus_and_minus_one_are_named(loss, targets, found):
    with pytest.raises(InputError, match="needs labels -1 and \\+1") as caught:
        problem(targets=targets, loss=loss)
    assert found in str(caught.value)
    assert f"numpy.where(targets == {min(targets):.1f}, -1.0, 1.0)" in str(caught.value)


def test_targets_of_a_regression_are_distinguished_from_labels():
    targets = np.linspace(0.0, 1.0, 12)
    with pytest.raises(InputError, match="these look like regression targets: use Ridge"):
        problem(data=np.eye(12), targets=targets, loss=Hinge())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": np.ones(2)}, r"name = array\(\[1\., 1\.\]\) of type ndarray; it must be a text"),
        (
            {"kernel": "rbf"},
            r"kernel = 'rbf' of type str; it must be a kernel, such as RBFKernel\(sigma=1.0\)",
        ),
        ({"kernel": RBFKernel}, "kernel = <class .*RBFKernel'> of type type; it must be a kernel"),
        ({"loss": 1.0}, r"loss = 1\.0 of type float; it must be a loss, such as Hinge\(C=1\.0\)"),
        (
            {"targets": ["a", "b", "a", "b"]},
            r"targets = \['a', 'b', 'a', 'b'\]: of type <U1, .* such as -1.0",
        ),
        ({"data": [[1.0], [2.0, 3.0]]}, "the data must be numbers"),
    ],
    ids=["a name", "a kernel's name", "a kernel's class", "a loss", "targets", "data"],
)
def test_what_is_of_another_type_is_named_with_what_is_needed(given, words):
    with pytest.raises(InputError, match=words):
        problem(**given)


def test_many_wrong_labels_are_shortened():
    with pytest.raises(InputError, match=r"hold 0, 1, 2, 3, 4, \.\.\.;"):
        problem(data=np.ones((9, 1)), targets=np.arange(9))


def test_ridge_takes_any_finite_targets():
    assert problem(targets=[0.5, 3, -7, 1e300], loss=Ridge()).targets[3] == 1e300


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"targets": LABELS[:3]}, r"4 samples but targets of shape \(3,\)"),
        ({"targets": LABELS[:, None]}, r"4 samples but targets of shape \(4, 1\); targets.ravel\(\) makes"),
        ({"data": np.empty((0, 3)), "targets": []}, "0 x 3; it must not be empty"),
        ({"data": np.empty((4, 0))}, "4 x 0; it must not be empty"),
        ({"data": sp.csr_array((4, 0))}, "4 x 0; it must not be empty"),
        ({"data": LABELS}, r"must be a matrix, .* but have 1 dimensions; data\[:, None\] has one feature"),
        ({"data": DATA[None]}, "must be a matrix, a sample in each row, but have 3 dimensions"),
        ({"data": sp.coo_array(LABELS)}, "must be a matrix, a sample in each row, but have 1 dimensions"),
    ],
)
def test_shapes_that_disagree_are_named(changes, fault):
    with pytest.raises(InputError, match=f"toy: .*{fault}"):
        problem(**changes)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("kernel", "largest"),
    [(LinearKernel(), 1e153), (PolynomialKernel(3, 1.0), 1e51), (RBFKernel(1.0), 1e153)],
    ids=lambda value: getattr(value, "name", None),
)
def test_data_whose_kernel_values_may_overflow_are_refused(kernel, largest, sparse):
    def made(scale):
        data = np.array([[1.0, 0.5], [0.0, scale]])
        return Problem("made", sp.csr_array(data) if sparse else data, np.ones(2), kernel, Ridge())

    assert made(largest).with_finite_kernel().samples == 2
    with pytest.raises(InputError, match=r"sample 1 \(from 0\) has a squared norm of .* may overflow"):
        made(1e3 * largest).with_finite_kernel()


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(500, 513)), min_size=1),
    st.sampled_from([LinearKernel(), PolynomialKernel(2, 0.0), RBFKernel(0.25), RBFKernel(3.0)]),
    st.booleans(),
)
@example([(1, column, 511) for column in range(4)], LinearKernel(), False)
@example([(1, column, 511) for column in range(4)], LinearKernel(), True)
@example([(1, column, 510) for column in range(4)], RBFKernel(0.25), True)
def test_data_are_refused_exactly_where_the_largest_norm_leaves_the_range(entries, kernel, sparse):
    data = np.zeros((3, 4))
    for row, column, exponent in entries:
        power = exponent // 2 if kernel.name == "polynomial" else exponent
        data[row, column] = (-1.0) ** column * 2.0**power
    with np.errstate(over="ignore"):
        fits = math.isfinite(kernel.largest(float((data * data).sum(axis=1).max())))
    made = Problem("drawn", sp.csr_array(data) if sparse else data, np.ones(3), kernel, Ridge())
    if fits:
        assert made.with_finite_kernel() is made
    else:
        with pytest.raises(InputError, match="may overflow"):
            made.with_finite_kernel()


def test_sparse_data_too_large_to_be_made_dense_are_refused_with_the_figure():
    wide = sp.csr_array(([1.0, 2.0], ([0, 1], [0, 2**31 - 2])), shape=(2, 2**31 - 1))
    made = Problem("wide", wide, np.ones(2), LinearKernel(), Ridge())
    with pytest.raises(
        InputError, match=r"wide: 2 x 2147483647 values, .* take 32\.0 GiB, but at most 16 GiB"
    ):
        made.dense  # noqa: B018


# --- what is no real number ---------------------------------------------------------------------------

ODD = {
    "masked": lambda values: np.ma.array(values, mask=values > 0),
    "masked, nothing missing": np.ma.array,
    "rows that are masked": lambda values: [np.ma.array(row, mask=row > 0) for row in values],
    "complex": lambda values: values + 0j,
    "complex64": lambda values: values.astype(np.complex64),
    "objects": lambda values: values.astype(object),
    "None": lambda values: np.where(values > 0, None, values).tolist(),
    "whole numbers beyond every type": lambda values: (values.astype(int).astype(object) * 10**30).tolist(),
    "points of time": lambda values: values.astype(int).astype("datetime64[s]"),
    "spans of time": lambda values: values.astype(int).astype("timedelta64[s]"),
    "text": lambda values: values.astype(str),
    "bytes": lambda values: values.astype("S9"),
    "fields": lambda values: values.astype([("x", float)]),
    "sparse, complex": lambda values: sp.csr_array(np.atleast_2d(values) + 0j),
}
"""What is made of an array that is no array of real numbers."""


@pytest.mark.parametrize(
    ("field", "kind"),
    [("data", kind) for kind in ODD]
    + [("targets", kind) for kind in ODD if not kind.startswith(("rows", "sparse"))],
)
def test_what_is_no_real_number_is_refused_with_the_way_out(field, kind):
    values = ODD[kind](DATA if field == "data" else LABELS)
    with pytest.raises(InputError) as caught:
        problem(**{field: values})
    name, _, rest = str(caught.value).partition(" = ")
    assert name.endswith(field)
    assert len(rest.rpartition("; ")[2].split()) > 2
    assert "\n" not in rest


@pytest.mark.parametrize("kind", [one for one in ODD if not one.startswith(("rows", "sparse"))])
def test_a_start_that_is_no_real_number_is_refused(kind):
    stream = IndexStream("uniform", LABELS.size, 1, 4, seed=0)
    with pytest.raises(InputError, match="a0 ="):
        RunRequest(problem(), stream, 1, 4, initial=ODD[kind](LABELS))


class Awkward:
    """As a tensor of another library that gives no array."""

    def __array__(self, *_given, **_named):
        raise RuntimeError("call detach() first")


def test_what_no_array_can_be_made_of_is_refused():
    with pytest.raises(InputError, match=r"the data must be numbers: RuntimeError: call detach\(\) first"):
        problem(data=Awkward())


def test_a_copy_of_a_problem_has_no_dense_copy_of_sparse_data():
    made = problem(data=sp.csr_array(DATA))
    dense, copied = made.dense, copy.deepcopy(made)
    assert "dense" in vars(made)
    assert "dense" not in vars(copied)
    np.testing.assert_array_equal(copied.dense, dense)
    assert copied.digest == made.digest
