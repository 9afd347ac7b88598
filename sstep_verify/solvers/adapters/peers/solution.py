"""Solution of a peer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sstep_verify.errors import InputError

EXTRA = "peers"


@dataclass(frozen=True, eq=False)
class PeerSolution:
    """The end of a peer's run.

    Parameters
    ----------
    name : str
        Program and version.
    alpha : ndarray, shape (m,)
        Dual vector in our convention; empty where the peer does not return one.
    weights : ndarray, shape (n,)
        Weights of a linear K-SVM, ``A'(y a)``; empty where the peer has none.
    stated : dict of str to float
        Tolerances the peer was run to, read from its options after the run was set up.
    iterations : int
        Passes or iterations made; 0 for a direct solver.
    converged : bool
        Whether the peer says that it met its tolerances.
    """

    name: str
    alpha: np.ndarray
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))
    stated: dict[str, float] = field(default_factory=dict)
    iterations: int = 0
    converged: bool = True


def check_tolerance(name: str, tolerance: float) -> None:
    """Raise InputError unless a tolerance is positive and finite."""
    if not 0 < tolerance < np.inf:
        raise InputError(f"{name}: tolerance = {tolerance}, but it must be finite and > 0")
