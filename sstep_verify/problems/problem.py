"""Problem: data, targets, kernel and loss, frozen. It knows its mathematics and no algorithm."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError, of_type, shown
from sstep_verify.problems import kernels, losses
from sstep_verify.problems.kernels import Kernel
from sstep_verify.problems.losses import BoxedLoss, Dual, Hinge, Loss, Ridge, SquaredHinge, look_continuous
from sstep_verify.quantities import LABELS, quantities_of

DENSE_GIB = 16.0
"""Memory that sparse data may take as a dense array."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Hold one kernel learning problem, in the canonical dual form.

    Parameters
    ----------
    name : str
        Name of the data, for tables and messages.
    data : ndarray or csr_array, shape (m, n)
        Samples by features (A), float64; made read-only.
    targets : ndarray, shape (m,)
        Labels -1 / +1 (K-SVM) or real targets (K-RR), float64 (y); made read-only.
    kernel : Kernel
        Kernel description.
    loss : Loss
        Loss description with its parameter.

    Raises
    ------
    InputError
        If something is of another type, shapes disagree, a value is no finite number, or the labels of a
        K-SVM are not -1 and +1.

    Examples
    --------
    >>> from sstep_verify import Problem, RBFKernel, Ridge
    >>> data = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
    >>> problem = Problem("small", data, [0.5, -1.0, 2.0], RBFKernel(), Ridge())
    >>> problem.samples, problem.features
    (3, 2)
    """

    name: str
    data: np.ndarray | sp.csr_array
    targets: np.ndarray
    kernel: Kernel
    loss: Loss

    def __post_init__(self):
        of_type("name", self.name, str, "a text, for messages")
        of_type(f"{self.name}: kernel", self.kernel, Kernel, "a kernel, such as RBFKernel(sigma=1.0)")
        of_type(f"{self.name}: loss", self.loss, Loss, "a loss, such as Hinge(C=1.0) or Ridge(penalty=1.0)")
        object.__setattr__(self, "data", _frozen_matrix(self.data, self.name))
        targets = _frozen_array(self.targets, f"{self.name}: targets")
        object.__setattr__(self, "targets", targets)
        m, n = self.data.shape
        if m == 0 or n == 0:
            raise InputError(f"{self.name}: the data matrix is {m} x {n}; it must not be empty")
        if targets.shape != (m,):
            way_out = "; targets.ravel() makes a vector of them" if targets.size == m else ""
            raise InputError(f"{self.name}: {m} samples but targets of shape {targets.shape}{way_out}")
        _check_finite(self.name, self.data, targets)
        if self.loss.labelled:
            _check_labels(self.name, targets)

    @property
    def samples(self) -> int:
        """Number of samples (m)."""
        return self.data.shape[0]

    @property
    def features(self) -> int:
        """Number of features (n)."""
        return self.data.shape[1]

    @cached_property
    def longest_sample(self) -> int:
        """Entries of a sample that may not be 0, at most: those stored (CSR), or all n."""
        data: Any = self.data
        return int(np.diff(data.indptr).max()) if self.is_sparse else self.features

    @property
    def is_svm(self) -> bool:
        """Whether steps are ended by a clip: True for K-SVM, False for K-RR."""
        return self.loss.boxed

    @property
    def base_task(self) -> str:
        """The shipped task whose quantities and mistakes its steps share."""
        return self.loss.base_task or self.loss.task

    def quantities(self, update: str, s: int, block: int) -> list[str]:
        """Names of the quantities that the steps of a run have.

        Parameters
        ----------
        update : {"in-place", "frozen", "added"}
            Form of the update.
        s : int
            Iterations per window.
        block : int
            Coordinates per block (b).
        """
        names = [quantity.name for quantity in quantities_of(self.base_task, update, s, block)]
        return [name for name in names if name != LABELS or self.loss.labelled]

    @cached_property
    def signs(self) -> np.ndarray:
        """Signs of the kernel's rows and columns in the dual, shape (m,): labels, or ones."""
        return self.targets if self.loss.labelled else np.ones(self.samples)

    @cached_property
    def linear(self) -> np.ndarray:
        """Linear term of the dual, shape (m,): ones where targets are labels, else the targets."""
        return np.ones(self.samples) if self.loss.labelled else self.targets

    @cached_property
    def dual(self) -> Dual:
        """The numbers of a boxed loss on these targets; an InputError for a K-RR."""
        loss = self.boxed
        return Dual(loss.shift, loss.upper, loss.lower, loss.threshold, self.signs, self.linear)

    @property
    def boxed(self) -> BoxedLoss:
        """The boxed loss; an InputError for a K-RR."""
        if isinstance(self.loss, Ridge):
            raise InputError(f"{self.label}: a K-RR has no box; a K-SVM is needed here")
        return self.loss

    @property
    def hinge(self) -> Hinge | SquaredHinge:
        """The loss of a K-SVM; an InputError for any other."""
        loss = self.boxed
        if isinstance(loss, Hinge | SquaredHinge):
            return loss
        raise InputError(f"{self.label}: only of svm-l1 and svm-l2 is known what is asked here")

    @property
    def ridge(self) -> Ridge:
        """The loss of a K-RR; an InputError for a K-SVM."""
        if not isinstance(self.loss, Ridge):
            raise InputError(f"{self.label}: a K-SVM has no lambda; a K-RR is needed here")
        return self.loss

    @property
    def is_sparse(self) -> bool:
        """True if the data are held as CSR."""
        return sp.issparse(self.data)

    @cached_property
    def dense(self) -> np.ndarray:
        """The data as a read-only dense array, shape (m, n).

        Raises
        ------
        InputError
            If sparse data would take more than `DENSE_GIB` so.
        """
        if isinstance(self.data, np.ndarray):
            return self.data
        gibibytes = 8 * self.samples * self.features / 2**30
        if gibibytes > DENSE_GIB:
            raise InputError(
                f"{self.name}: {self.samples} x {self.features} values, dense as the exact judges need "
                f"them, take {gibibytes:.1f} GiB, but at most {DENSE_GIB:g} GiB are allowed; take fewer "
                "samples, or number the features without gaps (solve trains on the sparse data)"
            )
        dense = self.data.toarray()
        dense.setflags(write=False)
        return dense

    def __getstate__(self) -> dict[str, Any]:
        """What a copy has: all but the dense data, which are formed again where they are needed."""
        return {name: value for name, value in vars(self).items() if name != "dense"}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over shape, stored values, targets and parameters (hexadecimal)."""
        parts = hashlib.sha256()
        parts.update(repr((self.data.shape, self.kernel, self.loss)).encode())
        matrix = sp.csr_array(self.data)
        matrix.sum_duplicates()
        for array in (matrix.indptr, matrix.indices):
            parts.update(np.asarray(array, dtype=np.int64).tobytes())
        parts.update(matrix.data.tobytes())
        parts.update(self.targets.tobytes())
        return parts.hexdigest()

    def with_finite_kernel(self) -> Problem:
        """Return the problem, if no kernel value of its samples can leave the range of float64.

        Raises
        ------
        InputError
            If one can: then no solver in float64 has a step to make.
        """
        data: Any = self.data
        with np.errstate(over="ignore"):
            # Most data are far from the range: no norm is formed where the largest entry shows that.
            entry = np.float64(max(data.max(), -data.min(), 0.0))
            if math.isfinite(self.kernel.largest(float(2 * self.longest_sample * entry * entry))):
                return self
            norms = np.asarray((data * data).sum(axis=1)).ravel()
            largest = self.kernel.largest(float(norms.max()))
        if not math.isfinite(largest):
            row = int(norms.argmax())
            raise InputError(
                f"{self.label}: sample {row} (from 0) has a squared norm of {norms[row]:.3g} in float64, "
                "so a kernel value may overflow; scale the data, or the kernel's parameter"
            )
        return self

    @property
    def label(self) -> str:
        """One line that identifies the problem, such as ``duke / rbf sigma=1 / svm-l1 C=1``."""
        return f"{self.name} / {kernels.describe(self.kernel)} / {losses.describe(self.loss)}"


NOT_REAL = {
    "b": "", "i": "", "u": "", "f": "",
    "c": "take the real part (.real) if the other is 0",
    "O": "make numbers of its entries (.astype(float))",
    "S": "make numbers of its entries, such as -1.0 and 1.0 of two labels",
    "U": "make numbers of its entries, such as -1.0 and 1.0 of two labels",
    "M": "make numbers of points of time, such as seconds since the first",
    "m": "make numbers of spans of time (/ numpy.timedelta64(1, 's'))",
    "V": "take one of its fields",
}  # fmt: skip
"""Kinds of the entries of an array, and the way out from those that are no real numbers."""


def require_real(what: str, values: Any) -> None:
    """InputError unless values, which `what` names, are real numbers, none of which is masked."""
    rows = values if isinstance(values, (list, tuple)) else ()
    if any(isinstance(one, np.ma.MaskedArray) for one in (values, *rows)):
        raise InputError(
            f"{what} = {_on_one_line(values)}: a masked array, but what is missing has no value here; "
            "fill it (.filled(0.0)), or leave those samples out"
        )
    try:
        array: Any = values if sp.issparse(values) else np.asarray(values)
    except Exception as error:  # What makes an array may be of another library, and raise anything.
        raise InputError(f"{what} must be numbers: {type(error).__name__}: {error}") from error
    if way_out := NOT_REAL.get(array.dtype.kind, "make real numbers of its entries"):
        raise InputError(
            f"{what} = {_on_one_line(values)}: of type {array.dtype}, but only real numbers can be used; "
            f"{way_out}"
        )


def _on_one_line(values: Any) -> str:
    return " ".join(shown(values).split())


def _frozen_array(values, what: str) -> np.ndarray:
    require_real(what, values)
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array


def _frozen_matrix(data, name: str):
    sparse: bool = sp.issparse(data)
    if sparse:
        require_real(f"{name}: the data", data)
    held = data if sparse else _frozen_array(data, f"{name}: the data")
    if held.ndim != 2:
        raise InputError(
            f"{name}: the data must be a matrix, a sample in each row, but have {held.ndim} dimensions"
            + "; data[:, None] has one feature, data[None] one sample" * (held.ndim == 1)
        )
    if sparse:
        matrix = sp.csr_array(data, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        matrix.sort_indices()
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.setflags(write=False)
        return matrix
    return held


def _check_finite(name: str, data, targets: np.ndarray) -> None:
    if not np.isfinite(targets).all():
        row = int(np.flatnonzero(~np.isfinite(targets))[0])
        raise InputError(f"{name}: target of sample {row} (from 0) is {targets[row]}; must be finite")
    sparse: bool = sp.issparse(data)
    if not np.isfinite(data.data if sparse else data).all():
        entries = sp.coo_array(data)
        place = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        raise InputError(
            f"{name}: sample {entries.row[place]}, feature {entries.col[place]} (from 0) is "
            f"{entries.data[place]}; must be finite"
        )


def _check_labels(name: str, targets: np.ndarray) -> None:
    values = np.unique(targets)
    if not np.isin(values, (-1.0, 1.0)).all():
        way_out = (
            f"numpy.where(targets == {float(values[0])}, -1.0, 1.0) makes -1 of the first and +1 of others"
        )
        if look_continuous(targets):
            way_out = "these look like regression targets: use Ridge"
        raise InputError(
            f"{name}: a K-SVM needs labels -1 and +1, but the targets hold "
            f"{', '.join(f'{v:g}' for v in values[:5])}{', ...' if values.size > 5 else ''}; "
            f"{way_out}"
        )


def fingerprint(vector: np.ndarray) -> str:
    """SHA-256 of the bytes of a vector with its type (hexadecimal): equal iff every bit is."""
    content = np.ascontiguousarray(vector)
    digest = hashlib.sha256(f"{content.dtype.str} {content.size} ".encode())
    digest.update(content.data)
    return digest.hexdigest()
