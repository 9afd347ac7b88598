"""A problem of four samples whose fields a test may change."""

import numpy as np

from sstep_verify.problems import Hinge, Problem, RBFKernel

DATA = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0], [4.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
LABELS = np.array([1.0, -1.0, -1.0, 1.0])


def problem(**changes) -> Problem:
    fields = {
        "name": "toy",
        "data": DATA,
        "targets": LABELS,
        "kernel": RBFKernel(1.0),
        "loss": Hinge(1.0),
    }
    return Problem(**(fields | changes))
