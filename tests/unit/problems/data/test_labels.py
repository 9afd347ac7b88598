"""Class labels: two values are mapped and reported, anything else is refused by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.problems.data.labels import describe_mapping, describe_numbers, two_classes

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(finite, min_size=2, max_size=2, unique=True),
    st.lists(st.booleans(), min_size=2).filter(lambda flags: len(set(flags)) == 2),
)
def test_any_two_values_map_in_order(values, flags):
    smaller, larger = sorted(values)
    targets = np.where(flags, larger, smaller)
    labels, mapping = two_classes(targets)
    assert labels.dtype == np.float64
    np.testing.assert_array_equal(labels, np.where(flags, 1, -1))
    assert mapping == {smaller: -1, larger: 1}


@pytest.mark.parametrize(
    ("targets", "found"),
    [
        ([1, 2, 3], "3 distinct values: 1, 2, 3"),
        ([2, 2], "1 distinct value: 2; keep the samples of two classes in the file"),
        ([], "0 distinct values: none"),
        (range(29), "0, 1, 2, 3, 4, 5, ...; these look like regression targets: use krr"),
        ([1.5, *range(12)] * 5, "these look like regression targets: use krr"),
        ([*range(12)] * 5, "12 distinct values: 0, 1, 2, 3, 4, 5, ...; keep the samples of two classes"),
        ([0.1, 0.2, 0.30000000000000004], "0.30000000000000004"),
    ],
)
def test_anything_but_two_classes_is_refused_with_the_values(targets, found):
    with pytest.raises(InputError, match="two classes are needed") as caught:
        two_classes(np.array(list(targets), dtype=float))
    assert found in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_target_that_is_not_finite_is_refused(value):
    with pytest.raises(InputError, match=rf"sample 2 \(from 0\) is {value}"):
        two_classes(np.array([1, 2, value]))


def test_the_targets_are_left_alone():
    targets = np.array([0.0, 1.0])
    two_classes(targets)
    np.testing.assert_array_equal(targets, [0, 1])


def test_a_mapping_is_described_only_if_it_changes_something():
    assert describe_mapping({-1.0: -1, 1.0: 1}) == ""
    assert describe_mapping({2.0: -1, 4.0: 1}) == "labels mapped: 2 -> -1, 4 -> +1"


@pytest.mark.parametrize(
    ("targets", "told"),
    [([0, 1, 1], True), ([2.0, 1.0], True), ([-1, 1], False), ([0.5, 1, 2], False), ([3, 3], False)],
)
def test_two_numbers_that_are_no_labels_are_described(targets, told):
    assert bool(describe_numbers(np.array(targets, dtype=float))) == told
