"""A constant feature in the place of a bias term, which the problems here do not have.

Every sample x becomes (x, B), as LIBLINEAR's ``-B`` has it, in training and in prediction. A linear kernel
becomes ``<x, z> + B**2``: the last weight times B is the bias, and unlike a true bias it is regularised, so
that a larger B holds it back less. A polynomial kernel becomes ``(offset + B**2 + <x, z>)**degree``, which
is another offset. An RBF kernel depends on differences of samples only and does not change, so a constant
feature is refused there.

Source: R.-E. Fan et al., "LIBLINEAR: A Library for Large Linear Classification", JMLR 9 (2008), section 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import Kernel


def require_usable(bias: float, kernel: Kernel) -> None:
    """Raise InputError unless a constant feature of this value (0: none) can be appended under a kernel."""
    if not (math.isfinite(bias) and bias >= 0):
        raise InputError(
            f"bias = {bias!r}, but the value of the constant feature must be finite and > 0; 0 appends none"
        )
    if bias and kernel.of_distance:
        raise InputError(
            f"bias = {bias:g} with the {kernel.name} kernel: a constant feature changes no distance, and "
            "no kernel value; leave the bias out, or use the linear or polynomial kernel"
        )


def with_constant_feature(data: Any, bias: float) -> Any:
    """A fresh matrix with a constant feature appended, dense or CSR as the data; the data if it is 0."""
    if not bias:
        return data
    parts: list[Any] = [data, np.full((data.shape[0], 1), bias)]
    return sp.hstack(parts, format="csr") if sp.issparse(data) else np.hstack(parts)
