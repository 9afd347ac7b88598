"""Kernel descriptions: which function of two samples, with which parameters.

A description computes nothing: the truth evaluates it in `sstep_reference`, the production solver
in `sstep_verify.parallel`, and neither can see the other's code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, assert_never

from sstep_verify.errors import InputError


def _is_integer(value: object) -> bool:
    """True for integers and integral floats, which command lines and TOML files may hand in."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())


@dataclass(frozen=True)
class LinearKernel:
    """``K(x, z) = <x, z>``."""

    name: ClassVar[str] = "linear"


@dataclass(frozen=True)
class PolynomialKernel:
    """``K(x, z) = (offset + <x, z>)**degree``.

    Parameters
    ----------
    degree : int
        Exponent d >= 2.
    offset : float
        Constant c >= 0 (the paper's experiments: d = 3, c = 0).

    Raises
    ------
    InputError
        If the degree is not an integer of at least 2 or the offset is negative or not finite.
    """

    degree: int = 3
    offset: float = 0.0
    name: ClassVar[str] = "polynomial"

    def __post_init__(self):
        if not _is_integer(self.degree) or self.degree < 2:
            raise InputError(
                f"polynomial kernel: degree = {self.degree!r}, but it must be an integer >= 2"
                " (use the linear kernel for degree 1)"
            )
        if not (math.isfinite(self.offset) and self.offset >= 0):
            raise InputError(
                f"polynomial kernel: offset = {self.offset!r}, but it must be finite and >= 0"
                " (a negative offset does not give a positive semidefinite kernel)"
            )
        object.__setattr__(self, "degree", int(self.degree))


@dataclass(frozen=True)
class RBFKernel:
    """``K(x, z) = exp(-sigma ||x - z||^2)``.

    Parameters
    ----------
    sigma : float
        Inverse squared width, > 0 (the paper's experiments: 1).

    Raises
    ------
    InputError
        If sigma is not positive and finite.
    """

    sigma: float = 1.0
    name: ClassVar[str] = "rbf"

    def __post_init__(self):
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise InputError(f"RBF kernel: sigma = {self.sigma!r}, but it must be finite and > 0")


Kernel = LinearKernel | PolynomialKernel | RBFKernel


def kernel_from(name: str, *, degree: int = 3, offset: float = 0.0, sigma: float = 1.0) -> Kernel:
    """Build a kernel description from its name and the parameters it uses.

    Raises
    ------
    InputError
        If the name is unknown or a parameter is out of range.
    """
    if name == "linear":
        return LinearKernel()
    if name == "polynomial":
        return PolynomialKernel(degree, offset)
    if name == "rbf":
        return RBFKernel(sigma)
    raise InputError(f"kernel {name!r} is unknown; known: linear, polynomial, rbf")


def identify(kernel: Kernel) -> str:
    """Name and parameters for the id of a case: ``rbf,sigma=1``, ``polynomial,degree=3,offset=0``.

    Kernels that differ have different ids.
    """
    if isinstance(kernel, PolynomialKernel):
        return f"{kernel.name},degree={kernel.degree},offset={shortest(kernel.offset)}"
    if isinstance(kernel, RBFKernel):
        return f"{kernel.name},sigma={shortest(kernel.sigma)}"
    return kernel.name


def shortest(value: float) -> str:
    """The shortest decimal that reads back as this float64: ``1``, ``0.1``, ``1e-05``."""
    brief = f"{value:g}"
    return brief if float(brief) == value else repr(float(value))


def describe(kernel: Kernel) -> str:
    """One short phrase for tables and messages, such as ``polynomial d=3 c=0``."""
    match kernel:
        case LinearKernel():
            return "linear"
        case PolynomialKernel():
            return f"polynomial d={kernel.degree} c={kernel.offset:g}"
        case RBFKernel():
            return f"rbf sigma={kernel.sigma:g}"
        case _:
            assert_never(kernel)
