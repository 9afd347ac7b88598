"""Kernel entries of a whole problem with their bounds, made once for all judges of its steps."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration


def entries_key(declaration: Declaration) -> str:
    """Name under which an oracle keeps the entries of a declaration."""
    return f"kernel entries for {declaration!r}"


def kept_entries(oracle: Oracle, problem: Problem, declaration: Declaration) -> KernelEntries:
    """All rows, as the oracle keeps them."""
    return oracle.kept(
        entries_key(declaration), lambda: kernel_entries(problem, declaration, np.arange(problem.samples))
    )
