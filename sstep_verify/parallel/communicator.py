"""The narrow door to communication: every word that leaves a rank passes through here."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Communicator(Protocol):
    """What the production solver needs of a communicator.

    Attributes
    ----------
    rank, size : int
        This process and the number of processes (P).
    """

    rank: int
    size: int

    def allreduce(self, buffer: np.ndarray) -> None:
        """Sum a float64 array over all ranks, in place; ``buffer.size`` words, one message."""
        ...


class SelfCommunicator:
    """One process: the sum over all ranks is what is already there."""

    rank = 0
    size = 1

    def allreduce(self, buffer: np.ndarray) -> None:
        """Leave the buffer as it is."""
