"""Sizes and timings of the model's tests: synthetic runs of two data sets whose columns differ."""

import numpy as np
from model_fit import timers_of, timings_of

from sstep_verify.costs.profiles import Profile, uniform_profile
from sstep_verify.costs.published import START, runs_of, times

PROFILES = {
    "even": uniform_profile("even", 60, 5000, 300_000),
    "heavy": Profile("heavy", 20_000, np.maximum(20_000 // np.arange(1, 50_001), 1)),
}

PLANTED = {name: value * (1.3 if place % 2 else 0.8) for place, (name, value) in enumerate(START.items())}
"""Parameters that the fit must find."""


def planted_timings(noise=0.0):
    """Timings that the model itself makes, times exp(noise N(0, 1))."""
    rows = [
        (data, method, kernel, block, ranks, s, 640 // block)
        for data in PROFILES
        for method, block in (("ksvm", 1), ("krr", 1), ("krr", 4))
        for kernel in ("linear", "polynomial", "rbf")
        for ranks in (2, 4, 8, 16, 32, 64, 128, 256, 512)
        for s in (1, 2, 8, 64)
    ]
    runs = runs_of([(PROFILES[data], *rest) for data, _, *rest in rows])
    timers = timers_of(times(PLANTED, runs))
    factors = np.exp(noise * np.random.default_rng(3).standard_normal((len(rows), 1)))
    return timings_of(rows, PROFILES, timers * factors, (timers * factors).sum(axis=1), np.ones(len(rows)))


def changed(timings, **columns):
    """Timings with other values in some columns."""
    other = timings.copy()
    for name, values in columns.items():
        other[name] = values
    return other
