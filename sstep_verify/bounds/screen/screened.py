"""Windows that were screened, and the events of a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TWICE, THRICE = 4, 8
"""Events of a window beside those of the judge's steps: a coordinate drawn twice, thrice."""


@dataclass(frozen=True)
class Screened:
    """The windows of a stretch of a run, compared.

    Parameters
    ----------
    distance, bound : ndarray, shape (N,)
        Per window, at the coordinate where their ratio is largest (K-RR: in the M-norm).
    ratio : ndarray, shape (N,)
        Distance over bound; infinite where a coordinate that was not drawn moved.
    events : ndarray of int, shape (N,)
        Sums of `LOW`, `HIGH`, `TWICE` and `THRICE`; zeros for K-RR.
    """

    distance: np.ndarray
    bound: np.ndarray
    ratio: np.ndarray
    events: np.ndarray
