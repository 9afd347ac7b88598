"""WHAT is solved: descriptions of problem, kernel and loss, index streams; data sets in `data`."""

from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel, kernel_from
from sstep_verify.problems.losses import BoxedLoss, Hinge, Loss, Ridge, SquaredHinge, loss_from
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream

__all__ = [
    "BoxedLoss",
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
