"""The reference over a problem, in any of its arithmetic objects: the kernel, and the classical method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sstep_reference import Kernel, bdcd_krr, dcd_ksvm
from sstep_reference.arithmetic import Arithmetic
from sstep_reference.kernels import Columns

from sstep_verify.problems import Problem


def exact_kernel(problem: Problem, arithmetic: Arithmetic) -> Kernel:
    """The kernel of a problem in an arithmetic, its float64 data and parameters taken exactly."""
    data: Any = problem.dense
    # The fields of a description are the parameters of the reference's kernel of that name.
    return Kernel(arithmetic, data, problem.kernel.name, **asdict(problem.kernel))


def classical_run(
    problem: Problem,
    kernel: Columns,
    initial: Any,
    blocks: Sequence[Sequence[int]],
    trace: list[Any] | None = None,
) -> Any:
    """The dual vector after H blocks by Algorithm 1 or 3, in the kernel's arithmetic.

    From a start of m numbers; a trace gets the vector after every block.
    """
    given: tuple[Any, Any, Any, Any] = (kernel.arithmetic, kernel, problem.targets.tolist(), initial)
    if problem.is_svm:
        drawn, loss, C = [i for (i,) in blocks], problem.loss.task, problem.hinge.C
        return dcd_ksvm(*given, drawn, loss=loss, C=C, trace=trace)
    return bdcd_krr(*given, blocks, penalty=problem.ridge.penalty, trace=trace)
