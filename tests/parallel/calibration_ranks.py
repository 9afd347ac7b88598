"""What the ranks of the calibration's tests do."""

from sstep_verify.timing.calibrate import Case, timed, timed_collectives


def measured(comm):
    """Times of collectives, and of a window, on this rank."""
    window = timed(comm, Case(12, 8, 1.0, "linear", 0, 4), 1e-6)
    return timed_collectives(comm, 1e-6), window.whole
