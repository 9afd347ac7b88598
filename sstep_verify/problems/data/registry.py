"""Shape, label counts and digest of values of the named data sets, from registry.toml.

The digest is taken over parsed values, not over bytes: copies of one data set differ in compression,
layout and in whether zeros are written out, and none of that matters to a solver.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import scipy.sparse as sp

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
"""LIBSVM's data page; `Pinned.page` is relative to it."""


@dataclass(frozen=True)
class Pinned:
    """One entry of the registry.

    Parameters
    ----------
    name : str
        Name of the data set and of its file, without a compression suffix.
    task : {"classification", "regression"}
        Task the targets are made for.
    samples, features : int
        Shape of the data (m, n).
    nonzeros : int
        Number of values different from 0.
    digest : str
        `values_digest` of data and targets (labels as -1 / +1).
    page : str
        Address of LIBSVM's file, relative to `SITE`.
    classes : tuple of int
        How many labels are -1 and how many +1; empty for regression.
    sha256 : dict
        SHA-256 of LIBSVM's own file by compression suffix (``""``: plain text), where known.
    """

    name: str
    task: str
    samples: int
    features: int
    nonzeros: int
    digest: str
    page: str
    classes: tuple[int, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Full address of LIBSVM's file."""
        return SITE + self.page

    def mismatch(self, data: sp.csr_array, targets: np.ndarray) -> str | None:
        """Say in what the values read differ from this data set, with both values; None if in nothing."""
        expected: list[tuple[str, object, object]] = [
            ("shape", (self.samples, self.features), data.shape),
            ("number of values different from 0", self.nonzeros, int(np.count_nonzero(data.data))),
        ]
        if self.classes:
            labels = (int(np.sum(targets == -1)), int(np.sum(targets == 1)))
            expected.append(("number of labels -1 and +1", self.classes, labels))
        for what, wanted, met in expected:
            if wanted != met:
                return f"{what}: expected {wanted}, found {met}"
        digest = values_digest(data, targets)
        if digest != self.digest:
            return f"digest of values: expected {self.digest}, found {digest}"
        return None


@cache
def registry() -> dict[str, Pinned]:
    """All named data sets that are read from files, by name."""
    text = files("sstep_verify.problems.data").joinpath("registry.toml").read_text(encoding="utf-8")
    return {
        name: Pinned(name, **{**entry, "classes": tuple(entry.get("classes", ()))})
        for name, entry in tomllib.loads(text).items()
    }


def values_digest(data: sp.csr_array | np.ndarray, targets: np.ndarray) -> str:
    """SHA-256 over the values of a data set, whatever file or storage they came from.

    The bytes hashed are, in this order: m, n, row pointers and column indices (from 0) of the CSR form
    without zeros as little-endian int64, its values and the targets as little-endian float64, a
    negative zero among the targets counting as zero.

    Parameters
    ----------
    data : csr_array or ndarray, shape (m, n)
        Samples by features (A).
    targets : ndarray, shape (m,)
        Labels -1 / +1 or real targets (y).

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    values: Any = data  # an array as well as a csr_array
    matrix: sp.csr_array = sp.csr_array(values, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    digest = hashlib.sha256()
    for whole in (matrix.shape, matrix.indptr, matrix.indices):
        digest.update(np.asarray(whole, dtype="<i8").tobytes())
    for real in (matrix.data, np.asarray(targets) + 0.0):
        digest.update(np.asarray(real, dtype="<f8").tobytes())
    return digest.hexdigest()
