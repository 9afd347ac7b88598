"""WHAT is solved: problem, kernel and loss descriptions, index streams, data sets."""

from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel, kernel_from
from sstep_verify.problems.losses import Hinge, Loss, Ridge, SquaredHinge, loss_from
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream

__all__ = [
    "Hinge",
    "IndexStream",
    "Kernel",
    "LinearKernel",
    "Loss",
    "PolynomialKernel",
    "Problem",
    "RBFKernel",
    "Ridge",
    "SquaredHinge",
    "kernel_from",
    "loss_from",
]
