"""Data sets that need no file and no network: real ones that come with scikit-learn, and generated ones.

The scaled forms exist because an RBF kernel with sigma = 1 on unscaled features is the identity up
to underflow, which shows nothing.

Generated ones are to the last bit alike everywhere, and have shapes that the real ones lack. Values are the
top 53 bits of the raw output of NumPy's PCG64 generator, which never changes between versions, and every
operation on them is exact or a sum in a stated order. They stand for no phenomenon: they are wide or tall,
have empty features, a sample without any value, or one twice.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sstep_verify.errors import InputError, require

_SCALE = "_scale"

_TABLES = {
    "breast_cancer": ((569, 30), "classification", "load_breast_cancer"),
    "diabetes_regression": ((442, 10), "regression", "load_diabetes(scaled=False)"),
}
"""Samples and features, task and function of scikit-learn of each of the real ones."""

REAL = tuple(map("".join, product(_TABLES, ("", _SCALE))))
"""Names of the real ones."""


class Shape(NamedTuple):
    """Size and seed of a generated set.

    Parameters
    ----------
    samples, features : int
        Number of samples (m) and of features (n).
    every : int
        One feature in so many is dense.
    density : float
        Share of the other features' values that differ from 0.
    seed : int
        Seed of PCG64.
    """

    samples: int
    features: int
    every: int
    density: float
    seed: int


SHAPES = {
    "wide": Shape(150, 301, 60, 0.06, 150),
    "tall": Shape(1200, 40, 1, 1.0, 1200),
    "small": Shape(32, 9, 3, 0.7, 32),
    "edges": Shape(12, 9, 3, 0.7, 12),
}
"""By name: wide, mostly zeros, more features than samples; tall, dense, more samples than a tile holds;
small, for solvers that are started again for every run; edges, what data may hold and seldom do: a sample
without any value, a feature without any, a sample twice, a real target of 0."""

REGRESSION, ONE_LABEL = "_regression", "_one_label"

ONE_CLASS = "edges" + ONE_LABEL
"""The one set for classification in which all labels are the same; those in files have two classes."""

EDGES = ("edges", "edges" + REGRESSION, ONE_CLASS)

GENERATED = (*map("".join, product(SHAPES, ("", REGRESSION))), ONE_CLASS)
"""Names of the generated ones, besides those of a size that is named."""

MIDDLE = "middle"
"""A set of a size is like this that has the empty sample and the equal ones of edges in other places."""

LIKE = {
    "sized": SHAPES["small"],
    "edges": SHAPES["edges"],
    MIDDLE: SHAPES["edges"],
    "dense": SHAPES["tall"],
}
"""What a set of a size that is named is like, by the word before the size."""

SIZED = re.compile(rf"({'|'.join(LIKE)})-(\d{{1,9}})x(\d{{1,9}})({REGRESSION}|{ONE_LABEL})?")
"""Name of a set with as many samples and features as it says; edges and middle alone have one label."""

MOST_SIZED = 1 << 22
"""Most values of such a set."""

NOISE = 0.25
"""Size of what the targets hold besides a linear function of the features."""

NAMES = (*REAL, *GENERATED)
"""Names `read` knows."""


class Size(NamedTuple):
    """A name of a generated set with its size: what it is `like`, samples (m), features (n), what ends it.

    That is what it may be followed by: ``_regression``, ``_one_label`` or nothing.
    """

    like: str
    samples: int
    features: int
    end: str

    @property
    def name(self) -> str:
        """The name."""
        return f"{self.like}-{self.samples}x{self.features}{self.end}"


def size_in(name: str) -> Size | None:
    """The parts of a name that says a size; None of another."""
    found = SIZED.fullmatch(name)
    if found is None or (found[4] == ONE_LABEL and found[1] not in (EDGES[0], MIDDLE)):
        return None
    return Size(found[1], int(found[2]), int(found[3]), found[4] or "")


def is_edges(name: str) -> bool:
    """Whether a set is made for what it holds, so that no other can stand for it."""
    size = size_in(name)
    return name in EDGES or (size is not None and size.like in (EDGES[0], MIDDLE))


def has_one_label(name: str) -> bool:
    """Whether a set has one label throughout, and is meant to."""
    return is_edges(name) and name.endswith(ONE_LABEL)


def knows(name: object) -> bool:
    """Whether `read` knows a name."""
    return isinstance(name, str) and (name in NAMES or size_in(name) is not None)


def read(name: str) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Read one embedded data set.

    Parameters
    ----------
    name : str
        breast_cancer (569 x 30, two classes), diabetes_regression (442 x 10, disease progression), or
        either with ``_scale`` appended: each feature to [-1, 1] by `scale_to_unit_box`; wide (150 x 301),
        tall (1200 x 40), small (32 x 9) or edges (12 x 9), or ``sized-MxN``, ``dense-MxN``,
        ``edges-MxN`` or ``middle-MxN`` (M x N, else like small, tall, edges, and edges in another order),
        classification; with ``_regression`` appended, the same data with real targets; edges and middle
        with ``_one_label``, where all labels are +1.

    Returns
    -------
    data : ndarray, shape (m, n)
        Samples by features (A), float64.
    targets : ndarray, shape (m,)
        Class 0 / 1 or real target (y), float64; of a generated set a linear function of the features with
        noise, or its sign (-1 / +1).
    task : {"classification", "regression"}
        Task the targets are made for.
    source : str
        Package, version and function the values come from, or generator and seed.

    Raises
    ------
    InputError
        If the name is unknown, or a size has fewer than 4 samples, no feature, or more than `MOST_SIZED`
        values.
    MissingExtraError
        If scikit-learn is not installed, which a generated set does not need.
    """
    if not knows(name):
        raise InputError(f"embedded data set {name!r} is unknown; known: {', '.join(NAMES)}")
    if name not in REAL:
        return _generated(name)
    data, targets = _real(name.removesuffix(_SCALE))
    _, task, function = _TABLES[name.removesuffix(_SCALE)]
    version = importlib.metadata.version("scikit-learn")
    data = np.array(data, dtype=np.float64)
    if name.endswith(_SCALE):
        data = scale_to_unit_box(data)
    return data, np.array(targets, dtype=np.float64), task, f"scikit-learn {version}, {function}"


