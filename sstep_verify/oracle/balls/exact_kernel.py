"""Kernels of a problem over the reference's arithmetic objects, made once per precision."""

from __future__ import annotations

from typing import Any

from sstep_reference import Kernel
from sstep_reference.arithmetic import Arithmetic

from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel


def exact_kernel(problem: Problem, arithmetic: Arithmetic) -> Kernel:
    """The kernel of a problem in an arithmetic, its float64 data and parameters taken exactly."""
    kernel = problem.kernel
    parameters: dict[str, Any] = {}
    if isinstance(kernel, PolynomialKernel):
        parameters = {"degree": kernel.degree, "offset": kernel.offset}
    elif isinstance(kernel, RBFKernel):
        parameters = {"sigma": kernel.sigma}
    data: Any = problem.dense
    return Kernel(arithmetic, data, kernel.name, **parameters)
