"""Significant digits kept and lost: evidence of check kernel-entries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sstep_verify.checks.recorded.kernel_entries import significant_digits


def test_digits_relative_to_the_largest_value():
    found = significant_digits(
        np.array([-10.0, 0.001]), np.array([1e-9, 0.0]), np.array([1e-7, 1e-5]), "float64"
    )
    whole = 53 * math.log10(2.0)
    assert found == {
        "kept_by_bound": 6.0, "lost_by_bound": whole - 6.0,
        "kept_as_measured": 10.0, "lost_as_measured": whole - 10.0,
    }  # fmt: skip


@pytest.mark.parametrize("precision", ["float32", "float64", "longdouble"])
def test_an_exact_value_loses_none_of_the_precision(precision):
    found = significant_digits(np.ones(2), np.zeros(2), np.full(2, 1e-300), precision)
    assert found["kept_as_measured"] == found["kept_by_bound"] == -math.log10(np.finfo(precision).eps / 2)
    assert found["lost_as_measured"] == found["lost_by_bound"] == 0.0


@pytest.mark.parametrize("error", [2.0, math.inf, math.nan])
def test_an_error_as_large_as_the_values_leaves_none(error):
    errors = np.array([0.0, error])
    assert significant_digits(np.ones(2), errors, errors, "float64")["kept_as_measured"] == 0.0
    nothing = significant_digits(np.zeros(2), errors, errors, "float64")
    assert nothing["kept_by_bound"] == 0.0