def _real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Data and targets of a set, without its scaling.

    Read from the tables that scikit-learn's functions read: to import the package takes 0.7 s and 60 MB,
    to read a table some milliseconds. Where a release keeps other tables, its functions know.
    """
    package = importlib.util.find_spec("sklearn")
    if package is not None and package.origin is not None:
        with contextlib.suppress(OSError, ValueError):
            return _tables(name, Path(package.origin).parent / "datasets" / "data")
    require("sklearn", "data")
    from sklearn.datasets import load_breast_cancer, load_diabetes

    if name == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    return load_diabetes(return_X_y=True, scaled=False)


def _tables(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The same from scikit-learn's folder of tables; OSError or ValueError if it holds others."""
    if name == "breast_cancer":
        data, targets = np.hsplit(np.loadtxt(folder / "breast_cancer.csv", delimiter=",", skiprows=1), [-1])
    else:
        parts = ("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz")
        data, targets = (np.loadtxt(folder / part) for part in parts)
    if data.shape != _TABLES[name][0]:
        raise ValueError(f"{folder}: the table of {name} is {data.shape}")
    return data, targets.ravel()


def _shape(name: str) -> Shape:
    size = size_in(name)
    if size is None:
        return SHAPES[name]
    like, samples, features, _ = size
    if samples < 4 or not features > 0 or samples * features > MOST_SIZED:
        raise InputError(
            f"{name}: needs 4 samples or more, a feature or more, and at most {MOST_SIZED} values"
        )
    return LIKE[like]._replace(samples=samples, features=features)


def _generated(name: str) -> tuple[np.ndarray, np.ndarray, str, str]:
    """A generated set: values in [-1, 1); except in tall the last sample and features of number 7 modulo 50
    are zero. Of edges one of 8 samples stands twice, at least one, and a real target is 0. In middle the
    same samples begin with those of the second half, and features with the second.
    """
    kind = name.removesuffix(REGRESSION).removesuffix(ONE_LABEL)
    shape = _shape(kind)
    samples, features = shape.samples, shape.features
    bits = np.random.PCG64(shape.seed)
    data = _signed(bits, samples * features).reshape(samples, features)
    stored = _signed(bits, data.size).reshape(data.shape) < 2.0 * shape.density - 1.0
    stored[:, :: shape.every] = True
    if shape.density < 1.0:
        stored[-1], stored[:, 7::50] = False, False
    data[~stored] = 0.0
    if is_edges(kind):
        twins = 2 * max(samples // 8, 1)
        data[1:twins:2] = data[0:twins:2]
    slopes, targets = _signed(bits, features), NOISE * _signed(bits, samples)
    # Feature by feature, so that no library chooses the order of the sums.
    for feature in range(features):
        targets += data[:, feature] * slopes[feature]
    if is_edges(kind) and name.endswith(REGRESSION):
        targets[samples // 2] = 0.0
    source = f"generated by NumPy's PCG64, seed {shape.seed}"
    if kind.startswith(MIDDLE):
        data, targets = np.roll(data, (samples // 2, -1), axis=(0, 1)), np.roll(targets, samples // 2)
    if name.endswith(REGRESSION):
        return data, targets, "regression", source
    labels = np.where(targets < 0.0, -1.0, 1.0)
    if name.endswith(ONE_LABEL):
        return data, np.ones(samples), "classification", source
    if abs(labels.sum()) == samples:
        labels[0] = -labels[0]  # A few samples may lie on one side.
    return data, labels, "classification", source


def _signed(bits: np.random.PCG64, count: int) -> np.ndarray:
    """Numbers in [-1, 1): multiples of 2**-52."""
    return (bits.random_raw(count) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


def scale_to_unit_box(data: np.ndarray) -> np.ndarray:
    """Scale each feature to [-1, 1] as LIBSVM's ``svm-scale`` does with its defaults.

    Its order of operations and its printing with ``%g`` (6 significant digits) are kept, so the result
    equals what one reads back from the file it writes; a constant feature becomes 0.

    Parameters
    ----------
    data : ndarray, shape (m, n)
        Finite values.

    Returns
    -------
    ndarray, shape (m, n)
        Values in [-1, 1], float64.
    """
    lowest, highest = data.min(axis=0), data.max(axis=0)
    spread = highest - lowest
    constant = spread == 0
    scaled = -1.0 + 2.0 * (data - lowest) / np.where(constant, 1.0, spread)
    # svm-scale sets the ends apart, so that rounding cannot miss them.
    scaled = np.where(data == lowest, -1.0, np.where(data == highest, 1.0, scaled))
    scaled[:, constant] = 0.0
    printed = [float(f"{value:g}") for value in scaled.ravel()]
    return np.array(printed, dtype=np.float64).reshape(data.shape)
