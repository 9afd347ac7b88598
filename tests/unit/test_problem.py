"""Problem, kernels, losses and run requests: frozen, checked, and refused with the value met."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp

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
    kernel_from,
    kernels,
    loss_from,
    losses,
)
from sstep_verify.solver import RunRequest

DATA = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0], [4.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
LABELS = np.array([1.0, -1.0, -1.0, 1.0])


def problem(**changes) -> Problem:
    fields = {
        "name": "toy",
        "data": DATA,
        "targets": LABELS,
        "kernel": RBFKernel(1.0),
        "loss": Hinge(1.0),
    }
    return Problem(**(fields | changes))


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


def test_shape_storage_and_task_are_told():
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
    assert "two_classes" in str(caught.value)


def test_many_wrong_labels_are_shortened():
    with pytest.raises(InputError, match=r"hold 0, 1, 2, 3, 4, \.\.\.;"):
        problem(data=np.ones((9, 1)), targets=np.arange(9))


def test_ridge_takes_any_finite_targets():
    assert problem(targets=[0.5, 3, -7, 1e300], loss=Ridge()).targets[3] == 1e300


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"targets": LABELS[:3]}, r"4 samples but targets of shape \(3,\)"),
        ({"targets": LABELS[:, None]}, r"4 samples but targets of shape \(4, 1\)"),
        ({"data": np.empty((0, 3)), "targets": []}, "0 x 3; it must not be empty"),
        ({"data": np.empty((4, 0))}, "4 x 0; it must not be empty"),
        ({"data": sp.csr_array((4, 0))}, "4 x 0; it must not be empty"),
        ({"data": LABELS}, "must be a matrix, but have 1 dimensions"),
        ({"data": DATA[None]}, "must be a matrix, but have 3 dimensions"),
        ({"data": sp.coo_array(LABELS)}, "must be a matrix, but have 1 dimensions"),
    ],
)
def test_shapes_that_disagree_are_named(changes, fault):
    with pytest.raises(InputError, match=f"toy: .*{fault}"):
        problem(**changes)


# --- kernels and losses ---------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 0, -3, 2.5, math.nan, math.inf, True, None, "three", "3"])
def test_a_degree_that_is_no_integer_of_at_least_two_is_named(degree):
    with pytest.raises(InputError, match="it must be an integer >= 2") as caught:
        PolynomialKernel(degree)
    assert f"degree = {degree!r}" in str(caught.value)


@pytest.mark.parametrize("degree", [3, 3.0, np.int64(3), np.float64(3)])
def test_an_integral_degree_becomes_an_int(degree):
    assert PolynomialKernel(degree) == PolynomialKernel(3)
    assert type(PolynomialKernel(degree).degree) is int


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, -math.inf])
def test_a_bad_offset_is_named(value):
    with pytest.raises(InputError, match=f"offset = {value}, but it must be finite and >= 0"):
        PolynomialKernel(3, value)


@pytest.mark.parametrize("make", [RBFKernel, Hinge, SquaredHinge, Ridge])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_a_parameter_that_must_be_positive_is_named(make, value):
    name = {RBFKernel: "sigma", Ridge: "lambda"}.get(make, "C")
    with pytest.raises(InputError, match=f"{name} = {value}, but it must be finite and > 0"):
        make(value)


def test_the_box_and_the_shift_of_each_loss():
    assert (Hinge(3.0).upper, Hinge(3.0).shift, Hinge.power) == (3.0, 0.0, 1)
    assert (SquaredHinge(4.0).upper, SquaredHinge(4.0).shift, SquaredHinge.power) == (math.inf, 0.125, 2)


def test_kernels_and_losses_are_made_and_described_by_name():
    made = [kernel_from(name, degree=4, offset=2, sigma=0.5) for name in ("linear", "polynomial", "rbf")]
    assert made == [LinearKernel(), PolynomialKernel(4, 2), RBFKernel(0.5)]
    assert [kernels.describe(kernel) for kernel in made] == [
        "linear",
        "polynomial d=4 c=2",
        "rbf sigma=0.5",
    ]
    assert [kernel.name for kernel in made] == ["linear", "polynomial", "rbf"]
    lost = [loss_from(task, C=2, penalty=0.1) for task in ("svm-l1", "svm-l2", "krr")]
    assert lost == [Hinge(2), SquaredHinge(2), Ridge(0.1)]
    assert [losses.describe(loss) for loss in lost] == ["svm-l1 C=2", "svm-l2 C=2", "krr lambda=0.1"]


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match="'gauss' is unknown; known: linear, polynomial, rbf"):
        kernel_from("gauss")
    with pytest.raises(InputError, match="'svm' is unknown; known: svm-l1, svm-l2, krr"):
        loss_from("svm")


# --- run requests ---------------------------------------------------------------------------------------


def request(*, block=1, samples=4, made=None, **changes) -> RunRequest:
    fields = {
        "problem": made or problem(),
        "stream": IndexStream("uniform", samples, block, 20),
        "s": 4,
        "iterations": 10,
    }
    return RunRequest(**(fields | changes))


def test_stops_are_sorted_and_hold_both_ends():
    assert request().stops == [0, 10]
    assert request(record=(8, 4, 4)).stops == [0, 4, 8, 10]
    assert request(record=(10, 0)).stops == [0, 10]
    assert request(iterations=0).stops == [0]
    assert request(s=1, record=(3,)).stops == [0, 3, 10]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"s": 0}, "s = 0, but a window holds at least one iteration"),
        ({"s": -2}, "s = -2"),
        ({"iterations": -1}, "iterations = -1"),
        ({"start": -1}, "start = -1"),
        ({"iterations": 21}, "needs 21 drawn blocks, but the index stream has 20"),
        ({"start": 11}, "needs 21 drawn blocks, but the index stream has 20"),
        ({"samples": 5}, "draws from 5 coordinates, but toy has 4 samples"),
        ({"block": 2}, "K-SVM draws one coordinate a step, but the stream has b = 2"),
        ({"initial": np.zeros(3)}, r"a0 has shape \(3,\), but toy has 4 samples"),
        ({"initial": np.zeros((4, 1))}, r"a0 has shape \(4, 1\), but toy has 4 samples"),
        ({"record": (3,)}, r"iteration 3: not the end of a window \(s = 4, 10 iterations\)"),
        ({"record": (12,)}, "iteration 12: not the end of a window"),
        ({"record": (-4,)}, "iteration -4: not the end of a window"),
    ],
)
def test_a_request_that_cannot_be_run_is_named(changes, fault):
    with pytest.raises(InputError, match=fault):
        request(**changes)


def test_requests_at_the_edge_are_accepted():
    request(iterations=20)
    request(start=10)
    request(start=20, iterations=0)
    request(s=100)
    request(initial=np.ones(4))
    request(block=4, made=problem(loss=Ridge()))
