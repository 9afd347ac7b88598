"""The few numbers and names that a Problem and its IndexStream are made from, and their text.

Prescribed exactly: sizes, labels' counts, which rows repeat or are zero, stored entries per column, every
power of two. Prescribed up to rounding: the singular values of the data, off by at most
``sigma_1 (d_U (1 + d_V) + d_V) + gamma_{r+1} || |U| diag(sigma) |V|' ||_F`` with d = ``||Q'Q - I||_F`` the
computed factor's distance from orthonormal columns (Weyl; Higham 2002, Lemma 3.1), plus u32 ||A||_F if the
data are rounded to float32. Not prescribed: the spectrum of data that are made sparse, offset, scaled row
by row, or have repeated, zero or constant parts.

The text form of a scenario, its id, is ``task,kernel,key=value,...``, values left out where they are the
default. The keys and the defaults are part of the format: changing one makes ids in old reports mean
something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import Kernel, LinearKernel, kernel_from, parameters_of
from sstep_verify.problems.losses import loss_from

PRECISIONS = ("float64", "float32")
STARTS = ("zero", "near", "mixed")
ORDERS = ("uniform", "epochs", "cyclic")

SCALES: dict[str, dict[str, int]] = {
    "normal": {"float64": 0, "float32": 0},
    "small": {"float64": -40, "float32": -40},
    "large": {"float64": 40, "float32": 40},
    "near-underflow": {"float64": -1016, "float32": -120},
    "near-overflow": {"float64": 960, "float32": 96},
}
"""Power of two by which inner products (to the kernel's degree) are scaled, per precision of the data.

Near underflow the smaller kernel entries, a factor 2**6 below the typical one, are subnormal (below
2**-1022, 2**-126) and lose digits; near overflow (2**1024, 2**128) a factor of 2**64 (2**32) is left for
row norms, sums over samples and divisions by lambda.
"""

_LINEAR: Kernel = LinearKernel()

_SHORT = {
    "samples": "m", "features": "n", "block": "b", "iterations": "H", "ranks": "P", "condition": "cond",
    "unit_rows": "unit", "duplicates": "dup", "zero_rows": "zero", "constant_features": "const",
}  # fmt: skip
SIZES = ("m", "n", "b", "s", "H", "P", "seed")
"""Keys that every id has."""

_KERNEL_KEYS: dict[str, dict[str, str]] = {
    "linear": {},
    "polynomial": {"degree": "degree", "c": "offset"},
    "rbf": {"sigma": "sigma"},
}

REALS = ("condition", "offset", "duplicates", "density", "skew", "positive", "parameter")
"""Fields that hold real numbers."""


@dataclass(frozen=True)
class Numbers:
    """One problem with its index stream, in numbers that can be read, printed and shrunk.

    The kernel is used as it stands whatever the scale. Data are m x n samples and features; a K-SVM needs
    two samples, for its two classes. `block` are the coordinates per step (b; 1 for K-SVM), `s` the steps
    per window, `iterations` the steps (H), `ranks` the MPI ranks (P), all >= 1; `seed` is that of all that
    is drawn (PCG64), `parameter` C of a K-SVM, lambda of a K-RR.

    `spectrum` is the shape of the spectrum of the data, one of `data.SHAPES`, and `condition` their
    condition number, >= 1 (of no effect if m or n is 1); `scale` is one of `SCALES`, and `offset` is added
    to every feature of dense data before. With `unit_rows` each sample is divided by its norm, before
    constant features, offset and scale. A fraction in [0, 1) of the samples are `duplicates` of others; so
    many are zero, and so many features 1 throughout, before offset and scale. Of a fraction `density` in
    (0, 1] entries are stored, as CSR below 1, whose number per column falls by a power law with the
    exponent `skew` >= 0. A fraction `positive` in (0, 1) of the labels are +1, at least one of each class.
    A run starts from zero, near convergence (`descent.near_converged`), or far from the optimum with
    coordinates at both ends of the box and between (`data.mixed_start`). Data and parameters are rounded
    to `precision`, and held as float64; `order` is the kind of the index stream.

    InputError if the task is unknown or its parameter cannot be used.
    """

    task: str = "svm-l1"
    kernel: Kernel = _LINEAR
    samples: int = 4
    features: int = 2
    block: int = 1
    s: int = 1
    iterations: int = 1
    ranks: int = 1
    seed: int = 0
    parameter: float = 1.0
    spectrum: str = "arith"
    condition: float = 2.0
    scale: str = "normal"
    offset: float = 0.0
    unit_rows: bool = False
    duplicates: float = 0.0
    zero_rows: int = 0
    constant_features: int = 0
    density: float = 1.0
    skew: float = 0.0
    positive: float = 0.5
    start: str = "zero"
    precision: str = "float64"
    order: str = "uniform"

    def __post_init__(self):
        for field in REALS:
            object.__setattr__(self, field, float(getattr(self, field)))
        if self.precision == "float32":
            described: Any = self.kernel
            reals = {key: x for key, x in parameters_of(described).items() if isinstance(x, float)}
            held = {key: float(np.float32(x)) for key, x in reals.items()}
            object.__setattr__(self, "kernel", replace(described, **held))
            object.__setattr__(self, "parameter", float(np.float32(self.parameter)))
        loss_from(self.task, self.parameter)

    @property
    def id(self) -> str:
        """Stable text that `from_id` rebuilds the scenario from, such as ``krr,linear,m=4,n=2,...``.

        Floats are written with all the digits that tell them apart.
        """
        kernel = self.kernel
        written = {key: getattr(kernel, name) for key, name in _KERNEL_KEYS[kernel.name].items()}
        for key, field in _keyed().items():
            if (value := getattr(self, field.name)) != field.default or key in SIZES:
                written[key] = value
        return ",".join([self.task, kernel.name, *(f"{key}={_written(x)}" for key, x in written.items())])

    @classmethod
    def from_id(cls, text: str) -> Self:
        """Rebuild a scenario from its id; InputError if a part is malformed, unknown, or there twice."""
        task, _, rest = text.partition(",")
        kernel_name, *parts = rest.split(",")
        if kernel_name not in _KERNEL_KEYS:
            raise InputError(
                f"scenario id {text!r}: kernel {kernel_name!r} is unknown; an id begins with a task and "
                f"one of {', '.join(_KERNEL_KEYS)}, such as 'svm-l1,linear,m=4,n=2'"
            )
        parameters, keyed = _KERNEL_KEYS[kernel_name], _keyed()
        readers = {key: _READERS[field.type] for key, field in keyed.items()}
        readers |= {key: int if key == "degree" else float for key in parameters}
        values: dict[str, Any] = {}
        for part in parts:
            key, equals, value = part.partition("=")
            if not equals or key not in readers or key in values:
                raise InputError(
                    f"scenario id {text!r}: part {part!r} is not key=value, is unknown, or is there "
                    f"twice; keys: {', '.join([*parameters, *keyed])}"
                )
            try:
                values[key] = readers[key](value)
            except ValueError as error:
                raise InputError(
                    f"scenario id {text!r}: {value!r} cannot be read as {key}: {error}"
                ) from error
        options = {parameters[key]: values.pop(key) for key in parameters if key in values}
        kernel = kernel_from(kernel_name, **options)
        return cls(task, kernel, **{keyed[key].name: value for key, value in values.items()})

    @property
    def data_exponent(self) -> int:
        """Power of two that multiplies the data: that of the scale over twice the kernel's degree."""
        return int(SCALES[self.scale][self.precision] / (2 * self.kernel.factors))

    @property
    def repeated_rows(self) -> int:
        """Number of samples that are copies; at least one sample that is not zero is no copy."""
        return max(min(round(self.duplicates * self.samples), self.samples - self.zero_rows - 1), 0)

    @property
    def positive_labels(self) -> int:
        """Number of labels that are +1, in 1..m-1."""
        return min(max(round(self.positive * self.samples), 1), self.samples - 1)


def _keyed() -> dict[str, Field[Any]]:
    """Fields of a scenario by key, all but task and kernel."""
    return {_SHORT.get(field.name, field.name): field for field in fields(Numbers)[2:]}


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


_READERS: dict[Any, Callable[[str], object]] = {
    "int": int, "float": float, "str": str, "bool": lambda text: bool(("0", "1").index(text)),
}  # fmt: skip
