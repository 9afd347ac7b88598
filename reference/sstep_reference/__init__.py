"""The four algorithms of the paper, line for line, over an exchangeable arithmetic."""

from sstep_reference.arithmetic import Arithmetic, Balls, Float, Mpmath, Rational, exact_fraction
from sstep_reference.bdcd_krr import bdcd_krr
from sstep_reference.dcd_ksvm import dcd_ksvm
from sstep_reference.errors import (
    InvalidInputError,
    SingularSystemError,
    SstepReferenceError,
    UnsupportedOperationError,
)
from sstep_reference.kernels import Gram, Kernel
from sstep_reference.sstep_bdcd_krr import sstep_bdcd_krr
from sstep_reference.sstep_dcd_ksvm import sstep_dcd_ksvm

__all__ = [
    "Arithmetic",
    "Balls",
    "Float",
    "Gram",
    "InvalidInputError",
    "Kernel",
    "Mpmath",
    "Rational",
    "SingularSystemError",
    "SstepReferenceError",
    "UnsupportedOperationError",
    "bdcd_krr",
    "dcd_ksvm",
    "exact_fraction",
    "sstep_bdcd_krr",
    "sstep_dcd_ksvm",
]
