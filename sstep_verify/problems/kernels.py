"""Kernel descriptions: which function of two samples, with which parameters, and facts about it.

A description computes no kernel value for a solver: the truth evaluates it in `sstep_reference` and in the
balls of the oracle, the judges in `sstep_verify.numerics` and `sstep_verify.rounding`, the production
solver in `sstep_verify.solver`. Each of these rooms has one table of functions by type of kernel, to
which ``register`` adds. None sees another's code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from sstep_verify.errors import InputError, integer, not_negative, positive

LARGEST_DEGREE = 100
"""Largest degree of a polynomial kernel.

A power takes d - 1 multiplications of each kernel value and, exactly, 53 d bits. And it says little: at
d = 100 the bases 1/2 and 2 give values that differ by a factor of 1e60, and a base of 1192 overflows.
"""


@dataclass(frozen=True)
class Kernel:
    """A symmetric positive semidefinite function of two samples.

    What is not overridden is the cautious answer: nothing special may be assumed.

    Attributes
    ----------
    name : str
        Name on the command line, in files and in `sstep_reference`.
    symbols : dict of str to str
        Short names of parameters in messages, where they differ.
    elsewhere : dict of str to str
        What parameters are called in other packages, with their names here.
    linear : bool
        Whether K(x, z) = <x, z>: a solver may carry the weights.
    of_distance : bool
        Whether it is a function of ||x - z|| with K(x, x) = 1; of the inner product otherwise.
    """

    name: ClassVar[str]
    symbols: ClassVar[dict[str, str]] = {}
    elsewhere: ClassVar[dict[str, str]] = {}
    linear: ClassVar[bool] = False
    of_distance: ClassVar[bool] = False

    def __new__(cls, *_values: Any, **parameters: Any) -> Self:
        """Refuse a parameter by the name that it has elsewhere, with its name here."""
        for name in parameters:
            if name in cls.elsewhere:
                raise InputError(f"{cls.name} kernel: {name} is called {cls.elsewhere[name]} here")
        return super().__new__(cls)

    def __getattr__(self, name: str) -> Any:
        """Say what a parameter is called here, of one that is asked for by its name elsewhere."""
        told = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in self.elsewhere:
            told += f": it is called {self.elsewhere[name]} here"
        raise AttributeError(told)

    @property
    def factors(self) -> int:
        """Inner products that one entry is a product of."""
        return 1

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        """``K(x, x)`` of samples with these squared norms, in float64, an entry each.

        Along with it, an upper bound on the size of all entries: of a semidefinite matrix none is larger
        than the largest on the diagonal.
        """
        raise NotImplementedError(f"{type(self).__name__}.diagonal")

    def largest(self, norm: float) -> float:
        """Upper bound on all numbers formed for an entry, of samples with squared norms up to this."""
        return max(norm, float(self.diagonal(np.array([norm]))[0]))

    def dimensions(self, features: int) -> float:
        """Upper bound on the dimensions of the feature space for samples of so many features."""
        return math.inf

    def scaled(self, power: int) -> tuple[Kernel, int]:
        """Kernel for data multiplied by ``2**power``, and the power of two its values gain.

        Raises
        ------
        InputError
            If there is none, or a parameter cannot be multiplied exactly in float64.
        """
        raise InputError(f"{self.name} kernel: it has no form for data multiplied by 2**{power}")


KERNELS: dict[str, type[Kernel]] = {}
"""Kernels that `kernel_from` knows, by name."""

Described = TypeVar("Described", bound=type[Kernel])


def register(kind: Described) -> Described:
    """Make a kernel known by its name; a decorator of its class."""
    KERNELS[kind.name] = kind
    return kind


@register
@dataclass(frozen=True)
class LinearKernel(Kernel):
    """Describe the kernel ``K(x, z) = <x, z>``.

    Examples
    --------
    >>> from sstep_verify import LinearKernel
    >>> LinearKernel()
    LinearKernel()
    """

    name: ClassVar[str] = "linear"
    linear: ClassVar[bool] = True

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        """Squared norms."""
        return norms

    def dimensions(self, features: int) -> float:
        """Number of features."""
        return features

    def scaled(self, power: int) -> tuple[Kernel, int]:
        """The same kernel; values gain the factor twice."""
        return self, 2 * power


@register
@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    """Describe the kernel ``K(x, z) = (offset + <x, z>)**degree``.

    Parameters
    ----------
    degree : int
        Exponent d in 2..`LARGEST_DEGREE`.
    offset : float
        Constant c >= 0 (the paper's experiments: d = 3, c = 0).

    Raises
    ------
    InputError
        If the degree is not an integer in that range or the offset is not a finite number >= 0.

    Examples
    --------
    >>> from sstep_verify import PolynomialKernel
    >>> PolynomialKernel(degree=2, offset=1.0)
    PolynomialKernel(degree=2, offset=1.0)
    """

    degree: int = 3
    offset: float = 0.0
    name: ClassVar[str] = "polynomial"
    symbols: ClassVar[dict[str, str]] = {"degree": "d", "offset": "c"}
    elsewhere: ClassVar[dict[str, str]] = {"coef0": "offset"}

    def __post_init__(self):
        why = "degree 1 is the linear kernel, and a larger power leaves the range of float64"
        degree = integer("polynomial kernel", "degree", self.degree, 2, LARGEST_DEGREE, why)
        why = "a negative offset does not give a positive semidefinite kernel"
        object.__setattr__(self, "degree", degree)
        offset = not_negative("polynomial kernel", "offset", self.offset, why)
        object.__setattr__(self, "offset", offset)

    @property
    def factors(self) -> int:
        """The degree."""
        return self.degree

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        """Powers of the shifted squared norms."""
        return (norms + self.offset) ** self.degree

    def largest(self, norm: float) -> float:
        """The power, or 1 where it is smaller than what it is a power of."""
        return float(self.diagonal(np.array([max(norm, 1.0)]))[0])

    def dimensions(self, features: int) -> float:
        """Number of monomials of the degree, of one feature more where there is an offset."""
        return math.comb(features + (self.offset > 0) + self.degree - 1, self.degree)

    def scaled(self, power: int) -> tuple[Kernel, int]:
        """The offset grows as inner products do; values gain the factor 2 d times."""
        offset = float(times_power(self.offset, 2 * power, "the offset"))
        return replace(self, offset=offset), 2 * power * self.degree


@register
@dataclass(frozen=True)
class RBFKernel(Kernel):
    """Describe the kernel ``K(x, z) = exp(-sigma ||x - z||^2)``.

    Parameters
    ----------
    sigma : float
        Inverse squared width, > 0 (the paper's experiments: 1).

    Raises
    ------
    InputError
        If sigma is not a finite number > 0.

    Examples
    --------
    >>> from sstep_verify import RBFKernel
    >>> RBFKernel(sigma=0.5)
    RBFKernel(sigma=0.5)
    """

    sigma: float = 1.0
    name: ClassVar[str] = "rbf"
    elsewhere: ClassVar[dict[str, str]] = {"gamma": "sigma"}
    of_distance: ClassVar[bool] = True

    def __post_init__(self):
        object.__setattr__(self, "sigma", positive("RBF kernel", "sigma", self.sigma))

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        """Ones."""
        return np.ones_like(norms)

    def largest(self, norm: float) -> float:
        """Squared distances, and exponents."""
        return max(1.0, 4 * norm, 4 * self.sigma * norm)

    def scaled(self, power: int) -> tuple[Kernel, int]:
        """The width grows with the data; values stay."""
        return RBFKernel(float(times_power(self.sigma, -2 * power, "sigma"))), 0


OTHER_KERNELS = (
    "a precomputed kernel, and other functions of two samples, are known conventions that are not judged; "
    "describe a kernel of your own (docs/own.md)"
)
"""What is said where a kernel is asked for that none of ours is."""


def kernel_from(name: str, **parameters: Any) -> Kernel:
    """Build a kernel description from its name and, of these parameters, those it has.

    Raises
    ------
    InputError
        If the name is unknown or a parameter is out of range.
    """
    if name not in KERNELS:
        raise InputError(f"kernel {name!r} is unknown; known: {', '.join(KERNELS)}; {OTHER_KERNELS}")
    kind: Any = KERNELS[name]
    known = [field.name for field in fields(kind)]
    return kind(**{key: value for key, value in parameters.items() if key in known})


def parameters_of(kernel: Kernel) -> dict[str, Any]:
    """Parameters by name."""
    described: Any = kernel
    return {field.name: getattr(kernel, field.name) for field in fields(described)}


def identify(kernel: Kernel) -> str:
    """Name and parameters for the id of a case: ``rbf,sigma=1``, ``polynomial,degree=3,offset=0``.

    Kernels that differ have different ids.
    """
    return ",".join([kernel.name, *(f"{key}={shortest(x)}" for key, x in parameters_of(kernel).items())])


def shortest(value: float) -> str:
    """The shortest decimal that reads back as this float64: ``1``, ``0.1``, ``1e-05``."""
    brief = f"{value:g}"
    return brief if float(brief) == value else repr(float(value))


def describe(kernel: Kernel) -> str:
    """One short phrase for tables and messages, such as ``polynomial d=3 c=0``."""
    parts = [f"{kernel.symbols.get(key, key)}={x:g}" for key, x in parameters_of(kernel).items()]
    return " ".join([kernel.name, *parts])


def times_power(values: Any, power: int, what: str) -> np.ndarray:
    """Values times ``2**power``, or an InputError where one would over- or underflow."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(np.asarray(values, dtype=np.float64), power)
        exact = np.array_equal(np.ldexp(scaled, -power), values)
    if not exact:
        highest = float(np.max(np.abs(values), initial=0.0))
        nonzero = np.abs(values)[np.abs(values) > 0] if np.ndim(values) else np.abs(values)
        lowest = float(np.min(nonzero, initial=math.inf))
        raise InputError(
            f"{what} (absolute values from {lowest:.3g} to {highest:.3g}) cannot be multiplied by "
            f"2**{power} without over- or underflow in float64; choose a power closer to 0"
        )
    return scaled
