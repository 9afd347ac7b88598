"""Kernels of a problem over the reference's arithmetic objects, made once per precision."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sstep_reference import Kernel
from sstep_reference.arithmetic import Arithmetic

from sstep_verify.problems import Problem


def exact_kernel(problem: Problem, arithmetic: Arithmetic) -> Kernel:
    """The kernel of a problem in an arithmetic, its float64 data and parameters taken exactly."""
    data: Any = problem.dense
    # The fields of a description are the parameters of the reference's kernel of that name.
    return Kernel(arithmetic, data, problem.kernel.name, **asdict(problem.kernel))
