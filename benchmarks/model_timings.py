"""The published timings as arrays, one entry a cell: medians over repeats; the data they are on."""

from __future__ import annotations

import csv
import lzma
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.costs.profiles import Profile, read_counts
from sstep_verify.costs.published import Array, Runs, runs_of

TIMINGS_FILE = "perlmutter-timings.csv.xz"
NEWS_FILE, NEWS_SAMPLES = "news20.binary.colnnz.txt.xz", 19_996
"""Counts of nonzeros per feature of news20.binary, one a line; its samples."""

ADULT = (
    [6512] * 5
    + [22696, 2541, 1116, 960, 2093, 1298, 14, 7]
    + [6512] * 5
    + [5355, 7291, 1175, 10501, 576, 1067, 1382, 514, 646, 433, 1723, 168, 933, 413, 333, 51]
    + [6512] * 5
    + [14976, 4443, 10683, 1025, 993, 418, 23]
    + [928, 4099, 3295, 3650, 4066, 4140, 1370, 2002, 3770, 994, 1597, 149, 649, 9]
    + [1568, 5068, 13193, 8305, 981, 3446]
    + [27816, 1039, 311, 271, 3124]
    + [10771, 21790, 29849, 2712, 31042, 1519]
    + [6512] * 5
    + [29170, 643]
    + [55] * 39
)
"""Samples of the UCI Adult data that have each of a9a's 123 features. Quantiles (each 1/5), capital gain
and loss, and the 39 rarer countries are stated as even; the sum is within 0.1 % of a9a's 451,592."""


Timings = np.recarray
"""Runs and how long they took, a row each, shape (k,).

Columns: dataset; method (ksvm or krr); those of `Runs`; phases, microseconds per iteration on rank 0, shape
(3,): panel (kernel_computation), allreduce (allreduce_time), steps (the four others); total, their sum;
repeats, runs of which these are the medians.
"""


def cell_of(timings: Timings) -> Array:
    """A number for each combination of data set, method, kernel and block."""
    return np.unique(timings[["dataset", "method", "kernel", "block"]], return_inverse=True)[1]


def handwritten_profile() -> Profile:
    """mnist.scale: 28 x 28 pixels whose use falls off from the middle, scaled to its nonzeros.

    Its true counts are not at hand. Fourth power of the row, 2.6th of the column, widths 7.6 and 6.3 about
    13.8, at most 85 % of the samples: chosen by eye after the digits, not fitted.
    """
    row, column = np.divmod(np.arange(780), 28)
    shape = np.exp(-(np.abs((row - 13.8) / 7.6) ** 4) - np.abs((column - 13.8) / 6.3) ** 2.6)
    shape[row < 1] = 0.0
    low, high = 0.0, 3.0
    for _ in range(60):
        scale = (low + high) / 2
        filled = np.minimum(scale * shape, 0.85).sum() * 60_000
        low, high = (scale, high) if filled < 8_994_156 else (low, scale)
    return Profile("mnist.scale", 60_000, np.minimum(low * shape, 0.85) * 60_000)


@cache
def published_profiles(folder: str) -> dict[str, Profile]:
    """The four data sets of the published timings; news20.binary's counts are read from a folder."""
    known = [
        Profile("duke", 44, np.full(7129, 44)),
        Profile("a9a", 32_561, np.array(ADULT)),
        handwritten_profile(),
        Profile("news20.binary", NEWS_SAMPLES, read_counts(Path(folder) / NEWS_FILE, NEWS_SAMPLES)),
    ]
    return {profile.name: profile for profile in known}


def published_timings(folder: str) -> Timings:
    """The published timings, from the folder of the data sets."""
    measured: defaultdict[Any, list[list[float]]] = defaultdict(list)
    kernels = {"linear": "linear", "poly": "polynomial", "gauss": "rbf"}
    steps = ("sample_time", "gradient_comp_time", "alpha_update", "memory_reset")
    with lzma.open(Path(folder) / TIMINGS_FILE, "rt") as lines:
        for row in csv.DictReader(lines):
            # s = 0 is the classical program, of a9a's K-SVM s = 1.
            key = (
                row["filename"].removesuffix(".txt"), row["method"], kernels[row["kernel"]],
                int(row["blksize"]), int(row["num_process"]), max(int(row["s"]), 1), int(row["max_iter"]),
            )  # fmt: skip
            names = [("kernel_computation",), ("allreduce_time",), steps, ("major_time",)]
            measured[key].append([1e6 * sum(float(row[name]) for name in group) for group in names])
    keys = sorted(measured)
    medians = np.array([np.median(measured[key], axis=0) for key in keys])
    repeats = np.array([len(measured[key]) for key in keys])
    return timings_of(keys, published_profiles(folder), medians[:, :3], medians[:, 3], repeats)


def timings_of(
    keys: list, profiles: dict[str, Profile], phases: Array, total: Array, repeats: Array
) -> Timings:
    """Timings of runs (data, method, kernel, b, P, s, H) on data sets of these profiles."""
    names = [np.array([key[place] for key in keys]) for place in (0, 1)]
    runs = runs_of([(profiles[key[0]], *key[2:]) for key in keys])
    columns = dict(zip(("dataset", "method", *Runs._fields), (*names, *runs), strict=True))
    columns |= {"phases": phases, "total": total, "repeats": repeats}
    kinds = [(name, column.dtype, column.shape[1:]) for name, column in columns.items()]
    return np.rec.fromarrays([*columns.values()], dtype=kinds)
