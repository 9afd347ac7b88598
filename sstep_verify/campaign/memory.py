"""Memory that an optimum and a certificate take, with the data, said before the work begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.oracle.certificate.memory import GIB, certificate_bytes, gibibytes

VALUE = 410
"""Bytes per value of the features that occur, zeros included: an oracle holds these as balls. Measured: 225
to 410 where a certificate is made, 215 to 242 where it is proved again."""

WHOLE = 16
"""Bytes per value of all features: sparse data that are held dense, and what is made of them."""


def certificate_need(label: str, data: Any, *, svm: bool) -> tuple[int, str]:
    """Bytes that a certificate of a problem on these data takes, and a line that says so.

    Parameters
    ----------
    label : str
        The problem, for the line.
    data : ndarray or csr_array, shape (m, n)
        Samples by features (A).
    svm : bool
        Whether the problem is a K-SVM.
    """
    needed = certificate_bytes(data.shape[0], svm=svm) + values_bytes(data)
    return needed, f"{label}: {_shape(data)} take about {gibibytes(needed)} GiB"


def require_room(label: str, data: Any, allowed: float, where: str, *, dense: bool = False) -> None:
    """Reject data whose values take more memory, as balls, than an oracle may.

    Parameters
    ----------
    label : str
        The problem, for the message.
    data : ndarray or csr_array, shape (m, n)
        Samples by features (A).
    allowed : float
        Memory allowed, in GiB.
    where : str
        Option or field that allows it.
    dense : bool
        Whether sparse data are held as a dense array too, features that no sample has included.

    Raises
    ------
    InputError
        With the memory that they take.
    """
    needed = values_bytes(data) + dense * WHOLE * data.shape[0] * data.shape[1]
    gaps = "number the features without gaps, " * (dense and _occurring(data) < data.shape[1])
    if needed > allowed * GIB:
        raise InputError(
            f"{label}: {_shape(data)} take about {gibibytes(needed)} GiB, but {where} allows {allowed:g}; "
            f"{gaps}take fewer samples or features, or raise it where there is as much"
        )


def values_bytes(data: Any) -> int:
    """Bytes of the values of data, as balls, where an optimum is searched: of features that occur."""
    return VALUE * data.shape[0] * max(_occurring(data), 1)


def _occurring(data: Any) -> int:
    """Number of features that are not 0 in every sample."""
    return int(
        np.count_nonzero(data.any(axis=0)) if isinstance(data, np.ndarray) else np.unique(data.indices).size
    )


def _shape(data: Any) -> str:
    """Samples and features in words; of data with features that no sample has, how many one has."""
    m, n = data.shape
    found = _occurring(data)
    which = f", of which {found} occur," if found < n else ""
    return f"m = {m} samples and n = {n} features{which}"
