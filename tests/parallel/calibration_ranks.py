"""What the ranks of the calibration's tests do."""

from sstep_verify.calibration.collectives import timed_collectives
from sstep_verify.calibration.runs import Case, timed_on_rank


def measured(comm):
    """Times of collectives, and of a window of two exchanges, on this rank."""
    windows = [
        timed_on_rank(comm, Case(12, 8, 1.0, "linear", 0, 4), 1e-6, exchange)
        for exchange in ("allreduce", "gram")
    ]
    return timed_collectives(comm, 1e-6), windows
