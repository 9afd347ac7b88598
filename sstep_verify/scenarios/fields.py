"""Fields of a scenario, and what follows from them alone."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify.problems.kernels import Kernel, LinearKernel

TASKS = ("svm-l1", "svm-l2", "krr")
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


@dataclass(frozen=True)
class Fields:
    """The numbers and names a scenario is made from, not checked yet.

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
        Shape of the spectrum of the data, one of `spectrum.SHAPES`.
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
        Start vector: none, a near-converged one (`descent.near_converged`), or one far from the
        optimum with coordinates at both ends of the box and between (`data.mixed_start`).
    precision : {"float64", "float32"}
        Type to which data and parameters are rounded; they are held as float64.
    order : {"uniform", "cyclic", "epochs"}
        Kind of index stream.
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
