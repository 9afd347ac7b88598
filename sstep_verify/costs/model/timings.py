"""Published timings as arrays, one entry a cell: medians over repeats."""

from __future__ import annotations

import csv
import lzma
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.costs.model.profiles import Profile, published_profiles

TIMINGS_FILE = "perlmutter-timings.csv.xz"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Runs:
    """Sizes of runs, as arrays of equal length.

    Parameters
    ----------
    data, method, kernel : ndarray of str
        Data set; ksvm or krr; linear, polynomial or rbf.
    block, ranks, s, iterations : ndarray of float
        b, P, s (1 is the classical program), H.
    samples, features, nonzeros : ndarray of float
        m, n, nonzeros.
    first, most, first_pairs, most_pairs, columns : ndarray of float
        As in `Shares`.
    """

    data: Array
    method: Array
    kernel: Array
    block: Array
    ranks: Array
    s: Array
    iterations: Array
    samples: Array
    features: Array
    nonzeros: Array
    first: Array
    most: Array
    first_pairs: Array
    most_pairs: Array
    columns: Array

    def __len__(self) -> int:
        return int(self.ranks.size)

    @property
    def classical(self) -> Array:
        """Which are runs of the classical program."""
        return np.asarray(self.s == 1)

    def take(self, which: Array) -> Runs:
        """Some of them, by index or mask."""
        return Runs(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    def cells(self) -> Array:
        """A number for each combination of data set, method, kernel and block."""
        names = [
            f"{a}|{b}|{c}|{d}"
            for a, b, c, d in zip(self.data, self.method, self.kernel, self.block, strict=True)
        ]
        return np.unique(names, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Timings:
    """Runs and how long they took.

    Parameters
    ----------
    runs : Runs
        The runs.
    phases : ndarray, shape (k, 3)
        Microseconds per iteration on rank 0: panel (kernel_computation), allreduce (allreduce_time),
        steps (the four others).
    total : ndarray, shape (k,)
        Their sum.
    repeats : ndarray, shape (k,)
        Runs of which these are the medians.
    """

    runs: Runs
    phases: Array
    total: Array
    repeats: Array

    def take(self, which: Array) -> Timings:
        """Some of them, by index or mask."""
        return Timings(self.runs.take(which), self.phases[which], self.total[which], self.repeats[which])


def runs_of(rows: Iterable[tuple[str, str, str, int, int, int, int]], profiles: dict[str, Profile]) -> Runs:
    """Runs of tuples (data, method, kernel, b, P, s, H) on data sets of these profiles."""
    keys = list(rows)
    shares = {key: profiles[key[0]].shares(key[1]) for key in {(row[0], row[4]) for row in keys}}
    held = np.array([shares[row[0], row[4]] for row in keys], dtype=np.float64).reshape(-1, 5)
    sizes = np.array(
        [(profiles[row[0]].samples, profiles[row[0]].features, profiles[row[0]].nonzeros) for row in keys]
    ).reshape(-1, 3)
    words = [np.array([row[place] for row in keys]) for place in range(3)]
    numbers = [np.array([row[place] for row in keys], dtype=np.float64) for place in range(3, 7)]
    return Runs(*words, *numbers, *sizes.T, *held.T)


def published_timings(folder: str) -> Timings:
    """The published timings, from the folder of the data sets."""
    found: defaultdict[Any, list[list[float]]] = defaultdict(list)
    kernels = {"linear": "linear", "poly": "polynomial", "gauss": "rbf"}
    with lzma.open(Path(folder) / TIMINGS_FILE, "rt") as lines:
        for row in csv.DictReader(lines):
            # s = 0 is the classical program, of a9a's K-SVM s = 1.
            key = (
                row["filename"].removesuffix(".txt"), row["method"], kernels[row["kernel"]],
                int(row["blksize"]), int(row["num_process"]), max(int(row["s"]), 1), int(row["max_iter"]),
            )  # fmt: skip
            kernel, reduce = float(row["kernel_computation"]), float(row["allreduce_time"])
            rest = ("sample_time", "gradient_comp_time", "alpha_update", "memory_reset")
            steps = sum(float(row[name]) for name in rest)
            found[key].append([1e6 * kernel, 1e6 * reduce, 1e6 * steps, 1e6 * float(row["major_time"])])
    keys = sorted(found)
    medians = np.array([np.median(found[key], axis=0) for key in keys])
    repeats = np.array([len(found[key]) for key in keys], dtype=np.float64)
    return Timings(runs_of(keys, published_profiles(folder)), medians[:, :3], medians[:, 3], repeats)
