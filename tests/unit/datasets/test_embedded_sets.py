"""Embedded data sets: pinned values, scaling, and what is told where an extra is missing."""

import subprocess
import sys

import numpy as np
import pytest

from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.problems import datasets, embedded
from sstep_verify.problems.registry import values_digest

EMBEDDED_DIGESTS = {
    "breast_cancer": "1efa2eb8942d1f21e3da627c29b31449b50a5e4fe879c34a30cb9ad804bba36c",
    "breast_cancer_scale": "af94baaf353b8e5a1a548216f31d417af86760e958a2b2cea95fff0d78365f8e",
    "diabetes_regression": "0fcd730116bb7a7bbcd75ff5f3ddb85dace759517b8d6a1d924ccbcb297e8f42",
    "diabetes_regression_scale": "d8f0f36c36e7451e6148a87286c3380e4bc9952bd3669fe6faad375080700da7",
}


@pytest.mark.parametrize("name", embedded.NAMES)
def test_embedded_sets_hold_the_values_expected(name):
    found = datasets.load(name)
    assert found.sha256 == values_digest(found.data, found.targets) == EMBEDDED_DIGESTS[name]
    assert found.source.startswith("scikit-learn ")
    if name.startswith("breast_cancer"):
        assert found.data.shape == (569, 30)
        assert ((found.targets == -1).sum(), (found.targets == 1).sum()) == (212, 357)
        assert found.notes == ("labels mapped: 0 -> -1, 1 -> +1",)
    else:
        assert found.data.shape == (442, 10)
        assert (found.targets.min(), found.targets.max()) == (25, 346)


@pytest.mark.parametrize("name", ["breast_cancer_scale", "diabetes_regression_scale"])
def test_scaled_embedded_sets_fill_the_box(name):
    data = datasets.load(name).data
    np.testing.assert_array_equal(data.min(axis=0), -1)
    np.testing.assert_array_equal(data.max(axis=0), 1)


def test_unscaled_sets_are_nearly_the_identity_to_the_rbf_kernel_and_scaled_ones_are_not():
    largest = {name: largest_rbf_entry(datasets.load(name).data) for name in embedded.NAMES}
    assert largest["breast_cancer"] < 1e-6
    assert largest["diabetes_regression"] < 1e-15
    assert largest["breast_cancer_scale"] > 0.9
    assert largest["diabetes_regression_scale"] > 0.9


def largest_rbf_entry(data) -> float:
    """Largest exp(-||x - z||^2) of two different samples."""
    squared = [((data[:row] - data[row]) ** 2).sum(axis=1).min() for row in range(1, len(data))]
    return float(np.exp(-min(squared)))


def test_scaling_a_constant_feature_gives_zero():
    scaled = embedded.scale_to_unit_box(np.array([[5.0, 1.0], [5.0, 2.0], [5.0, 4.0]]))
    np.testing.assert_array_equal(scaled, [[0, -1], [0, -0.333333], [0, 1]])


def test_an_unknown_embedded_set_is_refused():
    with pytest.raises(InputError, match="'iris' is unknown; known: breast_cancer"):
        embedded.read("iris")


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"extra \[data\]"):
        datasets.load("breast_cancer")


def test_importing_the_module_imports_neither_scikit_learn_nor_pooch():
    code = "import sys, sstep_verify.problems.datasets; print({'sklearn', 'pooch'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
