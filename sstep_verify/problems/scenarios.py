"""Scenario: the few numbers and names a Problem and its IndexStream are made from.

Prescribed exactly: sizes, labels' counts, which rows repeat or are zero, stored entries per column, every
power of two. Prescribed up to rounding: the singular values of the data, off by at most
``sigma_1 (d_U (1 + d_V) + d_V) + gamma_{r+1} || |U| diag(sigma) |V|' ||_F`` with d = ``||Q'Q - I||_F`` the
computed factor's distance from orthonormal columns (Weyl; Higham 2002, Lemma 3.1), plus u32 ||A||_F if the
data are rounded to float32. Not prescribed: the spectrum of data that are made sparse, offset, scaled row
by row, or have repeated, zero or constant parts (`Scenario.prescribes_spectrum`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from sstep_verify.problems import scenario_ids
from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.problems.kernels import describe as describe_kernel
from sstep_verify.problems.losses import Loss, loss_from
from sstep_verify.problems.losses import describe as describe_loss
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.scenario_data import data_of, mixed_start, targets_of
from sstep_verify.problems.scenario_descent import near_converged
from sstep_verify.problems.scenario_limits import REALS, SCALES, TASKS, check
from sstep_verify.problems.streams import IndexStream

__all__ = ["SCALES", "TASKS", "Scenario"]

_LINEAR: Kernel = LinearKernel()


@dataclass(frozen=True)
class Scenario:
    """One problem with its index stream, in numbers that can be read, printed and shrunk.

    Parameters
    ----------
    task : {"svm-l1", "svm-l2", "krr"}
        Which problem.
    kernel : Kernel
        Kernel description, used as it stands whatever the scale.
    samples, features : int
        Shape of the data (m x n); a K-SVM needs two samples, for its two classes.
    block, s, iterations, ranks : int
        Coordinates per step (b; 1 for K-SVM), steps per window, steps (H), MPI ranks (P), all >= 1.
    seed : int
        Seed of all that is drawn (PCG64), >= 0.
    parameter : float
        C of a K-SVM, lambda of a K-RR.
    spectrum : str
        Shape of the spectrum of the data, one of `scenario_spectrum.SHAPES`.
    condition : float
        Condition number of the data, >= 1 (of no effect if m or n is 1).
    scale : str
        One of `SCALES`.
    offset : float
        Added to every feature before scaling; for dense data.
    unit_rows : bool
        Divide each sample by its norm (before constant features, offset and scale).
    duplicates : float
        Fraction of samples that are copies of other samples, in [0, 1).
    zero_rows, constant_features : int
        Number of samples that are zero, and of features that are 1 (before offset and scale) throughout.
    density : float
        Fraction of stored entries, in (0, 1]; below 1 the data are CSR.
    skew : float
        Exponent of the power law of stored entries per column, >= 0; for sparse data.
    positive : float
        Fraction of labels that are +1, in (0, 1); at least one of each class is kept.
    start : {"zero", "near", "mixed"}
        Start vector: none, a near-converged one (`scenario_descent.near_converged`), or one far from the
        optimum with coordinates at both ends of the box and between (`scenario_data.mixed_start`).
    precision : {"float64", "float32"}
        Type to which data and parameters are rounded; they are held as float64.
    order : {"uniform", "cyclic", "epochs"}
        Kind of index stream.

    Raises
    ------
    InputError
        If a value is out of range, or two fields contradict each other.
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
        check(self)
        for field in REALS:
            object.__setattr__(self, field, float(getattr(self, field)))
        if self.precision == "float32":
            object.__setattr__(self, "parameter", _single(self.parameter))
            object.__setattr__(self, "kernel", _single_kernel(self.kernel))
        loss_from(self.task, C=self.parameter, penalty=self.parameter)

    def problem(self) -> Problem:
        """Make the Problem; its name is the scenario's id."""
        loss: Loss = loss_from(self.task, C=self.parameter, penalty=self.parameter)
        return Problem(self.id, data_of(self), targets_of(self), self.kernel, loss)

    def stream(self) -> IndexStream:
        """Make the IndexStream of H blocks."""
        return IndexStream(self.order, self.samples, self.block, self.iterations, self.seed)

    def initial(self) -> np.ndarray | None:
        """Start vector (a0), shape (m,), or None for zeros."""
        if self.start == "mixed":
            return mixed_start(self)
        return near_converged(self.problem(), self.precision) if self.start == "near" else None

    @property
    def id(self) -> str:
        """Stable text that `from_id` rebuilds the scenario from, such as ``krr,linear,m=4,n=2,...``."""
        return scenario_ids.to_text(self)

    @classmethod
    def from_id(cls, text: str) -> Scenario:
        """Rebuild a scenario from its id.

        Raises
        ------
        InputError
            If the text is no id of a scenario.
        """
        return cls(**scenario_ids.to_fields(text))

    def describe(self) -> str:
        """One line for tables and messages: problem and sizes, then whatever is out of the ordinary."""
        loss = describe_loss(loss_from(self.task, C=self.parameter, penalty=self.parameter))
        unusual = [
            f"{field.name.replace('_', ' ')} {getattr(self, field.name)}"
            for field in fields(self)
            if field.name not in _ALWAYS_SHOWN and getattr(self, field.name) != field.default
        ]
        return (
            f"{loss}, {describe_kernel(self.kernel)}, {self.samples} x {self.features} data of condition "
            f"{self.condition:g} ({self.spectrum}), b={self.block}, s={self.s}, H={self.iterations}, "
            f"P={self.ranks}, seed {self.seed}{'; ' if unusual else ''}{', '.join(unusual)}"
        )

    @property
    def data_exponent(self) -> int:
        """Power of two that multiplies the data: that of the scale over twice the kernel's degree."""
        degree = self.kernel.degree if isinstance(self.kernel, PolynomialKernel) else 1
        return int(SCALES[self.scale][self.precision] / (2 * degree))

    @property
    def repeated_rows(self) -> int:
        """Number of samples that are copies; at least one sample that is not zero is no copy."""
        return max(min(round(self.duplicates * self.samples), self.samples - self.zero_rows - 1), 0)

    @property
    def positive_labels(self) -> int:
        """Number of labels that are +1, in 1..m-1."""
        return min(max(round(self.positive * self.samples), 1), self.samples - 1)

    @property
    def prescribes_spectrum(self) -> bool:
        """True if the singular values of the data are the prescribed ones up to the bound stated above."""
        changed = self.offset or self.repeated_rows or self.zero_rows or self.constant_features
        return not (changed or self.unit_rows or self.density < 1 or self.scale.startswith("near-"))

    @property
    def overlaps(self) -> bool:
        """True if some window draws a coordinate twice."""
        stream = self.stream()
        for begin in range(0, self.iterations, self.s):
            draws = stream.blocks(begin, min(begin + self.s, self.iterations))
            if np.unique(draws).size < draws.size:
                return True
        return False


_ALWAYS_SHOWN = {
    *("task", "kernel", "samples", "features", "block", "s", "iterations", "ranks", "seed"),
    *("parameter", "spectrum", "condition"),
}


def _single(value: float) -> float:
    return float(np.float32(value))


def _single_kernel(kernel: Kernel) -> Kernel:
    if isinstance(kernel, RBFKernel):
        return replace(kernel, sigma=_single(kernel.sigma))
    if isinstance(kernel, PolynomialKernel):
        return replace(kernel, offset=_single(kernel.offset))
    return kernel
