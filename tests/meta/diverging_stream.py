"""Windows on coordinates that one rank draws from another stream; called on every rank."""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import IndexStream
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.packet import Packet


def follow_stream(comm, guilty: int, block: int) -> np.ndarray:
    """Windows on coordinates drawn by each rank for itself; rank `guilty` has another seed.

    Only distinct coordinates are sent, so ranks that draw differently soon send different lengths, or, with
    one coordinate per window, the same lengths and different values.
    """
    samples, windows = 8, 6
    stream = IndexStream("uniform", samples, 1, windows * block, seed=int(comm.rank == guilty))
    packet = Packet(communicator_of(comm), block)
    alpha = np.zeros(samples)
    for window in range(windows):
        packet.window = window
        columns = np.unique(stream.blocks(window * block, (window + 1) * block))
        payload = packet.payload(columns.size)
        payload[:] = 1.0 + columns
        packet.reduce(columns.size)
        alpha[columns] += packet.payload(columns.size)
        packet.signature[0] ^= np.bitwise_xor.reduce(alpha.view(np.uint64))
    return alpha
