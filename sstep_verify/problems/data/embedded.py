"""Data sets that need no file and no network: real ones that come with scikit-learn, and generated ones.

The scaled forms exist because an RBF kernel with sigma = 1 on unscaled features is the identity up
to underflow, which shows nothing.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError, require
from sstep_verify.problems.data import generated

_SCALE = "_scale"

_TABLES = {
    "breast_cancer": ((569, 30), "classification", "load_breast_cancer"),
    "diabetes_regression": ((442, 10), "regression", "load_diabetes(scaled=False)"),
}
"""Samples and features, task and function of scikit-learn of each of the real ones."""

REAL = tuple(name + scale for name in _TABLES for scale in ("", _SCALE))
"""Names of the real ones."""

NAMES = (*REAL, *generated.NAMES)
"""Names `read` knows."""


def knows(name: object) -> bool:
    """Whether `read` knows a name."""
    return name in REAL or generated.knows(name)


def read(name: str) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Read one embedded data set.

    Parameters
    ----------
    name : str
        breast_cancer (569 x 30, two classes), diabetes_regression (442 x 10, disease progression), or
        either with ``_scale`` appended: each feature to [-1, 1] by `scale_to_unit_box`; or one of
        `generated.NAMES`, or of a size that is named.

    Returns
    -------
    data : ndarray, shape (m, n)
        Samples by features (A), float64.
    targets : ndarray, shape (m,)
        Class 0 / 1 or real target (y), float64.
    task : {"classification", "regression"}
        Task the targets are made for.
    source : str
        Package, version and function the values come from, or generator and seed.

    Raises
    ------
    InputError
        If the name is unknown.
    MissingExtraError
        If scikit-learn is not installed, which a generated set does not need.
    """
    if not knows(name):
        raise InputError(f"embedded data set {name!r} is unknown; known: {', '.join(NAMES)}")
    if generated.knows(name):
        return generated.generate(name)
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
